DROP FUNCTION drop_superseded_charge(text, text);

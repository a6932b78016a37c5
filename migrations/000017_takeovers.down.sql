DROP TRIGGER takeovers_are_noted ON runs;
DROP FUNCTION note_takeover();
DROP TABLE takeovers;

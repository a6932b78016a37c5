DROP TRIGGER takeovers_are_noted ON requests;
DROP FUNCTION note_takeover();
DROP TABLE takeovers;

DROP TABLE acquirer.movements, acquirer.authorizations, acquirer.operations;
DROP FUNCTION acquirer.refuse_to_rewrite;

DROP TABLE cards;
DROP TABLE tokens;
DROP TABLE customers;

DROP TABLE acquirer.settled, acquirer.outbox, acquirer.disputes;

DROP TABLE acquirer.settled, acquirer.unsettled, acquirer.outbox, acquirer.disputes;

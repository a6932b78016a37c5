DROP TABLE acquirer.owed;

const checkouts = {};

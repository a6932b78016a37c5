package api

import "github.com/ratchet-pay/ratchet/internal/payments"

// routes is the whole API on one page. What stands behind each line is described
// in api/openapi.yaml; a test keeps the two in step. The last column is the kind
// of object the answer shows, which decides what it can expand.
func routes() []route {
	return []route{
		get("/v1/account", payments.RetrieveAccount, "account"),
		get("/v1/accounts/{account}", payments.RetrieveAccountByID, "account"),

		get("/v1/balance", payments.RetrieveBalance, "balance"),
		get("/v1/balance_transactions", payments.ListBalanceTransactions, "list:balance_transaction"),
		get("/v1/balance_transactions/{id}", payments.RetrieveBalanceTransaction, "balance_transaction"),

		post("/v1/charges", payments.CreateCharge, "charge"),
		get("/v1/charges", payments.ListCharges, "list:charge"),
		get("/v1/charges/search", payments.SearchCharges, "search:charge"),
		get("/v1/charges/{charge}", payments.RetrieveCharge, "charge"),
		post("/v1/charges/{charge}", payments.UpdateCharge, "charge"),
		post("/v1/charges/{charge}/capture", payments.CaptureCharge, "charge"),
		get("/v1/charges/{charge}/dispute", payments.RetrieveChargeDispute, "dispute"),
		post("/v1/charges/{charge}/dispute", payments.UpdateChargeDispute, "dispute"),
		post("/v1/charges/{charge}/dispute/close", payments.CloseChargeDispute, "dispute"),
		post("/v1/charges/{charge}/refund", payments.RefundWholeCharge, "charge"),
		post("/v1/charges/{charge}/refunds", payments.RefundCharge, "refund"),
		get("/v1/charges/{charge}/refunds", payments.ListChargeRefunds, "list:refund"),
		get("/v1/charges/{charge}/refunds/{refund}", payments.RetrieveChargeRefund, "refund"),
		post("/v1/charges/{charge}/refunds/{refund}", payments.UpdateChargeRefund, "refund"),

		post("/v1/checkout/sessions", payments.CreateCheckoutSession, "checkout.session"),
		get("/v1/checkout/sessions", payments.ListCheckoutSessions, "list:checkout.session"),
		get("/v1/checkout/sessions/{session}", payments.RetrieveCheckoutSession, "checkout.session"),
		post("/v1/checkout/sessions/{session}", payments.UpdateCheckoutSession, "checkout.session"),
		post("/v1/checkout/sessions/{session}/expire", payments.ExpireCheckoutSession, "checkout.session"),
		get("/v1/checkout/sessions/{session}/line_items", payments.ListCheckoutItems, "list:item"),

		post("/v1/customers", payments.CreateCustomer, "customer"),
		get("/v1/customers", payments.ListCustomers, "list:customer"),
		get("/v1/customers/search", payments.SearchCustomers, "search:customer"),
		get("/v1/customers/{customer}", payments.RetrieveCustomer, "customer"),
		post("/v1/customers/{customer}", payments.UpdateCustomer, "customer"),
		del("/v1/customers/{customer}", payments.DeleteCustomer),
		get("/v1/customers/{customer}/payment_methods", payments.ListCustomerPaymentMethods, "list:payment_method"),
		get("/v1/customers/{customer}/payment_methods/{payment_method}", payments.RetrieveCustomerPaymentMethod, "payment_method"),
		post("/v1/customers/{customer}/sources", payments.CreateCard, "card"),
		get("/v1/customers/{customer}/sources", payments.ListCards, "list:card"),
		get("/v1/customers/{customer}/sources/{id}", payments.RetrieveCard, "card"),
		post("/v1/customers/{customer}/sources/{id}", payments.UpdateCard, "card"),
		del("/v1/customers/{customer}/sources/{id}", payments.DeleteCard),

		post("/v1/payouts", payments.CreatePayout, "payout"),
		get("/v1/payouts", payments.ListPayouts, "list:payout"),
		get("/v1/payouts/{payout}", payments.RetrievePayout, "payout"),
		post("/v1/payouts/{payout}", payments.UpdatePayout, "payout"),
		post("/v1/payouts/{payout}/cancel", payments.CancelPayout, "payout"),
		post("/v1/payouts/{payout}/reverse", payments.ReversePayout, "payout"),

		post("/v1/test_helpers/test_clocks", payments.CreateTestClock, "test_helpers.test_clock"),
		get("/v1/test_helpers/test_clocks", payments.ListTestClocks, "list:test_helpers.test_clock"),
		get("/v1/test_helpers/test_clocks/{test_clock}", payments.RetrieveTestClock, "test_helpers.test_clock"),
		del("/v1/test_helpers/test_clocks/{test_clock}", payments.DeleteTestClock),
		post("/v1/test_helpers/test_clocks/{test_clock}/advance", payments.AdvanceTestClock, "test_helpers.test_clock"),
		get("/v1/disputes", payments.ListDisputes, "list:dispute"),
		get("/v1/disputes/{dispute}", payments.RetrieveDispute, "dispute"),
		post("/v1/disputes/{dispute}", payments.UpdateDispute, "dispute"),
		post("/v1/disputes/{dispute}/close", payments.CloseDispute, "dispute"),

		get("/v1/events", payments.ListEvents, "list:event"),
		get("/v1/events/{id}", payments.RetrieveEvent, "event"),
		post("/v1/events/{id}/retry", payments.RetryEvent, "event"),

		post("/v1/payment_intents", payments.CreatePaymentIntent, "payment_intent"),
		get("/v1/payment_intents", payments.ListPaymentIntents, "list:payment_intent"),
		get("/v1/payment_intents/search", payments.SearchPaymentIntents, "search:payment_intent"),
		get("/v1/payment_intents/{intent}", payments.RetrievePaymentIntent, "payment_intent").openToPublishableKeys(),
		post("/v1/payment_intents/{intent}", payments.UpdatePaymentIntent, "payment_intent"),
		post("/v1/payment_intents/{intent}/cancel", payments.CancelPaymentIntent, "payment_intent"),
		post("/v1/payment_intents/{intent}/capture", payments.CapturePaymentIntent, "payment_intent"),
		post("/v1/payment_intents/{intent}/confirm", payments.ConfirmPaymentIntent, "payment_intent").openToPublishableKeys(),
		post("/v1/payment_intents/{intent}/increment_authorization", payments.IncrementAuthorization, "payment_intent"),

		post("/v1/payment_methods", payments.CreatePaymentMethod, "payment_method").openToPublishableKeys(),
		get("/v1/payment_methods", payments.ListPaymentMethods, "list:payment_method"),
		get("/v1/payment_methods/{payment_method}", payments.RetrievePaymentMethod, "payment_method"),
		post("/v1/payment_methods/{payment_method}", payments.UpdatePaymentMethod, "payment_method"),
		post("/v1/payment_methods/{payment_method}/attach", payments.AttachPaymentMethod, "payment_method"),
		post("/v1/payment_methods/{payment_method}/detach", payments.DetachPaymentMethod, "payment_method"),

		get("/v1/payment_pages/{session}", payments.RetrievePaymentPage, "payment_page").openToPublishableKeys(),
		post("/v1/payment_pages/{session}/confirm", payments.ConfirmPaymentPage, "payment_page").openToPublishableKeys(),

		post("/v1/prices", payments.CreatePrice, "price"),
		get("/v1/prices", payments.ListPrices, "list:price"),
		get("/v1/prices/search", payments.SearchPrices, "search:price"),
		get("/v1/prices/{price}", payments.RetrievePrice, "price"),
		post("/v1/prices/{price}", payments.UpdatePrice, "price"),

		post("/v1/products", payments.CreateProduct, "product"),
		get("/v1/products", payments.ListProducts, "list:product"),
		get("/v1/products/search", payments.SearchProducts, "search:product"),
		get("/v1/products/{id}", payments.RetrieveProduct, "product"),
		post("/v1/products/{id}", payments.UpdateProduct, "product"),
		del("/v1/products/{id}", payments.DeleteProduct),

		post("/v1/refunds", payments.CreateRefund, "refund"),
		get("/v1/refunds", payments.ListRefunds, "list:refund"),
		get("/v1/refunds/{refund}", payments.RetrieveRefund, "refund"),
		post("/v1/refunds/{refund}", payments.UpdateRefund, "refund"),
		post("/v1/refunds/{refund}/cancel", payments.CancelRefund, "refund"),
		post("/v1/test_helpers/refunds/{refund}/expire", payments.ExpireRefund, "refund"),

		get("/v1/setup_attempts", payments.ListSetupAttempts, "list:setup_attempt"),

		post("/v1/setup_intents", payments.CreateSetupIntent, "setup_intent"),
		get("/v1/setup_intents", payments.ListSetupIntents, "list:setup_intent"),
		get("/v1/setup_intents/{intent}", payments.RetrieveSetupIntent, "setup_intent").openToPublishableKeys(),
		post("/v1/setup_intents/{intent}", payments.UpdateSetupIntent, "setup_intent"),
		post("/v1/setup_intents/{intent}/cancel", payments.CancelSetupIntent, "setup_intent"),
		post("/v1/setup_intents/{intent}/confirm", payments.ConfirmSetupIntent, "setup_intent").openToPublishableKeys(),

		post("/v1/tokens", payments.CreateToken, "token").openToPublishableKeys(),
		get("/v1/tokens/{token}", payments.RetrieveToken, "token"),

		post("/v1/webhook_endpoints", payments.CreateWebhookEndpoint, "webhook_endpoint"),
		get("/v1/webhook_endpoints", payments.ListWebhookEndpoints, "list:webhook_endpoint"),
		get("/v1/webhook_endpoints/{webhook_endpoint}", payments.RetrieveWebhookEndpoint, "webhook_endpoint"),
		post("/v1/webhook_endpoints/{webhook_endpoint}", payments.UpdateWebhookEndpoint, "webhook_endpoint"),
		del("/v1/webhook_endpoints/{webhook_endpoint}", payments.DeleteWebhookEndpoint),
	}
}

package api

import (
	"net/http"
	"slices"

	"github.com/ratchet-pay/ratchet/internal/account"
	"github.com/ratchet-pay/ratchet/internal/balance"
	"github.com/ratchet-pay/ratchet/internal/catalog"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/dispute"
	"github.com/ratchet-pay/ratchet/internal/endpoint"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/payout"
	"github.com/ratchet-pay/ratchet/internal/session"
	"github.com/ratchet-pay/ratchet/internal/setupintent"
	"github.com/ratchet-pay/ratchet/internal/stripecli"
)

// routes is the whole API on one page, by topic. Each route is specified
// in api/openapi.yaml; a test keeps the two in step. The last column is the kind
// of object the answer shows, which decides what it can expand.
func routes() []route {
	return slices.Concat(paymentRoutes(), checkoutRoutes(), customerRoutes(), catalogRoutes(), balanceRoutes(),
		eventRoutes(), accountRoutes())
}

// paymentRoutes are those of charges, PaymentIntents, SetupIntents, refunds and disputes.
func paymentRoutes() []route {
	return []route{
		post("/v1/charges", payment.CreateCharge, "charge"),
		get("/v1/charges", payment.ListCharges, "list:charge"),
		get("/v1/charges/search", payment.SearchCharges, "search:charge"),
		get("/v1/charges/{charge}", payment.RetrieveCharge, "charge"),
		post("/v1/charges/{charge}", payment.UpdateCharge, "charge"),
		post("/v1/charges/{charge}/capture", payment.CaptureCharge, "charge"),
		get("/v1/charges/{charge}/dispute", dispute.RetrieveChargeDispute, "dispute"),
		post("/v1/charges/{charge}/dispute", dispute.UpdateChargeDispute, "dispute"),
		post("/v1/charges/{charge}/dispute/close", dispute.CloseChargeDispute, "dispute"),
		post("/v1/charges/{charge}/refund", payment.RefundWholeCharge, "charge"),
		post("/v1/charges/{charge}/refunds", payment.RefundCharge, "refund"),
		get("/v1/charges/{charge}/refunds", payment.ListChargeRefunds, "list:refund"),
		get("/v1/charges/{charge}/refunds/{refund}", payment.RetrieveChargeRefund, "refund"),
		post("/v1/charges/{charge}/refunds/{refund}", payment.UpdateChargeRefund, "refund"),

		get("/v1/disputes", dispute.ListDisputes, "list:dispute"),
		get("/v1/disputes/{dispute}", dispute.RetrieveDispute, "dispute"),
		post("/v1/disputes/{dispute}", dispute.UpdateDispute, "dispute"),
		post("/v1/disputes/{dispute}/close", dispute.CloseDispute, "dispute"),

		post("/v1/payment_intents", payment.CreatePaymentIntent, "payment_intent"),
		get("/v1/payment_intents", payment.ListPaymentIntents, "list:payment_intent"),
		get("/v1/payment_intents/search", payment.SearchPaymentIntents, "search:payment_intent"),
		get("/v1/payment_intents/{intent}", payment.RetrievePaymentIntent, "payment_intent").openToPublishableKeys(),
		post("/v1/payment_intents/{intent}", payment.UpdatePaymentIntent, "payment_intent"),
		post("/v1/payment_intents/{intent}/cancel", payment.CancelPaymentIntent, "payment_intent"),
		post("/v1/payment_intents/{intent}/capture", payment.CapturePaymentIntent, "payment_intent"),
		post("/v1/payment_intents/{intent}/confirm", payment.ConfirmPaymentIntent, "payment_intent").
			openToPublishableKeys(),
		post("/v1/payment_intents/{intent}/increment_authorization", payment.IncrementAuthorization, "payment_intent"),

		post("/v1/refunds", payment.CreateRefund, "refund"),
		get("/v1/refunds", payment.ListRefunds, "list:refund"),
		get("/v1/refunds/{refund}", payment.RetrieveRefund, "refund"),
		post("/v1/refunds/{refund}", payment.UpdateRefund, "refund"),
		post("/v1/refunds/{refund}/cancel", payment.CancelRefund, "refund"),
		post("/v1/test_helpers/refunds/{refund}/expire", payment.ExpireRefund, "refund"),

		get("/v1/setup_attempts", setupintent.ListSetupAttempts, "list:setup_attempt"),

		post("/v1/setup_intents", setupintent.CreateSetupIntent, "setup_intent"),
		get("/v1/setup_intents", setupintent.ListSetupIntents, "list:setup_intent"),
		get("/v1/setup_intents/{intent}", setupintent.RetrieveSetupIntent, "setup_intent").openToPublishableKeys(),
		post("/v1/setup_intents/{intent}", setupintent.UpdateSetupIntent, "setup_intent"),
		post("/v1/setup_intents/{intent}/cancel", setupintent.CancelSetupIntent, "setup_intent"),
		post("/v1/setup_intents/{intent}/confirm", setupintent.ConfirmSetupIntent,
			"setup_intent").openToPublishableKeys(),
	}
}

// checkoutRoutes are those of checkout sessions, their pages, and payment links.
func checkoutRoutes() []route {
	return []route{
		post("/v1/checkout/sessions", session.CreateCheckoutSession, "checkout.session"),
		get("/v1/checkout/sessions", session.ListCheckoutSessions, "list:checkout.session"),
		get("/v1/checkout/sessions/{session}", session.RetrieveCheckoutSession, "checkout.session"),
		post("/v1/checkout/sessions/{session}", session.UpdateCheckoutSession, "checkout.session"),
		post("/v1/checkout/sessions/{session}/expire", session.ExpireCheckoutSession, "checkout.session"),
		get("/v1/checkout/sessions/{session}/line_items", session.ListCheckoutItems, "list:item"),

		post("/v1/payment_links", session.CreatePaymentLink, "payment_link"),
		get("/v1/payment_links", session.ListPaymentLinks, "list:payment_link"),
		get("/v1/payment_links/{payment_link}", session.PaymentLinks.Retrieve, "payment_link"),
		post("/v1/payment_links/{payment_link}", session.UpdatePaymentLink, "payment_link"),
		get("/v1/payment_links/{payment_link}/line_items", session.ListPaymentLinkItems, "list:item"),
		post("/v1/payment_links/{payment_link}/open", session.OpenPaymentLink, "checkout.session"),
		get("/v1/payment_pages/{session}", session.RetrievePaymentPage, "payment_page").openToPublishableKeys(),
		post("/v1/payment_pages/{session}", session.UpdatePaymentPage, "payment_page").openToPublishableKeys().
			limitingCodes(),
		post("/v1/payment_pages/{session}/confirm", session.ConfirmPaymentPage, "payment_page").openToPublishableKeys(),
	}
}

// customerRoutes are those of customers, their cards and their clocks.
func customerRoutes() []route {
	return []route{
		post("/v1/confirmation_tokens", customer.CreateConfirmationToken, "confirmation_token").openToPublishableKeys(),
		get("/v1/confirmation_tokens/{confirmation_token}", customer.RetrieveConfirmationToken, "confirmation_token"),
		post("/v1/test_helpers/confirmation_tokens", customer.CreateTestConfirmationToken, "confirmation_token"),

		post("/v1/customers", customer.CreateCustomer, "customer"),
		get("/v1/customers", customer.ListCustomers, "list:customer"),
		get("/v1/customers/search", customer.SearchCustomers, "search:customer"),
		get("/v1/customers/{customer}", customer.RetrieveCustomer, "customer"),
		post("/v1/customers/{customer}", customer.UpdateCustomer, "customer"),
		del("/v1/customers/{customer}", customer.DeleteCustomer),
		get("/v1/customers/{customer}/payment_methods", customer.ListCustomerPaymentMethods, "list:payment_method"),
		get("/v1/customers/{customer}/payment_methods/{payment_method}", customer.RetrieveCustomerPaymentMethod,
			"payment_method"),
		post("/v1/customers/{customer}/sources", customer.CreateCard, "card"),
		get("/v1/customers/{customer}/sources", customer.ListCards, "list:card"),
		get("/v1/customers/{customer}/sources/{id}", customer.RetrieveCard, "card"),
		post("/v1/customers/{customer}/sources/{id}", customer.UpdateCard, "card"),
		del("/v1/customers/{customer}/sources/{id}", customer.DeleteCard),
		// What the addresses of cards were until 2015. Old SDKs still use them.
		post("/v1/customers/{customer}/cards", customer.CreateCard, "card"),
		get("/v1/customers/{customer}/cards", customer.ListCards, "list:card"),
		get("/v1/customers/{customer}/cards/{id}", customer.RetrieveCard, "card"),
		post("/v1/customers/{customer}/cards/{id}", customer.UpdateCard, "card"),
		del("/v1/customers/{customer}/cards/{id}", customer.DeleteCard),

		post("/v1/test_helpers/test_clocks", customer.CreateTestClock, "test_helpers.test_clock"),
		get("/v1/test_helpers/test_clocks", customer.ListTestClocks, "list:test_helpers.test_clock"),
		get("/v1/test_helpers/test_clocks/{test_clock}", customer.RetrieveTestClock, "test_helpers.test_clock"),
		del("/v1/test_helpers/test_clocks/{test_clock}", customer.DeleteTestClock),
		post("/v1/test_helpers/test_clocks/{test_clock}/advance", customer.AdvanceTestClock, "test_helpers.test_clock"),

		post("/v1/payment_methods", customer.CreatePaymentMethod, "payment_method").openToPublishableKeys(),
		get("/v1/payment_methods", customer.ListPaymentMethods, "list:payment_method"),
		get("/v1/payment_methods/{payment_method}", customer.RetrievePaymentMethod, "payment_method").
			unless(namesTestCard, mutation(http.MethodGet, "", customer.RetrieveTestCard, "payment_method")),
		post("/v1/payment_methods/{payment_method}", customer.UpdatePaymentMethod, "payment_method"),
		post("/v1/payment_methods/{payment_method}/attach", customer.AttachPaymentMethod, "payment_method"),
		post("/v1/payment_methods/{payment_method}/detach", customer.DetachPaymentMethod, "payment_method"),

		post("/v1/tokens", customer.CreateToken, "token").openToPublishableKeys(),
		get("/v1/tokens/{token}", customer.RetrieveToken, "token"),
	}
}

// catalogRoutes are those of what a merchant sells, and of what a customer pays less or more for it.
func catalogRoutes() []route {
	return []route{
		post("/v1/coupons", catalog.CreateCoupon, "coupon"),
		get("/v1/coupons", catalog.Coupons.List, "list:coupon"),
		get("/v1/coupons/{coupon}", catalog.Coupons.Retrieve, "coupon"),
		post("/v1/coupons/{coupon}", catalog.UpdateCoupon, "coupon"),
		del("/v1/coupons/{coupon}", catalog.DeleteCoupon),

		post("/v1/prices", catalog.CreatePrice, "price"),
		get("/v1/prices", catalog.ListPrices, "list:price"),
		get("/v1/prices/search", catalog.SearchPrices, "search:price"),
		get("/v1/prices/{price}", catalog.RetrievePrice, "price"),
		post("/v1/prices/{price}", catalog.UpdatePrice, "price"),

		post("/v1/products", catalog.CreateProduct, "product"),
		get("/v1/products", catalog.ListProducts, "list:product"),
		get("/v1/products/search", catalog.SearchProducts, "search:product"),
		get("/v1/products/{id}", catalog.RetrieveProduct, "product"),
		post("/v1/products/{id}", catalog.UpdateProduct, "product"),
		del("/v1/products/{id}", catalog.DeleteProduct),

		post("/v1/promotion_codes", catalog.CreatePromotionCode, "promotion_code"),
		get("/v1/promotion_codes", catalog.ListPromotionCodes, "list:promotion_code"),
		get("/v1/promotion_codes/{promotion_code}", catalog.PromotionCodes.Retrieve, "promotion_code"),
		post("/v1/promotion_codes/{promotion_code}", catalog.UpdatePromotionCode, "promotion_code"),
		post("/v1/shipping_rates", catalog.CreateShippingRate, "shipping_rate"),
		get("/v1/shipping_rates", catalog.ListShippingRates, "list:shipping_rate"),
		get("/v1/shipping_rates/{shipping_rate_token}", catalog.ShippingRates.Retrieve, "shipping_rate"),
		post("/v1/shipping_rates/{shipping_rate_token}", catalog.UpdateShippingRate, "shipping_rate"),
	}
}

// balanceRoutes are those of the balance and of payouts.
func balanceRoutes() []route {
	return []route{
		get("/v1/balance", balance.RetrieveBalance, "balance"),
		get("/v1/balance_settings", payout.RetrieveBalanceSettings, "balance_settings"),
		post("/v1/balance_settings", payout.UpdateBalanceSettings, "balance_settings"),
		get("/v1/balance_transactions", balance.ListBalanceTransactions, "list:balance_transaction"),
		get("/v1/balance_transactions/{id}", balance.RetrieveBalanceTransaction, "balance_transaction"),
		// What SDKs called the two until 2018.
		get("/v1/balance/history", balance.ListBalanceTransactions, "list:balance_transaction").
			showing("balance_transaction"),
		get("/v1/balance/history/{id}", balance.RetrieveBalanceTransaction, "balance_transaction").
			showing("balance_transaction"),

		post("/v1/payouts", payout.CreatePayout, "payout"),
		get("/v1/payouts", payout.ListPayouts, "list:payout"),
		get("/v1/payouts/{payout}", payout.RetrievePayout, "payout"),
		post("/v1/payouts/{payout}", payout.UpdatePayout, "payout"),
		post("/v1/payouts/{payout}/cancel", payout.CancelPayout, "payout"),
		post("/v1/payouts/{payout}/reverse", payout.ReversePayout, "payout"),
	}
}

// eventRoutes are those of events and of who receives them.
func eventRoutes() []route {
	return []route{
		get("/v1/events", event.ListEvents, "list:event"),
		get("/v1/events/{id}", event.RetrieveEvent, "event"),
		post("/v1/events/{id}/retry", endpoint.RetryEvent, "event"),

		post("/v1/stripecli/sessions", stripecli.CreateSession, "stripecli.session").showing("event"),

		post("/v1/webhook_endpoints", endpoint.CreateWebhookEndpoint, "webhook_endpoint"),
		get("/v1/webhook_endpoints", endpoint.ListWebhookEndpoints, "list:webhook_endpoint"),
		get("/v1/webhook_endpoints/{webhook_endpoint}", endpoint.RetrieveWebhookEndpoint, "webhook_endpoint"),
		post("/v1/webhook_endpoints/{webhook_endpoint}", endpoint.UpdateWebhookEndpoint, "webhook_endpoint"),
		del("/v1/webhook_endpoints/{webhook_endpoint}", endpoint.DeleteWebhookEndpoint),
	}
}

// accountRoutes are those of the account itself.
func accountRoutes() []route {
	return []route{
		get("/v1/account", account.RetrieveAccount, "account"),
		get("/v1/accounts/{account}", account.RetrieveAccountByID, "account"),
	}
}

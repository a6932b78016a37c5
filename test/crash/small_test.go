//go:build unix

package crash_test

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// smallOperations make no foreign call: each is one transaction, of which all is there or
// nothing. What they leave is what the same request leaves without a crash.
var smallOperations = []operation{
	small("balance_settings.update", func(s scenario) request {
		return s.post("/v1/balance_settings", "payments[payouts][schedule][interval]", "daily")
	}),
	small("charge.update", func(s scenario) request {
		return s.post("/v1/charges/"+s.sold(), "description", "Sledge")
	}),
	small("refund.update", func(s scenario) request {
		return s.post("/v1/refunds/"+s.refunded(), "metadata[order]", "7")
	}),
	small("charge.refund.update", func(s scenario) request {
		charge := s.sold()
		return s.post("/v1/charges/"+charge+"/refunds/"+s.new("/v1/refunds", "charge", charge), "metadata[order]", "7")
	}),
	refused("refund.cancel", func(s scenario) request { return s.post("/v1/refunds/" + s.refunded() + "/cancel") }),
	refused("refund.expire", func(s scenario) request {
		return s.post("/v1/test_helpers/refunds/" + s.refunded() + "/expire")
	}),

	small("customer.update", func(s scenario) request {
		return s.post("/v1/customers/"+s.new("/v1/customers"), "name", "Jenny Rosen")
	}),
	small("customer.delete", func(s scenario) request { return s.del("/v1/customers/" + s.customer()) }),
	small("card.update", func(s scenario) request { return s.post(s.card(), "exp_year", "2044") }),
	small("card.delete", func(s scenario) request { return s.del(s.card()) }),
	small("token.create", func(s scenario) request { return s.typed("card[cvc]", "123") }),
	small("confirmation_token.create", func(s scenario) request {
		return s.post("/v1/confirmation_tokens", "payment_method_data[type]", "card",
			"payment_method_data[card][token]", s.token())
	}),
	small("confirmation_token.create_test", func(s scenario) request { return s.entered() }),
	small("payment_method.create", func(s scenario) request {
		return s.post("/v1/payment_methods", "type", "card", "card[token]", s.token())
	}),
	small("payment_method.retrieve_test_card", func(s scenario) request {
		return s.get("/v1/payment_methods/pm_card_visa")
	}),
	small("payment_method.update", func(s scenario) request {
		return s.post("/v1/payment_methods/"+s.attached(), "metadata[order]", "7")
	}),
	small("payment_method.detach", func(s scenario) request {
		return s.post("/v1/payment_methods/" + s.attached() + "/detach")
	}),

	small("stripecli.session.create", func(s scenario) request {
		return s.post("/v1/stripecli/sessions", "websocket_features[]", "webhooks", "device_name", "laptop")
	}),

	small("payment_intent.create", func(s scenario) request {
		return s.post("/v1/payment_intents", "amount", s.money(), "currency", "usd")
	}),
	small("payment_intent.update", func(s scenario) request {
		return s.post("/v1/payment_intents/"+s.waiting("pm_card_visa"), "payment_method", "pm_card_mastercard")
	}),
	refused("payment_intent.increment_authorization", func(s scenario) request {
		return s.post("/v1/payment_intents/"+s.made(s.intent("pm_card_visa", "manual"))+"/increment_authorization",
			"amount", "99999")
	}),
	small("setup_intent.create", func(s scenario) request { return s.setup() }),
	small("setup_intent.update", func(s scenario) request {
		return s.post("/v1/setup_intents/"+s.made(s.setup()), "payment_method", "pm_card_visa")
	}),
	small("setup_intent.cancel", func(s scenario) request {
		return s.post("/v1/setup_intents/" + s.made(s.setup()) + "/cancel")
	}),

	small("product.create", func(s scenario) request {
		return s.post("/v1/products", "name", "Sledge", "default_price_data[currency]", "usd",
			"default_price_data[unit_amount]", s.money())
	}),
	small("product.update", func(s scenario) request {
		return s.post("/v1/products/"+s.product(), "name", "Toboggan")
	}),
	small("product.delete", func(s scenario) request { return s.del("/v1/products/" + s.product()) }),
	small("price.create", func(s scenario) request {
		return s.post("/v1/prices", "currency", "usd", "unit_amount", s.money(), "product_data[name]", "Sledge")
	}),
	small("price.update", func(s scenario) request {
		return s.post("/v1/prices/"+
			s.new("/v1/prices", "currency", "usd", "unit_amount", s.money(), "product", s.product()), "active", "false")
	}),
	small("coupon.create", func(s scenario) request { return s.post("/v1/coupons", "percent_off", "25") }),
	small("coupon.update", func(s scenario) request {
		return s.post("/v1/coupons/"+s.coupon(), "name", "Summer sale")
	}),
	small("coupon.delete", func(s scenario) request { return s.del("/v1/coupons/" + s.coupon()) }),
	small("promotion_code.create", func(s scenario) request { return s.promotionCode() }),
	small("promotion_code.update", func(s scenario) request {
		return s.post("/v1/promotion_codes/"+s.made(s.promotionCode()), "active", "false")
	}),
	small("shipping_rate.create", func(s scenario) request { return s.shippingRate() }),
	small("shipping_rate.update", func(s scenario) request {
		return s.post("/v1/shipping_rates/"+s.made(s.shippingRate()), "active", "false")
	}),
	small("checkout_session.create", func(s scenario) request { return s.checkout() }),
	small("payment_page.update", func(s scenario) request {
		r := s.discounted() // but the customer types the code
		r.form.Del("discounts[0][promotion_code]")
		r.form.Set("allow_promotion_codes", "true")
		return s.post("/v1/payment_pages/"+s.made(r), "promotion_code", "spring")
	}),
	small("checkout_session.update", func(s scenario) request {
		return s.post("/v1/checkout/sessions/"+s.made(s.checkout()), "metadata[order]", "7")
	}),

	small("dispute.update", func(s scenario) request {
		_, dispute := s.disputed("tok_createDispute")
		return s.post("/v1/disputes/"+dispute, "evidence[customer_name]", "Jenny Rosen", "submit", "false")
	}),
	small("payout.update", func(s scenario) request {
		return s.post("/v1/payouts/"+s.made(s.payout()), "metadata[order]", "7")
	}),

	small("payment_link.create", func(s scenario) request { return s.link() }),
	small("payment_link.update", func(s scenario) request {
		return s.post("/v1/payment_links/"+s.made(s.link()), "active", "false")
	}),
	small("payment_link.open", func(s scenario) request {
		return s.post("/v1/payment_links/" + s.made(s.link()) + "/open")
	}),

	small("webhook_endpoint.update", func(s scenario) request {
		return s.post("/v1/webhook_endpoints/"+s.endpoint(), "disabled", "true")
	}),
	small("webhook_endpoint.delete", func(s scenario) request {
		return s.del("/v1/webhook_endpoints/" + s.endpoint())
	}),
	small("event.retry", func(s scenario) request {
		s.new("/v1/customers")
		var events struct{ Data []struct{ ID string } }
		s.read("/v1/events?type=customer.created", &events)
		return s.post("/v1/events/"+events.Data[0].ID+"/retry", "webhook_endpoint", s.endpoint())
	}),

	small("test_clock.create", func(s scenario) request {
		return s.post("/v1/test_helpers/test_clocks", "frozen_time", "1700000000")
	}),
	small("test_clock.advance", func(s scenario) request {
		return s.post("/v1/test_helpers/test_clocks/"+s.clock()+"/advance", "frozen_time", "1700086400")
	}).withoutWorker(),
	small("test_clock.delete", func(s scenario) request {
		clock := s.clock()
		s.new("/v1/customers", "test_clock", clock)
		return s.del("/v1/test_helpers/test_clocks/" + clock)
	}),
}

func small(flow string, request func(s scenario) request) operation {
	return operation{name: flow, flow: flow, small: true, inside: true, status: http.StatusOK, request: request}
}

// refused is a small operation whose outcome is that it cannot be done.
func refused(flow string, request func(s scenario) request) operation {
	o := small(flow, request)
	o.status = http.StatusBadRequest
	return o
}

func (o operation) withoutWorker() operation {
	o.alone = true
	return o
}

func (s scenario) refunded() string { return s.new("/v1/refunds", "charge", s.sold()) }

func (s scenario) customer() string { return s.new("/v1/customers", "payment_method", "pm_card_visa") }

// card is the address of a customer's card.
func (s scenario) card() string {
	sources := "/v1/customers/" + s.customer() + "/sources"
	return sources + "/" + s.new(sources, "source", "tok_visa")
}

// entered is the request for a confirmation token of a test card.
func (s scenario) entered() request {
	return s.post("/v1/test_helpers/confirmation_tokens", "payment_method", "pm_card_visa")
}

func (s scenario) token() string { return s.made(s.typed()) }

// typed makes a token of a card's number.
func (s scenario) typed(more ...string) request {
	visa, _ := testcard.ByName("visa")
	return s.post("/v1/tokens",
		append([]string{"card[number]", visa.Number(), "card[exp_month]", "12", "card[exp_year]", "2044"}, more...)...)
}

// attached is the id of a customer's payment method.
func (s scenario) attached() string {
	return s.new("/v1/payment_methods/pm_card_visa/attach", "customer", s.new("/v1/customers"))
}

func (s scenario) product() string { return s.new("/v1/products", "name", "Sledge") }

func (s scenario) coupon() string {
	return s.new("/v1/coupons", "percent_off", "25", "max_redemptions", "1")
}

func (s scenario) promotionCode() request {
	return s.post("/v1/promotion_codes", "promotion[type]", "coupon", "promotion[coupon]", s.coupon(), "code", "SPRING")
}

func (s scenario) shippingRate() request {
	return s.post("/v1/shipping_rates", "display_name", "Standard", "fixed_amount[amount]", "500",
		"fixed_amount[currency]", "usd")
}

func (s scenario) link() request {
	return s.post("/v1/payment_links", "line_items[0][price_data][currency]", "usd",
		"line_items[0][price_data][unit_amount]", "2000", "line_items[0][price_data][product_data][name]", "Sledge",
		"line_items[0][quantity]", "1")
}

func (s scenario) endpoint() string {
	return s.new("/v1/webhook_endpoints", "url", "https://shop.example.com/", "enabled_events[]", "*")
}

//go:build unix

package crash_test

import (
	"testing"

	acquirers "github.com/ratchet-pay/ratchet/internal/acquirer"
)

// operation is a kind of request that is killed at every boundary.
type operation struct {
	name    string
	flow    string // what it runs last; a test wants every flow there is in one of these
	fault   string // what the acquirer does to the first attempt
	every   bool   // not only a sample of its boundaries, even in a short run
	twin    bool   // another operation has the same phases: a smaller sample
	reports string // what the acquirer posts after the answer, which has brought it already
	small   bool   // one transaction, so that nothing is ever left to be taken over: a sample smaller still
	// request makes what it needs on a healthy process first.
	request func(s scenario) request
	inside  bool // it makes no foreign call
	alone   bool // it leaves something for a worker to do: none may come by
	status  int
	leaves  []string // in the books, with everything that came before; nil: what it leaves without a crash
}

var operations = []operation{
	{
		name: "charge", flow: "charge.create", every: true, status: 200,
		request: func(s scenario) request { return s.charge("tok_visa") },
		leaves: []string{"1 × the card saw: sale", "1 × charge succeeded and captured", "1 × posted: charge",
			"1 × event charge.succeeded",
			"1 × audited: charge.create", "1 × request finished", "1 × call executed"},
	},
	{
		name: "declined charge", flow: "charge.create", status: 402,
		request: func(s scenario) request { return s.charge("tok_chargeDeclined") },
		leaves: []string{"1 × the card saw: generic_decline", "1 × charge failed", "1 × event charge.failed",
			"1 × audited: charge.create", "1 × request finished", "1 × call executed"},
	},
	{
		name: "charge whose answer is lost", flow: "charge.create", fault: "drop_after_acting", status: 200,
		request: func(s scenario) request { return s.charge("tok_visa") },
		leaves: []string{"1 × the card saw: sale", "1 × charge succeeded and captured", "1 × posted: charge",
			"1 × event charge.succeeded",
			"1 × audited: charge.create", "1 × request finished", "1 × call executed"},
	},
	{
		name: "charge that is disputed", flow: "acquirer." + acquirers.DisputeOpened, reports: acquirers.DisputeOpened,
		status:  200,
		request: func(s scenario) request { return s.charge("tok_createDispute") },
		leaves: []string{"1 × the card saw: sale", "1 × the card saw: chargeback", "1 × charge succeeded and captured",
			"1 × dispute needs_response", "1 × posted: charge", "1 × posted: dispute", "1 × event charge.succeeded",
			"1 × event charge.dispute.created", "1 × event charge.dispute.funds_withdrawn",
			"1 × audited: charge.create", "1 × audited: acquirer.dispute.opened", "2 × request finished",
			"1 × call executed"},
	},
	{
		name: "capture", flow: "charge.capture", status: 200,
		request: func(s scenario) request { return s.post("/v1/charges/" + s.made(s.hold()) + "/capture") },
		leaves: []string{"1 × the card saw: hold", "1 × the card saw: capture", "1 × charge succeeded and captured",
			"1 × posted: charge",
			"1 × event charge.succeeded", "1 × event charge.captured", "1 × audited: charge.create",
			"1 × audited: charge.capture", "2 × request finished", "2 × call executed"},
	},
	{
		name: "refund", flow: "refund.create", status: 200,
		request: func(s scenario) request { return s.post("/v1/refunds", "charge", s.sold()) },
		leaves:  leavesOfRefund("refund.create"),
	},
	{
		name: "refund at the charge's address", flow: "charge.refund.create", twin: true, status: 200,
		request: func(s scenario) request { return s.post("/v1/charges/" + s.sold() + "/refunds") },
		leaves:  leavesOfRefund("charge.refund.create"),
	},
	{
		name: "refund of the oldest form", flow: "charge.refund", twin: true, status: 200,
		request: func(s scenario) request { return s.post("/v1/charges/" + s.sold() + "/refund") },
		leaves:  leavesOfRefund("charge.refund"),
	},
	{
		name: "dispute that is given up", flow: "dispute.close", status: 200,
		request: func(s scenario) request {
			_, dispute := s.disputed("tok_createDispute")
			return s.post("/v1/disputes/" + dispute + "/close")
		},
		leaves: leavesOfClosing("dispute.close"),
	},
	{
		name: "dispute that is given up at the charge's address", flow: "charge.dispute.close", twin: true, status: 200,
		request: func(s scenario) request {
			charge, _ := s.disputed("tok_createDispute")
			return s.post("/v1/charges/" + charge + "/dispute/close")
		},
		leaves: leavesOfClosing("charge.dispute.close"),
	},
	{
		name: "evidence whose receipt is lost", flow: "dispute.update", fault: "drop_after_acting", status: 200,
		request: func(s scenario) request {
			_, dispute := s.disputed("tok_createDispute")
			return s.post("/v1/disputes/"+dispute, "evidence[customer_name]", "Jenny Rosen")
		},
		leaves: leavesOfEvidence("dispute.update"),
	},
	{
		name: "evidence at the charge's address", flow: "charge.dispute.update", twin: true, status: 200,
		request: func(s scenario) request {
			charge, _ := s.disputed("tok_createDispute")
			return s.post("/v1/charges/"+charge+"/dispute", "evidence[customer_name]", "Jenny Rosen")
		},
		leaves: leavesOfEvidence("charge.dispute.update"),
	},
	{
		name: "payment intent", flow: "payment_intent.create", status: 200,
		request: func(s scenario) request { return s.intent("pm_card_visa", "automatic") },
		leaves: []string{"1 × the card saw: sale", "1 × intent succeeded", "1 × charge succeeded and captured",
			"1 × posted: charge",
			"1 × event payment_intent.created", "1 × event charge.succeeded", "1 × event payment_intent.succeeded",
			"1 × audited: payment_intent.create", "1 × request finished", "1 × call executed"},
	},
	{
		name:   "payment intent whose confirmation is refused",
		flow:   "payment_intent.create",
		status: 400,
		small:  true,
		inside: true,
		request: func(s scenario) request {
			r := s.intent("pm_card_visa", "automatic")
			r.form.Del("payment_method_types[]") // then it needs a return_url
			return r
		},
		leaves: []string{"1 × intent requires_confirmation", "1 × event payment_intent.created",
			"1 × audited: payment_intent.create", "1 × request finished"},
	},
	{
		name: "confirmation that is declined", flow: "payment_intent.confirm", status: 402,
		request: func(s scenario) request {
			return s.post("/v1/payment_intents/"+s.waiting("pm_card_visa")+"/confirm", "payment_method",
				"pm_card_chargeDeclined")
		},
		leaves: []string{"1 × the card saw: generic_decline", "1 × intent requires_payment_method", "1 × charge failed",
			"1 × event payment_intent.created", "1 × event charge.failed", "1 × event payment_intent.payment_failed",
			"1 × audited: payment_intent.create", "1 × audited: payment_intent.confirm", "2 × request finished",
			"1 × call executed"},
	},
	{
		name:   "confirmation whose answer is lost",
		flow:   "payment_intent.confirm",
		fault:  "drop_after_acting",
		status: 200,
		request: func(s scenario) request {
			return s.post("/v1/payment_intents/" + s.waiting("pm_card_visa") + "/confirm")
		},
		leaves: []string{"1 × the card saw: sale", "1 × intent succeeded", "1 × charge succeeded and captured",
			"1 × posted: charge",
			"1 × event payment_intent.created", "1 × event charge.succeeded", "1 × event payment_intent.succeeded",
			"1 × audited: payment_intent.create", "1 × audited: payment_intent.confirm", "2 × request finished",
			"1 × call executed"},
	},
	{
		name: "confirmation with what a customer entered", flow: "payment_intent.confirm", twin: true, status: 200,
		request: func(s scenario) request {
			return s.post("/v1/payment_intents/"+s.waiting("pm_card_visa")+"/confirm", "confirmation_token",
				s.made(s.entered()))
		},
		leaves: []string{"1 × the card saw: sale", "1 × intent succeeded", "1 × charge succeeded and captured",
			"1 × posted: charge", "1 × confirmation token used",
			"1 × event payment_intent.created", "1 × event charge.succeeded", "1 × event payment_intent.succeeded",
			"1 × audited: confirmation_token.create_test", "1 × audited: payment_intent.create",
			"1 × audited: payment_intent.confirm", "3 × request finished", "1 × call executed"},
	},
	{
		name: "confirmation that asks for the cardholder", flow: "payment_intent.confirm", status: 200,
		request: func(s scenario) request {
			return s.post("/v1/payment_intents/" + s.waiting("pm_card_authenticationRequired") + "/confirm")
		},
		leaves: []string{"1 × the card saw: authentication_required", "1 × intent requires_action",
			"1 × event payment_intent.created",
			"1 × event payment_intent.requires_action", "1 × audited: payment_intent.create",
			"1 × audited: payment_intent.confirm", "2 × request finished", "1 × call executed"},
	},
	{
		name: "capture of an intent", flow: "payment_intent.capture", status: 200,
		request: func(s scenario) request {
			return s.post("/v1/payment_intents/" + s.made(s.intent("pm_card_visa", "manual")) + "/capture")
		},
		leaves: []string{"1 × the card saw: hold", "1 × the card saw: capture", "1 × intent succeeded",
			"1 × charge succeeded and captured", "1 × posted: charge",
			"1 × event payment_intent.created", "1 × event charge.succeeded",
			"1 × event payment_intent.amount_capturable_updated", "1 × event charge.captured",
			"1 × event payment_intent.succeeded", "1 × audited: payment_intent.create",
			"1 × audited: payment_intent.capture", "2 × request finished", "2 × call executed"},
	},
	{
		name: "cancellation of an intent", flow: "payment_intent.cancel", status: 200,
		request: func(s scenario) request {
			return s.post("/v1/payment_intents/" + s.made(s.intent("pm_card_visa", "manual")) + "/cancel")
		},
		leaves: []string{"1 × the card saw: hold", "1 × the card saw: release", "1 × intent canceled",
			"1 × charge succeeded", "1 × refund succeeded",
			"1 × event payment_intent.created", "1 × event charge.succeeded",
			"1 × event payment_intent.amount_capturable_updated", "1 × event refund.created",
			"1 × event charge.refunded", "1 × event payment_intent.canceled", "1 × audited: payment_intent.create",
			"1 × audited: payment_intent.cancel", "2 × request finished", "2 × call executed"},
	},
	{
		name: "a cardholder's authentication", flow: "payment_intent.authenticate", status: 200,
		request: func(s scenario) request {
			return s.authenticates(s.intent("pm_card_authenticationRequired", "automatic"))
		},
		leaves: []string{"1 × the card saw: authentication_required", "1 × the card saw: sale", "1 × intent succeeded",
			"1 × charge succeeded and captured",
			"1 × posted: charge", "1 × event payment_intent.created", "1 × event payment_intent.requires_action",
			"1 × event charge.succeeded", "1 × event payment_intent.succeeded", "1 × audited: payment_intent.create",
			"1 × audited: payment_intent.authenticate", "2 × request finished", "2 × call executed"},
	},
	{
		name: "payment of a checkout session", flow: "payment_page.confirm", status: 200,
		request: func(s scenario) request {
			return s.post("/v1/payment_pages/"+s.made(s.checkout())+"/confirm", "payment_method", "pm_card_visa",
				"email", "jenny@example.com")
		},
		leaves: []string{"1 × the card saw: sale", "1 × session complete", "1 × intent succeeded",
			"1 × charge succeeded and captured", "1 × posted: charge",
			"1 × product", "1 × price inactive", "1 × event product.created", "1 × event price.created",
			"1 × event payment_intent.created", "1 × event charge.succeeded", "1 × event payment_intent.succeeded",
			"1 × event checkout.session.completed", "1 × audited: checkout_session.create",
			"1 × audited: payment_page.confirm", "2 × request finished", "1 × call executed"},
	},
	{
		name: "payment with the last redemption of a promotion code and its coupon", flow: "payment_page.confirm",
		twin: true, status: 200,
		request: func(s scenario) request {
			return s.post("/v1/payment_pages/"+s.made(s.discounted())+"/confirm", "payment_method", "pm_card_visa",
				"email", "jenny@example.com")
		},
		leaves: []string{"1 × the card saw: sale", "1 × session complete", "1 × coupon redeemed 1 and reserved 0",
			"1 × promotion code redeemed 1 and reserved 0", "1 × event promotion_code.created",
			"1 × audited: promotion_code.create", "1 × shipping rate",
			"1 × intent succeeded", "1 × charge succeeded and captured", "1 × posted: charge", "1 × product",
			"1 × price inactive", "1 × event coupon.created", "1 × event product.created", "1 × event price.created",
			"1 × event payment_intent.created", "1 × event charge.succeeded", "1 × event payment_intent.succeeded",
			"1 × event checkout.session.completed", "1 × audited: coupon.create",
			"1 × audited: checkout_session.create", "1 × audited: payment_page.confirm", "4 × request finished",
			"1 × call executed"},
	},
	{
		name: "expiry of a checkout session", flow: "checkout_session.expire", status: 200, small: true, inside: true,
		request: func(s scenario) request {
			return s.post("/v1/checkout/sessions/" + s.made(s.checkout()) + "/expire")
		},
		leaves: []string{"1 × session expired", "1 × product", "1 × price inactive", "1 × event product.created",
			"1 × event price.created", "1 × event checkout.session.expired",
			"1 × audited: checkout_session.create", "1 × audited: checkout_session.expire", "2 × request finished"},
	},
	{
		name: "setup", flow: "setup_intent.confirm", status: 200,
		request: func(s scenario) request {
			return s.post("/v1/setup_intents/"+s.made(s.setup())+"/confirm", "payment_method", "pm_card_visa")
		},
		leaves: []string{"1 × setup succeeded", "1 × attempt succeeded", "1 × event setup_intent.created",
			"1 × event setup_intent.succeeded",
			"1 × audited: setup_intent.create", "1 × audited: setup_intent.confirm", "2 × request finished",
			"1 × call executed"},
	},
	{
		name: "setup that is confirmed when it is made", flow: "setup_intent.create", twin: true, status: 200,
		request: func(s scenario) request {
			return s.post("/v1/setup_intents", "payment_method_types[]", "card", "confirm", "true", "payment_method",
				"pm_card_visa")
		},
		leaves: []string{"1 × setup succeeded", "1 × attempt succeeded", "1 × event setup_intent.created",
			"1 × event setup_intent.succeeded",
			"1 × audited: setup_intent.create", "1 × request finished", "1 × call executed"},
	},
	{
		name:   "setup whose confirmation is refused",
		flow:   "setup_intent.create",
		status: 400,
		small:  true,
		inside: true,
		request: func(s scenario) request {
			return s.post("/v1/setup_intents", "confirm", "true", "payment_method", "pm_card_visa")
		},
		leaves: []string{"1 × setup requires_confirmation", "1 × event setup_intent.created",
			"1 × audited: setup_intent.create", "1 × request finished"},
	},
	{
		name: "a cardholder's authentication for a setup", flow: "setup_intent.authenticate", status: 200,
		request: func(s scenario) request {
			return s.authenticates(
				s.post("/v1/setup_intents", "payment_method_types[]", "card", "confirm", "true", "payment_method",
					"pm_card_authenticationRequired"))
		},
		leaves: []string{"1 × setup succeeded", "1 × attempt succeeded", "1 × event setup_intent.created",
			"1 × event setup_intent.requires_action", "1 × event setup_intent.succeeded",
			"1 × audited: setup_intent.create", "1 × audited: setup_intent.authenticate", "2 × request finished",
			"2 × call executed"},
	},
	{
		name: "customer", flow: "customer.create", status: 200, inside: true,
		request: func(s scenario) request { return s.post("/v1/customers", "name", "Jenny Rosen") },
		leaves: []string{"1 × customer", "1 × event customer.created", "1 × audited: customer.create",
			"1 × request finished"},
	},
	{
		name: "customer who brings a payment method", flow: "customer.create", twin: true, status: 200,
		request: func(s scenario) request { return s.post("/v1/customers", "payment_method", "pm_card_visa") },
		leaves: []string{"1 × customer", "1 × method attached", "1 × event customer.created",
			"1 × event payment_method.attached",
			"1 × audited: customer.create", "1 × request finished", "1 × call executed"},
	},
	{
		name: "customer whose payment method is declined", flow: "customer.create", twin: true, status: 402,
		request: func(s scenario) request {
			return s.post("/v1/customers", "payment_method", "pm_card_chargeDeclined")
		},
		leaves: []string{"1 × audited: customer.create", "1 × request finished", "1 × call executed"},
	},
	{
		name: "customer who brings a card", flow: "customer.create", twin: true, status: 200,
		request: func(s scenario) request { return s.post("/v1/customers", "source", s.token()) },
		leaves: []string{"1 × customer", "1 × card", "1 × event customer.created",
			"1 × event customer.source.created", "1 × token spent", "1 × audited: token.create",
			"1 × audited: customer.create", "2 × request finished", "1 × call executed"},
	},
	{
		name: "customer whose card is declined", flow: "customer.create", twin: true, status: 402,
		request: func(s scenario) request { return s.post("/v1/customers", "source", "tok_chargeDeclined") },
		leaves:  []string{"1 × audited: customer.create", "1 × request finished", "1 × call executed"},
	},
	{
		name: "card of a customer", flow: "card.create", status: 200,
		request: func(s scenario) request {
			return s.post("/v1/customers/"+s.new("/v1/customers")+"/sources", "source", s.token())
		},
		leaves: []string{"1 × customer", "1 × card", "1 × event customer.created",
			"1 × event customer.source.created", "1 × token spent", "1 × audited: token.create",
			"1 × audited: customer.create",
			"1 × audited: card.create", "3 × request finished", "1 × call executed"},
	},
	{
		name: "card of a customer, declined", flow: "card.create", twin: true, status: 402,
		request: func(s scenario) request {
			return s.post("/v1/customers/"+s.new("/v1/customers")+"/sources", "source", "tok_chargeDeclined")
		},
		leaves: []string{"1 × customer", "1 × event customer.created", "1 × audited: customer.create",
			"1 × audited: card.create", "2 × request finished", "1 × call executed"},
	},
	{
		name: "change of a customer that brings a card", flow: "customer.update", status: 200,
		request: func(s scenario) request {
			return s.post("/v1/customers/"+s.new("/v1/customers"), "source", s.token())
		},
		leaves: []string{"1 × customer", "1 × card", "1 × event customer.created", "1 × event customer.updated",
			"1 × event customer.source.created", "1 × token spent", "1 × audited: token.create",
			"1 × audited: customer.create",
			"1 × audited: customer.update", "3 × request finished", "1 × call executed"},
	},
	{
		name:   "webhook endpoint, whose secret is shown once",
		flow:   "webhook_endpoint.create",
		status: 200,
		small:  true,
		inside: true,
		request: func(s scenario) request {
			return s.post("/v1/webhook_endpoints", "url", "https://shop.example.com/", "enabled_events[]", "*")
		},
		leaves: []string{"1 × endpoint enabled", "1 × audited: webhook_endpoint.create", "1 × request finished"},
	},
	{
		name: "attachment of a payment method", flow: "payment_method.attach", status: 200,
		request: func(s scenario) request {
			return s.post("/v1/payment_methods/pm_card_visa/attach", "customer", s.new("/v1/customers"))
		},
		leaves: []string{"1 × customer", "1 × method attached", "1 × event customer.created",
			"1 × event payment_method.attached",
			"1 × audited: customer.create", "1 × audited: payment_method.attach", "2 × request finished",
			"1 × call executed"},
	},
	{
		name: "payout", flow: "payout.create", status: 200,
		request: func(s scenario) request { return s.payout() },
		leaves: append([]string{"1 × the card saw: payout", "1 × payout pending", "1 × posted: payout",
			"1 × event payout.created",
			"1 × audited: payout.create", "2 × request finished", "2 × call executed"}, earned...),
	},
	{
		name: "payout's reversal", flow: "payout.reverse", status: 200,
		request: func(s scenario) request {
			paid := s.payout()
			paid.form.Set("method", "instant")
			return s.post("/v1/payouts/" + s.made(paid) + "/reverse")
		},
		leaves: append([]string{"1 × the card saw: payout", "1 × the card saw: recall", "1 × payout paid",
			"1 × payout pending", "2 × posted: payout",
			"2 × event payout.created", "1 × event payout.paid", "1 × event payout.updated",
			"1 × audited: payout.create", "1 × audited: payout.reverse", "3 × request finished", "3 × call executed"},
			earned...),
	},
	{
		name: "payout's cancellation", flow: "payout.cancel", status: 200,
		request: func(s scenario) request { return s.post("/v1/payouts/" + s.made(s.payout()) + "/cancel") },
		leaves: append([]string{"1 × the card saw: payout", "1 × the card saw: recall", "1 × payout canceled",
			"1 × posted: payout", "1 × posted: payout_cancel",
			"1 × event payout.created", "1 × event payout.canceled", "1 × audited: payout.create",
			"1 × audited: payout.cancel", "3 × request finished", "3 × call executed"}, earned...),
	},
}

func leavesOfRefund(flow string) []string {
	return []string{"1 × the card saw: sale", "1 × the card saw: refund", "1 × charge succeeded and captured",
		"1 × refund succeeded",
		"1 × posted: charge", "1 × posted: refund", "1 × event charge.succeeded", "1 × event refund.created",
		"1 × event charge.refunded", "1 × audited: charge.create", "1 × audited: " + flow, "2 × request finished",
		"2 × call executed"}
}

func leavesOfClosing(flow string) []string {
	return []string{"1 × the card saw: sale", "1 × the card saw: chargeback", "1 × the card saw: approved",
		"1 × charge succeeded and captured", "1 × dispute lost",
		"1 × posted: charge", "1 × posted: dispute", "1 × event charge.succeeded", "1 × event charge.dispute.created",
		"1 × event charge.dispute.funds_withdrawn", "1 × event charge.dispute.closed", "1 × audited: charge.create",
		"1 × audited: acquirer.dispute.opened", "1 × audited: " + flow, "3 × request finished", "2 × call executed"}
}

func leavesOfEvidence(flow string) []string {
	return []string{"1 × the card saw: sale", "1 × the card saw: chargeback", "1 × the card saw: approved",
		"1 × charge succeeded and captured", "1 × dispute under_review",
		"1 × posted: charge", "1 × posted: dispute", "1 × event charge.succeeded", "1 × event charge.dispute.created",
		"1 × event charge.dispute.funds_withdrawn", "1 × event charge.dispute.updated", "1 × audited: charge.create",
		"1 × audited: acquirer.dispute.opened", "1 × audited: " + flow, "3 × request finished", "2 × call executed"}
}

func leavesOf(name string) []string {
	for _, o := range operations {
		if o.name == name {
			return o.leaves
		}
	}
	panic("there is no operation " + name)
}

func operationNamed(t testing.TB, name string) operation {
	t.Helper()
	for _, o := range operations {
		if o.name == name {
			return o
		}
	}
	t.Fatalf("there is no operation %q", name)
	return operation{}
}

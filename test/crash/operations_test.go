//go:build unix

package crash_test

import (
	"encoding/json"
	"net/url"
	"path"
	"strconv"
	"testing"
)

// operation is a kind of request that is killed at every boundary.
type operation struct {
	name    string
	trouble string // what the acquirer does to the first attempt
	every   bool   // not only a sample of its boundaries, even in a short run
	// request makes what it needs on a healthy process first.
	request func(t testing.TB, healthy *process, m merchant, amount int64) request
	page    bool // the answer is a page for a person, not the stored one
	inside  bool // it asks nobody outside
	status  int
	leaves  []string // in the books, with everything that came before
}

var operations = []operation{
	{
		name: "charge", every: true, status: 200,
		request: func(_ testing.TB, _ *process, m merchant, amount int64) request { return charge(m, "tok_visa", amount) },
		leaves: []string{"1 × the card saw: sale", "1 × charge succeeded and captured", "1 × posted: charge", "1 × event charge.succeeded",
			"1 × audited: charge.create", "1 × request finished", "1 × call executed"},
	},
	{
		name: "declined charge", status: 402,
		request: func(_ testing.TB, _ *process, m merchant, amount int64) request {
			return charge(m, "tok_chargeDeclined", amount)
		},
		leaves: []string{"1 × the card saw: generic_decline", "1 × charge failed", "1 × event charge.failed",
			"1 × audited: charge.create", "1 × request finished", "1 × call executed"},
	},
	{
		name: "charge whose answer is lost", trouble: "drop_after_acting", status: 200,
		request: func(_ testing.TB, _ *process, m merchant, amount int64) request { return charge(m, "tok_visa", amount) },
		leaves: []string{"1 × the card saw: sale", "1 × charge succeeded and captured", "1 × posted: charge", "1 × event charge.succeeded",
			"1 × audited: charge.create", "1 × request finished", "1 × call executed"},
	},
	{
		name: "capture", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			hold := charge(m, "tok_visa", amount)
			hold.form.Set("capture", "false")
			return request{merchant: m, path: "/v1/charges/" + made(t, hold, healthy) + "/capture", form: url.Values{}, key: newKey()}
		},
		leaves: []string{"1 × the card saw: hold", "1 × the card saw: capture", "1 × charge succeeded and captured", "1 × posted: charge",
			"1 × event charge.succeeded", "1 × event charge.captured", "1 × audited: charge.create", "1 × audited: charge.capture",
			"2 × request finished", "2 × call executed"},
	},
	{
		name: "refund", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			sale := charge(m, "tok_visa", amount)
			return request{merchant: m, path: "/v1/refunds", form: url.Values{"charge": {made(t, sale, healthy)}}, key: newKey()}
		},
		leaves: []string{"1 × the card saw: sale", "1 × the card saw: refund", "1 × charge succeeded and captured", "1 × refund succeeded",
			"1 × posted: charge", "1 × posted: refund", "1 × event charge.succeeded", "1 × event refund.created", "1 × event charge.refunded",
			"1 × audited: charge.create", "1 × audited: refund.create", "2 × request finished", "2 × call executed"},
	},
	{
		name: "dispute that is given up", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			return request{merchant: m, path: "/v1/disputes/" + disputed(t, healthy, m, amount) + "/close", form: url.Values{}, key: newKey()}
		},
		leaves: []string{"1 × the card saw: sale", "1 × the card saw: chargeback", "1 × the card saw: approved", "1 × charge succeeded and captured", "1 × dispute lost",
			"1 × posted: charge", "1 × posted: dispute", "1 × event charge.succeeded", "1 × event charge.dispute.created", "1 × event charge.dispute.funds_withdrawn",
			"1 × event charge.dispute.closed", "1 × audited: charge.create", "1 × audited: acquirer.dispute.opened", "1 × audited: dispute.close",
			"3 × request finished", "2 × call executed"},
	},
	{
		name: "evidence whose receipt is lost", trouble: "drop_after_acting", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			return request{merchant: m, path: "/v1/disputes/" + disputed(t, healthy, m, amount), form: url.Values{"evidence[customer_name]": {"Jenny Rosen"}}, key: newKey()}
		},
		leaves: []string{"1 × the card saw: sale", "1 × the card saw: chargeback", "1 × the card saw: approved", "1 × charge succeeded and captured", "1 × dispute under_review",
			"1 × posted: charge", "1 × posted: dispute", "1 × event charge.succeeded", "1 × event charge.dispute.created", "1 × event charge.dispute.funds_withdrawn",
			"1 × event charge.dispute.updated", "1 × audited: charge.create", "1 × audited: acquirer.dispute.opened", "1 × audited: dispute.update",
			"3 × request finished", "2 × call executed"},
	},
	{
		name: "payment intent", status: 200,
		request: func(_ testing.TB, _ *process, m merchant, amount int64) request {
			return intent(m, "pm_card_visa", "automatic", amount)
		},
		leaves: []string{"1 × the card saw: sale", "1 × intent succeeded", "1 × charge succeeded and captured", "1 × posted: charge",
			"1 × event payment_intent.created", "1 × event charge.succeeded", "1 × event payment_intent.succeeded",
			"1 × audited: payment_intent.create", "1 × request finished", "1 × call executed"},
	},
	{
		name: "confirmation that is declined", status: 402,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			waiting := intent(m, "pm_card_visa", "automatic", amount)
			waiting.form.Del("confirm")
			return request{merchant: m, path: "/v1/payment_intents/" + made(t, waiting, healthy) + "/confirm",
				form: url.Values{"payment_method": {"pm_card_chargeDeclined"}}, key: newKey()}
		},
		leaves: []string{"1 × the card saw: generic_decline", "1 × intent requires_payment_method", "1 × charge failed",
			"1 × event payment_intent.created", "1 × event charge.failed", "1 × event payment_intent.payment_failed",
			"1 × audited: payment_intent.create", "1 × audited: payment_intent.confirm", "2 × request finished", "1 × call executed"},
	},
	{
		name: "confirmation whose answer is lost", trouble: "drop_after_acting", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			waiting := intent(m, "pm_card_visa", "automatic", amount)
			waiting.form.Del("confirm")
			return request{merchant: m, path: "/v1/payment_intents/" + made(t, waiting, healthy) + "/confirm", form: url.Values{}, key: newKey()}
		},
		leaves: []string{"1 × the card saw: sale", "1 × intent succeeded", "1 × charge succeeded and captured", "1 × posted: charge",
			"1 × event payment_intent.created", "1 × event charge.succeeded", "1 × event payment_intent.succeeded",
			"1 × audited: payment_intent.create", "1 × audited: payment_intent.confirm", "2 × request finished", "1 × call executed"},
	},
	{
		name: "confirmation that asks for the cardholder", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			waiting := intent(m, "pm_card_authenticationRequired", "automatic", amount)
			waiting.form.Del("confirm")
			return request{merchant: m, path: "/v1/payment_intents/" + made(t, waiting, healthy) + "/confirm", form: url.Values{}, key: newKey()}
		},
		leaves: []string{"1 × the card saw: authentication_required", "1 × intent requires_action", "1 × event payment_intent.created",
			"1 × event payment_intent.requires_action", "1 × audited: payment_intent.create", "1 × audited: payment_intent.confirm",
			"2 × request finished", "1 × call executed"},
	},
	{
		name: "capture of an intent", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			held := made(t, intent(m, "pm_card_visa", "manual", amount), healthy)
			return request{merchant: m, path: "/v1/payment_intents/" + held + "/capture", form: url.Values{}, key: newKey()}
		},
		leaves: []string{"1 × the card saw: hold", "1 × the card saw: capture", "1 × intent succeeded", "1 × charge succeeded and captured", "1 × posted: charge",
			"1 × event payment_intent.created", "1 × event charge.succeeded", "1 × event payment_intent.amount_capturable_updated",
			"1 × event charge.captured", "1 × event payment_intent.succeeded",
			"1 × audited: payment_intent.create", "1 × audited: payment_intent.capture", "2 × request finished", "2 × call executed"},
	},
	{
		name: "cancellation of an intent", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			held := made(t, intent(m, "pm_card_visa", "manual", amount), healthy)
			return request{merchant: m, path: "/v1/payment_intents/" + held + "/cancel", form: url.Values{}, key: newKey()}
		},
		leaves: []string{"1 × the card saw: hold", "1 × the card saw: release", "1 × intent canceled", "1 × charge succeeded", "1 × refund succeeded",
			"1 × event payment_intent.created", "1 × event charge.succeeded", "1 × event payment_intent.amount_capturable_updated",
			"1 × event refund.created", "1 × event charge.refunded", "1 × event payment_intent.canceled",
			"1 × audited: payment_intent.create", "1 × audited: payment_intent.cancel", "2 × request finished", "2 × call executed"},
	},
	{
		name: "a cardholder's authentication", status: 200, page: true,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			challenge := challengeOf(t, intent(m, "pm_card_authenticationRequired", "automatic", amount), healthy)
			return request{merchant: m, path: "/3d_secure/" + challenge, form: url.Values{"result": {"pass"}}, key: challenge, page: true}
		},
		leaves: []string{"1 × the card saw: authentication_required", "1 × the card saw: sale", "1 × intent succeeded", "1 × charge succeeded and captured",
			"1 × posted: charge", "1 × event payment_intent.created", "1 × event payment_intent.requires_action", "1 × event charge.succeeded",
			"1 × event payment_intent.succeeded", "1 × audited: payment_intent.create", "1 × audited: payment_intent.authenticate",
			"2 × request finished", "2 × call executed"},
	},
	{
		name: "payment of a checkout session", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			session := made(t, checkout(m, amount), healthy)
			return request{merchant: m, path: "/v1/payment_pages/" + session + "/confirm", form: url.Values{"payment_method": {"pm_card_visa"}}, key: newKey()}
		},
		leaves: []string{"1 × the card saw: sale", "1 × session complete", "1 × intent succeeded", "1 × charge succeeded and captured", "1 × posted: charge",
			"1 × event product.created", "1 × event price.created", "1 × event payment_intent.created", "1 × event charge.succeeded",
			"1 × event payment_intent.succeeded", "1 × event checkout.session.completed",
			"1 × audited: checkout_session.create", "1 × audited: payment_page.confirm", "2 × request finished", "1 × call executed"},
	},
	{
		name: "expiry of a checkout session", status: 200, inside: true,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			return request{merchant: m, path: "/v1/checkout/sessions/" + made(t, checkout(m, amount), healthy) + "/expire", form: url.Values{}, key: newKey()}
		},
		leaves: []string{"1 × session expired", "1 × event product.created", "1 × event price.created", "1 × event checkout.session.expired",
			"1 × audited: checkout_session.create", "1 × audited: checkout_session.expire", "2 × request finished"},
	},
	{
		name: "setup", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, _ int64) request {
			waiting := made(t, setup(m), healthy)
			return request{merchant: m, path: "/v1/setup_intents/" + waiting + "/confirm", form: url.Values{"payment_method": {"pm_card_visa"}}, key: newKey()}
		},
		leaves: []string{"1 × setup succeeded", "1 × attempt succeeded", "1 × event setup_intent.created", "1 × event setup_intent.succeeded",
			"1 × audited: setup_intent.create", "1 × audited: setup_intent.confirm", "2 × request finished", "1 × call executed"},
	},
	{
		name: "a cardholder's authentication for a setup", status: 200, page: true,
		request: func(t testing.TB, healthy *process, m merchant, _ int64) request {
			asks := setup(m)
			asks.form.Set("confirm", "true")
			asks.form.Set("payment_method", "pm_card_authenticationRequired")
			challenge := challengeOf(t, asks, healthy)
			return request{merchant: m, path: "/3d_secure/" + challenge, form: url.Values{"result": {"pass"}}, key: challenge, page: true}
		},
		leaves: []string{"1 × setup succeeded", "1 × attempt succeeded", "1 × event setup_intent.created", "1 × event setup_intent.requires_action", "1 × event setup_intent.succeeded",
			"1 × audited: setup_intent.create", "1 × audited: setup_intent.authenticate", "2 × request finished", "2 × call executed"},
	},
	{
		name: "customer", status: 200, inside: true,
		request: func(_ testing.TB, _ *process, m merchant, _ int64) request {
			return request{merchant: m, path: "/v1/customers", form: url.Values{"name": {"Jenny Rosen"}}, key: newKey()}
		},
		leaves: []string{"1 × event customer.created", "1 × audited: customer.create", "1 × request finished"},
	},
	{
		name: "webhook endpoint, whose secret is shown once", status: 200, inside: true,
		request: func(_ testing.TB, _ *process, m merchant, _ int64) request {
			return request{merchant: m, path: "/v1/webhook_endpoints", form: url.Values{"url": {"https://shop.example.com/"}, "enabled_events[]": {"*"}}, key: newKey()}
		},
		leaves: []string{"1 × audited: webhook_endpoint.create", "1 × request finished"},
	},
	{
		name: "attachment of a payment method", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, _ int64) request {
			customer := made(t, request{merchant: m, path: "/v1/customers", form: url.Values{}, key: newKey()}, healthy)
			return request{merchant: m, path: "/v1/payment_methods/pm_card_visa/attach", form: url.Values{"customer": {customer}}, key: newKey()}
		},
		leaves: []string{"1 × method attached", "1 × event customer.created", "1 × event payment_method.attached",
			"1 × audited: customer.create", "1 × audited: payment_method.attach", "2 × request finished", "1 × call executed"},
	},
	{
		name: "payout", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			return payout(t, healthy, m, amount)
		},
		leaves: append([]string{"1 × the card saw: payout", "1 × payout pending", "1 × posted: payout", "1 × event payout.created",
			"1 × audited: payout.create", "2 × request finished", "2 × call executed"}, earned...),
	},
	{
		name: "payout's reversal", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			paid := payout(t, healthy, m, amount)
			paid.form.Set("method", "instant")
			return request{m, "/v1/payouts/" + made(t, paid, healthy) + "/reverse", url.Values{}, newKey(), false}
		},
		leaves: append([]string{"1 × the card saw: payout", "1 × the card saw: recall", "1 × payout paid", "1 × payout pending", "2 × posted: payout",
			"2 × event payout.created", "1 × event payout.paid", "1 × event payout.updated", "1 × audited: payout.create", "1 × audited: payout.reverse",
			"3 × request finished", "3 × call executed"}, earned...),
	},
	{
		name: "payout's cancellation", status: 200,
		request: func(t testing.TB, healthy *process, m merchant, amount int64) request {
			return request{m, "/v1/payouts/" + made(t, payout(t, healthy, m, amount), healthy) + "/cancel", url.Values{}, newKey(), false}
		},
		leaves: append([]string{"1 × the card saw: payout", "1 × the card saw: recall", "1 × payout canceled", "1 × posted: payout", "1 × posted: payout_cancel",
			"1 × event payout.created", "1 × event payout.canceled", "1 × audited: payout.create", "1 × audited: payout.cancel",
			"3 × request finished", "3 × call executed"}, earned...),
	},
}

// earnings is what is earned before a payout. It is shown in the books as what it
// is, and never the amount of a payout.
const earnings = 999_999

var earned = []string{"1 × charge succeeded and captured of 999999", "1 × posted: charge of 999999", "1 × event charge.succeeded", "1 × audited: charge.create"}

// payout is the request for a payout, of money that has been earned.
func payout(t testing.TB, healthy *process, m merchant, amount int64) request {
	t.Helper()
	made(t, charge(m, "tok_bypassPending", earnings), healthy)
	return request{m, "/v1/payouts", url.Values{"amount": {strconv.FormatInt(amount, 10)}, "currency": {"usd"}}, newKey(), false}
}

// setup is the request for a setup intent that waits for a card.
func setup(m merchant) request {
	return request{merchant: m, path: "/v1/setup_intents", key: newKey(), form: url.Values{"payment_method_types[]": {"card"}}}
}

// checkout opens a session of one thing of this price.
func checkout(m merchant, amount int64) request {
	return request{merchant: m, path: "/v1/checkout/sessions", key: newKey(), form: url.Values{
		"mode": {"payment"}, "success_url": {"https://example.com"}, "line_items[0][quantity]": {"1"}, "line_items[0][price_data][currency]": {"usd"},
		"line_items[0][price_data][unit_amount]": {strconv.FormatInt(amount, 10)}, "line_items[0][price_data][product_data][name]": {"Sledge"}}}
}

// made is the id of what a request makes on a healthy process.
func made(t testing.TB, r request, healthy *process) string {
	t.Helper()
	a := r.finally(t, healthy)
	var object struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(a.body), &object); err != nil || a.status != 200 {
		t.Fatalf("%s: %s", r.path, a)
	}
	return object.ID
}

// challengeOf is the name of the page that an intent waits for.
func challengeOf(t testing.TB, r request, healthy *process) string {
	t.Helper()
	a := r.finally(t, healthy)
	var object struct {
		NextAction struct {
			SDK struct {
				Page string `json:"stripe_js"`
			} `json:"use_stripe_sdk"`
		} `json:"next_action"`
	}
	if err := json.Unmarshal([]byte(a.body), &object); err != nil || a.status != 200 {
		t.Fatalf("%s: %s", r.path, a)
	}
	return path.Base(object.NextAction.SDK.Page)
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

//go:build unix

package crash_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"testing"

	acquirers "github.com/ratchet-pay/ratchet/internal/acquirer"
)

// stage is where something is made ready to be killed: a merchant and an amount
// that nothing else has, and a process that lives.
type scenario struct {
	testing.TB
	merchant
	in      *installation
	healthy *process
	amount  int64
}

func (i *installation) stage(t testing.TB, healthy *process) scenario {
	t.Helper()
	return scenario{t, i.merchant(t), i, healthy, newAmount()}
}

// post is a request with a form: names, each with its value behind it.
func (s scenario) post(path string, form ...string) request {
	r := request{merchant: s.merchant, path: path, form: url.Values{}, key: newKey()}
	for n := 0; n < len(form); n += 2 {
		r.form.Add(form[n], form[n+1])
	}
	return r
}

// del is a request to delete what is at a path.
func (s scenario) del(path string) request {
	r := s.post(path)
	r.method = http.MethodDelete
	return r
}

// get is a request to read what is at a path, which for a test card makes it.
func (s scenario) get(path string) request {
	r := s.post(path)
	r.method = http.MethodGet
	return r
}

// made has the request answered, and is the id of what it made.
func (s scenario) made(r request) string {
	s.Helper()
	return made(s, r, s.healthy)
}

// new posts, and is the id of what that made.
func (s scenario) new(path string, form ...string) string {
	s.Helper()
	return s.made(s.post(path, form...))
}

// read asks for what is at a path.
func (s scenario) read(path string, into any) {
	s.Helper()
	q, err := http.NewRequest(http.MethodGet, "http://"+s.healthy.addr+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+s.apiKey)
	response, err := client.Do(q)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil || response.StatusCode != http.StatusOK {
		s.Fatalf("%s: %d, %v", path, response.StatusCode, err)
	}
}

// exec changes what is the merchant's, who is $1, directly in the database.
func (s scenario) exec(sql string) {
	s.Helper()
	if tag, err := s.in.db.Exec(s.Context(), sql, s.account); err != nil || tag.RowsAffected() != 1 {
		s.Fatalf("%s: %d rows, %v", sql, tag.RowsAffected(), err)
	}
}

// script does the same without other sessions.
func (s scenario) script(sql string) {
	s.Helper()
	if _, err := s.in.db.Exec(s.Context(), sql); err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
}

func (s scenario) money() string { return strconv.FormatInt(s.amount, 10) }

// charge is the request for a charge with the card of a token.
func (s scenario) charge(token string) request { return charge(s.merchant, token, s.amount) }

// hold is the request for a charge that is not captured.
func (s scenario) hold() request {
	r := s.charge("tok_visa")
	r.form.Set("capture", "false")
	return r
}

// sold is the id of a charge.
func (s scenario) sold() string {
	s.Helper()
	return s.made(s.charge("tok_visa"))
}

// intent is the request for a confirmed payment intent.
func (s scenario) intent(method, capture string) request {
	return intent(s.merchant, method, capture, s.amount)
}

// waiting is the id of an intent that waits for its confirmation.
func (s scenario) waiting(method string) string {
	s.Helper()
	r := s.intent(method, "automatic")
	r.form.Del("confirm")
	return s.made(r)
}

// setup is the request for a setup intent that waits for a card.
func (s scenario) setup() request {
	return s.post("/v1/setup_intents", "payment_method_types[]", "card")
}

// authenticates is the request by which a cardholder passes the challenge that a
// request is answered with.
func (s scenario) authenticates(r request) request {
	s.Helper()
	a := r.finally(s, s.healthy)
	var object struct {
		NextAction struct {
			SDK struct {
				Page string `json:"stripe_js"`
			} `json:"use_stripe_sdk"`
		} `json:"next_action"`
	}
	if err := json.Unmarshal([]byte(a.body), &object); err != nil || a.status != http.StatusOK {
		s.Fatalf("%s: %s", r.path, a)
	}
	challenge := path.Base(object.NextAction.SDK.Page)
	return request{
		merchant: s.merchant,
		path:     "/3d_secure/" + challenge,
		form:     url.Values{"result": {"pass"}},
		key:      challenge,
		page:     true,
	}
}

// checkout is the request for a session of one thing.
func (s scenario) checkout() request {
	return s.post("/v1/checkout/sessions", "mode", "payment", "success_url", "https://example.com",
		"line_items[0][quantity]", "1",
		"line_items[0][price_data][currency]", "usd", "line_items[0][price_data][unit_amount]", s.money(),
		"line_items[0][price_data][product_data][name]", "Sledge")
}

// discounted is the request for a session that costs as much as checkout's: what its promotion
// code takes off, the shipping adds.
func (s scenario) discounted() request {
	r := s.checkout()
	r.form.Set("discounts[0][promotion_code]", s.new("/v1/promotion_codes", "code", "SPRING", "max_redemptions", "1",
		"promotion[type]", "coupon", "promotion[coupon]",
		s.new("/v1/coupons", "amount_off", "7", "currency", "usd", "max_redemptions", "1")))
	r.form.Set("shipping_options[0][shipping_rate_data][display_name]", "Standard")
	r.form.Set("shipping_options[0][shipping_rate_data][fixed_amount][amount]", "7")
	r.form.Set("shipping_options[0][shipping_rate_data][fixed_amount][currency]", "usd")
	return r
}

// disputed makes a charge whose holder complains, and returns its id and the dispute's.
func (s scenario) disputed(token string) (charge, dispute string) {
	s.Helper()
	charge = s.made(s.charge(token))
	s.receive(report(s, s.healthy.outside, acquirers.DisputeOpened, s.amount))
	var object struct{ ID string }
	s.read("/v1/charges/"+charge+"/dispute", &object)
	return charge, object.ID
}

// receive takes a message of the acquirer's.
func (s scenario) receive(message []byte) {
	s.Helper()
	deliver(s, s.healthy, message)
}

// earnings is what is earned before a payout. It is shown in the books as what it
// is, and never the amount of a payout.
const earnings = 999_999

var earned = []string{"1 × charge succeeded and captured of 999999", "1 × posted: charge of 999999",
	"1 × event charge.succeeded", "1 × audited: charge.create"}

// earn makes money available.
func (s scenario) earn() {
	s.Helper()
	made(s, charge(s.merchant, "tok_bypassPending", earnings), s.healthy)
}

// payout is the request for a payout, of money that has been earned.
func (s scenario) payout() request {
	s.Helper()
	s.earn()
	return s.post("/v1/payouts", "amount", s.money(), "currency", "usd")
}

// clock is the id of a test clock.
func (s scenario) clock() string {
	s.Helper()
	return s.new("/v1/test_helpers/test_clocks", "frozen_time", "1700000000")
}

// made is the id of what a request makes on a healthy process.
func made(t testing.TB, r request, healthy *process) string {
	t.Helper()
	a := r.finally(t, healthy)
	if a.status != http.StatusOK || a.id() == "" {
		t.Fatalf("%s: %s", r.path, a)
	}
	return a.id()
}

package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/process"
)

// TestNoCardNumberIsKept types card numbers wherever there is room for them, and
// then looks for them in all that is kept: every table, and the log.
func TestNoCardNumberIsKept(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	pan := number(t, "mastercard")
	expiry := "&card[exp_month]=12&card[exp_year]=2040"
	token := s.make(t, "", "/v1/tokens", "card[number]="+pan+"&card[cvc]=123&card[name]=Jenny"+expiry)
	s.make(t, "", "/v1/charges", "amount=1000&currency=usd&source="+token)

	spaced := url.QueryEscape(pan[:4] + " " + pan[4:10] + " " + pan[10:])
	wrong := []sent{{method: http.MethodGet, target: "/v1/" + pan},
		{method: http.MethodGet, target: "/v1/charges/" + pan},
		{method: http.MethodGet, target: "/v1/charges?starting_after=" + pan},
		{method: http.MethodGet, target: "/v1/charges?" + pan + "=1"}, {target: "/v1/charges/" + pan + "/refunds"},
		{target: "/v1/refunds", body: "charge=" + pan},
		{target: "/v1/customers", header: http.Header{"Stripe-Version": {pan}}},
		{target: "/v1/customers", header: http.Header{"Stripe-Account": {pan}}},
		{target: "/v1/customers", header: http.Header{"Authorization": {"Bearer " + pan}}},
		{target: "/v1/customers", body: pan, header: http.Header{"Content-Type": {"text/plain"}}},
		{target: "/v1/tokens", body: "card[number]=" + pan + "1&card[cvc]=123" + expiry},
		{target: "/v1/tokens", body: "card[number]=" + pan + "&card[cvc]=" + pan + expiry},
		{target: "/v1/tokens", body: "card[number]=" + pan + "&card[number]=" + pan + expiry},
		{target: "/v1/tokens", body: "card=" + pan}, {target: "/v1/tokens", body: "card[number][" + pan + "]=1"},
		{target: "/v1/tokens", body: "card[" + pan + "]=1"},
		{target: "/v1/tokens?card[number]=" + pan, body: "card[exp_month]=13&card[exp_year]=2040"},
		{target: "/v1/tokens", body: "card[number]=" + pan + "&card[exp_month]=" + pan + "&card[exp_year]=" + pan},
	}
	for _, target := range []string{"/v1/customers", "/v1/charges"} {
		for _, card := range []string{"source[number]=" + pan, "source[object]=" + pan,
			"source[object]=card&source[name]=" + pan + "&source[number]=" + pan} {
			wrong = append(wrong, sent{
				target: target,
				body:   "amount=1000&currency=usd&" + card + "&source[exp_month]=12&source[exp_year]=2040",
			})
		}
	}
	for _, name := range []string{"amount", "currency", "source", "customer", "capture", "receipt_email", "metadata",
		"expand[]", "shipping", "statement_descriptor", "unknown", pan} {
		for _, value := range []string{pan, spaced} {
			wrong = append(wrong,
				sent{target: "/v1/charges", body: "amount=1000&currency=usd&source=tok_visa&" + name + "=" + value})
			wrong = append(wrong, sent{target: "/v1/charges", body: name + "=" + value})
		}
	}
	for _, whole := range []string{"limit=x" + pan, "limit=" + pan + pan, "created[gt]=" + pan + "&limit=0",
		"limit=." + pan} {
		wrong = append(wrong, sent{method: http.MethodGet, target: "/v1/charges?" + whole})
	}
	for _, r := range wrong {
		if a := s.ask(t, r); a.status < 400 || a.status >= 500 {
			t.Errorf("%s %s %s: answered %d", r.method, hide(r.target, pan), hide(r.body, pan), a.status)
		} else if holds(string(a.body), pan) {
			t.Errorf("%s %s %s: the answer repeats the number", r.method, hide(r.target, pan), hide(r.body, pan))
		}
	}
	s.requireKeptNowhere(t, pan)

	t.Run("text that contains a number is refused, and no text that only resembles one", func(t *testing.T) {
		for _, text := range []string{pan, "n" + pan + "n", "paid with " + pan + " 12/30",
			pan[:4] + "-" + pan[4:10] + "-" + pan[10:]} {
			for _, param := range []string{"description", "name", "phone", "metadata[card]", "shipping[name]",
				"address[line1]"} {
				a := s.ask(t, sent{target: "/v1/customers", body: param + "=" + url.QueryEscape(text)})
				requireRefusal(t, a, refused{status: http.StatusBadRequest, want: fault{Type: invalid, Param: param}})
				if holds(string(a.body), pan) {
					t.Errorf("the refusal of %s repeats the number", param)
				}
			}
		}
		a := s.ask(t, sent{target: "/v1/customers", body: "metadata[" + pan + "]=1"})
		requireRefusal(t, a, refused{status: http.StatusBadRequest, want: fault{Type: invalid}})
		s.requireKeptNowhere(t, pan)
		a = s.ask(t, sent{target: "/v1/customers",
			body: "description=4242 4242 4242 4243&metadata[order]=202611230000417"})
		if a.status != http.StatusOK {
			t.Errorf("other numbers are answered %d %s", a.status, a.body)
		}
	})

	t.Run("an idempotency key that contains a number is refused", func(t *testing.T) {
		for _, key := range []string{pan, "order " + pan[:4] + "-" + pan[4:10] + "-" + pan[10:]} {
			for range 2 { // nothing was kept that a second request could meet
				a := s.ask(t, sent{target: "/v1/customers", header: http.Header{"Idempotency-Key": {key}}})
				requireRefusal(t, a, refused{status: http.StatusBadRequest, want: fault{Type: "idempotency_error"}})
				if holds(string(a.body), pan) || holds(a.header.Get("Idempotency-Key"), pan) {
					t.Error("the refusal repeats the number")
				}
			}
		}
		s.requireKeptNowhere(t, pan)
	})

	// An operator may decide that what a merchant writes is their own. Only the log is ours.
	t.Run("where it is allowed, it is kept as it is, but not in the log", func(t *testing.T) {
		s := newEnv(t, func(c *process.Config) { c.Limits.API.AllowCardNumbers = true })
		a := s.ask(t, sent{
			target:  "/v1/customers",
			body:    "description=" + pan,
			header:  http.Header{"Idempotency-Key": {pan}},
			repeats: true,
		})
		if a.status != http.StatusOK || a.object["description"] != pan {
			t.Errorf("answered %d", a.status)
		}
		many := s.ask(t, sent{target: "/v1/checkout/sessions", body: "mode=payment&success_url=https://shop.example&" +
			"line_items[0][price]=price_1&line_items[0][quantity]=" + pan})
		if many.status != http.StatusBadRequest || !strings.Contains(string(many.body), "less than or equal") ||
			holds(string(many.body), pan) {
			t.Errorf("a quantity is answered %d, or the answer repeats it", many.status)
		}
		if holds(s.log.String(), pan) {
			t.Error("the log has the number in it")
		}
	})
}

// requireKeptNowhere reads every table as text.
func (s *env) requireKeptNowhere(t *testing.T, pan string) {
	t.Helper()
	filled := 0
	for table, text := range s.db.Text(t) {
		if text != "" {
			filled++
		}
		if holds(text, pan) {
			t.Errorf("%s has the number in it", table)
		}
	}
	if filled < 5 {
		t.Errorf("only %d tables have rows; there was nothing to look through", filled)
	}
	if log := s.log.String(); holds(log, pan) || !strings.Contains(log, "/v1/tokens") {
		t.Error("the log has the number in it, or nothing")
	}
}

// holds tells whether a text has a number in it, also with something between its digits.
func holds(text, pan string) bool {
	return strings.Contains(strings.NewReplacer(" ", "", "-", "", "+", "", "%20", "", ".", "").Replace(text), pan)
}

// hide keeps a failing test from writing down what the program must not.
func hide(text, pan string) string { return strings.ReplaceAll(text, pan, "[number]") }

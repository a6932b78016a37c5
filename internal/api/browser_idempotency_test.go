package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// Every visitor of a shop's page has its publishable key.
func TestBrowsersHaveIdempotencyKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	under := func(key string) http.Header { return http.Header{"Idempotency-Key": {key}} }
	card := "card[number]=" + number(t, "visa") + "&card[exp_month]=12&card[exp_year]=2040&card[cvc]=123"
	const (
		browser = "toboggans publishable"
		charge  = "amount=2000&currency=usd&source=tok_visa"
	)
	intent := func(t *testing.T) (id, confirmation string) {
		t.Helper()
		made := s.ask(t, sent{
			target: "/v1/payment_intents",
			body:   "amount=1000&currency=usd&payment_method_types[]=card&metadata[margin]=40",
		})
		return made.object["id"].(string),
			"payment_method=pm_card_visa&client_secret=" + made.object["client_secret"].(string)
	}

	t.Run("a key that a browser took is free for the merchant's server", func(t *testing.T) {
		if a := s.ask(t,
			sent{as: browser, target: "/v1/tokens", body: card, header: under("order-1")}); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
		a := s.ask(t, sent{target: "/v1/charges", body: charge, header: under("order-1")})
		if a.status != http.StatusOK || a.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("%d %s", a.status, a.body)
		}
	})

	t.Run("a browser learns nothing of what the merchant used a key for", func(t *testing.T) {
		made := s.ask(t, sent{target: "/v1/charges", body: charge})
		s.ask(t, sent{
			target: "/v1/charges/" + made.object["id"].(string) + "/refunds",
			body:   "amount=1",
			header: under("refund-77"),
		})
		a := s.ask(t, sent{as: browser, target: "/v1/tokens", body: card, header: under("refund-77")})
		if a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.body)
		}
	})

	t.Run("nor of what another browser did", func(t *testing.T) {
		id, confirmation := intent(t)
		s.ask(t, sent{
			as:     browser,
			target: "/v1/payment_intents/" + id + "/confirm",
			body:   confirmation,
			header: under("confirm-1"),
		})
		a := s.ask(t, sent{as: browser, target: "/v1/tokens", body: card, header: under("confirm-1")})
		if a.status != http.StatusBadRequest || strings.Contains(string(a.body), id) ||
			strings.Contains(string(a.body), "publishable:") {
			t.Errorf("%d %s", a.status, a.body)
		}
	})

	t.Run("a browser never replays what the merchant's server was answered", func(t *testing.T) {
		id, confirmation := intent(t)
		target := "/v1/payment_intents/" + id + "/confirm"
		s.ask(t, sent{target: target, body: confirmation, header: under("confirm-2")})
		a := s.ask(t, sent{as: browser, target: target, body: confirmation, header: under("confirm-2")})
		if a.header.Get("Idempotent-Replayed") != "" {
			t.Error("the merchant's answer is replayed")
		}
		for _, hidden := range []string{"margin", `"ch_`} {
			if strings.Contains(string(a.body), hidden) {
				t.Errorf("the browser sees %s: %s", hidden, a.body)
			}
		}
	})

	t.Run("its own retry is replayed under the key that it sent", func(t *testing.T) {
		id, confirmation := intent(t)
		again := sent{
			as:     browser,
			target: "/v1/payment_intents/" + id + "/confirm",
			body:   confirmation,
			header: under("confirm-3"),
		}
		first, second := s.ask(t, again), s.ask(t, again)
		if first.status != http.StatusOK || string(first.body) != string(second.body) ||
			second.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%d %s, then %d %s", first.status, first.body, second.status, second.body)
		}
		if key := second.header.Get("Idempotency-Key"); key != "confirm-3" {
			t.Errorf("the answer names the key %q", key)
		}
	})

	t.Run("a secret key cannot reach into the browsers' keys", func(t *testing.T) {
		a := s.ask(t, sent{target: "/v1/charges", body: charge, header: under("publishable:confirm-3")})
		if a.status != http.StatusBadRequest || a.fault.Type != "idempotency_error" {
			t.Errorf("%d %s", a.status, a.body)
		}
	})

	t.Run("no key reaches into those of background jobs", func(t *testing.T) {
		for as, target := range map[string]string{"": "/v1/charges", browser: "/v1/tokens"} {
			body := map[string]string{"": charge, browser: card}[as]
			a := s.ask(t, sent{as: as, target: target, body: body, header: under("job:arrival of po_1")})
			if a.status != http.StatusBadRequest || a.fault.Type != "idempotency_error" {
				t.Errorf("%s: %d %s", target, a.status, a.body)
			}
		}
	})

	t.Run("a browser's key is at most as long as the database takes", func(t *testing.T) {
		longest := strings.Repeat("k", 255-len("publishable:"))
		for key, want := range map[string]int{longest: http.StatusOK, longest + "k": http.StatusBadRequest} {
			a := s.ask(t, sent{as: browser, target: "/v1/tokens", body: card, header: under(key)})
			if a.status != want {
				t.Errorf("a key of %d characters is answered %d %s", len(key), a.status, a.body)
			}
		}
	})
}

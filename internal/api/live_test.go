package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestLiveModeTakesNoCard shows test cards in live mode, wherever one can be shown.
func TestLiveModeTakesNoCard(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	customer := s.make(t, "toboggans live", "/v1/customers", "name=Jenny")
	intent := s.make(t, "toboggans live", "/v1/payment_intents", "amount=1000&currency=usd")
	setup := s.make(t, "toboggans live", "/v1/setup_intents", "")
	typed := "card[number]=" + number(t, "visa") + "&card[exp_month]=12&card[exp_year]=2040"
	before := s.requests(t)
	for _, r := range []sent{
		{target: "/v1/tokens", body: typed},
		{target: "/v1/payment_methods", body: "type=card&" + typed},
		{target: "/v1/payment_methods", body: "type=card&card[token]=tok_visa"},
		{target: "/v1/payment_methods/pm_card_visa/attach", body: "customer=" + customer},
		{target: "/v1/charges", body: "amount=1000&currency=usd&source=tok_visa"},
		{target: "/v1/customers", body: "source=tok_visa"},
		{target: "/v1/customers/" + customer + "/sources", body: "source=tok_visa"},
		{target: "/v1/payment_intents", body: "amount=1000&currency=usd&payment_method=pm_card_visa"},
		{target: "/v1/payment_intents/" + intent, body: "payment_method=pm_card_visa"},
		{target: "/v1/payment_intents/" + intent + "/confirm", body: "payment_method=pm_card_visa"},
		{target: "/v1/setup_intents/" + setup + "/confirm", body: "payment_method=pm_card_visa"},
	} {
		r.as = "toboggans live"
		a := s.ask(t, r)
		if a.status != http.StatusPaymentRequired || a.fault.Code != "card_declined" ||
			!strings.Contains(string(a.body), `"live_mode_test_card"`) {
			t.Errorf("POST %s: %d %s", r.target, a.status, a.body)
		}
	}
	for _, target := range []string{"/v1/tokens/tok_visa", "/v1/payment_methods/pm_card_visa"} {
		a := s.ask(t, sent{as: "toboggans live", method: http.MethodGet, target: target})
		if a.fault.Code != "resource_missing" {
			t.Errorf("GET %s: %d %s", target, a.status, a.body)
		}
	}
	if now := s.requests(t); now != before {
		t.Errorf("%d requests were stored", now-before)
	}
}

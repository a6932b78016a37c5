package api_test

import (
	"net/http"
	"testing"
)

// TestUnsupportedParameters sends parameters that Stripe's operations have and ours
// lack. A client that uses one learns that the parameter is missing here, not that it made a mistake.
func TestUnsupportedParameters(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	for _, row := range []struct {
		name, method, target, body, message string
	}{
		{"of a body", "POST", "/v1/charges", "amount=1000&currency=usd&source=tok_visa&on_behalf_of=acct_1",
			"This installation does not support the parameter of Stripe's API: on_behalf_of"},
		{"of a query", "GET", "/v1/checkout/sessions?subscription=sub_1", "",
			"This installation does not support the parameter of Stripe's API: subscription"},
		{"in an item of a list", "POST", "/v1/checkout/sessions", "mode=payment&line_items[0][tax_rates][]=txr_1",
			"This installation does not support the parameter of Stripe's API: line_items[0][tax_rates]"},
		{"of another operation", "POST", "/v1/customers", "on_behalf_of=acct_1",
			"Received unknown parameter: on_behalf_of"},
		{"beside one that nobody knows", "POST", "/v1/charges", "on_behalf_of=acct_1&tip=1",
			"Received unknown parameter: tip"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := s.ask(t, sent{method: row.method, target: row.target, body: row.body})
			if a.status != http.StatusBadRequest || a.fault.Code != badName || a.fault.Message != row.message {
				t.Errorf("answered %d %s %q, want %q", a.status, a.fault.Code, a.fault.Message, row.message)
			}
		})
	}
}

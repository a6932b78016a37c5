package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/payment"
)

// TestReturnAddressStaysOutOfThePolicy stores addresses that older versions accepted.
func TestReturnAddressStaysOutOfThePolicy(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	intent := s.make(t, "toboggans", "/v1/payment_intents", "amount=1000&currency=usd&confirm=true"+
		"&payment_method=pm_card_authenticationRequired&return_url=sledges%3A%2F%2Fpaid")
	var challenge string
	err := s.db.Pool.QueryRow(t.Context(), `SELECT challenge FROM payment_intents WHERE id = $1`, intent).
		Scan(&challenge)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, address, forms string }{
		{"the scheme of an application is named", "sledges://paid", "form-action * sledges:; base-uri"},
		{"nothing behind the scheme enters", "sledges:/x; frame-ancestors *; report-uri https://evil.example/ ://y",
			"form-action * sledges:; base-uri"},
		{"an address without a scheme adds nothing", "; frame-ancestors * ://y", "form-action *; base-uri"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.exec(t, `UPDATE payment_intents SET return_url = $1 WHERE id = $2`, row.address, intent)
			response, err := s.server.Client().Get(s.server.URL + payment.ChallengePath + challenge)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			policy := response.Header.Get("Content-Security-Policy")
			if response.StatusCode != http.StatusOK || !strings.Contains(policy, row.forms) ||
				strings.Contains(policy, "frame-ancestors *") || strings.Contains(policy, "report-uri") {
				t.Errorf("%d with the policy %q", response.StatusCode, policy)
			}
		})
	}
}

// TestFramesOfABankPage checks who may show the page in a frame.
func TestFramesOfABankPage(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	for query, ancestors := range map[string]string{"": "frame-ancestors 'self';", "?framed": "frame-ancestors *;"} {
		response, err := s.server.Client().Get(s.server.URL + payment.ChallengePath + "3ds_none" + query)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if policy := response.Header.Get("Content-Security-Policy"); !strings.Contains(policy, ancestors) {
			t.Errorf("with the query %q the policy is %s", query, policy)
		}
	}
}

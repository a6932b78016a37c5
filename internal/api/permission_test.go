package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/apitest"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// restrict makes a key of the toboggans, by the name of its permissions.
func (s *env) restrict(t *testing.T, name string, allowed apikey.Permissions) {
	t.Helper()
	_, key, err := apikey.CreateRestricted(t.Context(), s.db.Pool, s.app.Root.Keys(secret.APIKeys), "acct_toboggans",
		allowed, false)
	if err != nil {
		t.Fatal(err)
	}
	s.keys[name] = key
}

// needs are the permissions of addresses where the first word does not tell.
var needs = map[string]string{
	"account.retrieve":                 "rak_account_read",
	"balance.retrieve":                 "rak_balance_read",
	"charge.create":                    "rak_charge_write",
	"charge.search":                    "rak_charge_read",
	"charge.capture":                   "rak_charge_write",
	"charge.refund":                    "rak_refund_write",
	"charge.refund.create":             "rak_refund_write",
	"charge.refund.list":               "rak_refund_read",
	"customer.delete":                  "rak_customer_write",
	"card.create":                      "rak_customer_write",
	"customer.payment_method.list":     "rak_payment_method_read",
	"payment_method.attach":            "rak_payment_method_write",
	"payment_intent.confirm":           "rak_payment_intent_write",
	"setup_intent.retrieve":            "rak_setup_intent_read",
	"token.create":                     "rak_token_write",
	"confirmation_token.create_test":   "rak_confirmation_token_write",
	"balance_transaction.list":         "rak_balance_transaction_read",
	"customer.payment_method.retrieve": "rak_payment_method_read",
}

// TestRestrictedKeys asks at every address with keys that may do a part of it.
func TestRestrictedKeys(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	s.restrict(t, "nothing", apikey.Permissions{})
	s.restrict(t, "reads charges", apikey.Permissions{"charges": apikey.Read})
	s.restrict(t, "reads the balance", apikey.Permissions{"balance": apikey.Read})
	s.restrict(t, "writes charges", apikey.Permissions{"charges": apikey.Write, "customers": apikey.Read})
	all := apikey.Permissions{}
	for _, resource := range api.Resources() {
		all[resource] = apikey.Read
	}
	s.restrict(t, "reads everything", all)

	t.Run("what is not allowed is refused, by the name of the permission, and stores nothing", func(t *testing.T) {
		before, named := s.requests(t), 0
		for _, o := range apitest.Operations() {
			as, says := "nothing", "Having the '"+needs[o.ID]
			if o.Method != http.MethodGet {
				as = "reads everything"
			}
			a := s.ask(t, sent{as: as, method: o.Method, target: inBraces.ReplaceAllString(o.Path, "some_id")})
			if needs[o.ID] != "" {
				named++
			}
			if a.status != http.StatusForbidden || a.fault.Type != invalid || a.fault.Code != "" ||
				!strings.Contains(a.fault.Message, says) ||
				!strings.Contains(a.fault.Message, "on account 'acct_toboggans'") ||
				!strings.Contains(a.fault.Message, "'rk_test_") {
				t.Errorf("%s: %d %s, want 403 and %s", o.ID, a.status, a.body, says)
			}
		}
		if named != len(needs) || s.requests(t) != before {
			t.Errorf("%d of %d permissions were needed, %d requests were stored", named, len(needs),
				s.requests(t)-before)
		}
	})

	t.Run("what is allowed is done", func(t *testing.T) {
		const pay = "amount=1000&currency=usd&source=tok_visa"
		charge := s.make(t, "writes charges", "/v1/charges", pay)
		for _, as := range []string{"reads charges", "writes charges", "reads everything"} {
			for _, target := range []string{"/v1/charges", "/v1/charges/" + charge,
				"/v1/charges/search?query=amount:1000"} {
				if a := s.ask(t, sent{as: as, method: http.MethodGet, target: target}); a.status != http.StatusOK {
					t.Errorf("a key that %s gets %d from %s: %s", as, a.status, target, a.body)
				}
			}
		}
		a := s.ask(t, sent{as: "reads charges", target: "/v1/charges", body: pay})
		if a.status != http.StatusForbidden {
			t.Errorf("a key that reads charges made one: %d %s", a.status, a.body)
		}
	})

	t.Run("the old address of balance transactions is not a way around their permission", func(t *testing.T) {
		for target, status := range map[string]int{
			"/v1/balance":               http.StatusOK,
			"/v1/balance/history":       http.StatusForbidden,
			"/v1/balance/history/txn_1": http.StatusForbidden,
		} {
			a := s.ask(t, sent{as: "reads the balance", method: http.MethodGet, target: target})
			if a.status != status {
				t.Errorf("%s was answered %d %s", target, a.status, a.body)
			}
		}
	})

	t.Run("to expand an object is to read it", func(t *testing.T) {
		before := s.requests(t)
		for expand, allowed := range map[string]map[string]bool{
			"customer":                   {"reads charges": false, "writes charges": true, "reads everything": true},
			"balance_transaction":        {"writes charges": false, "reads everything": true},
			"balance_transaction.source": {"writes charges": false, "reads everything": true},
			"refunds":                    {"writes charges": false, "reads everything": true},
		} {
			for as, may := range allowed {
				a := s.ask(t, sent{as: as, method: http.MethodGet, target: "/v1/charges?expand[]=data." + expand})
				if got := a.status == http.StatusOK; got != may {
					t.Errorf("a key that %s and expands %s gets %d %s", as, expand, a.status, a.body)
				}
			}
		}
		if a := s.ask(t, sent{
			as:     "writes charges",
			target: "/v1/charges",
			body:   "amount=1000&currency=usd&source=tok_visa&expand[]=balance_transaction",
		}); a.status != http.StatusForbidden {
			t.Errorf("what the key cannot read was charged: %d %s", a.status, a.body)
		}
		if now := s.requests(t); now != before {
			t.Errorf("%d requests were stored", now-before)
		}
	})
}

package checkout_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestReceipt(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	key := []string{"Authorization", "Bearer " + s.key}
	type charge struct {
		ID  string
		URL *string `json:"receipt_url"`
	}
	pay := func(t *testing.T, more url.Values) (made charge) {
		t.Helper()
		params := url.Values{"amount": {"2000"}, "currency": {"usd"}, "source": {"tok_visa"}}
		for name, values := range more {
			params[name] = values
		}
		s.decode(t, s.do(t, http.MethodPost, "/v1/charges", params, key...), &made)
		if made.URL == nil || !strings.HasPrefix(*made.URL, s.server.URL+"/receipts/acct_1/"+made.ID+"/") {
			t.Fatalf("the receipt of %s is at %v", made.ID, made.URL)
		}
		return made
	}
	read := func(t *testing.T, c charge, header ...string) string {
		t.Helper()
		p := s.do(t, http.MethodGet, strings.TrimPrefix(*c.URL, s.server.URL), nil, header...)
		if p.status != http.StatusOK {
			t.Fatalf("answered %d: %s", p.status, s.log)
		}
		return p.body
	}
	shows := func(t *testing.T, body string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(body, want) {
				t.Errorf("no %q in %s", want, body)
			}
		}
	}

	t.Run("a charge shows its shop, amount, card and day, and no card number", func(t *testing.T) {
		t.Parallel()
		body := read(t, pay(t, url.Values{"description": {"Two sledges"}}))
		shows(t, body, "Receipt from Toboggans", "$20.00", "Visa ending in 4242", "Two sledges", "Paid")
		if strings.Contains(body, "424242") {
			t.Error("the receipt has the card's number")
		}
	})

	t.Run("refunds are taken off", func(t *testing.T) {
		t.Parallel()
		c := pay(t, nil)
		s.do(t, http.MethodPost, "/v1/refunds", url.Values{"charge": {c.ID}, "amount": {"500"}}, key...)
		shows(t, read(t, c), "Partially refunded", "-$5.00", "Total after refunds", "$15.00")
		s.do(t, http.MethodPost, "/v1/refunds", url.Values{"charge": {c.ID}}, key...)
		shows(t, read(t, c), "-$15.00", "$0.00")
	})

	t.Run("a hold is not called paid", func(t *testing.T) {
		t.Parallel()
		c := pay(t, url.Values{"capture": {"false"}})
		if body := read(t, c); strings.Contains(body, "Paid") {
			t.Errorf("a hold is paid: %s", body)
		}
		shows(t, read(t, c), "The amount is held for Toboggans")
		s.do(t, http.MethodPost, "/v1/refunds", url.Values{"charge": {c.ID}}, key...)
		shows(t, read(t, c), "The amount was never charged", "Released")
	})

	t.Run("what was bought is listed, in the reader's language", func(t *testing.T) {
		t.Parallel()
		id := strings.TrimPrefix(s.session(t), "/c/pay/")
		s.do(t, http.MethodPost, "/v1/payment_pages/"+id+"/confirm",
			url.Values{"payment_method": {"pm_card_visa"}, "email": {"jenny@example.com"}}, key...)
		var session struct {
			Intent struct {
				Charge charge `json:"latest_charge"`
			} `json:"payment_intent"`
		}
		s.decode(t, s.do(t, http.MethodGet, "/v1/checkout/sessions/"+id+"?expand[]=payment_intent.latest_charge",
			nil, key...), &session)
		body := read(t, session.Intent.Charge, "Accept-Language", "de")
		shows(t, body, `lang="de"`, "Beleg von Toboggans", "15,00\u00a0$", "<li><span class=\"what\">")
		if strings.Contains(body, "jenny") {
			t.Error("the receipt names the customer")
		}
	})

	t.Run("a wrong token finds nothing, and neither does a declined charge", func(t *testing.T) {
		t.Parallel()
		c, other := pay(t, nil), pay(t, nil)
		at := strings.TrimPrefix(*c.URL, s.server.URL)
		token := (*other.URL)[strings.LastIndex(*other.URL, "/"):]
		for _, wrong := range []string{at + "x", at[:len(at)-1], at[:strings.LastIndex(at, "/")] + token,
			strings.Replace(at, c.ID, "ch_none", 1), strings.Replace(at, "acct_1", "acct_2", 1),
			strings.Replace(at, "acct_1", "acct_%00", 1)} {
			if p := s.do(t, http.MethodGet, wrong, nil); p.status != http.StatusNotFound {
				t.Errorf("%s was answered %d", wrong, p.status)
			}
		}
		refused := s.do(t, http.MethodPost, "/v1/charges",
			url.Values{"amount": {"2000"}, "currency": {"usd"}, "source": {"tok_chargeDeclined"}}, key...)
		if refused.status != http.StatusPaymentRequired {
			t.Fatalf("answered %d", refused.status)
		}
		var charges struct {
			Data []struct {
				charge
				Status string
			}
		}
		s.decode(t, s.do(t, http.MethodGet, "/v1/charges?limit=100", nil, key...), &charges)
		var without int
		for _, c := range charges.Data {
			if c.URL == nil && c.Status != "pending" { // another test's charge may be
				without++
			}
		}
		if without != 1 {
			t.Errorf("%d charges have no receipt, want the declined one", without)
		}
	})
}

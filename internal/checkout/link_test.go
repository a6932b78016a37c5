package checkout_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestPaymentLink(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	key := []string{"Authorization", "Bearer " + s.key}
	var link struct {
		ID, URL string
		Data    struct {
			TransferGroup string `json:"transfer_group"`
		} `json:"payment_intent_data"`
	}
	s.decode(t, s.do(t, http.MethodPost, "/v1/payment_links", url.Values{
		"line_items[0][quantity]":                               {"2"},
		"line_items[0][price_data][currency]":                   {"usd"},
		"line_items[0][price_data][unit_amount]":                {"1500"},
		"line_items[0][price_data][product_data][name]":         {"Sledge"},
		"after_completion[type]":                                {"hosted_confirmation"},
		"after_completion[hosted_confirmation][custom_message]": {"See you on the hill."},
		"metadata[campaign]":                                    {"spring"},
		"payment_intent_data[transfer_group]":                   {"hills"},
	}, key...), &link)
	if link.Data.TransferGroup != "hills" {
		t.Errorf("the link's transfer group is %q", link.Data.TransferGroup)
	}
	at := strings.TrimPrefix(link.URL, s.server.URL)
	sessions := func() (n int) {
		if err := s.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM checkout_sessions`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	visit := func(cookie string) (address, kept string) {
		t.Helper()
		p := s.do(t, http.MethodGet, at, nil, "Cookie", cookie)
		if p.status != http.StatusSeeOther {
			t.Fatalf("the link was answered %d: %s", p.status, s.log)
		}
		kept, _, _ = strings.Cut(p.header.Get("Set-Cookie"), ";")
		return p.header.Get("Location"), kept
	}

	first, cookie := visit("")
	if again, _ := visit(cookie); again != first {
		t.Errorf("the same browser was led to %s, and then to %s", first, again)
	}
	if other, _ := visit(""); other == first {
		t.Error("two customers share a session")
	}
	if p := s.do(t, http.MethodHead, at, nil); p.status != http.StatusOK || sessions() != 2 {
		t.Errorf("HEAD was answered %d, and there are %d sessions", p.status, sessions())
	}

	id := strings.TrimPrefix(first, "/c/pay/")
	paid := s.do(t, http.MethodPost, "/v1/payment_pages/"+id+"/confirm",
		url.Values{"payment_method": {"pm_card_visa"}, "email": {"jenny@example.com"}}, key...)
	if paid.status != http.StatusOK {
		t.Fatalf("paying was answered %d %s", paid.status, paid.body)
	}
	var session struct {
		Metadata    map[string]string
		PaymentLink string `json:"payment_link"`
		Total       int    `json:"amount_total"`
	}
	s.decode(t, s.do(t, http.MethodGet, "/v1/checkout/sessions/"+id, nil, key...), &session)
	if session.PaymentLink != link.ID || session.Metadata["campaign"] != "spring" || session.Total != 3000 {
		t.Errorf("the session is %+v", session)
	}
	receipt := s.do(t, http.MethodGet, first, nil)
	if !strings.Contains(receipt.body, "See you on the hill.") || strings.Contains(receipt.body, "Back to") {
		t.Errorf("the receipt is %s", receipt.body)
	}
	if next, _ := visit(cookie); next == first {
		t.Error("a customer who has paid cannot buy again")
	}

	s.do(t, http.MethodPost, "/v1/payment_links/"+link.ID,
		url.Values{"active": {"false"}, "inactive_message": {"Sold out."}}, key...)
	before := sessions()
	if p := s.do(t, http.MethodGet, at, nil); p.status != http.StatusGone || !strings.Contains(p.body, "Sold out.") ||
		sessions() != before {
		t.Errorf("an inactive link was answered %d, and %d sessions were opened", p.status, sessions()-before)
	}
	for _, unknown := range []string{"/buy/plink_none", "/buy/%27", "/buy/cs_test_none"} {
		if p := s.do(t, http.MethodGet, unknown, nil); p.status != http.StatusNotFound {
			t.Errorf("%s was answered %d", unknown, p.status)
		}
	}
}

// A link may offer a price that recurs, as it may at Stripe. There are no subscriptions here, so its page is closed.
func TestALinkThatCannotBePaidIsClosed(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	key := []string{"Authorization", "Bearer " + s.key}
	var price, link struct{ ID, URL string }
	s.decode(t, s.do(t, http.MethodPost, "/v1/prices", url.Values{
		"currency": {"usd"}, "unit_amount": {"1500"}, "recurring[interval]": {"month"}, "product_data[name]": {"Rink"},
	}, key...), &price)
	s.decode(t, s.do(t, http.MethodPost, "/v1/payment_links", url.Values{
		"line_items[0][quantity]": {"1"}, "line_items[0][price]": {price.ID},
	}, key...), &link)
	p := s.do(t, http.MethodGet, strings.TrimPrefix(link.URL, s.server.URL), nil)
	if p.status != http.StatusGone || strings.Contains(p.body, "http-equiv") {
		t.Errorf("the link was answered %d %s", p.status, p.body)
	}
}

func (s *env) decode(t *testing.T, p page, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(p.body), into); err != nil || p.status != http.StatusOK {
		t.Fatalf("answered %d %s", p.status, p.body)
	}
}

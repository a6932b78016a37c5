package checkout_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestShippingWithoutJavaScript chooses how to ship an order as a browser without JavaScript does.
func TestShippingWithoutJavaScript(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	option := func(i, name, amount string) url.Values {
		at := "shipping_options[" + i + "][shipping_rate_data]"
		return url.Values{
			at + "[display_name]":                      {name},
			at + "[fixed_amount][amount]":              {amount},
			at + "[fixed_amount][currency]":            {"usd"},
			at + "[delivery_estimate][maximum][unit]":  {"business_day"},
			at + "[delivery_estimate][maximum][value]": {"5"},
		}
	}
	path := s.session(t, option("0", "Standard", "500"), option("1", "Express", "1500"))
	shown := s.do(t, http.MethodGet, path, nil).body
	for _, text := range []string{"Pay $20.00", "Standard", "$5.00", "At most 5 business days", "Express",
		"Update the total", `name="total" value="2000"`} {
		if !strings.Contains(shown, text) {
			t.Errorf("the page does not show %q", text)
		}
	}
	_, rest, _ := strings.Cut(shown[:strings.Index(shown, `data-name="Express"`)], `data-name="Standard"`)
	_, rest, _ = strings.Cut(rest, `value="`)
	express, _, _ := strings.Cut(rest, `"`)

	chosen := form(card(t, "visa"))
	chosen.Set("shipping", express)
	chosen.Set("total", "2000")

	t.Run("the total is updated, and what was typed stays", func(t *testing.T) {
		update := url.Values{"update": {"shipping"}}
		for name, values := range chosen {
			update[name] = values
		}
		got := s.do(t, http.MethodPost, path, update)
		if got.status != http.StatusOK || !strings.Contains(got.body, "Pay $30.00") ||
			!strings.Contains(got.body, `name="total" value="3000"`) ||
			!strings.Contains(got.body, "jenny@example.com") || s.requests(t) != 0 {
			t.Errorf("answered %d after %d requests: %s", got.status, s.requests(t), got.body)
		}
	})

	t.Run("a total that the page did not show is not charged", func(t *testing.T) {
		got := s.do(t, http.MethodPost, path, chosen)
		if got.status != http.StatusConflict || !strings.Contains(got.body, "The total is now $30.00.") ||
			s.requests(t) != 0 {
			t.Errorf("answered %d after %d requests: %s", got.status, s.requests(t), got.body)
		}
	})

	t.Run("the total that the page showed is charged, and the receipt has it", func(t *testing.T) {
		chosen.Set("total", "3000")
		if got := s.do(t, http.MethodPost, path, chosen); got.status != http.StatusSeeOther {
			t.Fatalf("answered %d: %s", got.status, got.body)
		}
		receipt := s.do(t, http.MethodGet, path, nil).body
		if !strings.Contains(receipt, "$30.00") || !strings.Contains(receipt, "Express") {
			t.Errorf("the receipt is %s", receipt)
		}
		var charged int64
		err := s.db.Pool.QueryRow(t.Context(), `SELECT sum(amount) FROM charges WHERE status = 'succeeded'`).
			Scan(&charged)
		if err != nil || charged != 3000 {
			t.Errorf("charged %d, %v", charged, err)
		}
	})
}

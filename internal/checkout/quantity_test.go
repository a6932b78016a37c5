package checkout_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func TestQuantity(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	coupon := s.make(t, "/v1/coupons", url.Values{"percent_off": {"10"}})
	s.make(t, "/v1/promotion_codes", url.Values{"promotion[type]": {"coupon"}, "promotion[coupon]": {coupon},
		"code": {"DEAR"}, "restrictions[minimum_amount]": {"3000"}, "restrictions[minimum_amount_currency]": {"usd"}})
	path := s.session(t, url.Values{
		"allow_promotion_codes":                       {"true"},
		"line_items[0][adjustable_quantity][enabled]": {"true"},
		"line_items[0][adjustable_quantity][maximum]": {"5"},
	})
	item := regexp.MustCompile(`name="line_item" value="(li_[0-9A-Za-z]+)"`).
		FindStringSubmatch(s.do(t, http.MethodGet, path, nil).body)[1]
	choose := func(quantity, step string, header ...string) page {
		return s.do(t, http.MethodPost, path+"/quantity",
			url.Values{"line_item": {item}, "quantity": {quantity}, "step": {step}}, header...)
	}

	for _, c := range []struct {
		quantity, step string
		status         int
		want           string
	}{
		{"1", "1", http.StatusSeeOther, "Pay $30.00"},
		{"5", "", http.StatusSeeOther, "Pay $75.00"},
		{"5", "1", http.StatusBadRequest, "Please choose a quantity from 1 to 5."},
		{"1", "-1", http.StatusBadRequest, "Please choose a quantity from 1 to 5."},
		{"-9223372036854775808", "-1", http.StatusUnprocessableEntity, "Please choose a quantity from 1 to 5."},
		{card(t, "visa"), "1", http.StatusUnprocessableEntity, "Please choose a quantity from 1 to 5."},
		{"2", "", http.StatusSeeOther, "Pay $30.00"},
	} {
		shown := choose(c.quantity, c.step)
		if shown.status != c.status {
			t.Errorf("%s with a step of %q is answered with %d, want %d", c.quantity, c.step, shown.status, c.status)
		}
		if shown.status == http.StatusSeeOther {
			shown = s.do(t, http.MethodGet, path, nil)
		}
		if !strings.Contains(shown.body, c.want) || strings.Contains(shown.body, `value="`+card(t, "visa")) {
			t.Errorf("after %s with a step of %q the page does not say %q", c.quantity, c.step, c.want)
		}
	}

	if a := s.do(t, http.MethodPost, path+"/code", url.Values{"code": {"DEAR"}}); a.status != http.StatusSeeOther {
		t.Fatalf("the code is answered with %d", a.status)
	}
	shown := choose("2", "-1", "Accept-Language", "de")
	if shown.status != http.StatusBadRequest || !strings.Contains(shown.body, "Dieser Code gilt nicht") {
		t.Errorf("a quantity below the minimum of the code is answered with %d", shown.status)
	}
	if a := choose("3", "", "Sec-Fetch-Site", "cross-site"); a.status != http.StatusForbidden {
		t.Errorf("another site's form is answered with %d, want 403", a.status)
	}
	stale := form(card(t, "visa"))
	stale.Set("total", "2699")
	if a := s.do(t, http.MethodPost, path, stale); a.status != http.StatusConflict {
		t.Errorf("a payment of another total is answered with %d, want 409", a.status)
	}
	if paid := s.do(t, http.MethodPost, path, form(card(t, "visa"))); paid.status != http.StatusSeeOther {
		t.Fatalf("the payment is answered with %d %s", paid.status, paid.body)
	}
	if a := choose("3", ""); a.status != http.StatusSeeOther {
		t.Errorf("a quantity of a paid session is answered with %d, want 303", a.status)
	}
	var charged int64
	err := s.db.Pool.QueryRow(t.Context(), `SELECT sum(amount) FROM charges WHERE status = 'succeeded'`).Scan(&charged)
	receipt := s.do(t, http.MethodGet, path, nil).body
	if err != nil || charged != 2700 || strings.Contains(receipt, "/quantity") || !strings.Contains(receipt, "$27.00") {
		t.Errorf("charged %d, want 2700: %v", charged, err)
	}
}

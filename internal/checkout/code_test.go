package checkout_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// make makes an object as the merchant, and returns its ID.
func (s *env) make(t *testing.T, path string, form url.Values) string {
	t.Helper()
	made := s.do(t, http.MethodPost, path, form, "Authorization", "Bearer "+s.key)
	var object struct{ ID string }
	if err := json.Unmarshal([]byte(made.body), &object); err != nil || made.status != http.StatusOK {
		t.Fatalf("%s answered %d %s", path, made.status, made.body)
	}
	return object.ID
}

func TestPromotionCode(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	coupon := s.make(t, "/v1/coupons", url.Values{"percent_off": {"10"}})
	codeOf := func(code string, more url.Values) {
		form := url.Values{"promotion[type]": {"coupon"}, "promotion[coupon]": {coupon}, "code": {code}}
		for name, value := range more {
			form[name] = value
		}
		s.make(t, "/v1/promotion_codes", form)
	}
	codeOf("TEN", nil)
	codeOf("USED", url.Values{"max_redemptions": {"1"}})
	codeOf("DEAR", url.Values{
		"restrictions[minimum_amount]": {"1501"}, "restrictions[minimum_amount_currency]": {"usd"}})
	fields := url.Values{"allow_promotion_codes": {"true"}}

	used := s.session(t, fields)
	if a := s.do(t, http.MethodPost, used+"/code", url.Values{"code": {"used"}}); a.status != http.StatusSeeOther {
		t.Fatalf("the code was answered with %d %s", a.status, a.body)
	}
	if paid := s.do(t, http.MethodPost, used, form(card(t, "visa"))); paid.status != http.StatusSeeOther {
		t.Fatalf("the payment was answered with %d %s", paid.status, paid.body)
	}

	for language, says := range map[string]map[string]string{
		"en": {"NONE": "This code is not valid.", "USED": "This code has expired or is used up.",
			"DEAR": "This code cannot be used for this order."},
		"de": {"NONE": "Dieser Code ist ung\u00fcltig."},
		"es": {"NONE": "Este c\u00f3digo no es v\u00e1lido."},
		"fr": {"NONE": "Ce code n\u2019est pas valide."},
		"it": {"NONE": "Questo codice non \u00e8 valido."},
		"ja": {"NONE": "\u3053\u306e\u30b3\u30fc\u30c9\u306f\u7121\u52b9\u3067\u3059\u3002"},
	} {
		path := s.session(t, fields)
		for code, want := range says {
			shown := s.do(t, http.MethodPost, path+"/code", url.Values{"code": {code}}, "Accept-Language", language)
			if shown.status != http.StatusBadRequest || !strings.Contains(shown.body, want) ||
				!strings.Contains(shown.body, `value="`+code+`"`) {
				t.Errorf("%s in %s is answered with %d, and not with %q", code, language, shown.status, want)
			}
		}
	}

	path := s.session(t, fields)
	stranger := s.do(t, http.MethodPost, path+"/code", url.Values{"code": {"TEN"}}, "Sec-Fetch-Site", "cross-site")
	if stranger.status != http.StatusForbidden {
		t.Errorf("another site's form is answered with %d, want 403", stranger.status)
	}
	for _, text := range []string{card(t, "visa"), "SAVE10 " + card(t, "visa")} {
		number := s.do(t, http.MethodPost, path+"/code", url.Values{"code": {text}})
		if number.status != http.StatusUnprocessableEntity || strings.Contains(number.body, `value="`+text) {
			t.Errorf("a card's number in the field is answered with %d, or is on the page again", number.status)
		}
	}
	guessed := s.session(t, fields)
	for n := 1; ; n++ {
		shown := s.do(t, http.MethodPost, guessed+"/code", url.Values{"code": {"GUESS"}})
		if shown.status == http.StatusTooManyRequests {
			if !strings.Contains(shown.body, "Too many attempts. Try again in a minute.") ||
				!strings.Contains(shown.body, `value="GUESS"`) {
				t.Error("the page does not say that too many codes were tried")
			}
			break
		}
		if n > 15 {
			t.Fatal("codes can be tried without limit")
		}
	}
	if shown := s.do(t, http.MethodGet, path, nil); !strings.Contains(shown.body, "Pay $15.00") {
		t.Error("a code that was refused changes the total")
	}
	if shown := s.do(t, http.MethodGet, s.session(t), nil); strings.Contains(shown.body, "Promotion code") {
		t.Error("a session that takes no codes has a field for one")
	}
}

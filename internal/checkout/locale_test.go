package checkout_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestLanguages shows the page to browsers without JavaScript.
func TestLanguages(t *testing.T) {
	t.Parallel()
	s := newEnv(t)

	t.Run("the browser chooses, unless the session does", func(t *testing.T) {
		t.Parallel()
		for _, c := range [][4]string{
			{"", "de-CH, en;q=0.5", `lang="de"`, "15,00\u00a0$ bezahlen"},
			{"auto", "fr", `lang="fr"`, "Payer 15,00\u00a0$US"},
			{"es-419", "de", `lang="es"`, "Pagar 15,00\u00a0US$"},
			{"it", "", `lang="it"`, "Paga 15,00\u00a0USD"},
			{"ja", "en-US", `lang="ja"`, "$15.00 を支払う"},
			{"nl", "nl", `lang="en"`, "Pay $15.00"},
		} {
			path := s.session(t)
			if c[0] != "" {
				path = s.session(t, url.Values{"locale": {c[0]}})
			}
			got := s.do(t, http.MethodGet, path, nil, "Accept-Language", c[1])
			if got.status != http.StatusOK || !strings.Contains(got.body, "<html "+c[2]) ||
				!strings.Contains(got.body, c[3]) {
				t.Errorf("locale %q, browser %q: no %q in %s", c[0], c[1], c[3], got.body)
			}
		}
	})

	t.Run("faults, declines and lost pages are in the language, too", func(t *testing.T) {
		t.Parallel()
		path := s.session(t, url.Values{"locale": {"fr"}})
		for number, want := range map[string]string{
			"4242": "Votre numéro de carte est incomplet.",
			card(t, "visa_chargeDeclinedInsufficientFunds"): "Votre carte ne dispose pas de fonds suffisants.",
		} {
			if got := s.do(t, http.MethodPost, path, form(number)); !strings.Contains(got.body, want) {
				t.Errorf("%s: no %q in %s", number, want, got.body)
			}
		}
		lost := s.do(t, http.MethodGet, "/c/pay/cs_test_none", nil, "Accept-Language", "ja")
		if !strings.Contains(lost.body, "お支払いページが見つかりません") {
			t.Errorf("a page that is not there: %s", lost.body)
		}
	})

	t.Run("a browser is taken to be at home, and countries are in its language", func(t *testing.T) {
		t.Parallel()
		got := s.do(t, http.MethodGet, s.session(t), nil, "Accept-Language", "de-AT")
		if !strings.Contains(got.body, `<option value="AT" selected>Österreich<`) {
			t.Error("Austria is not chosen")
		}
	})
}

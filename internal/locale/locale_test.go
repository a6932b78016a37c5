package locale_test

import (
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/locale"
)

var placeholder = regexp.MustCompile(`\{[a-z0-9]+\}`)

func TestEveryTextExistsInEveryLanguage(t *testing.T) {
	t.Parallel()
	english := locale.English.Words()
	for _, l := range locale.Languages {
		t.Run(l.Code, func(t *testing.T) {
			t.Parallel()
			words := l.Words()
			for key := range maps.Keys(words) {
				if english[key] == "" {
					t.Errorf("%s is a text of no page", key)
				}
			}
			for key, text := range english {
				want, got := placeholder.FindAllString(text, -1), placeholder.FindAllString(words[key], -1)
				slices.Sort(want)
				slices.Sort(got)
				if words[key] == "" || !slices.Equal(got, want) {
					t.Errorf("%s has the placeholders %v in %q, and %v in English", key, got, words[key], want)
				}
			}
			if len(l.Countries) != len(locale.English.Countries) {
				t.Errorf("%d countries, and %d in English", len(l.Countries), len(locale.English.Countries))
			}
			for _, country := range locale.English.Countries {
				if !l.HasCountry(country.Code) {
					t.Errorf("no country %s", country.Code)
				}
			}
		})
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ locale, accept, want string }{
		{"", "", "en"},
		{"auto", "de-AT,de;q=0.9,en;q=0.8", "de"},
		{"", "en;q=0.5, ja", "ja"},
		{"fr-CA", "de", "fr"},
		{"es-419", "", "es"},
		{"nl", "it-IT", "it"},
		{"nl", "nl, *;q=0.5", "en"},
		{"", "de;q=broken", "en"},
		{"", "zh-TW, fr;q=0.1", "fr"},
	} {
		if got := locale.Choose(c.locale, c.accept).Code; got != c.want {
			t.Errorf("locale %q and Accept-Language %q choose %s, want %s", c.locale, c.accept, got, c.want)
		}
	}
	for accept, want := range map[string]string{"de-AT,de": "AT", "de": "", "": "", "en-001": ""} {
		if got := locale.Region(accept); got != want {
			t.Errorf("Accept-Language %q is in %q, want %q", accept, got, want)
		}
	}
}

// TestFormats compares with what browsers write; test/browser asks a real one.
func TestFormats(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for code, want := range map[string][]string{
		"en": {"$1,234.50", "-$7.50", "¥12,345", "KWD\u00a01.234", "March 2, 2026"},
		"de": {"1.234,50\u00a0$", "-7,50\u00a0$", "12.345\u00a0¥", "1,234\u00a0KWD", "2. März 2026"},
		"fr": {"1\u202f234,50\u00a0$US", "-7,50\u00a0$US", "12\u202f345\u00a0JPY", "1,234\u00a0KWD", "2 mars 2026"},
		"es": {"1234,50\u00a0US$", "-7,50\u00a0US$", "12.345\u00a0JPY", "1,234\u00a0KWD", "2 de marzo de 2026"},
		"it": {"1234,50\u00a0USD", "-7,50\u00a0USD", "12.345\u00a0JPY", "1,234\u00a0KWD", "2 marzo 2026"},
		"ja": {"$1,234.50", "-$7.50", "￥12,345", "KWD\u00a01.234", "2026年3月2日"},
	} {
		l := locale.Find(code)
		got := []string{l.Money(123450, "usd"), l.Money(-750, "usd"), l.Money(12345, "jpy"), l.Money(1234, "kwd"),
			l.Day(at)}
		if !slices.Equal(got, want) {
			t.Errorf("%s writes %q, want %q", code, got, want)
		}
	}
}

func TestDecline(t *testing.T) {
	t.Parallel()
	german := locale.Find("de")
	for _, c := range [][4]string{
		{"card_declined", "insufficient_funds", "API", "Ihre Karte ist nicht ausreichend gedeckt."},
		{"card_declined", "lost_card", "API", "Ihre Karte wurde abgelehnt."},
		{"expired_card", "expired_card", "API", "Ihre Karte ist abgelaufen."},
		{"setup_intent_authentication_failure", "", "API", german.Say("decline_authentication_failure")},
		{"checkout_session_unexpected_state", "", "API", german.Say("payment_failed")},
	} {
		if got := german.Decline(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("%s, %s: %q, want %q", c[0], c[1], got, c[3])
		}
	}
	if got := locale.English.Decline("checkout_session_unexpected_state", "", "API"); got != "API" {
		t.Errorf("an error without a text is %q in English", got)
	}
}

package testcard_test

import (
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/testcard"
)

func TestMentions(t *testing.T) {
	t.Parallel()
	t.Run("the number of every test card is found, however it is spaced", func(t *testing.T) {
		t.Parallel()
		for _, card := range testcard.All() {
			number := card.Number()
			for _, between := range []string{"", " ", "-", ".", " - ", "\u00a0", "\n", "–", "/", "_"} {
				spaced := number[:4] + between + number[4:10] + between + number[10:]
				for _, text := range []string{spaced, "card: " + spaced, "(" + spaced + ")", spaced + " 12/30 123",
					"Order 7 was paid with " + spaced + ", thanks"} {
					if !testcard.Mentions(text) {
						t.Errorf("the card %s is not found with %q between its digits, in %q", card.Name, between,
							strings.NewReplacer(number, "[number]", spaced, "[number]").Replace(text))
					}
				}
			}
		}
	})
	visa := byName(t, "visa").Number()
	t.Run("a number is found in the digits of any script, among characters without a width, and in a URL", func(t *testing.T) {
		t.Parallel()
		in := func(zero rune) string { return strings.Map(func(d rune) rune { return zero + d - '0' }, visa) }
		for _, text := range []string{in('０'), in('٠'), in('०'), in('𝟎'), "card " + in('𝟶') + ".",
			visa[:8] + "\u200b" + visa[8:], visa[:4] + "\u00ad" + visa[4:], visa[:4] + "\u2003" + visa[4:],
			"https://example.com/?card=" + visa[:4] + "%20" + visa[4:8] + "%20" + visa[8:12] + "%20" + visa[12:],
			"https://example.com/?a=%zz&card=" + visa[:4] + "+" + visa[4:8] + "%2d" + visa[8:12] + "%C2%A0" + visa[12:],
			"https://example.com/%" + visa[:4] + "/" + visa, "100% of " + visa} {
			if !testcard.Mentions(text) {
				t.Errorf("not found in %q", strings.ReplaceAll(text, visa, "[number]"))
			}
		}
	})
	for name, text := range map[string]string{
		"a number with a wrong check digit":         visa[:15] + "3",
		"one that is a part of a longer number":     "1" + visa,
		"an ID":                                     "order_a" + visa + "b",
		"a UUID of digits":                          "41111111-1111-1111-1111-111111111111",
		"a UUID that begins like a card":            "42424242-4242-4242-8242-424242424242",
		"an IBAN":                                   "DE89 3704 0044 0532 0130 00",
		"an IBAN in one piece":                      "DE89370400440532013000",
		"a telephone number":                        "+49 151 123456784",
		"a time in a URL":                           "https://example.com/?at=2026-11-23%2014:22:19.000000",
		"words and digits of a script":              "注文 ２０２６１１２３０００００４１７",
		"a time in milliseconds":                    "1763900000000",
		"a time in microseconds":                    "1763900000000000",
		"a date and a time":                         "2026-11-23 14:22:19.000000",
		"an order number":                           "202611230000417",
		"a snowflake":                               "621234567890123456",
		"a hash":                                    strings.Repeat("4242a", 12),
		"an article number":                         "4006381333931",
		"digits that are far apart":                 strings.Join(strings.Split(visa, ""), ", "),
		"the last four digits of a card, and a sum": "4242, 4242.00 USD",
	} {
		if testcard.Mentions(text) {
			t.Errorf("%s is taken for a card number", name)
		}
	}
}

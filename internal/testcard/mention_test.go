package testcard_test

import (
	"math/rand/v2"
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
					"Order 7 was paid with " + spaced + ", thanks", "SAVE10 " + spaced + " 2x"} {
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
	t.Run("a number is found between letters", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"n" + visa, visa + "n", "card" + visa + "x", "no. n" + visa + " 12/30",
			"VISA" + visa,
			"ref a" + visa + "\u00e9", "order_a" + visa + "b", "bee" + visa, "7 n" + visa} {
			if !testcard.Mentions(text) {
				t.Errorf("not found in %q", strings.ReplaceAll(text, visa, "[number]"))
			}
		}
	})
	for name, text := range map[string]string{
		"a number with a wrong check digit":         visa[:15] + "3",
		"one that is a part of a longer number":     "1" + visa,
		"a digest":                                  "deadbeef" + visa + "cafe",
		"an ID of 24 hexadecimal digits":            "507f1a7" + visa + "b",
		"a longer number between letters":           "n" + visa + "1n",
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
		"an ID of several groups":                   "a1-" + visa[:8] + "-" + visa[8:],
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

// TestIDsMentionNothing holds the shapes of IDs that merchants keep in metadata to the bound that refusing them by
// mistake must have: none in 20,000.
func TestIDsMentionNothing(t *testing.T) {
	t.Parallel()
	const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	random := rand.New(rand.NewPCG(1, 2)) // the same IDs in each run
	// 16 digits are too few to tell an ID from a number and letters.
	for name, shape := range map[string]struct {
		alphabet, before string
		length           int
	}{
		"an ID of ours":          {base62, "pi_0", 21},
		"an ID of base 36":       {base62[:10] + base62[36:], "", 25},
		"an ID of base 32":       {base62[:32], "01", 24},
		"20 hexadecimal digits":  {"0123456789abcdef", "", 20},
		"an ObjectID":            {"0123456789abcdef", "", 24},
		"a UUID without hyphens": {"0123456789abcdef", "", 32},
		"a SHA-1 digest":         {"0123456789abcdef", "sha1:", 40},
		"a SHA-256 digest":       {"0123456789ABCDEF", "", 64},
	} {
		made := make([]byte, shape.length)
		for range 20_000 {
			for i := range made {
				made[i] = shape.alphabet[random.IntN(len(shape.alphabet))]
			}
			if text := shape.before + string(made); strings.Trim(text, "0123456789") != "" && testcard.Mentions(text) {
				t.Errorf("%s is taken for a card number: %s", name, text)
			}
		}
	}
}

func TestEmbeds(t *testing.T) {
	t.Parallel()
	for _, card := range testcard.All() {
		number := card.Number()
		for _, text := range []string{number, strings.Repeat("0", 32-len(number)) + number, "a" + number + "1" + "b",
			"00-" + number + strings.Repeat("f", 32-len(number)) + "-00f067aa0ba902b7-01"} {
			if !testcard.Embeds(text) {
				t.Errorf("the card %s is not found in a text of %d characters", card.Name, len(text))
			}
		}
	}
	for _, text := range []string{"", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"vendor=00f067aa0ba902b7", strings.Repeat("0", 32)} {
		if testcard.Embeds(text) {
			t.Errorf("a card number is found in %q", text)
		}
	}
}

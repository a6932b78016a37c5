package testcard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// withCheckDigit completes a number so that it is well-formed.
func withCheckDigit(digits string) string {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i]-'0') * (2 - i%2)
		sum += d/10 + d%10
	}
	return digits + fmt.Sprint((10-sum%10)%10)
}

func TestValidate(t *testing.T) {
	t.Parallel()
	visa, amex := byName(t, "visa").Number(), byName(t, "amex").Number()
	slipped := visa[:15] + "1"
	stranger := withCheckDigit("453201511283036")
	type fault struct{ code, decline, param, message string }
	for _, c := range []struct {
		name              string
		number, cvc       string
		expMonth, expYear int64
		want              fault
	}{
		{name: "a card that is good", number: visa, cvc: "123", expMonth: 12, expYear: 2030},
		{
			name:     "spaces and dashes do not matter",
			number:   visa[:4] + " " + visa[4:8] + "-" + visa[8:],
			cvc:      "123",
			expMonth: 12,
			expYear:  2030,
		},
		{name: "a year without its century", number: visa, cvc: "123", expMonth: 12, expYear: 30},
		{name: "this month is still good", number: visa, cvc: "123", expMonth: 6, expYear: 2026},
		{name: "American Express has four digits", number: amex, cvc: "1234", expMonth: 1, expYear: 2027},
		{name: "a code need not be typed", number: visa, expMonth: 1, expYear: 2027},

		{"a slip of the finger", slipped, "123", 12, 2030,
			fault{"incorrect_number", "", "number", "Your card number is incorrect."}},
		{"letters", "4242 abcd 4242 4242", "123", 12, 2030,
			fault{"invalid_number", "", "number", "The card number is not a valid credit card number."}},
		{"digits that are not ASCII", strings.Repeat("٤٢", 8), "123", 12, 2030,
			fault{"invalid_number", "", "number", "The card number is not a valid credit card number."}},
		{"eleven digits", visa[:11], "123", 12, 2030,
			fault{"invalid_number", "", "number", "The card number is not a valid credit card number."}},
		{"twenty digits", visa + "0000", "123", 12, 2030,
			fault{"invalid_number", "", "number", "The card number is not a valid credit card number."}},
		{"no number", "", "123", 12, 2030,
			fault{"invalid_number", "", "number", "The card number is not a valid credit card number."}},
		{"a well-formed number that may be someone's", stranger, "123", 12, 2030,
			fault{"card_declined", "test_mode_live_card", "",
				"Your card was declined. Your request was in test mode, but used a non test card. For a list of " +
					"valid test cards, visit: https://stripe.com/docs/testing."}},
		{"month 13", visa, "123", 13, 2030,
			fault{"invalid_expiry_month", "", "exp_month", "Your card's expiration month is invalid."}},
		{"month 0", visa, "123", 0, 2030,
			fault{"invalid_expiry_month", "", "exp_month", "Your card's expiration month is invalid."}},
		{"last month", visa, "123", 5, 2026,
			fault{"invalid_expiry_month", "", "exp_month", "Your card's expiration month is invalid."}},
		{"last year", visa, "123", 12, 2025,
			fault{"invalid_expiry_year", "", "exp_year", "Your card's expiration year is invalid."}},
		{"last year, in short", visa, "123", 12, 25,
			fault{"invalid_expiry_year", "", "exp_year", "Your card's expiration year is invalid."}},
		{"a year before years", visa, "123", 12, -1,
			fault{"invalid_expiry_year", "", "exp_year", "Your card's expiration year is invalid."}},
		{"a year nobody lives to see", visa, "123", 12, 2077,
			fault{"invalid_expiry_year", "", "exp_year", "Your card's expiration year is invalid."}},
		{"a code of two digits", visa, "12", 12, 2030,
			fault{"invalid_cvc", "", "cvc", "Your card's security code is invalid."}},
		{"a code of letters", visa, "abc", 12, 2030,
			fault{"invalid_cvc", "", "cvc", "Your card's security code is invalid."}},
		{"four digits on a Visa", visa, "1234", 12, 2030,
			fault{"invalid_cvc", "", "cvc", "Your card's security code is invalid."}},
		{"three digits on an American Express", amex, "123", 12, 2030,
			fault{"invalid_cvc", "", "cvc", "Your card's security code is invalid."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			typed := testcard.Typed{Number: testcard.NewPAN(c.number), ExpMonth: c.expMonth, ExpYear: c.expYear}
			if c.cvc != "" {
				cvc := testcard.NewCVC(c.cvc)
				typed.CVC = &cvc
			}
			card, err := testcard.Validate(typed, now, false)
			if c.want == (fault{}) {
				if err != nil || card.Last4 != c.number[len(c.number)-4:] {
					t.Errorf("got %+v, %v", card, err)
				}
				return
			}
			var spoken *apierror.Error
			if !errors.As(err, &spoken) {
				t.Fatalf("got %v, want an error for the caller", err)
			}
			got := fault{spoken.Code, spoken.DeclineCode, spoken.Param, spoken.Message}
			if spoken.Status != 402 || spoken.Type != apierror.TypeCard || got != c.want {
				t.Errorf("got %d %s %+v, want 402 card_error %+v", spoken.Status, spoken.Type, got, c.want)
			}
			if card != (testcard.Card{}) {
				t.Errorf("%+v was kept of a card that was refused", card)
			}
		})
	}
}

func TestLiveModeTakesNoCard(t *testing.T) {
	t.Parallel()
	visa := byName(t, "visa").Number()
	for number, want := range map[string]string{
		visa:                              "card_declined live_mode_test_card",
		withCheckDigit("453201511283036"): "card_declined card_not_supported",
		visa[:15] + "1":                   "incorrect_number ",
	} {
		card, err := testcard.Validate(testcard.Typed{Number: testcard.NewPAN(number), ExpMonth: 12, ExpYear: 2030},
			now, true)
		var spoken *apierror.Error
		if !errors.As(err, &spoken) || spoken.Status != 402 || spoken.Code+" "+spoken.DeclineCode != want ||
			card != (testcard.Card{}) {
			t.Errorf("got %+v, %v; want %s", card, err, want)
		}
	}
}

func TestTypedIsReadFromAForm(t *testing.T) {
	t.Parallel()
	type params struct {
		Card struct {
			testcard.Typed
			Name string `form:"name"`
		} `form:"card,required"`
	}
	decode := func(raw string) (params, error) {
		var into params
		values, err := form.Parse(raw)
		if err != nil {
			return into, err
		}
		return into, form.Decode(values, &into)
	}
	visa := byName(t, "visa").Number()

	got, err := decode("card[number]=" + visa + "&card[exp_month]=12&card[exp_year]=30&card[cvc]=123&card[name]=Ada")
	if err != nil {
		t.Fatal(err)
	}
	card, err := testcard.Validate(got.Card.Typed, now, false)
	if err != nil || card.Name != "visa" {
		t.Errorf("got %+v, %v", card, err)
	}

	for raw, param := range map[string]string{
		"card[exp_month]=12&card[exp_year]=30":                            "card[number]",
		"card[number]=" + visa + "&card[exp_year]=30":                     "card[exp_month]",
		"card[number]=&card[exp_month]=12&card[exp_year]=30":              "card[number]",
		"card[number][]=" + visa + "&card[exp_month]=1&card[exp_year]=30": "card[number]",
		"card=" + visa: "card",
	} {
		_, err := decode(raw)
		var spoken *apierror.Error
		if !errors.As(err, &spoken) || spoken.Param != param {
			t.Errorf("%s: got %v, want a fault of %s", strings.ReplaceAll(raw, visa, "…"), err, param)
			continue
		}
		if strings.Contains(err.Error(), visa[:12]) {
			t.Errorf("the number is repeated in %q", err)
		}
	}
}

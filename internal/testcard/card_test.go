package testcard_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/testcard"
)

var now = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

func byName(t *testing.T, name string) testcard.Card {
	t.Helper()
	card, known := testcard.ByName(name)
	if !known {
		t.Fatalf("no card is called %s", name)
	}
	return card
}

func TestTable(t *testing.T) {
	t.Parallel()

	t.Run("every number is one a card could have, and finds its card", func(t *testing.T) {
		t.Parallel()
		seen := map[string]bool{}
		for _, card := range testcard.All() {
			if seen[card.Number()] {
				t.Errorf("%s: its number is listed twice", card.Name)
			}
			seen[card.Number()] = true
			cvc := testcard.NewCVC(strings.Repeat("1", card.CVCLength))
			typed := testcard.Typed{Number: testcard.NewPAN(card.Number()), ExpMonth: 12, ExpYear: 2030, CVC: &cvc}
			found, err := testcard.Validate(typed, now, false)
			if err != nil || found != card {
				t.Errorf("%s: its number finds %+v, %v", card.Name, found, err)
			}
			if !strings.HasSuffix(card.Number(), card.Last4) || len(card.Last4) != 4 || len(card.Country) != 2 {
				t.Errorf("%s: %+v is not complete", card.Name, card)
			}
		}
	})

	t.Run("a number begins as its brand's do", func(t *testing.T) {
		t.Parallel()
		begins := map[string]string{
			"visa": "4", "mastercard": "52", "amex": "3", "discover": "6", "diners": "3", "jcb": "35", "unionpay": "62",
		}
		for _, card := range testcard.All() {
			if !strings.Contains(begins[card.Brand], card.Number()[:1]) {
				t.Errorf("%s is no %s", card.Name, card.DisplayBrand)
			}
		}
	})
}

func TestByToken(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{
		"tok_visa":                     "visa",
		"pm_card_visa":                 "visa",
		"tok_amex":                     "amex",
		"tok_chargeDeclined":           "visa_chargeDeclined",
		"tok_visa_chargeDeclined":      "visa_chargeDeclined",
		"pm_card_chargeDeclined":       "visa_chargeDeclined",
		"tok_chargeDeclinedLostCard":   "visa_chargeDeclinedLostCard",
		"tok_chargeDeclinedLost":       "",
		"tok_1abc":                     "",
		"visa":                         "",
		"tok_pm_card_visa":             "",
		"TOK_VISA":                     "",
		"":                             "",
		"pm_card_createDisputeInquiry": "createDisputeInquiry",
	} {
		card, known := testcard.ByToken(token)
		if card.Name != want || known != (want != "") {
			t.Errorf("%s is the card %q, want %q", token, card.Name, want)
		}
		if !strings.HasPrefix(token, "pm_card_") {
			want = ""
		}
		if card, known = testcard.ByMethod(token); card.Name != want || known != (want != "") {
			t.Errorf("%s is the card %q as a payment method, want %q", token, card.Name, want)
		}
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][6]string{
		"visa":               {"visa", "Visa", "4242", "credit", "US"},
		"visa_debit":         {"visa", "Visa", "5556", "debit", "US"},
		"mastercard":         {"mastercard", "MasterCard", "4444", "credit", "US"},
		"mastercard_prepaid": {"mastercard", "MasterCard", "5100", "prepaid", "US"},
		"amex":               {"amex", "American Express", "0005", "credit", "US"},
		"diners":             {"diners", "Diners Club", "0004", "credit", "US"},
	} {
		c := byName(t, name)
		if got := [6]string{c.Brand, c.DisplayBrand, c.Last4, c.Funding, c.Country}; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if month, year := testcard.Expiry(now); month != 12 || year != 2028 {
		t.Errorf("a card made from a magic id expires %d/%d", month, year)
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	key, other := []byte("a key"), []byte("another key")
	visa := byName(t, "visa")
	shape := regexp.MustCompile(`^[0-9A-Za-z]{16}$`)
	if made := visa.Fingerprint(key); !shape.MatchString(made) ||
		made != testcard.Fingerprint(testcard.NewPAN(visa.Number()), key) {
		t.Errorf("%s is not the fingerprint of the number", made)
	}
	if visa.Fingerprint(key) == visa.Fingerprint(other) {
		t.Error("the key makes no difference")
	}
	seen := map[string]string{}
	for _, card := range testcard.All() {
		made := card.Fingerprint(key)
		if seen[made] != "" {
			t.Errorf("%s and %s have one fingerprint", card.Name, seen[made])
		}
		seen[made] = card.Name
	}
}

// A card number in the source looks like any other once there are two. So all of
// them stand in the table, and everyone else names the card.
func TestNumbersStandInTheTableAlone(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	number := regexp.MustCompile(`[0-9]{14,16}`)
	read := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" ||
			strings.HasSuffix(path, filepath.Join("testcard", "table.go")) {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		for _, found := range number.FindAllString(string(source), -1) {
			if card, is := testcard.ByNumber(testcard.NewPAN(found)); is {
				t.Errorf("%s holds the number of the card %s", path, card.Name)
			}
		}
		return nil
	})
	if err != nil || read == 0 {
		t.Fatalf("read %d files: %v", read, err)
	}
}

func TestIsNumber(t *testing.T) {
	t.Parallel()
	visa, _ := testcard.ByName("visa")
	number := visa.Number()
	for text, want := range map[string]bool{
		number: true,
		number[:4] + " " + number[4:8] + " " + number[8:12] + " " + number[12:]: true,
		number[:8] + "-" + number[8:]:                                           true,
		"":                                                                      false,
		"Jenny Rosen":                                                           false,
		"94107":                                                                 false,
		number[:15] + "3":                                                       false,
		number + " " + number:                                                   false,
	} {
		if got := testcard.IsNumber(text); got != want {
			t.Errorf("a text of %d characters is a card number: %t, want %t", len(text), got, want)
		}
	}
}

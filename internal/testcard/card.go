// Package testcard has Stripe's test cards: their numbers, names and brands, but not their
// behavior.
//
// Ratchet takes no other cards. A number enters at one place, as a PAN, which can
// not be printed, logged or stored; Validate turns it into a Card, whose name,
// brand and last four digits are all that goes further.
package testcard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"
)

// Card is the identity of a test card.
type Card struct {
	// Name is the acquirer's name of the card, and follows tok_ and pm_card_.
	Name string
	// Brand is the spelling of payment methods: "visa".
	Brand string
	// DisplayBrand is the spelling of legacy cards: "Visa".
	DisplayBrand string
	Last4        string
	// Funding is credit, debit or prepaid.
	Funding string
	// Country is where its bank would be, as a two-letter ISO code.
	Country string
	// CVCLength is how many digits its security code has.
	CVCLength int

	place int // of its number in numbers; the number itself would be printed with the rest
}

type brand struct{ name, display string }

// The table with a card for each number, and the ways to find them. The zero Card
// has the first of the numbers, which is invalid.
var (
	cards    []Card
	numbers  = []string{""}
	byName   = map[string]Card{}
	byNumber = map[string]Card{}
)

func init() {
	for _, r := range table {
		names := strings.Fields(r.names)
		for i, digits := range strings.Fields(r.numbers) {
			card := r.card(names[0], digits)
			card.place = len(numbers)
			numbers = append(numbers, digits)
			cards = append(cards, card)
			byNumber[digits] = card
			if i > 0 {
				continue // a name means the first number
			}
			for _, name := range names {
				byName[name] = card
			}
		}
	}
}

func (r row) card(name, digits string) Card {
	card := Card{
		Name:         name,
		Brand:        r.brand.name,
		DisplayBrand: r.brand.display,
		Last4:        digits[len(digits)-4:],
		Funding:      r.funding,
		Country:      r.country,
		CVCLength:    3,
	}
	if r.brand == amex {
		card.CVCLength = 4
	}
	return card
}

// All returns every card, in the table's order.
func All() []Card { return slices.Clone(cards) }

// ByName finds a card by its name or another it goes by: visa, chargeDeclined.
func ByName(name string) (Card, bool) {
	card, found := byName[name]
	return card, found
}

// ByToken finds the card of a magic ID: tok_visa or pm_card_visa.
func ByToken(token string) (Card, bool) {
	if name, is := strings.CutPrefix(token, "tok_"); is {
		return ByName(name)
	}
	return ByMethod(token)
}

// ByMethod finds the card of the magic ID of a payment method: pm_card_visa.
func ByMethod(method string) (Card, bool) {
	name, is := strings.CutPrefix(method, "pm_card_")
	if !is {
		return Card{}, false
	}
	return ByName(name)
}

// ByNumber finds a card by what a customer typed.
func ByNumber(number PAN) (Card, bool) {
	card, found := byNumber[number.digits()]
	return card, found
}

// Number is a test card's number in the clear, for a page that offers test cards
// and for tests that type one. These numbers are published; a customer's never
// becomes a Card unless it is one of them.
func (c Card) Number() string { return numbers[c.place] }

// Fingerprint is that of the card's number.
func (c Card) Fingerprint(key []byte) string { return Fingerprint(NewPAN(c.Number()), key) }

// Expiry is the month and year that a card made from a magic id shows.
func Expiry(now time.Time) (month, year int64) { return 12, int64(now.UTC().Year()) + 2 }

const fingerprintDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Fingerprint is the same for the same number and key, in 16 letters and digits.
// It tells that two cards are one without telling which: there are few enough
// numbers to try them all, so the key must be secret and kept out of the database.
func Fingerprint(number PAN, key []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("card fingerprint 1\x00" + number.digits()))
	sum := mac.Sum(nil)
	out := make([]byte, 0, 16)
	for half := range 2 {
		v := binary.BigEndian.Uint64(sum[8*half:])
		for range 8 {
			out = append(out, fingerprintDigits[v%62])
			v /= 62
		}
	}
	return string(out)
}

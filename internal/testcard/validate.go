package testcard

import (
	"net/http"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
)

// Typed is what a customer types. Embed it in the parameters of an operation that takes cards.
type Typed struct {
	Number   PAN   `form:"number,required"`
	ExpMonth int64 `form:"exp_month,required"`
	ExpYear  int64 `form:"exp_year,required"`
	CVC      *CVC  `form:"cvc"` // nil: not asked for
}

// Bounds of a number's length, in digits (ISO/IEC 7812; no network has fewer).
const (
	shortestNumber = 12
	longestNumber  = 19
)

// lastingYears is how far ahead a card can expire.
const lastingYears = 50

// Year is the year of expiry with its century: 27 is 2027.
func (t Typed) Year() int64 { return withCentury(t.ExpYear) }

func withCentury(year int64) int64 {
	if 0 <= year && year < 100 {
		return 2000 + year
	}
	return year
}

// NewExpiry is what a caller changes of a card's expiry.
type NewExpiry struct {
	ExpMonth *int64 `form:"exp_month"`
	ExpYear  *int64 `form:"exp_year"`
}

// Apply changes an expiry as the caller asked. What comes of it has to be one that
// a card that is typed now could have.
func (e *NewExpiry) Apply(month, year *int64, now time.Time) error {
	if e == nil || e.ExpMonth == nil && e.ExpYear == nil {
		return nil
	}
	if e.ExpMonth != nil {
		*month = *e.ExpMonth
	}
	if e.ExpYear != nil {
		*year = withCentury(*e.ExpYear)
	}
	return validateExpiry(*month, *year, now)
}

// Validate tells which test card was typed. A card is good to the end of its
// month, in UTC. The error is the caller's, a card error under status 402 that
// names a field of the card (number, not card[number]) and repeats nothing of it.
//
// A number that is well-formed and no test card is declined: it may be a
// real card, and nothing of it may be stored, not even its last four digits. In
// live mode every card is declined: test cards because it is live mode, others
// because we could not charge them.
func Validate(t Typed, now time.Time, livemode bool) (Card, error) {
	number := t.Number.digits()
	switch {
	case len(number) < shortestNumber || len(number) > longestNumber || !onlyDigits(number):
		return Card{}, invalid("invalid_number", "number", "The card number is not a valid credit card number.")
	case !luhn(number):
		return Card{}, invalid("incorrect_number", "number", "Your card number is incorrect.")
	}
	if err := validateExpiry(t.ExpMonth, t.Year(), now); err != nil {
		return Card{}, err
	}
	card, known := ByNumber(t.Number)
	switch {
	case livemode && known:
		return Card{}, DeclineInLiveMode()
	case livemode:
		return Card{},
			declined("card_not_supported",
				"Your card was declined. No acquirer that takes real cards is connected here.")
	case !known:
		return Card{}, declined("test_mode_live_card",
			"Your card was declined. Your request was in test mode, but used a non test card. "+
				"For a list of valid test cards, visit: https://stripe.com/docs/testing.")
	}
	if t.CVC != nil && (len(t.CVC.text()) != card.CVCLength || !onlyDigits(t.CVC.text())) {
		return Card{}, invalid("invalid_cvc", "cvc", "Your card's security code is invalid.")
	}
	return card, nil
}

// validateExpiry refuses an expiry that is invalid, is past, or is too far ahead. The
// year has its century.
func validateExpiry(month, year int64, now time.Time) error {
	thisYear, thisMonth := int64(now.UTC().Year()), int64(now.UTC().Month())
	switch {
	case month < 1 || month > 12:
		return invalid("invalid_expiry_month", "exp_month", "Your card's expiration month is invalid.")
	case year < thisYear || year > thisYear+lastingYears:
		return invalid("invalid_expiry_year", "exp_year", "Your card's expiration year is invalid.")
	case year == thisYear && month < thisMonth:
		return invalid("invalid_expiry_month", "exp_month", "Your card's expiration month is invalid.")
	}
	return nil
}

func invalid(code, param, message string) *apierror.Error {
	e := &apierror.Error{Status: http.StatusPaymentRequired, Type: apierror.TypeCard, Param: param, Message: message}
	return e.WithCode(code)
}

// DeclineInLiveMode is the answer to a test card, or the magic id of one, that is
// used with a live key.
func DeclineInLiveMode() *apierror.Error {
	return declined("live_mode_test_card",
		"Your card was declined. Your request was in live mode, but used a known test card.")
}

func declined(declineCode, message string) *apierror.Error {
	e := &apierror.Error{
		Status:      http.StatusPaymentRequired,
		Type:        apierror.TypeCard,
		DeclineCode: declineCode,
		Message:     message,
	}
	return e.WithCode("card_declined")
}

func onlyDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// luhn checks the last digit of a number, which is made from the others so that
// a slip of the finger shows.
func luhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			d *= 2
			if d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// spacing is what people write between the digits of a card number. A Replacer builds
// tables of several kilobytes when it is first used, and every charge uses this one.
var spacing = strings.NewReplacer(" ", "", "-", "", ".", "")

// IsNumber reports whether a text is what only a card number is: as many digits
// as one has, however they are spaced, with the right last one.
func IsNumber(text string) bool {
	digits := spacing.Replace(text)
	return len(digits) >= shortestNumber && len(digits) <= longestNumber && onlyDigits(digits) && luhn(digits)
}

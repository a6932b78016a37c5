// Package money knows the currencies: what amounts they allow, how they are
// written, and what we charge for moving them.
//
// An amount is always an integer in the currency's smallest unit as Stripe counts
// it (cents; yen; thousandths of a dinar), and a currency its lower-case ISO code.
package money

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/apierror"
)

const (
	// maxAmount is what fits the eight digits that Stripe's card networks take.
	maxAmount = 99_999_999
	// maxAmountIDR has twelve: a hundred million rupiah cents are some sixty dollars.
	maxAmountIDR = 999_999_999_999
)

// currency is what the lists of this package say of one code.
type currency struct {
	code     string
	exponent int   // digits after the point
	step     int64 // amounts are multiples of it
	minimum  int64
	maximum  int64
	symbol   string
}

var currencies = func() map[string]currency {
	known := make(map[string]currency, len(codes))
	for _, code := range codes {
		c := currency{code: code, exponent: 2, step: 1, maximum: maxAmount, symbol: symbols[code]}
		switch {
		case slices.Contains(noDecimals, code):
			c.exponent = 0
		case slices.Contains(threeDecimals, code):
			c.exponent, c.step = 3, 10
		case slices.Contains(wholeOnly, code):
			c.step = 100
		}
		if code == "idr" {
			c.maximum = maxAmountIDR
		}
		minimum, published := minimums[code]
		if !published {
			minimum = defaultMinimum(c)
		}
		c.minimum = minimum
		known[code] = c
	}
	return known
}()

// defaultMinimum is ours, for currencies without a published one: half a unit
// where it has decimals, one unit where it can not be halved, and 50 units where
// it never had any, as Stripe asks of the yen.
func defaultMinimum(c currency) int64 {
	switch {
	case c.step == 100:
		return 100
	case c.exponent == 3:
		return 500
	default:
		return 50
	}
}

// Currencies are the codes we take, in the order messages list them.
func Currencies() []string { return slices.Clone(codes) }

// Parse returns the lower-case code of a currency. The error is the caller's and
// names the parameter currency.
func Parse(code string) (string, error) {
	lower := strings.ToLower(code)
	if _, known := currencies[lower]; known {
		return lower, nil
	}
	// No code has digits. What has may be a card number in the wrong place.
	shown := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, lower)
	return "", apierror.Invalid("currency", "Invalid currency: %s. Stripe currently supports these currencies: %s",
		apierror.Excerpt(shown), strings.Join(codes, ", "))
}

// Exponent is the number of digits after the point. Of a code we do not know it
// is 2, as of nearly all.
func Exponent(code string) int { return particulars(code).exponent }

func particulars(code string) currency {
	c, known := currencies[code]
	if !known {
		return currency{code: code, exponent: 2, step: 1, minimum: 1, maximum: maxAmount}
	}
	return c
}

// Check tells whether an amount can be charged. The error is the caller's and
// names the parameter amount, or currency if that is unknown.
//
// It does not hold for a part of a charge: a refund may be smaller than any charge.
func Check(amount int64, code string) error {
	c, known := currencies[code]
	switch {
	case !known:
		_, err := Parse(code)
		return err
	case amount < 1:
		return apierror.Invalid("amount", "Invalid positive integer").WithCode("parameter_invalid_integer")
	case amount > c.maximum:
		return apierror.Invalid("amount", "Amount must be no more than %s", Format(c.maximum, code)).
			WithCode("amount_too_large")
	case amount < c.minimum:
		return c.tooSmall()
	case amount%c.step != 0:
		return apierror.Invalid("amount",
			"Invalid amount: an amount in %s must be a multiple of %d, its smallest part that can be charged.", code,
			c.step)
	}
	return nil
}

func (c currency) tooSmall() *apierror.Error {
	return apierror.Invalid("amount", "Amount must be at least %s%s %s", c.symbol, c.digits(c.minimum), c.code).
		WithCode("amount_too_small")
}

// CheckTotal tells the same of a sum, which can be zero although each amount is valid: then it
// is too small. param names what it is the sum of.
func CheckTotal(total int64, code, param string) error {
	err := Check(total, code)
	if c, known := currencies[code]; known && total < c.minimum {
		err = c.tooSmall()
	}
	var fault *apierror.Error
	if errors.As(err, &fault) {
		return fault.WithParam(param)
	}
	return err
}

// CheckMost tells whether an amount is not more than can be charged at once: of a
// price, which several of together make up what is charged. param names it.
func CheckMost(amount int64, code, param string) error {
	c := particulars(code)
	if amount > c.maximum {
		return apierror.Invalid(param, "Amount must be no more than %s", Format(c.maximum, code)).
			WithCode("amount_too_large")
	}
	return nil
}

// Floor rounds an amount down to one that can be charged in the currency.
func Floor(amount int64, code string) int64 { return amount - amount%particulars(code).step }

// Format writes an amount for people: "$1,000.00", "¥500", "-€0.30", "10.00 CHF".
func Format(amount int64, code string) string {
	c := particulars(code)
	written, negative := strings.CutPrefix(c.digits(amount), "-")
	written = c.symbol + written
	if c.symbol == "" {
		written += " " + strings.ToUpper(code)
	}
	if negative {
		return "-" + written
	}
	return written
}

// Decimal writes an amount with its point and nothing else: "-1234.50".
func Decimal(amount int64, code string) string {
	return particulars(code).write(amount, "")
}

// digits writes an amount with its point and with a comma before every third digit.
func (c currency) digits(amount int64) string { return c.write(amount, ",") }

func (c currency) write(amount int64, group string) string {
	all, negative := strings.CutPrefix(strconv.FormatInt(amount, 10), "-")
	if missing := c.exponent + 1 - len(all); missing > 0 {
		all = strings.Repeat("0", missing) + all
	}
	written, fraction := all[:len(all)-c.exponent], all[len(all)-c.exponent:]
	for i := len(written) - 3; i > 0; i -= 3 {
		written = written[:i] + group + written[i:]
	}
	if fraction != "" {
		written += "." + fraction
	}
	if negative {
		return "-" + written
	}
	return written
}

// Fee is what a merchant pays for a captured charge: 2.9 % and three tenths of a
// unit ($0.30; ¥0.3), rounded half up to the smallest unit. It is at least 1 and
// never more than the amount, which must be positive.
func Fee(amount int64, code string) int64 {
	fixed := int64(300) // in thousandths of the smallest unit, like the rest: integers all the way
	for range Exponent(code) {
		fixed *= 10
	}
	fee := (amount*29 + fixed + 500) / 1000
	return min(max(fee, 1), amount)
}

// DisputeFee is what a merchant pays for a dispute: fifteen units ($15.00), and
// in currencies without smaller parts what that is worth there, roughly (¥1,500).
func DisputeFee(code string) int64 {
	if Exponent(code) == 3 {
		return 15_000
	}
	return 1_500
}

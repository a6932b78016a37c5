package ui

import (
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/money"
)

// formula begins what a spreadsheet runs: also behind spaces, which some of them
// drop, and in the wide forms that others take for the same.
const formula = "=+-@\t\r\n|＝＋－＠"

// harmless keeps a spreadsheet from running a cell, by an apostrophe in front. A
// negative number stays one.
func harmless(text string) string {
	if !strings.ContainsAny(firstRune(strings.TrimLeft(text, " \u00a0\ufeff")), formula) || isNumber(text) {
		return text
	}
	return "'" + text
}

func firstRune(text string) string {
	for _, r := range text {
		return string(r)
	}
	return ""
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && strings.Trim(text, "-.0123456789") == ""
}

// Decimal writes an amount as a number: 20.00.
func Decimal(amount int64, currency string) string {
	exponent := money.Exponent(currency)
	digits := strconv.FormatInt(amount, 10)
	if exponent == 0 {
		return digits
	}
	sign := ""
	if amount < 0 {
		sign, digits = "-", digits[1:]
	}
	if missing := exponent + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	return sign + digits[:len(digits)-exponent] + "." + digits[len(digits)-exponent:]
}

// CurrenciesOf are those with so many digits behind the point.
func CurrenciesOf(digits int) (codes []string) {
	for _, code := range money.Currencies() {
		if money.Exponent(code) == digits {
			codes = append(codes, code)
		}
	}
	return codes
}

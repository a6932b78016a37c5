package sales

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/money"
)

// anAmount is an amount as people write it. A comma may only separate groups of three digits: in 10,50 it would be read
// as a point in most of Europe.
var anAmount = regexp.MustCompile(`^([0-9]{1,12}|[0-9]{1,3}(?:,[0-9]{3}){1,3})(?:\.([0-9]*))?$`)

const usePoint = "Use a point for decimals, as in 10.50."

// digitsOf splits an amount at its point and removes its commas, or says how an amount is written.
func digitsOf(text, example string) (whole, fraction, wrong string) {
	if found := anAmount.FindStringSubmatch(strings.TrimSpace(text)); found != nil {
		return strings.ReplaceAll(found[1], ",", ""), found[2], ""
	}
	if strings.Contains(text, ",") {
		return "", "", usePoint
	}
	return "", "", "Enter an amount, such as " + example + "."
}

// parseAmount reads an amount as people write it, in minor units, or says how one
// is written.
func parseAmount(text, currency string) (amount int64, wrong string) {
	exponent := money.Exponent(currency)
	example := strings.TrimSuffix("20."+strings.Repeat("0", exponent), ".")
	whole, fraction, wrong := digitsOf(text, example)
	if wrong == usePoint && exponent == 0 {
		wrong = "Amounts in " + strings.ToUpper(currency) + " have no decimals. Enter an amount, such as 1,000."
	}
	if wrong != "" {
		return 0, wrong
	}
	wrong = "Enter an amount, such as " + example + "."
	if len(fraction) > exponent {
		return 0, wrong
	}
	amount, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", exponent-len(fraction)), 10, 64)
	if err != nil || amount <= 0 {
		return 0, wrong
	}
	return amount, ""
}

// tooFine says that a charge cannot have an amount with so many decimals, or "" if it can.
func tooFine(amount int64, currency string) string {
	switch {
	case money.Floor(amount, currency) == amount:
		return ""
	case money.Exponent(currency) == 3:
		return strings.ToUpper(currency) + " amounts can have at most two decimal places, such as 1.23."
	}
	return strings.ToUpper(currency) + " amounts can have no decimal places, such as 123."
}

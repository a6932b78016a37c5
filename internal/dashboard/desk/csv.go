package desk

import (
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/money"
)

// Download sends rows as a file that spreadsheets open, and in which they find
// nothing to run: customers write into some of the cells.
func Download(w http.ResponseWriter, name string, rows [][]string) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	out := csv.NewWriter(w)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = harmless(cell)
		}
		_ = out.Write(row)
	}
	out.Flush()
}

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

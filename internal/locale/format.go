package locale

import (
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/money"
)

// format is how a language writes amounts and dates, as the CLDR has it and browsers do.
type format struct {
	group, point string
	least        int    // how many digits have to precede the last three to be set apart from them
	before       bool   // the currency precedes the amount
	day          string // "{d}", "{m}" and "{y}" are the parts of a date
	months       []string
	symbols      map[string]string // of currencies; others are written as their codes
}

// noBreak holds an amount and its currency together on one line.
const noBreak = "\u00a0"

var formats = map[string]format{
	"en": {
		group: ",", point: ".", least: 1, before: true, day: "{m} {d}, {y}",
		months: strings.Fields(`January February March April May June
			July August September October November December`),
		symbols: symbols("usd $, aud A$, brl R$, cad CA$, cny CN¥, eur €, gbp £, hkd HK$, ils ₪, inr ₹, jpy ¥, " +
			"krw ₩, mxn MX$, nzd NZ$, php ₱, twd NT$, vnd ₫"),
	},
	"de": {
		group: ".", point: ",", least: 1, day: "{d}. {m} {y}",
		months: strings.Fields(`Januar Februar März April Mai Juni
			Juli August September Oktober November Dezember`),
		symbols: symbols("usd $, aud AU$, brl R$, cad CA$, cny CN¥, eur €, gbp £, hkd HK$, ils ₪, inr ₹, jpy ¥, " +
			"krw ₩, mxn MX$, nzd NZ$, thb ฿, twd NT$, vnd ₫"),
	},
	"fr": {
		group: "\u202f", point: ",", least: 1, day: "{d} {m} {y}",
		months: strings.Fields(`janvier février mars avril mai juin
			juillet août septembre octobre novembre décembre`),
		symbols: symbols("usd $US, ars $AR, aud $AU, brl R$, cad $CA, clp $CL, cop $CO, eur €, gbp £GB, ils ₪, " +
			"inr ₹, krw ₩, mxn $MX, nzd $NZ, sgd $SG, vnd ₫"),
	},
	"es": {
		group: ".", point: ",", least: 2, day: "{d} de {m} de {y}",
		months: strings.Fields(`enero febrero marzo abril mayo junio
			julio agosto septiembre octubre noviembre diciembre`),
		symbols: symbols("usd US$, eur €, thb ฿, vnd ₫"),
	},
	"it": {
		group: ".", point: ",", least: 2, day: "{d} {m} {y}",
		months: strings.Fields(`gennaio febbraio marzo aprile maggio giugno
			luglio agosto settembre ottobre novembre dicembre`),
		symbols: symbols("aud A$, cad CA$, cny CN¥, eur €, gbp £, ils ₪, nzd NZ$, php ₱, thb ฿"),
	},
	"ja": {
		group: ",", point: ".", least: 1, before: true, day: "{y}年{m}月{d}日",
		months: strings.Fields(`1 2 3 4 5 6 7 8 9 10 11 12`),
		symbols: symbols("usd $, aud A$, brl R$, cad CA$, cny 元, eur €, gbp £, hkd HK$, ils ₪, inr ₹, jpy ￥, krw ₩, " +
			"mxn MX$, nzd NZ$, twd NT$, vnd ₫"),
	},
}

func symbols(list string) map[string]string {
	all := map[string]string{}
	for _, entry := range strings.Split(list, ", ") {
		code, symbol, _ := strings.Cut(entry, " ")
		all[code] = symbol
	}
	return all
}

// Money writes an amount. It is the text that Intl.NumberFormat makes in a browser.
func (l *Language) Money(amount int64, currency string) string {
	digits, negative := strings.CutPrefix(money.Decimal(amount, currency), "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if len(whole) >= 3+l.format.least {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + l.format.group + whole[i:]
		}
	}
	if fraction != "" {
		whole += l.format.point + fraction
	}
	sign := ""
	if negative {
		sign = "-"
	}
	symbol, known := l.format.symbols[currency]
	switch {
	case !l.format.before && known:
		return sign + whole + noBreak + symbol
	case !l.format.before:
		return sign + whole + noBreak + strings.ToUpper(currency)
	case known:
		return sign + symbol + whole
	}
	return sign + strings.ToUpper(currency) + noBreak + whole
}

// Day writes the date of a moment, in UTC as everything here.
func (l *Language) Day(at time.Time) string {
	at = at.UTC()
	return strings.NewReplacer("{d}", at.Format("2"), "{m}", l.format.months[at.Month()-1], "{y}", at.Format("2006")).
		Replace(l.format.day)
}

package money_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/money"
)

func requireFault(t *testing.T, err error, code, param, message string) {
	t.Helper()
	var fault *apierror.Error
	if !errors.As(err, &fault) {
		t.Fatalf("got %v, want an error for the caller", err)
	}
	if fault.Status != 400 || fault.Code != code || fault.Param != param || fault.Message != message {
		t.Errorf("got %v, want 400 %s (%s): %s", fault, code, param, message)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()

	t.Run("case does not matter", func(t *testing.T) {
		t.Parallel()
		for _, code := range []string{"usd", "USD", "UsD"} {
			got, err := money.Parse(code)
			if got != "usd" || err != nil {
				t.Errorf("%s is %q, %v", code, got, err)
			}
		}
	})

	t.Run("what is no currency is answered with those that are", func(t *testing.T) {
		t.Parallel()
		list := strings.Join(money.Currencies(), ", ")
		for sent, shown := range map[string]string{
			"xyz":                    "xyz",
			"US D":                   "us d",
			"":                       "",
			"us":                     "us",
			"1234567890123456":       "",
			strings.Repeat("x", 100): strings.Repeat("x", 64) + "…",
		} {
			_, err := money.Parse(sent)
			requireFault(t, err, "", "currency",
				"Invalid currency: "+shown+". Stripe currently supports these currencies: "+list)
		}
		if !strings.HasPrefix(list, "usd, aed, afn, all, amd") {
			t.Errorf("the list begins %.30s", list)
		}
	})

	t.Run("no currency is listed twice", func(t *testing.T) {
		t.Parallel()
		seen := map[string]bool{}
		for _, code := range money.Currencies() {
			if seen[code] || len(code) != 3 || code != strings.ToLower(code) {
				t.Errorf("%q is listed twice or is no code", code)
			}
			seen[code] = true
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                 string
		amount               int64
		currency             string
		code, param, message string // no message: it can be charged
	}{
		{name: "the least", amount: 50, currency: "usd"},
		{name: "the most", amount: 99_999_999, currency: "usd"},
		{name: "rupiah have more digits", amount: 999_999_999_999, currency: "idr"},
		{name: "a kronor of three", amount: 300, currency: "sek"},
		{name: "dinars end in 0", amount: 5120, currency: "kwd"},
		{name: "whole kronur", amount: 500, currency: "isk"},
		{"nothing", 0, "usd", "parameter_invalid_integer", "amount", "Invalid positive integer"},
		{"less than nothing", -1, "usd", "parameter_invalid_integer", "amount", "Invalid positive integer"},
		{"a cent too little", 49, "usd", "amount_too_small", "amount", "Amount must be at least $0.50 usd"},
		{"too few yen", 49, "jpy", "amount_too_small", "amount", "Amount must be at least ¥50 jpy"},
		{"too few francs", 49, "chf", "amount_too_small", "amount", "Amount must be at least 0.50 chf"},
		{"too little of a dinar", 490, "kwd", "amount_too_small", "amount", "Amount must be at least 0.500 kwd"},
		{"a cent too much", 100_000_000, "usd", "amount_too_large", "amount",
			"Amount must be no more than $999,999.99"},
		{"the most there is", math.MaxInt64, "eur", "amount_too_large", "amount",
			"Amount must be no more than €999,999.99"},
		{"too many yen", 100_000_000, "jpy", "amount_too_large", "amount", "Amount must be no more than ¥99,999,999"},
		{"too many rupiah", 1_000_000_000_000, "idr", "amount_too_large", "amount",
			"Amount must be no more than 9,999,999,999.99 IDR"},
		{"a dinar with three decimals", 5124, "kwd", "", "amount",
			"Invalid amount: an amount in kwd must be a multiple of 10, its smallest part that can be charged."},
		{"a part of a krona", 550, "isk", "", "amount",
			"Invalid amount: an amount in isk must be a multiple of 100, its smallest part that can be charged."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := money.Check(c.amount, c.currency)
			if c.message != "" {
				requireFault(t, err, c.code, c.param, c.message)
				return
			}
			if err != nil {
				t.Errorf("%d %s: %v", c.amount, c.currency, err)
			}
		})
	}

	t.Run("every currency has an amount that can be charged", func(t *testing.T) {
		t.Parallel()
		for _, code := range money.Currencies() {
			err := money.Check(1000, code)
			if err != nil {
				t.Errorf("1000 %s: %v", code, err)
			}
		}
	})

	t.Run("a total of nothing is too small", func(t *testing.T) {
		t.Parallel()
		for _, total := range []int64{0, 49} {
			requireFault(t, money.CheckTotal(total, "usd", "line_items"), "amount_too_small", "line_items",
				"Amount must be at least $0.50 usd")
		}
		requireFault(t, money.CheckTotal(100_000_000, "usd", "line_items"), "amount_too_large", "line_items",
			"Amount must be no more than $999,999.99")
		if err := money.CheckTotal(50, "usd", "line_items"); err != nil {
			t.Error(err)
		}
	})

	t.Run("a currency we do not know is the fault", func(t *testing.T) {
		t.Parallel()
		var fault *apierror.Error
		if err := money.Check(1000, "xyz"); !errors.As(err, &fault) || fault.Param != "currency" {
			t.Errorf("got %v", err)
		}
	})
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		amount   int64
		currency string
	}{
		"$10.00":        {1000, "usd"},
		"$0.05":         {5, "usd"},
		"$0.00":         {0, "usd"},
		"€10.00":        {1000, "eur"},
		"¥500":          {500, "jpy"},
		"¥1,000":        {1000, "jpy"},
		"10.00 CHF":     {1000, "chf"},
		"0.500 KWD":     {500, "kwd"},
		"5.00 ISK":      {500, "isk"},
		"$999,999.99":   {99_999_999, "usd"},
		"$1,234,567.89": {123_456_789, "usd"},
		"-$0.30":        {-30, "usd"},
		"-1,000.00 CHF": {-100_000, "chf"},
		"10.00 XYZ":     {1000, "xyz"},
	} {
		if got := money.Format(c.amount, c.currency); got != want {
			t.Errorf("%d %s is written %q, want %q", c.amount, c.currency, got, want)
		}
	}
}

func TestFee(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		amount   int64
		currency string
		want     int64
	}{
		{1000, "usd", 59},    // 29 + 30
		{2000, "usd", 88},    // 58 + 30
		{50, "usd", 31},      // 1.45 + 30
		{500, "usd", 45},     // 14.5 + 30 is half, and goes up
		{499, "usd", 44},     // 14.471 + 30
		{1000, "jpy", 29},    // 29 + 0.3
		{10_000, "kwd", 590}, // 290 + 300
		{1, "usd", 1},        // never more than there is
		{1, "jpy", 1},        // never nothing
		{999_999_999_999, "idr", 29_000_000_030},
	} {
		if got := money.Fee(c.amount, c.currency); got != c.want {
			t.Errorf("the fee on %d %s is %d, want %d", c.amount, c.currency, got, c.want)
		}
	}

	t.Run("a fee is at least 1 and never more than the amount", func(t *testing.T) {
		t.Parallel()
		for _, code := range money.Currencies() {
			for amount := int64(1); amount < 3000; amount += 7 {
				if fee := money.Fee(amount, code); fee < 1 || fee > amount {
					t.Fatalf("the fee on %d %s is %d", amount, code, fee)
				}
			}
		}
	})
}

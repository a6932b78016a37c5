package testcard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// buried holds a number where fmt does not call the methods of its type.
type buried struct {
	number testcard.PAN
	code   *testcard.CVC
	typed  testcard.Typed
	list   []testcard.PAN
	named  map[string]testcard.PAN
}

func TestNothingPrintsACardNumberOrSecurityCode(t *testing.T) {
	t.Parallel()
	const code = "739"
	digits := byName(t, "visa").Number()
	number, cvc := testcard.NewPAN(digits), testcard.NewCVC(code)
	typed := testcard.Typed{Number: number, ExpMonth: 12, ExpYear: 2030, CVC: &cvc}
	hidden := buried{number, &cvc, typed, []testcard.PAN{number}, map[string]testcard.PAN{"n": number}}

	requireHidden := func(t *testing.T, how, printed string) {
		t.Helper()
		if strings.Contains(printed, digits[:6]) || strings.Contains(printed, digits[10:]) ||
			strings.Contains(printed, code) ||
			strings.Contains(printed, fmt.Sprintf("%x", digits)) {
			t.Errorf("%s gives %s", how, printed)
		}
	}

	t.Run("in any verb of fmt, however deep it lies", func(t *testing.T) {
		t.Parallel()
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%o", "%t", "%U", "%10.3s"} {
			for _, value := range []any{number, &number, typed, &typed, []testcard.PAN{number},
				fmt.Errorf("wrapped: %v", number)} {
				requireHidden(t, fmt.Sprintf("%s of %T", verb, value), fmt.Sprintf(verb, value))
			}
			// A buried code is a pointer, printed as an address, which may by chance have any digits.
			printed := fmt.Sprintf(verb, hidden)
			if strings.Contains(printed, digits) {
				t.Errorf("%s of a buried number gives %s", verb, printed)
			}
		}
		for _, shown := range []string{number.String(), number.GoString(), fmt.Sprint(number),
			fmt.Sprintf("%d", number)} {
			if shown != "[card number]" {
				t.Errorf("a number shows as %s", shown)
			}
		}
		for _, shown := range []string{cvc.String(), cvc.GoString(), fmt.Sprint(cvc), fmt.Sprintf("%d", cvc)} {
			if shown != "[security code]" {
				t.Errorf("a code shows as %s", shown)
			}
		}
	})

	t.Run("in JSON", func(t *testing.T) {
		t.Parallel()
		for _, value := range []any{number, &number, typed} {
			out, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			requireHidden(t, fmt.Sprintf("JSON of %T", value), string(out))
		}
		text, err := number.MarshalText()
		if err != nil || string(text) != "[card number]" {
			t.Errorf("as text it is %s, %v", text, err)
		}
	})

	t.Run("in a log of either kind", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
			slog.New(handler).Info("paid", "number", number, "typed", typed, "code", cvc, "pointer", &number)
		}
		// The lines begin with the time, which contains digits.
		for line := range strings.Lines(out.String()) {
			_, rest, _ := strings.Cut(line, "paid")
			requireHidden(t, "a log line", rest)
		}
	})

	t.Run("and what was stored instead of it is no number any more", func(t *testing.T) {
		t.Parallel()
		stored, err := json.Marshal(typed)
		if err != nil {
			t.Fatal(err)
		}
		var back testcard.Typed
		err = json.Unmarshal(stored, &back)
		if err != nil {
			t.Fatal(err)
		}
		_, err = testcard.Validate(back, now, false)
		if err == nil || !strings.Contains(err.Error(), "invalid_number") {
			t.Errorf("got %v, want invalid_number", err)
		}
	})
}

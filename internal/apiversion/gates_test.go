package apiversion_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/form"
)

func TestGates(t *testing.T) {
	t.Parallel()

	t.Run("each gate is at the day of a version, and the newest comes first", func(t *testing.T) {
		t.Parallel()
		last := "9999-12-31"
		for _, gate := range apiversion.Gates() {
			if _, err := time.Parse(time.DateOnly, gate.Day); err != nil || gate.Day >= last || gate.Change == "" {
				t.Errorf("the gate at %q says %q, after one at %s", gate.Day, gate.Change, last)
			}
			if !slices.ContainsFunc(apiversion.Versions(), func(v apiversion.Version) bool {
				return string(v)[:10] == gate.Day
			}) {
				t.Errorf("no version was released on %s", gate.Day)
			}
			last = gate.Day
		}
	})

	t.Run("the current version passes no gate", func(t *testing.T) {
		t.Parallel()
		if apiversion.Current.ChangesAnswers() || apiversion.Current.SessionsMakeIntents() {
			t.Errorf("%s is changed", apiversion.Current)
		}
	})

	// What an operation is asked in a version becomes what is asked today.
	for _, row := range []struct {
		name      string
		version   apiversion.Version
		operation string
		sent, now string
	}{
		{"an intent takes cards and is captured at once", "2022-11-15", "payment_intent.create", "amount=1",
			"amount=1&payment_method_types[0]=card&capture_method=automatic"},
		{"a type that was sent stays alone", "2022-11-15", "payment_intent.create",
			"payment_method_types[]=link&capture_method=manual",
			"payment_method_types[]=link&capture_method=manual"},
		{"automatic methods that were sent stay", "2022-11-15", "setup_intent.create",
			"automatic_payment_methods[enabled]=true",
			"automatic_payment_methods[enabled]=true"},
		{"a session's intent is captured at once, beside its other data", "2023-10-16", "checkout_session.create",
			"payment_intent_data[description]=x",
			"payment_intent_data[description]=x&payment_intent_data[capture_method]=automatic"},
		{"a session without a payment gets no data of one", "2023-10-16", "checkout_session.create", "mode=setup",
			"mode=setup"},
		{"what is no hash stays for Decode to refuse", "2023-10-16", "checkout_session.create",
			"payment_intent_data=x", "payment_intent_data=x"},
		{"a mode has its new name", "2025-03-31.basil", "checkout_session.create", "ui_mode=custom",
			"ui_mode=elements"},
		{"other operations stay as they are", "2011-01-01", "charge.create", "amount=1&ui_mode=custom",
			"amount=1&ui_mode=custom"},
		{"the current version stays as it is", apiversion.Current, "payment_intent.create", "amount=1", "amount=1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			sent, now := parse(t, row.sent), parse(t, row.now)
			got := string(form.Canonical(row.version.Request(row.operation, sent)))
			if got != string(form.Canonical(now)) {
				t.Errorf("%s became %s, want %s", row.sent, got, form.Canonical(now))
			}
			if !reflect.DeepEqual(sent, parse(t, row.sent)) {
				t.Error("the request as it was sent, which is fingerprinted, has changed")
			}
		})
	}
}

func parse(t *testing.T, raw string) form.Values {
	t.Helper()
	values, err := form.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

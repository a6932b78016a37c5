package idempotency_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
)

var secret = []byte("the secret of a test's installation")

func TestFingerprint(t *testing.T) {
	t.Parallel()
	of := func(secret, method, path, params string) []byte {
		return idempotency.Fingerprint([]byte(secret), method, path, []byte(params))
	}
	original := of("secret", "POST", "/v1/charges", "amount=1")

	t.Run("the same request has the same one", func(t *testing.T) {
		t.Parallel()
		if !bytes.Equal(original, of("secret", "POST", "/v1/charges", "amount=1")) {
			t.Error("it has another")
		}
	})
	for what, other := range map[string][]byte{
		"method":                             of("secret", "DELETE", "/v1/charges", "amount=1"),
		"route":                              of("secret", "POST", "/v1/refunds", "amount=1"),
		"parameter":                          of("secret", "POST", "/v1/charges", "amount=2"),
		"installation":                       of("another", "POST", "/v1/charges", "amount=1"),
		"border between path and parameters": of("secret", "POST", "/v1/chargesamount", "=1"),
	} {
		t.Run("another "+what+" has another one", func(t *testing.T) {
			t.Parallel()
			if bytes.Equal(original, other) {
				t.Error("it has the same")
			}
		})
	}
}

func TestDeriveKey(t *testing.T) {
	t.Parallel()
	// changed is the key of a request that differs in one thing.
	changed := func(change func(*idempotency.Request)) string {
		r := &idempotency.Request{AccountID: "acct_1", ID: "req_1", Key: "k", Flow: "charge.create", Epoch: 1}
		change(r)
		return idempotency.DeriveKey(secret, r, "acquirer_answered", 1)
	}
	original := changed(func(*idempotency.Request) {})

	for what, change := range map[string]func(*idempotency.Request){
		"the row's id":            func(r *idempotency.Request) { r.ID = "req_2" },
		"the epoch":               func(r *idempotency.Request) { r.Epoch = 7 },
		"the attempts":            func(r *idempotency.Request) { r.Attempts = 7 },
		"the time":                func(r *idempotency.Request) { r.CreatedAt = time.Now() },
		"the point it stands on":  func(r *idempotency.Request) { r.Point = "charge_recorded" },
		"the operation's version": func(r *idempotency.Request) { r.Version = 2 },
	} {
		t.Run("it does not depend on "+what, func(t *testing.T) {
			t.Parallel()
			if got := changed(change); got != original {
				t.Errorf("%s became %s: the other side would act twice", original, got)
			}
		})
	}
	for what, change := range map[string]func(*idempotency.Request){
		"the account":   func(r *idempotency.Request) { r.AccountID = "acct_2" },
		"the mode":      func(r *idempotency.Request) { r.Livemode = true },
		"the key":       func(r *idempotency.Request) { r.Key = "l" },
		"the operation": func(r *idempotency.Request) { r.Flow = "refund.create" },
	} {
		t.Run("it depends on "+what, func(t *testing.T) {
			t.Parallel()
			if changed(change) == original {
				t.Error("two requests share one key at the other side")
			}
		})
	}
	t.Run("every phase and generation has its own", func(t *testing.T) {
		t.Parallel()
		r := &idempotency.Request{AccountID: "acct_1", Key: "k", Flow: "charge.create"}
		keys := map[string]bool{}
		for _, phase := range []string{"held", "captured"} {
			for generation := range int16(3) {
				keys[idempotency.DeriveKey(secret, r, phase, generation)] = true
			}
		}
		if len(keys) != 6 {
			t.Errorf("six calls go out under %d keys", len(keys))
		}
	})
}

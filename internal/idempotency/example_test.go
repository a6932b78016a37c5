package idempotency_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// Two requests are the same if their fingerprints are equal. Parameters are
// compared in their canonical form, so their order does not matter.
func ExampleFingerprint() {
	secret := []byte("the installation's secret")
	first := idempotency.Fingerprint(secret, "POST", "/orders", []byte("amount=2000&currency=usd"))
	retry := idempotency.Fingerprint(secret, "POST", "/orders", []byte("amount=2000&currency=usd"))
	other := idempotency.Fingerprint(secret, "POST", "/orders", []byte("amount=2001&currency=usd"))
	fmt.Println("the retry is the same request:", bytes.Equal(first, retry))
	fmt.Println("another amount is the same request:", bytes.Equal(first, other))
	// Output:
	// the retry is the same request: true
	// another amount is the same request: false
}

// A program looks its key up before it does anything. A key that has not been
// used has no row. Package phase has the example of a complete program.
func ExampleFind() {
	ctx := context.Background()
	pool, drop := pgtest.Example(ctx)
	defer drop()
	found, now, err := idempotency.Find(ctx, pool, idempotency.Key{AccountID: "acct_1", Key: "order-42"})
	fmt.Println("found:", found != nil, "error:", err)
	fmt.Println("the database's time is known:", time.Since(now).Abs() < time.Minute)
	// Output:
	// found: false error: <nil>
	// the database's time is known: true
}

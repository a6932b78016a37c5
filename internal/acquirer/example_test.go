package acquirer_test

import (
	"fmt"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

// An acquirer signs its notifications. One that is old, or whose body was changed,
// cannot be shown to come from it.
func ExampleCheckSignature() {
	const secret = "shared with the acquirer"
	body := []byte(`{"id":"note_1","kind":"refund.failed"}`)
	sent := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

	header := acquirer.Sign(secret, body, sent)
	fmt.Println(acquirer.CheckSignature(secret, header, body, sent.Add(time.Second)))
	fmt.Println(acquirer.CheckSignature(secret, header, body, sent.Add(time.Hour)))
	fmt.Println(acquirer.CheckSignature(secret, header, append(body, ' '), sent))
	// Output:
	// <nil>
	// the signature does not match: the signature is 1h0m0s old
	// the signature does not match
}

// The same key must always carry the same order. Only our own name for it may differ.
func ExampleOrder_Same() {
	first := acquirer.Order{Card: "visa", Amount: 2000, Currency: "usd", Object: "ch_1"}
	retry, other := first, first
	retry.Object = "ch_2"
	other.Amount = 2001
	fmt.Println(first.Same(retry), first.Same(other))
	// Output: true false
}

package webhook_test

import (
	"fmt"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"

	ratchet "github.com/ratchet-pay/ratchet/internal/webhook"
)

// Stripe's own library verifies the signature of a delivery.
func ExampleSign() {
	endpoint := ratchet.EndpointKey{AccountID: "acct_1", EndpointID: "we_1"}
	secret := ratchet.Secret([]byte("the installation's key for webhooks"), endpoint, 1)
	body := []byte(`{"id":"evt_1","object":"event","type":"charge.succeeded"}`)

	header := ratchet.Sign(body, time.Now(), secret)
	fmt.Println(webhook.ValidatePayload(body, header, secret))
	fmt.Println(webhook.ValidatePayload(append(body, ' '), header, secret))
	// Output:
	// <nil>
	// webhook had no valid signature
}

// While a secret is rolled, a delivery carries a signature for each one.
func ExampleSign_rolled() {
	endpoint := ratchet.EndpointKey{AccountID: "acct_1", EndpointID: "we_1"}
	key := []byte("the installation's key for webhooks")
	before, after := ratchet.Secret(key, endpoint, 1), ratchet.Secret(key, endpoint, 2)
	body := []byte(`{}`)

	header := ratchet.Sign(body, time.Now(), before, after)
	fmt.Println(webhook.ValidatePayload(body, header, before))
	fmt.Println(webhook.ValidatePayload(body, header, after))
	// Output:
	// <nil>
	// <nil>
}

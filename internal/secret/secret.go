// Package secret derives an installation's keys from its one secret.
//
// The secret comes from the environment or a file and is in no table: a copy of
// the database opens no account, names no card and forges no idempotency key.
package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
)

// Root is the secret all processes of an installation share.
type Root []byte

// shortest is 128 bits even if they are hexadecimal.
const shortest = 32

// New checks that a secret is one.
func New(text string) (Root, error) {
	if len(text) < shortest {
		return nil, errors.New("the secret must have at least 32 characters; make one with: openssl rand -hex 32")
	}
	return Root(text), nil
}

// For is the key for one purpose. Knowing one purpose's key tells nothing of another's.
func (r Root) For(purpose string) []byte {
	mac := hmac.New(sha256.New, r)
	mac.Write([]byte("ratchet/1/" + purpose))
	return mac.Sum(nil)
}

// Digest tells one secret from another, and reveals nothing of it. A table may contain it.
func (r Root) Digest() []byte { return r.For(identity) }

// The purposes.
const (
	identity = "identity"

	APIKeys     = "api keys"
	Cards       = "card fingerprints"
	Idempotency = "idempotency"
	Dashboard   = "dashboard"
	Webhooks    = "webhook signing secrets"
	Answers     = "secrets in stored answers"
	AuditChain  = "audit chain"
	TOTP        = "second factors of users"
	Receipts    = "receipt addresses"
)

// The purposes of the demo's shop, which has its own secret.
const (
	ShopCarts    = "carts and orders"
	ShopEndpoint = "the endpoint's signing secret"
)

// Package secret derives an installation's keys from its root secret.
//
// An installation has one, or several versions of it once it was rotated. A secret comes
// from the environment or a file and is in no table: a copy of the database opens no
// account, names no card and forges no idempotency key.
package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
)

// Root is the secret all processes of an installation share.
type Root []byte

// shortest is 128 bits even if they are hexadecimal.
const shortest = 32

// New returns a root secret, or an error if the text is too short to be one.
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
)

// keptKeys is the purpose under which a newer secret seals the keys of an older one.
const keptKeys = "keys of older root secrets"

// Kept are the purposes whose keys outlive their root secret. Their values stay for years, or are known to
// others, so a newer secret seals these keys. Second factors are not among them: they are sealed again.
var Kept = []string{APIKeys, Cards, Idempotency, Dashboard, Webhooks, Answers, AuditChain}

// Keep seals the key of an older version for one purpose.
func (r Root) Keep(version int16, purpose string, key []byte) (string, error) {
	return Seal(r.For(keptKeys), fmt.Sprintf("%d/%s", version, purpose), string(key))
}

// OpenKept decrypts a key that Keep sealed under this secret, for the same version and purpose.
func (r Root) OpenKept(version int16, purpose, sealed string) ([]byte, error) {
	key, err := Open(r.For(keptKeys), fmt.Sprintf("%d/%s", version, purpose), sealed)
	return []byte(key), err
}

// The purposes of the demo's shop, which has its own secret.
const (
	ShopCarts    = "carts and orders"
	ShopEndpoint = "the endpoint's signing secret"
)

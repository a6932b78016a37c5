package phase

import (
	"bytes"
	"regexp"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// Keys are the installation's keys for one purpose (package secret names them),
// for what a phase derives instead of storing it.
func (tx *Tx) Keys(purpose string) secret.Keys { return tx.roots.Keys(purpose) }

// EncryptInResponse returns a ciphertext to put into a response in place of a
// secret. The response is stored with the ciphertext, so a copy of the database
// does not disclose the secret; the caller, now and at every replay, receives the
// secret itself. text must need no escaping in JSON.
func (tx *Tx) EncryptInResponse(text string) (string, error) {
	sealed, err := tx.Keys(secret.Answers).Seal(tx.RequestID, text)
	return cipherMark + sealed, err
}

const cipherMark = "sealed:"

var ciphertext = regexp.MustCompile(cipherMark + `(?:[0-9]+\.)?[A-Za-z0-9_-]+`)

// decrypt puts the secrets back into a response that is about to be sent. A text
// that only looks like a ciphertext, because a caller wrote it, stays as it is.
func (e *Engine) decrypt(stored idempotency.StoredResponse, requestID string) idempotency.StoredResponse {
	if !bytes.Contains(stored.Body, []byte(cipherMark)) {
		return stored
	}
	keys := e.roots.Keys(secret.Answers)
	stored.Body = ciphertext.ReplaceAllFunc(stored.Body, func(found []byte) []byte {
		text, err := keys.Open(requestID, string(found[len(cipherMark):]))
		if err != nil {
			return found
		}
		return []byte(text)
	})
	return stored
}

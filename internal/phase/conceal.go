package phase

import (
	"bytes"
	"regexp"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// KeyFor is the installation's key for one purpose (package secret names them),
// for what a phase derives instead of storing it.
func (tx *Tx) KeyFor(purpose string) []byte { return tx.root.For(purpose) }

// Conceal returns what stands for a secret in an answer: its seal. The answer is
// stored with the seal in it, so a copy of the database does not tell the secret;
// the caller, now and at every replay, gets the secret in its place. text must
// need no escaping in JSON.
func (tx *Tx) Conceal(text string) (string, error) {
	sealed, err := secret.Seal(tx.KeyFor(secret.Answers), tx.RequestID, text)
	return sealMark + sealed, err
}

const sealMark = "sealed:"

var seal = regexp.MustCompile(sealMark + `[A-Za-z0-9_-]+`)

// reveal puts the secrets back into an answer that is about to be sent. A text
// that only looks like a seal, because a caller wrote it, stays what it is.
func (e *Engine) reveal(a idempotency.Answer, requestID string) idempotency.Answer {
	if !bytes.Contains(a.Body, []byte(sealMark)) {
		return a
	}
	key := e.root.For(secret.Answers)
	a.Body = seal.ReplaceAllFunc(a.Body, func(found []byte) []byte {
		text, err := secret.Open(key, requestID, string(found[len(sealMark):]))
		if err != nil {
			return found
		}
		return []byte(text)
	})
	return a
}

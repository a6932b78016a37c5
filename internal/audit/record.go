// Package audit keeps who did what, for years, in a form that shows tampering.
//
// Every mutating request leaves one row, in the transaction that finishes it. A
// worker seals the rows behind the commits into a chain of blocks. A row's
// details may be erased, for a person who asks to be forgotten, without breaking
// the chain: the chain covers a salted commitment to them, not the details.
package audit

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

const insertEvent = `
	INSERT INTO audit_events (at, id, account_id, livemode, request_id, idempotency_key, actor, address,
		operation, object_id, status, error_code, commitment, salt, details, answer_digest)
	VALUES (@at, @id, @account_id, @livemode, @request_id, @idempotency_key, @actor, @address,
		@operation, @object_id, @status, @error_code, @commitment, @salt, @details, @answer_digest)`

// Record queues the audit row of a request that is being finished: who (API key,
// address), what (operation and parameters, which hold no card number because
// their types cannot print one), and the outcome with the digest of the answer.
func Record(tx *phase.Tx, r *idempotency.Request, answer *idempotency.StoredResponse) {
	salt := make([]byte, 16)
	rand.Read(salt) // never fails
	tx.Write(insertEvent, postgres.Args{
		"at": tx.Now(), "id": id.New("aud", tx.Now()), "account_id": tx.AccountID, "livemode": tx.Livemode,
		"request_id": tx.RequestID, "idempotency_key": orNull(tx.Key), "actor": tx.Actor, "address": orNull(tx.Address),
		"operation": r.Flow, "object_id": orNull(answer.ObjectID), "status": answer.Status, "error_code": orNull(errorCode(answer)),
		"commitment": Commit(salt, r.Params), "salt": salt, "details": string(r.Params), "answer_digest": AnswerDigest(r, answer),
	})
}

// RaiseAlarm queues the audit row of something that a request found and a person
// should know of. It commits, or not, with the request.
func RaiseAlarm(tx *phase.Tx, operation, objectID string, details any) {
	text, err := json.Marshal(details)
	if err != nil {
		panic(err) // the callers' own types always marshal
	}
	salt := make([]byte, 16)
	rand.Read(salt) // never fails
	tx.Write(insertEvent, postgres.Args{
		"at": tx.Now(), "id": id.New("aud", tx.Now()), "account_id": tx.AccountID, "livemode": tx.Livemode,
		"request_id": tx.RequestID, "idempotency_key": nil, "actor": ActorInbox, "address": nil,
		"operation": operation, "object_id": orNull(objectID), "status": http.StatusOK, "error_code": nil,
		"commitment": Commit(salt, text), "salt": salt, "details": string(text), "answer_digest": nil,
	})
}

// Commit is the salted commitment to a row's details that the chain covers. The
// salt keeps a bare hash of, say, an email address from being guessed.
func Commit(salt, details []byte) []byte {
	sum := sha256.New()
	sum.Write(salt)
	sum.Write(details)
	return sum.Sum(nil)
}

func errorCode(answer *idempotency.StoredResponse) string {
	if answer.Status < http.StatusBadRequest {
		return ""
	}
	var body struct {
		Error struct{ Type, Code string }
	}
	if json.Unmarshal(answer.Body, &body) != nil {
		return ""
	}
	if body.Error.Code == "" {
		return body.Error.Type
	}
	return body.Error.Code
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

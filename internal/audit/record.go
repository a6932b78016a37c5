// Package audit records who did what, for years, in a form that reveals tampering.
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
	"time"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// The cluster is read once for all rows; the column's default would read it for each.
const insertEvents = `
	WITH here AS MATERIALIZED (SELECT this_cluster() AS cluster)
	INSERT INTO audit_events (at, id, account_id, livemode, request_id, idempotency_key, actor, address,
		operation, object_id, status, error_code, commitment, salt, details, answer_digest, cluster)
	SELECT m.*, here.cluster FROM here,
		unnest(@at::timestamptz[], @id::text[], @account_id::text[], @livemode::boolean[], @request_id::text[],
		@idempotency_key::text[], @actor::text[], @address::text[], @operation::text[], @object_id::text[],
		@status::smallint[], @error_code::text[], @commitment::bytea[], @salt::bytea[], @details::text[],
		@answer_digest::bytea[]) AS m`

type eventRow struct {
	At             time.Time `db:"at"`
	ID             string    `db:"id"`
	AccountID      string    `db:"account_id"`
	Livemode       bool      `db:"livemode"`
	RequestID      string    `db:"request_id"`
	IdempotencyKey *string   `db:"idempotency_key"`
	Actor          string    `db:"actor"`
	Address        *string   `db:"address"`
	Operation      string    `db:"operation"`
	ObjectID       *string   `db:"object_id"`
	Status         int16     `db:"status"`
	ErrorCode      *string   `db:"error_code"`
	Commitment     []byte    `db:"commitment"`
	Salt           []byte    `db:"salt"`
	Details        string    `db:"details"`
	AnswerDigest   []byte    `db:"answer_digest"` // nil if the row belongs to no request
}

// event is when something happened, and to what it belongs.
type event struct {
	at        time.Time
	accountID string
	livemode  bool
	requestID string
}

func eventOf(tx *phase.Tx) event { return event{tx.Now(), tx.AccountID, tx.Livemode, tx.RequestID} }

// newRow is a row of the trail with its details and their commitment.
func newRow(e event, operation, objectID string, details []byte) eventRow {
	salt := make([]byte, 16)
	rand.Read(salt) // never fails
	return eventRow{
		At:         e.at,
		ID:         id.New("aud", e.at),
		AccountID:  e.accountID,
		Livemode:   e.livemode,
		RequestID:  e.requestID,
		Operation:  operation,
		ObjectID:   orNull(objectID),
		Commitment: Commit(salt, details),
		Salt:       salt,
		Details:    string(details),
	}
}

// Record queues the audit row of a request that is being finished: who (API key,
// address), what (operation and parameters, which hold no card number because
// their types cannot print one), and the outcome with the digest of the answer.
func Record(tx *phase.Tx, r *idempotency.Request, answer *idempotency.StoredResponse) {
	row := newRow(eventOf(tx), r.Flow, answer.ObjectID, r.Params)
	row.AnswerDigest = AnswerDigest(r, answer)
	row.IdempotencyKey, row.Actor, row.Address = orNull(tx.Key), tx.Actor, orNull(tx.Address)
	row.Status, row.ErrorCode = int16(answer.Status), orNull(errorCode(answer))
	tx.Write(insertEvents, postgres.RowsOf(row))
}

// RaiseAlarm queues the audit row of something that a request found and a person
// should know of. It commits, or not, with the request.
func RaiseAlarm(tx *phase.Tx, operation, objectID string, details any) {
	text, err := json.Marshal(details)
	if err != nil {
		panic(err) // the callers' own types always marshal
	}
	row := newRow(eventOf(tx), operation, objectID, text)
	row.Actor, row.Status = ActorInbox, http.StatusOK
	tx.Write(insertEvents, postgres.RowsOf(row))
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

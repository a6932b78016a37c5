package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strconv"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// AnswerDigest is SHA-256 over a request and its answer as they are stored: who
// asked for what under which key, the fingerprint, and the status, headers and bytes
// that every retry gets. The audit row keeps it and the chain covers the row, so
// neither can be changed later without a trace.
//
// Every value is written as its length in eight bytes, big end first, and its own
// bytes; numbers and booleans as texts.
func AnswerDigest(r *idempotency.Request, answer *idempotency.StoredResponse) []byte {
	d := digest{sha256.New()}
	d.text(r.AccountID, r.ID, strconv.FormatBool(r.Livemode), r.Key, strconv.FormatBool(r.KeyGenerated),
		r.Method, r.Path)
	d.bytes(r.Fingerprint)
	d.text(strconv.Itoa(int(r.FingerprintVersion)), string(r.Params), postgres.JSONText(r.Caller), r.Flow,
		strconv.Itoa(int(r.Version)))
	d.text(strconv.Itoa(answer.Status), postgres.JSONText(answer.Headers))
	d.bytes(answer.Body)
	d.text(answer.ObjectID)
	return d.Sum(nil)
}

// digest hashes values so that no two lists of them run together into the same bytes.
type digest struct{ hash.Hash }

func (d digest) bytes(value []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(value)))
	d.Write(length[:])
	d.Write(value)
}

func (d digest) text(values ...string) {
	for _, value := range values {
		d.bytes([]byte(value))
	}
}

package idempotency

import (
	"encoding/json"
	"errors"
	"time"
)

// The five states of a request. CHECK constraints tie each to its columns.
const (
	Running  = "running"  // somebody drives it, under a lease
	Parked   = "parked"   // nobody drives it; the completer will, when it is due
	Held     = "held"     // a person has to decide
	Finished = "finished" // its answer is final
	Archived = "archived" // its answer has moved to the archive; its key is still taken
)

// LeaseTime is how long a request stays with a driver that does nothing. Longer
// than two acquirer time-outs, or a live attempt would be taken for a dead one.
// A driver that dies is noticed much sooner, by its process's liveness row.
const LeaseTime = 30 * time.Second

// AnswerRetention is how long an answer is replayed after it was given, unless the
// installation says otherwise. Stripe keeps 24 hours; a month lets a merchant's
// nightly and monthly jobs retry safely.
const AnswerRetention = 30 * 24 * time.Hour

// LeastRetention is the shortest that an installation can choose: Stripe's, for
// which every client's retries are made.
const LeastRetention = 24 * time.Hour

// ErrOvertaken says that the fence refused a write: another process has taken
// the request over. Nothing of the transaction remains.
var ErrOvertaken = errors.New("another process has taken this request over")

// Key identifies a request as its caller names it.
type Key struct {
	AccountID string
	Livemode  bool
	Key       string
}

// Caller is who made a request, besides its account and mode, which are columns
// of their own. It is kept with the request: the completer and a retry act on
// behalf of the same caller.
type Caller struct {
	Actor   string `json:"actor"`             // id of the API key
	Address string `json:"address,omitempty"` // of the client
	// Application is whatever else the application wants to know of the caller
	// in a later phase, as a JSON object. This package only stores it.
	Application json.RawMessage `json:"application,omitempty"`
}

// Request is one row: where a request stands and who drives it. Its answer is
// read with Find; this is what a driver needs.
type Request struct {
	AccountID          string
	ID                 string // also the Request-Id of the first attempt
	Livemode           bool
	Key                string
	Incarnation        int16
	Keyless            bool // the key is ours: the caller sent none
	Method             string
	Path               string
	Fingerprint        []byte
	FingerprintVersion int16
	Params             json.RawMessage
	Caller             Caller `db:"context"`
	Flow               string
	Version            int16
	Point              string // the last recovery point reached
	Ord                int16  // its place in the flow
	Memo               json.RawMessage
	Epoch              int32
	Attempts           int32
	CreatedAt          time.Time
	ResumedAt          time.Time // when this driver took it over
}

// StoredResponse is what a request was answered with: bytes that are committed.
type StoredResponse struct {
	Status   int
	Headers  map[string]string
	Body     []byte
	ObjectID string // what the request made or changed
}

// ForeignCall is a call to another system that a request has announced, under
// the last key it announced for it.
type ForeignCall struct {
	Phase      string
	Generation int16
	Key        string
	AskedAt    time.Time
	Retired    bool `db:"spent"` // proven to have done nothing: the next key may be used
}

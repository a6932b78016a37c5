package idempotency

import (
	"encoding/json"
	"errors"
	"time"
)

// The states of a request. The first three are those of its run; CHECK constraints
// tie each to its columns.
const (
	Running  = "running"      // a process executes it, under a lease
	Parked   = "parked"       // no process executes it; the completer will, when it is due
	Held     = "needs_review" // a person has to decide
	Finished = "finished"     // its answer is final
	Archived = "archived"     // its answer has moved to the archive; its key is still taken
)

// LeaseTime is how long a request stays with a driver that does nothing. Longer
// than two acquirer time-outs, or a live attempt would be taken for a dead one.
// A driver that dies is noticed much sooner, by its process's liveness row.
const LeaseTime = 30 * time.Second

// LongestWait is how long a parked request waits at most.
const LongestWait = 5 * time.Minute

// AnswerRetention is how long an answer is replayed after it was given, unless the
// installation says otherwise. Stripe keeps 24 hours; a month lets a merchant's
// nightly and monthly jobs retry safely.
const AnswerRetention = 30 * 24 * time.Hour

// LeastRetention is the shortest that an installation can choose: Stripe's, for
// which every client's retries are made.
const LeastRetention = 24 * time.Hour

// ErrDamaged says that a request has neither a run nor an answer, which no program
// can bring about: rows were lost. ratchet verify names it.
var ErrDamaged = errors.New("the request has neither a run nor an answer")

// ErrOvertaken says that the fence refused a write: another process has taken
// the request over. Nothing of the transaction remains.
var ErrOvertaken = errors.New("another process has taken this request over")

// Key identifies a request as its caller names it.
type Key struct {
	AccountID string `db:"account_id"`
	Livemode  bool   `db:"livemode"`
	Key       string `db:"key"`
}

// Caller is who made a request, besides its account and mode, which are separate
// columns. It is stored with the request: the completer and a retry act on behalf of
// the same caller.
type Caller struct {
	Actor   string `json:"actor"`             // id of the API key
	Address string `json:"address,omitempty"` // of the client
	Client  string `json:"client,omitempty"`  // what the client calls itself, without card data and secrets
	// Application is what else the application needs to know about the caller in a
	// later phase, as a JSON object. This package only stores it.
	Application json.RawMessage `json:"application,omitempty"`
}

// Request is what a driver needs of a request and its run. Its answer is read with Find.
type Request struct {
	AccountID          string
	ID                 string // also the Request-Id of the first attempt
	Livemode           bool
	Key                string
	KeyGenerated       bool // the key is ours: the caller sent none
	Method             string
	Path               string
	Fingerprint        []byte
	FingerprintVersion int16
	Params             json.RawMessage
	Caller             Caller `db:"context"`
	Flow               string
	Version            int16
	Point              string // the last recovery point reached
	StateData          json.RawMessage
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

// ForeignCall is a call to another system that a run has announced, under the last
// key it announced for it.
type ForeignCall struct {
	Phase      string
	Generation int16
	Key        string
	SentAt     time.Time
	// its key is retired, with the proof that it did nothing: the next key can be announced
	Retired bool
}

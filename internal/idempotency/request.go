// Package idempotency keeps the request's row: the claim of a key, the lease of
// whoever drives it, the fence that stops the one who lost it, and the answer.
//
//	            claim                    finish                     reap
//	(no row) ──────────▶ running ─────────────────▶ finished ──────────▶ archived
//	                     │  ▲  │
//	                park │  │  │ hold
//	                     ▼  │  ▼
//	                parked ─┘  held ──▶ parked
//	                    resume     a person decides
//	                  (epoch + 1)
//
// It knows rows and bytes. What a phase is, it does not know: package phase
// drives the rows through these states.
package idempotency

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apiversion"
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

// Context is what the original caller brought along. The completer and a retry
// act in it, whoever they are.
type Context struct {
	APIVersion apiversion.Version `json:"api_version"`
	Actor      string             `json:"actor"`             // id of the API key
	Address    string             `json:"address,omitempty"` // of the client
	// Publishable says that a browser asked: it sees less.
	Publishable bool `json:"publishable,omitempty"`
	// BaseURL is where the installation's own pages are: "https://pay.example.com".
	BaseURL string `json:"base_url,omitempty"`
	// News says that the acquirer tells this installation by itself what it has settled.
	News bool `json:"news,omitempty"`
	Merchant
}

// Merchant is what of an account's settings the phases need. It is kept with the
// request, so that a recovery works with what held when the request was made.
type Merchant struct {
	Country             string `json:"country"`
	DefaultCurrency     string `json:"default_currency"`
	StatementDescriptor string `json:"statement_descriptor"`
	PayoutDelayDays     int    `json:"payout_delay_days"` // until a charge's money is available
	// DefaultVersion is the API version of what is asked or told without naming one.
	DefaultVersion apiversion.Version `json:"default_version,omitempty"`
	// Ahead is how far a test clock has moved the account's test mode ahead of our time.
	Ahead time.Duration `json:"ahead,omitempty"`
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
	Context            Context
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

// Answer is what a caller receives: bytes that are already committed.
type Answer struct {
	Status   int
	Headers  map[string]string
	Body     []byte
	ObjectID string // what the request made or changed
}

// Call is a row of the calls table: something asked of another system.
type Call struct {
	Phase      string
	Generation int16
	Key        string
	AskedAt    time.Time
	Spent      bool // proven to have done nothing: the next key may be asked under
}

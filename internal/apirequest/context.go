// Package apirequest is what Stripe's API adds to a request of the engine: the
// context that is kept with it, the header of its response, and the words of its
// refusals. The engine itself (package phase) knows none of it.
package apirequest

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Context is what later phases want to know of the caller and of the installation.
// It is kept with the request, so that a recovery works with what held when the
// request was made.
type Context struct {
	APIVersion apiversion.Version `json:"api_version"`
	// Publishable says that a browser makes the request: it sees less.
	Publishable bool `json:"publishable,omitempty"`
	// BaseURL is where the installation's own pages are: "https://pay.example.com".
	BaseURL string `json:"base_url,omitempty"`
	// Notified says that the acquirer notifies this installation of what it has settled.
	Notified bool `json:"news,omitempty"`
	Merchant
}

// ReceiptPath comes before the account, the charge and the charge's token in the address of
// a receipt (package checkout has the page).
const ReceiptPath = "/receipts/"

// Merchant is what the phases need of an account's settings.
type Merchant struct {
	Country             string `json:"country"`
	DefaultCurrency     string `json:"default_currency"`
	StatementDescriptor string `json:"statement_descriptor"`
	PayoutDelayDays     int    `json:"payout_delay_days"` // until a charge's money is available
	// DefaultVersion is the API version of requests and events that name none.
	DefaultVersion apiversion.Version `json:"default_version,omitempty"`
	// Ahead is how far a test clock has moved the account's test mode ahead of our time.
	Ahead time.Duration `json:"ahead,omitempty"`
}

// The actors that are not clients, as the audit trail names them.
const (
	ActorWorker   = "worker"   // a background job
	ActorClock    = "clock"    // the end of a checkout session's time
	ActorAcquirer = "acquirer" // a notification
)

// ByClient says whether a client made the request, and not a job or a notification.
func ByClient(caller phase.Caller) bool {
	return caller.Actor != ActorWorker && caller.Actor != ActorClock && caller.Actor != ActorAcquirer
}

// By is the caller that an actor is: the id of an API key, or the name of a job.
func (c Context) By(actor, address string) idempotency.Caller {
	application, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("apirequest: encode context: %v", err)) // it is made of texts and numbers
	}
	return idempotency.Caller{Actor: actor, Address: address, Application: application}
}

// Of is the context of a caller. It panics if a caller was not made by By, which
// the engine treats like any bug in a phase: the request is parked.
func Of(caller phase.Caller) Context {
	if c, known := contexts.Load(string(caller.Application)); known {
		return c.(Context)
	}
	var c Context
	if err := json.Unmarshal(caller.Application, &c); err != nil {
		panic(fmt.Sprintf("apirequest: decode context of %s: %v", caller.RequestID, err))
	}
	if contextCount.Add(1) > maxContexts {
		contexts.Clear()
		contextCount.Store(1)
	}
	contexts.Store(string(caller.Application), c)
	return c
}

// The contexts of recent callers by their JSON: phases ask several times for the same
// one, and so do the requests of a merchant.
var (
	contexts     sync.Map
	contextCount atomic.Int64
)

const maxContexts = 1024

// AccountNow is the time by the account's own clock, which a test clock may have
// moved ahead. What becomes due with time is due by it; nothing is dated by it.
func AccountNow(tx *phase.Tx) time.Time { return tx.Now().Add(Of(tx.Caller).Ahead) }

// Headers are the headers of every stored response, for phase.Config.
func Headers(caller phase.Caller) map[string]string {
	return map[string]string{"Stripe-Version": string(Of(caller).APIVersion)}
}

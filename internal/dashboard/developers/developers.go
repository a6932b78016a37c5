// Package developers has the dashboard's pages about what happens behind a payment: requests and the inspector,
// idempotency keys, events, webhooks, the ledger, API keys, processes and test clocks.
package developers

import "github.com/ratchet-pay/ratchet/internal/dashboard/ui"

// Pages are the pages of this package.
type Pages struct{ *ui.Env }

// Routes registers each page under its address. administered is for what only an administrator may change.
func (s Pages) Routes(handle, administered func(pattern string, show ui.Handler)) {
	handle("GET /dashboard/requests", s.requests)
	handle("GET /dashboard/requests.csv", s.requestsCSV)
	handle("GET /dashboard/requests/{id}", s.request)
	handle("POST /dashboard/requests/{id}/resume", s.postResume)
	handle("POST /dashboard/requests/{id}/release", s.postRelease)
	handle("POST /dashboard/requests/{id}/again", s.postAgain)
	handle("GET /dashboard/idempotency", s.idempotencyKeys)
	handle("GET /dashboard/events", s.events)
	handle("GET /dashboard/events.csv", s.eventsCSV)
	handle("GET /dashboard/events/{id}", s.event)
	handle("POST /dashboard/events/{event}/resend", s.postResend)
	handle("GET /dashboard/webhooks", s.webhooks)
	administered("POST /dashboard/webhooks", s.postEndpoint)
	handle("GET /dashboard/webhooks/{id}", s.webhook)
	administered("POST /dashboard/webhooks/{id}/{action}", s.postEndpointAction)
	handle("GET /dashboard/webhooks/{id}/{event}", s.delivery)
	handle("POST /dashboard/webhooks/{id}/{event}/resend", s.postResend)
	handle("GET /dashboard/ledger", s.ledger)
	handle("GET /dashboard/ledger.csv", s.ledgerCSV)
	handle("GET /dashboard/ledger/{id}", s.posting)
	handle("GET /dashboard/keys", s.keys)
	handle("GET /dashboard/processes", s.processes)
	if s.Supervisor != nil {
		handle("POST /dashboard/kill", s.postKill)
	}
	handle("GET /dashboard/clock", s.clock)
	handle("POST /dashboard/clock", s.postClock)
	handle("POST /dashboard/clock/{id}", s.postAdvance)
}

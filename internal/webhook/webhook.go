// Package webhook delivers events to merchants' servers: it signs, sends and retries them, and
// eventually gives up.
//
// A delivery is a row, written in the transaction of the change it reports (payments' emit),
// with a job for River beside it. River wakes a worker, and the rows say what is due, so a job
// that is lost or runs twice loses or duplicates nothing:
//
//	pending ──claim──▶ an attempt is written down ──send──▶ succeeded
//	   ▲                                              │
//	   └───────────── due again, later ◀──────────────┤ it failed
//	                                                  └──▶ failed, after the whole schedule
//
// A worker that crashes in between leaves a claim behind. The sweep releases it, and the event
// is sent again: at least once, sometimes twice.
//
// It does not know what an event looks like: who makes a Deliverer says how one
// is rendered.
package webhook

import (
	"fmt"
	"net/netip"
	"time"
)

// Config is what the operator decides.
type Config struct {
	AllowLoopback bool            // endpoints may be on this machine and speak plain HTTP: for demos and tests
	LoopbackPorts []uint16        // and then only at these ports; none: at any
	Networks      []netip.Prefix  // private networks where endpoints may be, also over plain HTTP
	Schedule      []time.Duration // pauses between attempts; nil: DefaultSchedule
	DisableAfter  time.Duration   // an endpoint that only failed for so long is disabled; 0: DefaultDisableAfter
}

// DefaultSchedule is twelve attempts over three days.
var DefaultSchedule = []time.Duration{
	10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 2 * time.Hour,
	4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// DefaultDisableAfter is longer than the schedule: every event of the first days
// has had all of its attempts.
const DefaultDisableAfter = 7 * 24 * time.Hour

// Never leaves all endpoints enabled, as DisableAfter.
const Never time.Duration = -1

// States of a delivery.
const (
	Pending   = "pending"   // it is or will be due
	Succeeded = "succeeded" // the endpoint has acknowledged it
	Failed    = "failed"    // all attempts of the schedule were in vain
	Canceled  = "canceled"  // the endpoint was deleted or disabled before it was due
)

// EndpointKey names an endpoint.
type EndpointKey struct {
	AccountID  string `json:"account_id"`
	EndpointID string `json:"endpoint_id"`
}

// String names the endpoint and its account in a log.
func (k EndpointKey) String() string { return fmt.Sprintf("%s of %s", k.EndpointID, k.AccountID) }

// Wake is the job that says: there may be something to deliver to this endpoint.
type Wake struct{ EndpointKey }

// Queue is where River keeps these jobs.
const Queue = "webhooks"

// WakeKind is the name of Wake in River's tables.
const WakeKind = "webhook.wake"

// Kind is the job's name in River's tables.
func (Wake) Kind() string { return WakeKind }

// Package lab describes the crash lab: the designs that people use to make a
// payment idempotent, the faults that strike them, and what a run left behind.
//
//	Design + Fault ──▶ Run: how often the bank charged, what our books say, and the trace
//
// This package only describes. Package design has the handlers, package runner
// runs and kills them, and recorded has a run of every pair. A run is a file of
// JSON lines, so it can be kept, sent to others, and played again.
package lab

import (
	"slices"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/crashpoint"
)

// Design is a way to make a payment idempotent.
type Design struct {
	Name  string // in addresses and commands
	Title string
	Idea  string // in one sentence
	Code  string // the file with its handler, from the root of the repository
	Page  string // the document that explains it, from the root of the repository
	Queue bool   // it consumes messages of a queue, and answers no client

	first  string // the boundary before its first write
	record string // the statement that commits the charge; "": the first that is sent behind the bank's answer
}

// Designs are all designs: those that answer requests, Ratchet last, and those that
// consume a queue, ours last.
var Designs = []Design{
	{Name: "naive", Title: "Naive", Idea: "Charge the card, then save the charge.",
		Code: "internal/lab/design/naive.go", Page: "docs/lab/01-naive.md",
		first: "acquirer: before writing"},
	{Name: "redis-1s", Title: "Redis, lock of 1 s",
		Idea: "A middleware locks the key in Redis for a second, and stores the response there.",
		Code: "internal/lab/design/redis.go", Page: "docs/lab/02-redis.md",
		first: "redis: before writing"},
	{Name: "redis-24h", Title: "Redis, lock of 24 h",
		Idea: "The same middleware; its lock lives as long as the response.",
		Code: "internal/lab/design/redis.go", Page: "docs/lab/02-redis.md",
		first: "redis: before writing"},
	{Name: "redis-unawaited", Title: "Redis, answer first",
		Idea: "The middleware with a lock of 1 s sends the response before Redis has stored it.",
		Code: "internal/lab/design/redis.go", Page: "docs/lab/02-redis.md",
		first: "redis: before writing"},
	{Name: "table", Title: "Table, status first",
		Idea: "A row in idempotency_keys is committed as processing, and completed at the end.",
		Code: "internal/lab/design/table.go", Page: "docs/lab/03-table.md",
		first: "database: before"},
	{Name: "table-takeover", Title: "Table with takeover",
		Idea: "The same table; a row that has been processing for a second is taken over.",
		Code: "internal/lab/design/table.go", Page: "docs/lab/03-table.md",
		first: "database: before"},
	{Name: "table-tx", Title: "Table, one transaction",
		Idea: "Key, charge and response are one transaction, which is open during the call to the bank.",
		Code: "internal/lab/design/table_tx.go", Page: "docs/lab/03-table.md",
		first: "database: before", record: "commit"},
	{Name: "manager", Title: "Request-hash manager",
		Idea: "A manager compares a hash of the request, stores the response, and raises stored failures again.",
		Code: "internal/lab/design/manager.go", Page: "docs/lab/04-manager.md",
		first: "database: before"},
	{Name: "points", Title: "Recovery points, no key",
		Idea: "Transactions before and after the call, resumed from recovery points; the bank gets no key.",
		Code: "internal/lab/design/points.go", Page: "docs/lab/05-recovery-points.md",
		first: "database: before", record: "commit"},
	{Name: "ratchet", Title: "Ratchet",
		Idea: "Recovery points, a fence, and a key for the bank that is derived from the client's.",
		Code: "internal/payment/charge_create.go", Page: "docs/lab/06-ratchet.md",
		first: "database: before"},
	{Name: "queue-set", Title: "Queue, set in memory", Queue: true,
		Idea: "A consumer remembers in memory which messages it has seen.",
		Code: "internal/lab/design/queue_set.go", Page: "docs/lab/07-queue.md"},
	{Name: "queue-table", Title: "Queue, table of messages", Queue: true,
		Idea: "A consumer marks a message as processing in a table, handles it, and marks it as completed.",
		Code: "internal/lab/design/queue_table.go", Page: "docs/lab/07-queue.md"},
	{Name: "inbox", Title: "Ratchet’s inbox", Queue: true,
		Idea: "The message and its charge are one transaction; then the engine calls the bank under a derived key.",
		Code: "internal/lab/consumer/inbox.go", Page: "docs/lab/08-inbox.md"},
}

// OnRedis says whether the design keeps its keys in Redis.
func (d Design) OnRedis() bool { return strings.HasPrefix(d.Name, "redis") }

// Ours says whether the design is Ratchet, or made of its parts.
func (d Design) Ours() bool { return d.Name == "ratchet" || d.Name == "inbox" }

// Fault is what goes wrong in a run. It strikes the client's first attempt only, or
// the first delivery of the message that pays the order.
type Fault struct {
	Name  string
	Title string
	Story string // what happens, in a sentence or two

	Stop        bool          // the process is stopped instead of killed, and continued later
	LosesStore  bool          // the key store starts again without its data
	DoubleClick bool          // the first attempt is sent twice at once
	BankTakes   time.Duration // before the bank acts
	BankTimeout time.Duration // how long the handler waits for the bank; 0: its own default
	Patience    time.Duration // how long the client waits for an answer

	Queue       bool // it strikes consumers of a queue, and not servers
	Cut         bool // the connection to the broker breaks at the boundary; the process lives on
	Consumers   int  // how many processes consume at once; 0: one
	Poison      bool // the message cannot be handled, now or ever
	Reordered   bool // the message that pays the order arrives before the one that places it
	Republished bool // the order is published again, after a restart of the consumer

	boundary func(Design) string // where the process ends; nil: it lives on
}

const (
	patient   = 6 * time.Second        // longer than anything takes that is not made to be slow
	impatient = 500 * time.Millisecond // shorter than the slow bank, and than the lock
	hasty     = 350 * time.Millisecond // two attempts that wait in vain still leave a run short
)

func at(boundary string) func(Design) string { return func(Design) string { return boundary } }

const answerRead = "acquirer: answer read"

// Faults are all faults, in the order of the request's way.
var Faults = []Fault{
	{Name: "none", Title: "Nothing goes wrong", Story: "Nothing goes wrong.", Patience: patient},
	{Name: "before-first-write", Title: "Before the first write",
		Story:    "The process is killed before it has written anything.",
		Patience: patient, boundary: func(d Design) string { return d.first }},
	{Name: "before-bank", Title: "Before the bank is called",
		Story:    "The process is killed after its first commit, before it calls the bank.",
		Patience: patient, boundary: at("acquirer: before writing")},
	{Name: "while-charging", Title: "While the bank charges",
		Story:    "The process is killed while the bank charges the card.",
		Patience: patient, BankTakes: 300 * time.Millisecond, boundary: at("acquirer: after writing")},
	{Name: "answer-not-recorded", Title: "Bank answered, not recorded",
		Story:    "The process is killed after it has read the bank's response, before it records it.",
		Patience: patient, boundary: at(answerRead)},
	{Name: "commit-sent", Title: "COMMIT on the wire",
		Story: "The process is killed when it has sent the commit that records the charge. The database " +
			"commits; the process never learns of it.",
		Patience: patient, boundary: func(d Design) string {
			return answerRead + crashpoint.Then + strings.TrimSpace("database: sent "+d.record)
		}},
	{Name: "answer-not-sent", Title: "Committed, answer not sent",
		Story:    "The process is killed before it sends its response.",
		Patience: patient, boundary: at("client: before writing")},
	{Name: "double-click", Title: "Double click",
		Story:    "The customer presses Pay twice. Both requests arrive at once, under the same key.",
		Patience: patient, DoubleClick: true, BankTakes: 100 * time.Millisecond},
	{Name: "slow-bank", Title: "Slow bank",
		Story: "The bank takes 1.8 s. That is longer than the client waits (0.5 s), and longer than the short " +
			"lock lives (1 s). No process crashes.",
		Patience: impatient, BankTakes: 1800 * time.Millisecond},
	{Name: "bank-timeout", Title: "Bank's answer times out",
		Story:    "The handler waits 0.6 s for the bank, which charges the card after 0.9 s. No process crashes.",
		Patience: patient, BankTakes: 900 * time.Millisecond, BankTimeout: 600 * time.Millisecond},
	{Name: "store-lost", Title: "Key store loses its data",
		Story:    "The process is killed before it sends its response, and Redis starts again without its file.",
		Patience: patient, LosesStore: true, boundary: at("client: before writing")},
	{Name: "stopped", Title: "Stopped, and continued",
		Story: "The process stops after it has read the bank's response (SIGSTOP). Another one takes its place. " +
			"Then the first continues.",
		Patience: hasty, Stop: true, boundary: at(answerRead)},

	{Name: "queue-none", Title: "Nothing goes wrong", Queue: true, Story: "Nothing goes wrong."},
	{Name: "queue-before-bank", Title: "Before the bank is called", Queue: true,
		Story:    "The consumer is killed after it has marked the message, before it calls the bank.",
		boundary: at("acquirer: before writing")},
	{Name: "queue-while-charging", Title: "While the bank charges", Queue: true,
		Story:     "The consumer is killed while the bank charges the card.",
		BankTakes: 300 * time.Millisecond, boundary: at("acquirer: after writing")},
	{Name: "queue-answer-not-recorded", Title: "Bank answered, not recorded", Queue: true,
		Story:    "The consumer is killed after it has read the bank's response, before it records it.",
		boundary: at(answerRead)},
	{Name: "queue-before-ack", Title: "Between effect and acknowledgment", Queue: true,
		Story:    "The consumer has handled the message, and is killed before it acknowledges it.",
		boundary: at("broker: before acknowledgment")},
	{Name: "queue-redelivered", Title: "Redelivery", Queue: true, Cut: true,
		Story: "The connection breaks when the consumer sends its acknowledgment. The broker delivers the " +
			"message again, to the same process.",
		boundary: at("broker: before acknowledgment")},
	{Name: "queue-two-consumers", Title: "Two consumers", Queue: true, Consumers: 2, BankTakes: time.Second,
		Story: "The bank takes 1 s. After 0.6 s without an acknowledgment, the broker delivers the message " +
			"again, to the second consumer. No process crashes."},
	{Name: "queue-stopped", Title: "Stopped, and continued", Queue: true, Stop: true,
		Story: "The consumer stops after it has read the bank's response (SIGSTOP). Another one takes its place. " +
			"Then the first continues.",
		boundary: at(answerRead)},
	{Name: "queue-republished", Title: "Published again", Queue: true, Republished: true,
		Story: "The publisher sends the order again, after the broker has forgotten its ID. The consumer was " +
			"restarted in between."},
	{Name: "queue-poison", Title: "Poison message", Queue: true, Poison: true,
		Story: "The amount of the order is not a number, so no consumer can ever handle the message."},
	{Name: "queue-reordered", Title: "Reordering", Queue: true, Reordered: true,
		Story: "The message that pays the order arrives before the one that places it."},
	{Name: "queue-bank-timeout", Title: "Bank's answer times out", Queue: true,
		Story:     "The consumer waits 0.4 s for the bank, which charges the card after 0.7 s. No process crashes.",
		BankTakes: 700 * time.Millisecond, BankTimeout: 400 * time.Millisecond},
}

// Strikes says whether the fault can happen to a design.
func (f Fault) Strikes(d Design) bool { return f.Queue == d.Queue }

const queued = "queue-"

// For is the fault as it happens to a design: a server has another moment for it than
// a consumer of a queue. ok is false if it cannot happen to the design at all.
func (f Fault) For(d Design) (same Fault, ok bool) {
	if f.Strikes(d) {
		return f, true
	}
	name, isQueued := strings.CutPrefix(f.Name, queued)
	if !isQueued {
		name = queued + name
	}
	return FindFault(name)
}

// Case is a run that is asked for.
type Case struct {
	Design
	Fault
	Settings
}

// Cases are the runs of designs under faults.
func Cases(designs []Design, faults []Fault, s Settings) (all []Case) {
	for _, f := range faults {
		for _, d := range designs {
			own, ok := f.For(d)
			same := func(c Case) bool { return c.Design.Name == d.Name && c.Fault.Name == own.Name }
			if ok && !slices.ContainsFunc(all, same) {
				all = append(all, Case{d, own, s.For(d)})
			}
		}
	}
	return all
}

// Boundary is where the process that serves the first attempt ends, as the header
// of package crashpoint takes it; "" if it lives on.
func (f Fault) Boundary(d Design) string {
	if f.boundary == nil {
		return ""
	}
	return f.boundary(d)
}

// Pauses are what the client waits after each attempt before it tries again with
// the same key. After the last it gives up. Where the bank is slow, the second attempt
// comes while the short lock lives, the third when it has expired, and the fourth when
// the bank has responded.
var Pauses = []time.Duration{150 * time.Millisecond, 700 * time.Millisecond, 650 * time.Millisecond}

// PausesAfterDeath are those where the process is killed. The third attempt comes later
// than the short lock and a dead process's liveness last, so the last one can follow sooner:
// it finds what the third has found.
var PausesAfterDeath = []time.Duration{Pauses[0], 1200 * time.Millisecond, 600 * time.Millisecond}

// PausesAfterStop are those where the process is stopped. The third attempt comes later than
// its liveness lasts, which goes on while the second waits: see Pause. It continues before the
// last attempt, which finds what it has done.
var PausesAfterStop = []time.Duration{100 * time.Millisecond, time.Second, 50 * time.Millisecond}

// PausesAfterTimeout are those where the handler waits for the bank no longer. Nothing that
// the later attempts find depends on when they come.
var PausesAfterTimeout = []time.Duration{Pauses[0], 400 * time.Millisecond, 300 * time.Millisecond}

// Pauses are what the client waits between its attempts.
func (f Fault) Pauses() []time.Duration {
	switch {
	case f.Stop:
		return PausesAfterStop
	case f.BankTimeout > 0:
		return PausesAfterTimeout
	case f.boundary != nil:
		return PausesAfterDeath
	}
	return Pauses
}

// Pause is what the client waits before an attempt, after one that took so long. After a stop,
// what the second attempt waited in vain is part of the third one's pause.
func (f Fault) Pause(attempt int, took time.Duration) time.Duration {
	pause := f.Pauses()[attempt-2]
	if f.Stop && attempt == 3 {
		return pause - took
	}
	return pause
}

// Attempts is how often the client sends its request at most.
var Attempts = len(Pauses) + 1

// FindDesign returns the design with this name, and whether there is one.
func FindDesign(name string) (Design, bool) {
	i := slices.IndexFunc(Designs, func(d Design) bool { return d.Name == name })
	if i < 0 {
		return Design{}, false
	}
	return Designs[i], true
}

func ratchet() Design {
	d, _ := FindDesign("ratchet")
	return d
}

// FindFault returns the fault of a name. The name of a boundary at which a fault
// kills is one, too: "acquirer: answer read". So is how it begins: "acquirer: before".
func FindFault(name string) (Fault, bool) {
	i := slices.IndexFunc(Faults, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		i = slices.IndexFunc(Faults, func(f Fault) bool {
			return !f.Stop && !f.LosesStore && !f.Queue && strings.Contains(name, ": ") &&
				strings.HasPrefix(f.Boundary(ratchet()), name)
		})
	}
	if i < 0 {
		return Fault{}, false
	}
	return Faults[i], true
}

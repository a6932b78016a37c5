package process

import (
	"runtime"
	"time"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/limit"
)

// Limits are what a process takes on, and for how long. docs/limits.md gives the
// reason for each.
type Limits struct {
	API api.Limits

	Connections int           // of clients at once; 0: any number
	HeaderTime  time.Duration // until a request's head is there
	BodyTime    time.Duration // until all of it is there
	WriteTime   time.Duration // until its answer is taken; longer than an attempt may take
	IdleTime    time.Duration // a connection is kept open between two requests

	ConcurrentWrites   int           // new requests that may use the database at once; 0: any number
	ConcurrentLookups  int           // requests that look up their key without a slot for new work; 0: any number
	ConcurrentReads    int           // requests that only read; 0: any number
	ConcurrentSearches int           // those of them that search; 0: any number
	Queue              int           // how many may wait for a slot
	QueueTime          time.Duration // and how long

	AccountWrites   int // of the new requests, those of one account; 0: any number
	AccountReads    int // of the reads, those of one account; 0: any number
	AccountSearches int // of the searches, those of one account; 0: any number

	AccountLongLists int // of the reads, long lists of one account; 0: any number

	// AccountTurns is how many transactions and reads of one account there are at once for each CPU, while other
	// accounts are active, and half as many searches. 0: any number.
	AccountTurns int

	MemoryMiB int // what serve's garbage collector aims to stay within

	AcquirerTimeout time.Duration // for one answer of the acquirer; the engine itself waits no longer than 8 seconds

	BreakerFailures int           // calls in a row without an answer, until the acquirer is left alone
	BreakerPause    time.Duration // for so long

	DrainGrace time.Duration // between the moment a process says that it is going and the moment it takes nothing more
	DrainTime  time.Duration // for what is under way by then
}

// DefaultLimits are for a process that has a machine of some cores, most of a
// Postgres with its default of 100 connections, and clients that mean well.
func DefaultLimits() Limits {
	return Limits{
		API:                api.DefaultLimits(),
		Connections:        4096,
		HeaderTime:         5 * time.Second,
		BodyTime:           15 * time.Second,
		WriteTime:          40 * time.Second,
		IdleTime:           time.Minute,
		ConcurrentWrites:   64,
		ConcurrentLookups:  1,
		ConcurrentReads:    16,
		ConcurrentSearches: 6,
		AccountWrites:      32,
		AccountReads:       4,
		AccountSearches:    2,
		AccountLongLists:   1,
		AccountTurns:       1,
		Queue:              128,
		QueueTime:          100 * time.Millisecond,
		MemoryMiB:          120,
		AcquirerTimeout:    8 * time.Second,
		BreakerFailures:    20,
		BreakerPause:       time.Second,
		DrainGrace:         time.Second,
		DrainTime:          30 * time.Second,
	}
}

// limiters are where requests wait before anything is done for them.
type limiters struct {
	work, lookups limit.Fair
	commits       *limit.Turns
	reads         api.ReadLimiters
}

// behindItself is how many times longer a request waits for its own account's requests
// than for those of others: it keeps no other account waiting.
const behindItself = 10

func newLimiters(l Limits) limiters {
	ofOneAccount := func(slots int) *limit.Shares {
		return limit.NewShares(slots, l.Queue, behindItself*l.QueueTime, apierror.RateLimited("global-concurrency"))
	}
	ofAll := func(slots int, reason string) *limit.Limiter {
		return limit.NewLimiter(slots, l.Queue, l.QueueTime, apierror.Overloaded(reason))
	}
	turns := l.AccountTurns * runtime.GOMAXPROCS(0)
	ofAnAccount := limit.NewTurns(turns)
	return limiters{
		work: limit.Fair{Accounts: ofOneAccount(l.AccountWrites),
			All: ofAll(l.ConcurrentWrites, "max-concurrent-writes")},
		lookups: limit.Fair{All: limit.NewLimiter(l.ConcurrentLookups, 0, 0,
			apierror.Overloaded("max-concurrent-writes"))},
		commits: ofAnAccount,
		reads: api.ReadLimiters{
			Reads: limit.Fair{Accounts: ofOneAccount(l.AccountReads),
				Turns: ofAnAccount,
				All:   ofAll(l.ConcurrentReads, "max-concurrent-reads")},
			Searches: limit.Fair{Accounts: ofOneAccount(l.AccountSearches), // and then Reads
				Turns: limit.NewTurns((turns + 1) / 2), // the other half is left for charges
				All:   ofAll(l.ConcurrentSearches, "max-concurrent-searches")},
			LongLists: ofOneAccount(l.AccountLongLists),
		},
	}
}

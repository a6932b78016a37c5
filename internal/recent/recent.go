// Package recent keeps the latest requests that leave no row in the database: requests that only read, and requests
// that the API rejected before it claimed their idempotency key. A developer whose integration fails finds them in the
// dashboard's log.
//
// They are in memory, in the process that received them: a client that polls must not cost a write, and what was
// rejected must not fill a table. They are a sample, the latest of each account, and are gone after an hour or with
// the process. Nothing depends on them.
package recent

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

const (
	// KeepFor is how long a request is shown.
	KeepFor = time.Hour
	// Most is how many reads, and how many rejections, are kept of each account in each mode. Reads are apart,
	// because a client that polls would push everything else out.
	Most = 100
	// mostScopes bounds the accounts and modes of which anything is kept.
	mostScopes = 500
)

// Request is a request that left no row. Its texts are fit to be shown: they contain no card data and no secret.
type Request struct {
	AccountID string
	Livemode  bool
	ID        string // req_…
	Method    string
	Path      string
	Key       string // the idempotency key, "" for none
	Params    []form.Param
	Unread    bool // the parameters were not read: something else was wrong first
	APIKey    string
	Address   string // of the client
	Client    string // what it calls itself
	Version   string // of the API
	Status    int
	Error     *apierror.Error // nil: it was answered
	At        time.Time
	Took      time.Duration
}

// Rejected tells whether the API rejected the request. The others only read.
func (r Request) Rejected() bool { return r.Error != nil }

type scope struct {
	accountID string
	livemode  bool
}

type kept struct{ reads, rejections []Request } // oldest first

func (k *kept) latest() time.Time {
	var at time.Time
	for _, all := range [][]Request{k.reads, k.rejections} {
		if len(all) > 0 && all[len(all)-1].At.After(at) {
			at = all[len(all)-1].At
		}
	}
	return at
}

// Log has the requests of one process. A nil Log keeps none.
type Log struct {
	mu       sync.Mutex
	of       map[scope]*kept
	rejected int
}

// NewLog makes an empty log.
func NewLog() *Log { return &Log{of: map[scope]*kept{}} }

// Add keeps a request, in place of the oldest one if there are too many.
func (l *Log) Add(r Request) {
	if l == nil {
		return
	}
	for i, p := range r.Params { // the operator may allow them in any parameter
		if testcard.Mentions(p.Name) || testcard.Mentions(p.Value) {
			r.Params[i] = form.Param{Name: form.Hidden, Value: form.Hidden}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := scope{r.AccountID, r.Livemode}
	k := l.of[s]
	if k == nil {
		l.makeRoom()
		k = &kept{}
		l.of[s] = k
	}
	into := &k.reads
	if r.Rejected() {
		into = &k.rejections
		l.rejected++
	}
	if len(*into) == Most {
		(*into)[0] = Request{} // so that its texts can be freed
		*into = (*into)[1:]    // append moves the others once it runs out of room, and not every time
	}
	*into = append(*into, r)
}

// makeRoom drops the account and mode whose latest request is the oldest.
func (l *Log) makeRoom() {
	if len(l.of) < mostScopes {
		return
	}
	var oldest scope
	var at time.Time
	for s, k := range l.of {
		if latest := k.latest(); at.IsZero() || latest.Before(at) {
			oldest, at = s, latest
		}
	}
	delete(l.of, oldest)
}

// Rejections counts what was rejected so far. A page that follows the log asks whether it has changed.
func (l *Log) Rejections() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rejected
}

// Of are the rejections of an account in a mode, and with reads also what only read, newest first.
func (l *Log) Of(accountID string, livemode, reads bool) []Request {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.of[scope{accountID, livemode}]
	if k == nil {
		return nil
	}
	all := slices.Clone(k.rejections)
	if reads {
		all = append(all, k.reads...)
	}
	all = slices.DeleteFunc(all, func(r Request) bool { return time.Since(r.At) > KeepFor })
	slices.SortFunc(all, func(a, b Request) int { return cmp.Compare(b.ID, a.ID) })
	return all
}

// Find is the request of an account in a mode that has an ID, or nil.
func (l *Log) Find(accountID string, livemode bool, id string) *Request {
	all := l.Of(accountID, livemode, true)
	if i := slices.IndexFunc(all, func(r Request) bool { return r.ID == id }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Whole is a text of the client's own, such as a path, that a filter has to match. It is cut or hidden only if it is
// very long, or may contain a card number.
func Whole(text string) string {
	const most = 500
	if testcard.Mentions(text) {
		return form.Hidden
	}
	if quoted := form.Quote(text); strings.Contains(quoted, apierror.HiddenDigits) || len(text) > most {
		return quoted
	}
	return text
}

// Package crashpoint ends the process at its n-th I/O boundary, for the crash test.
//
// A boundary is a moment before or after the process sends something to, or receives
// something from, the world: the database, the acquirer, the client. What
// happens between two boundaries happens in memory, which a crash erases, so a
// test that dies at every boundary has died everywhere.
//
//	database   before each message (parse, bind, execute, sync, …), after the
//	           last one of a packet, and when the answer begins to come in
//	acquirer   before and after each write, and when the answer begins to come in
//	redis      the same, for the lab's designs that keep their keys there
//	broker     when a message is delivered, before and after its acknowledgment, for
//	           the lab's designs that consume a queue
//	client     before and after each write of the response
//
// Boundaries are found by watching the connections, not listed by hand: a new
// statement is a new boundary automatically.
//
// Nothing of this exists unless RATCHET_CRASH_TESTING=1: FromEnvironment returns
// nil then, and the methods of a nil *Points hand back what they were given.
package crashpoint

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Variables of the environment.
const (
	// Enable is "1" where requests may ask the process to crash. Never in production.
	Enable = "RATCHET_CRASH_TESTING"
	// Record names a file to which the boundaries of the armed request are
	// written as it passes them, one a line.
	Record = "RATCHET_CRASH_RECORD"
	// Trace names a file to which the boundaries of every armed request are added
	// as Passed, one JSON object a line, with the time. The lab draws from it.
	Trace = "RATCHET_CRASH_TRACE"
)

// Headers of a request.
const (
	// AtHeader arms the request: the process ends at its n-th boundary from now
	// on, or at the first whose name begins as the header says. 0 passes them all.
	// The count stops when the client's connection is closed, so the client sends
	// Connection: close, and sends nothing else meanwhile. A browser can do neither,
	// and asks by name: how many boundaries there are differs with what a
	// connection to the database has prepared before. A packet to the database can
	// also be named by a statement that it executes, "database: sent INSERT INTO x";
	// "database: sent" is the next packet that executes anything.
	// Names in a row, joined by Then, are passed one after the other; the last ends it.
	AtHeader = "Ratchet-Crash-At"
	// HowHeader is Stop to halt the process (SIGSTOP) instead of killing it. What
	// continues it continues exactly there, and is not interrupted again. Cut breaks
	// the connection to the broker instead, so that what was to be sent is lost.
	HowHeader = "Ratchet-Crash-How"
	Stop      = "stop"
	Cut       = "cut"
	// WhoHeader is the id of the process that is meant. A browser repeats a request
	// on its own when a connection it has used before breaks, and would end the next
	// process, too.
	WhoHeader = "Ratchet-Crash-Who"
	// Then joins names of boundaries in AtHeader.
	Then = ", then "
)

// Passed is a line of the trace.
type Passed struct {
	At       time.Time `json:"at"`
	PID      int       `json:"pid"`
	Boundary string    `json:"boundary"`
	Sent     []string  `json:"sent,omitempty"`   // the statements that were written, or the command that is about to be
	Failed   bool      `json:"failed,omitempty"` // the answer that was to be read did not come
}

// Points watches a process's connections and counts.
type Points struct {
	recordTo string
	traceTo  string

	mu     sync.Mutex // held while the process ends, so that no goroutine passes another boundary
	client string     // remote address of the armed request's connection, "" if none is armed
	at     int
	names  []string // of boundaries that are still to be passed, none if a number is meant
	passed int
	end    func()
	cut    bool // the connection that passes the boundary breaks
	record *os.File
	trace  *os.File
}

// FromEnvironment returns nil unless this process is there to be crashed.
func FromEnvironment() *Points {
	if os.Getenv(Enable) != "1" {
		return nil
	}
	return &Points{recordTo: os.Getenv(Record), traceTo: os.Getenv(Trace)}
}

// Handler arms the requests that ask for it.
func (p *Points) Handler(next http.Handler) http.Handler {
	if p == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := p.arm(r.RemoteAddr, r.Header); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// aMessage takes the place of the client's address when a message is armed.
const aMessage = "a message"

// Delivered arms what is done with a message, as Handler does with a request, until
// the next message comes. what says which delivery it is, for the trace.
func (p *Points) Delivered(headers http.Header, what string) error {
	if p == nil {
		return nil
	}
	if err := p.arm(aMessage, headers); err != nil {
		return err
	}
	p.pass("broker: delivered", what)
	return nil
}

// Watch traces what the process does before a message comes.
func (p *Points) Watch() error {
	if p == nil {
		return nil
	}
	return p.arm(aMessage, http.Header{AtHeader: {"0"}})
}

// arm arms the request of a client.
func (p *Points) arm(client string, headers http.Header) error {
	wish := headers.Get(AtHeader)
	if who := headers.Get(WhoHeader); wish == "" || who != "" && who != strconv.Itoa(os.Getpid()) {
		return nil
	}
	at, names, err := boundary(wish)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish() // what an earlier request has left open
	p.client, p.at, p.names, p.passed, p.end = client, at, names, 0, kill
	switch headers.Get(HowHeader) {
	case Stop:
		p.end = stop
	case Cut:
		p.end = func() { p.cut = true }
	}
	if p.recordTo != "" {
		if p.record, err = os.Create(p.recordTo); err != nil {
			return err
		}
	}
	if p.traceTo != "" {
		p.trace, err = os.OpenFile(p.traceTo, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	}
	return err
}

// sides are what the names of boundaries begin with.
var sides = []string{"database: ", "acquirer: ", "redis: ", "broker: ", "client: "}

// boundary reads the header: a number, or how names begin.
func boundary(wish string) (at int, names []string, err error) {
	if at, err = strconv.Atoi(wish); err == nil && at >= 0 {
		return at, nil, nil
	}
	for name := range strings.SplitSeq(wish, Then) {
		if !slices.ContainsFunc(sides, func(side string) bool { return strings.HasPrefix(name, side) }) {
			return 0, nil,
				fmt.Errorf("%s: %q is neither a boundary's number nor the start of its name", AtHeader, name)
		}
		names = append(names, name)
	}
	return 0, names, nil
}

// pass is called at every boundary, with the statements of a packet that has just
// been written to the database, or the command that is about to be sent to Redis. It
// does not return from the fatal one.
func (p *Points) pass(boundary string, sent ...string) {
	p.note(Passed{Boundary: boundary, Sent: sent})
}

func (p *Points) note(passed Passed) {
	boundary, sent := passed.Boundary, passed.Sent
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client == "" {
		return
	}
	p.passed++
	if p.record != nil {
		fmt.Fprintln(p.record, boundary)
	}
	if p.trace != nil {
		passed.At, passed.PID = time.Now(), os.Getpid()
		_ = json.NewEncoder(p.trace).Encode(passed) // a trace that ends early is one
	}
	if p.passed == p.at || p.named(boundary, sent) {
		p.end()
		if p.trace == nil {
			p.finish()
		}
		p.at = 0 // a trace goes on with what a process does that was stopped and continued
	}
}

// named ticks off a boundary that was asked for by name, and says whether it was
// the last one.
func (p *Points) named(boundary string, sent []string) bool {
	if len(p.names) == 0 {
		return false
	}
	statement, ofPacket := strings.CutPrefix(p.names[0], "database: sent")
	begins := func(s string) bool { return strings.HasPrefix(s, strings.TrimSpace(statement)) }
	if ofPacket && !(strings.HasPrefix(boundary, "database: ") && slices.ContainsFunc(sent, begins)) ||
		!ofPacket && !strings.HasPrefix(boundary, p.names[0]) {
		return false
	}
	p.names = p.names[1:]
	return len(p.names) == 0
}

// severed says, once, whether the connection that has passed the fatal boundary breaks.
func (p *Points) severed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	cut := p.cut
	p.cut = false
	return cut
}

func (p *Points) armed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.client != ""
}

// armedFor says whether the request that came over this connection is armed.
func (p *Points) armedFor(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.client == conn.RemoteAddr().String()
}

// disarm ends the count.
func (p *Points) disarm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
}

func (p *Points) finish() {
	p.client = ""
	if p.record != nil {
		p.record.Close()
		p.record = nil
	}
	if p.trace != nil {
		p.trace.Close()
		p.trace = nil
	}
}

// kill ends the process as a power cut would: nothing is flushed, said or undone.
func kill() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(fmt.Sprintf("crashpoint: %v", err))
	}
	select {} // the signal is on its way
}

//go:build unix

package crash_test

import (
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"
)

// wire is a proxy in front of an address, on which a test can do what networks do.
type wire struct {
	addr, target string

	mu      sync.Mutex
	pass    func(chunk []byte) (send []byte, cut bool) // nil: everything passes
	refuses bool                                       // new connections are closed
	whole   chan struct{}                              // closed when the wire passes on what it has; nil: it does
	conns   map[net.Conn]bool
}

func newWire(t testing.TB, target string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{addr: listener.Addr().String(), target: target, conns: map[net.Conn]bool{}}
	t.Cleanup(func() {
		listener.Close()
		w.mend()
		w.hangUp()
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test is over
			}
			go w.carry(conn)
		}
	}()
	return w
}

// carry joins a connection with one to the target.
func (w *wire) carry(from net.Conn) {
	if w.wait() {
		from.Close()
		return
	}
	to, err := net.Dial("tcp", w.target)
	if err != nil {
		from.Close()
		return
	}
	w.mu.Lock()
	w.conns[from], w.conns[to] = true, true
	w.mu.Unlock()
	go w.copy(to, from, nil)
	w.copy(from, to, func() func([]byte) ([]byte, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.pass
	})
}

// copy passes on what arrives. A fault affects answers only: requests arrive, which is the worse case.
func (w *wire) copy(to, from net.Conn, pass func() func([]byte) ([]byte, bool)) {
	defer w.forget(to, from)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		w.wait() // an end does not get across, either
		if err != nil {
			return
		}
		chunk, cut := buffer[:n], false
		if pass != nil {
			if does := pass(); does != nil {
				chunk, cut = does(chunk)
			}
		}
		if _, err := to.Write(chunk); err != nil || cut {
			return
		}
	}
}

// wait returns when the wire passes things on. It says whether it refuses new connections.
func (w *wire) wait() (refuses bool) {
	w.mu.Lock()
	whole := w.whole
	w.mu.Unlock()
	if whole != nil {
		<-whole
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refuses
}

func (w *wire) forget(conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range conns {
		delete(w.conns, conn)
		conn.Close()
	}
}

func (w *wire) hangUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn := range w.conns {
		conn.Close()
	}
}

// silence keeps everything back. No side sees a connection end.
func (w *wire) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole = make(chan struct{})
}

// refuse ends all connections and lets none begin.
func (w *wire) refuse() {
	w.mu.Lock()
	w.refuses = true
	w.mu.Unlock()
	w.hangUp()
}

// does has something done to every piece of an answer.
func (w *wire) does(pass func([]byte) ([]byte, bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pass = pass
}

// mend makes the wire whole. What a silent wire has kept back is lost with its connections.
func (w *wire) mend() {
	w.mu.Lock()
	whole := w.whole
	w.pass, w.refuses, w.whole = nil, false, nil
	w.mu.Unlock()
	if whole != nil {
		w.hangUp()
		close(whole)
	}
}

// wireFaults are what is done to a wire for a while.
var wireFaults = []struct {
	name   string
	strike func(w *wire)
	lasts  time.Duration
}{
	{"cut", (*wire).refuse, 3 * time.Second},
	{"silent", (*wire).silence, 10 * time.Second},
	{"slow", func(w *wire) {
		w.does(func(chunk []byte) ([]byte, bool) {
			time.Sleep(300 * time.Millisecond)
			return chunk, false
		})
	}, 3 * time.Second},
	{"cutting answers short", func(w *wire) {
		w.does(func(chunk []byte) ([]byte, bool) { return chunk[:len(chunk)/2], true })
	}, 3 * time.Second},
	{"losing answers", func(w *wire) {
		w.does(func([]byte) ([]byte, bool) { return nil, true })
	}, 3 * time.Second},
}

// TestLinks does what networks do, under load: to the processes' way to their database, and to the acquirer.
func TestLinks(t *testing.T) {
	t.Parallel()
	const enough = 60
	for _, to := range []string{"database", "acquirer"} {
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			i := installOnFastServer(t, startAcquirer(t))
			w := i.through(t, to)
			serving := &crew{members: []*process{i.serve(t), i.serve(t)}}
			i.work(t)
			var merchants []merchant
			for range 6 {
				merchants = append(merchants, i.merchant(t))
			}
			loads := startLoad(t, serving, merchants)
			goesOn := func() {
				before := finishedBy(loads)
				eventually(t, "work goes on", func() bool { return t.Failed() || finishedBy(loads) > before+enough })
			}
			var struck spells
			for range volume(t, "RATCHET_LINK_ROUNDS", 1) {
				for _, f := range wireFaults {
					goesOn()
					end := struck.begin(f.name)
					f.strike(w)
					time.Sleep(f.lasts)
					w.mend()
					end()
				}
			}
			goesOn()
			all := stopLoad(loads)
			finished := i.wantFinished(t, &struck, loads)
			replayAll(t, serving, all)
			i.wantNoDoubles(t, all)
			i.wantClean(t)
			t.Logf("SUMMARY link to the %s: %d requests answered over %d faults; %s", to, len(all), len(struck.all),
				finished)
		})
	}
}

// through has the processes that are started from now on reach the database or the acquirer over a wire.
func (i *installation) through(t testing.TB, to string) *wire {
	t.Helper()
	if to == "acquirer" {
		w := newWire(t, i.acquirer.addr)
		i.env = append(i.env, "RATCHET_ACQUIRER_URL=http://"+w.addr)
		return w
	}
	config := i.db.Config().ConnConfig
	address, err := url.Parse(i.db.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(t, net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
	address.Host = w.addr
	i.env = append(i.env, "RATCHET_DATABASE_URL="+address.String())
	return w
}

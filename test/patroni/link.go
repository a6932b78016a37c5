//go:build linux

package patroni

import (
	"net"
	"sync"
	"testing"
)

// link is a path between servers that can be cut: a proxy in front of one address. While it
// is cut it is silent: no side sees a connection end, as in a network that loses packets.
type link struct {
	addr, target string

	mu    sync.Mutex
	mends chan struct{} // closed when the link is whole; nil: it is
	conns map[net.Conn]bool
}

func newLink(t testing.TB, target string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("patroni: %v", err)
	}
	l := &link{addr: listener.Addr().String(), target: target, conns: map[net.Conn]bool{}}
	t.Cleanup(func() {
		listener.Close()
		l.mend()
		l.hangUp()
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test is over
			}
			go l.carry(conn)
		}
	}()
	return l
}

// carry joins a connection with one to the target.
func (l *link) carry(from net.Conn) {
	l.remember(from)
	l.wait()
	to, err := net.Dial("tcp", l.target)
	if err != nil {
		l.forget(from)
		return
	}
	l.remember(to)
	go l.copy(from, to)
	l.copy(to, from)
}

func (l *link) copy(to, from net.Conn) {
	defer l.forget(to)
	defer l.forget(from)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		l.wait() // an end does not get across, either
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// wait returns when the link is whole.
func (l *link) wait() {
	l.mu.Lock()
	mends := l.mends
	l.mu.Unlock()
	if mends != nil {
		<-mends
	}
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mends == nil {
		l.mends = make(chan struct{})
	}
}

// mend makes a link whole. Connections of before the cut break.
func (l *link) mend() {
	l.mu.Lock()
	mends := l.mends
	l.mends = nil
	l.mu.Unlock()
	if mends != nil {
		l.hangUp()
		close(mends)
	}
}

func (l *link) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		conn.Close()
	}
	clear(l.conns)
}

func (l *link) remember(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[conn] = true
}

func (l *link) forget(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
	conn.Close()
}

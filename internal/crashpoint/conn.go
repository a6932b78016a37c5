package crashpoint

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync/atomic"
)

// DialFunc opens a connection, as net.Dialer.DialContext does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// DialDatabase opens watched connections to Postgres; nil means the
// driver's own way.
func (p *Points) DialDatabase() DialFunc {
	return p.dial(func(conn net.Conn) net.Conn {
		return &databaseConn{Conn: conn, points: p, statements: map[string]string{}}
	})
}

// DialAcquirer opens watched connections to the acquirer; nil means the
// client's own way.
func (p *Points) DialAcquirer() DialFunc { return p.dialPeer("acquirer: ") }

// DialRedis opens watched connections to Redis; nil means the client's own way.
func (p *Points) DialRedis() DialFunc { return p.dialPeer("redis: ") }

// DialBroker opens watched connections to NATS; nil means the client's own way.
func (p *Points) DialBroker() DialFunc {
	return p.dial(func(conn net.Conn) net.Conn { return &brokerConn{conn, p} })
}

func (p *Points) dialPeer(side string) DialFunc {
	return p.dial(func(conn net.Conn) net.Conn { return &peerConn{Conn: conn, points: p, side: side} })
}

func (p *Points) dial(watch func(net.Conn) net.Conn) DialFunc {
	if p == nil {
		return nil
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return watch(conn), nil
	}
}

// Listener wraps l so that each read from a client and each write to it is a boundary. A nil p returns l.
func (p *Points) Listener(l net.Listener) net.Listener {
	if p == nil {
		return l
	}
	return &listener{l, p}
}

type listener struct {
	net.Listener
	points *Points
}

// Accept watches the connection that it returns.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &clientConn{conn, l.points}, nil
}

// clientConn is where a request comes from and its response goes.
type clientConn struct {
	net.Conn
	points *Points
}

// Write passes the crash points before and after the response of an armed connection leaves.
func (c *clientConn) Write(b []byte) (int, error) {
	if !c.points.armedFor(c.Conn) {
		return c.Conn.Write(b)
	}
	c.points.pass("client: before writing the response")
	n, err := c.Conn.Write(b)
	c.points.pass("client: after writing the response")
	return n, err
}

// Close ends the watch of an armed connection: what happens later belongs to no request.
func (c *clientConn) Close() error {
	if c.points.armedFor(c.Conn) {
		c.points.disarm()
	}
	return c.Conn.Close()
}

// peerConn is a connection to a server.
type peerConn struct {
	net.Conn
	points *Points
	side   string
	asked  atomic.Bool // an answer is due
}

// Write passes the crash points before and after a request to another system leaves.
func (c *peerConn) Write(b []byte) (int, error) {
	c.asked.Store(true)
	c.points.pass(c.side+"before writing", command(c.side, b)...)
	n, err := c.Conn.Write(b)
	c.points.pass(c.side + "after writing")
	return n, err
}

// command is what a write to Redis asks for, without its values.
func command(side string, b []byte) []string {
	if side != "redis: " {
		return nil
	}
	words := strings.Split(string(b), "\r\n") // *2 $3 GET $1 k
	const name, key = 2, 4
	if len(words) <= key {
		return nil
	}
	return []string{words[name] + " " + words[key]}
}

// Read is a boundary once for each answer: in how many pieces it comes in is the
// network's affair and differs from run to run.
func (c *peerConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.asked.Swap(false) {
		c.points.note(Passed{Boundary: c.side + "answer read", Failed: err != nil && n == 0})
	}
	return n, err
}

// brokerConn is a connection to NATS. Most of what it carries is no boundary: only
// acknowledgments tell the broker something that it keeps.
type brokerConn struct {
	net.Conn
	points *Points
}

// Write passes the crash points before and after an acknowledgment leaves.
func (c *brokerConn) Write(b []byte) (int, error) {
	var what string
	switch {
	case bytes.Contains(b, []byte("+ACK")):
		what = "acknowledgment"
	case bytes.Contains(b, []byte("-NAK")):
		what = "rejection"
	default:
		return c.Conn.Write(b)
	}
	c.points.pass("broker: before " + what)
	if c.points.severed() {
		return 0, c.Conn.Close()
	}
	n, err := c.Conn.Write(b)
	c.points.pass("broker: after " + what)
	return n, err
}

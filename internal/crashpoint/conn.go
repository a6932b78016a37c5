package crashpoint

import (
	"context"
	"net"
	"sync/atomic"
)

// DialFunc opens a connection, as net.Dialer.DialContext does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// DialDatabase opens watched connections to Postgres; nil stands for the
// driver's own way.
func (p *Points) DialDatabase() DialFunc {
	return p.dial(func(conn net.Conn) net.Conn {
		return &databaseConn{Conn: conn, points: p, statements: map[string]string{}}
	})
}

// DialAcquirer opens watched connections to the acquirer; nil stands for the
// client's own way.
func (p *Points) DialAcquirer() DialFunc {
	return p.dial(func(conn net.Conn) net.Conn { return &acquirerConn{Conn: conn, points: p} })
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

// Listener accepts watched connections of clients.
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

func (c *clientConn) Write(b []byte) (int, error) {
	if !c.points.armedFor(c.Conn) {
		return c.Conn.Write(b)
	}
	c.points.pass("client: before writing the response")
	n, err := c.Conn.Write(b)
	c.points.pass("client: after writing the response")
	return n, err
}

func (c *clientConn) Close() error {
	if c.points.armedFor(c.Conn) {
		c.points.disarm()
	}
	return c.Conn.Close()
}

// acquirerConn is an HTTP connection to the acquirer.
type acquirerConn struct {
	net.Conn
	points *Points
	asked  atomic.Bool // an answer is due
}

func (c *acquirerConn) Write(b []byte) (int, error) {
	c.asked.Store(true)
	c.points.pass("acquirer: before writing")
	n, err := c.Conn.Write(b)
	c.points.pass("acquirer: after writing")
	return n, err
}

// Read is a boundary once for each answer: in how many pieces it comes in is the
// network's affair and differs from run to run.
func (c *acquirerConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.asked.Swap(false) {
		c.points.pass("acquirer: answer read")
	}
	return n, err
}

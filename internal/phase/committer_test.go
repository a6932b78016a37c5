package phase_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/apierror"
)

// TestCommitter is about transactions of several requests that commit as one.
func TestCommitter(t *testing.T) {
	t.Parallel()

	t.Run("requests that wait for each other's commit share the next", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		release := p.committer.HoldUp()
		answers := p.serveAll("a", "b", "c", "d", "e", "f", "g", "h")
		s.eventually(8, p.committer.Waiting)
		release()
		for key, err := range answers() {
			if err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
		s.want("orders", 8, "SELECT count(*) FROM orders")
		s.want("orders of one transaction", 8,
			"SELECT max(n) FROM (SELECT count(*) AS n FROM orders GROUP BY xmin) AS t")
		s.want("answers", 8, `
			SELECT count(*) FROM answers WHERE recovery_points = '{order_recorded,bank_paid,order_delivered}'`)
		s.bank.wantMoved(t, 8)
	})

	t.Run("a member that the database refuses fails alone", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.exec("ALTER TABLE orders ADD CONSTRAINT orders_amount_is_positive CHECK (amount > 0)")
		p := s.process()
		release := p.committer.HoldUp()
		good := p.serveAll("a", "b", "c", "d", "e", "f")
		bad := make(chan error, 1)
		go func() {
			_, err := p.serveOrder("bad", order{Amount: -1})
			bad <- err
		}()
		s.eventually(7, p.committer.Waiting)
		release()
		for key, err := range good() {
			if err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
		if err := <-bad; err == nil || !strings.Contains(err.Error(), "orders_amount_is_positive") {
			t.Errorf("the bad member received %v", err)
		}
		s.wantState("bad", "no row")
		s.bank.wantMoved(t, 6)
	})

	t.Run("a key that comes twice is one request", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		release := p.committer.HoldUp()
		first := p.serveAll("a", "b", "c")
		second := p.serveAll("b", "c")
		s.eventually(5, p.committer.Waiting)
		release()
		for _, answers := range []func() map[string]error{first, second} {
			for key, err := range answers() {
				var refusal *apierror.Error
				if err != nil && (!errors.As(err, &refusal) || refusal.Status != http.StatusConflict) {
					t.Errorf("%s: %v", key, err)
				}
			}
		}
		s.want("orders", 3, "SELECT count(*) FROM orders")
		s.bank.wantMoved(t, 3)
	})

	t.Run("a process that was overtaken does not keep the others of its group from finishing", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p, other := s.process(), s.process()
		stalls := []*stall{newStall(), newStall(), newStall(), newStall()}
		for _, st := range stalls {
			s.bank.has(st.day)
		}
		answers := p.serveAll("a", "b", "c", "zombie")
		for _, st := range stalls {
			<-st.began
		}
		s.exec(`UPDATE runs SET owner = 'wk_gone' WHERE request_id = (SELECT id FROM requests WHERE key = 'zombie')`)
		other.answers("zombie", http.StatusOK)
		for _, st := range stalls {
			close(st.release)
		}
		for key, err := range answers() {
			if err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
		s.want("deliveries", 4, "SELECT count(*) FROM deliveries")
		if s.fenced.Load() != 1 {
			t.Errorf("the fence refused %d commits, want 1", s.fenced.Load())
		}
	})

	t.Run("when the acknowledgment of a group is lost, each member finds out what became of it", func(t *testing.T) {
		t.Parallel()
		for name, before := range map[string]bool{
			"before the server has it":       true,
			"after the server has committed": false,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := setup(t)
				link := &weakLink{}
				p := s.processOn(link.pool(t, s.pool))
				release := p.committer.HoldUp()
				answers := p.serveAll("a", "b", "c", "d", "e", "f", "g", "h", "i")
				s.eventually(9, p.committer.Waiting)
				link.breakNext(before)
				release()
				for key, err := range answers() {
					if err != nil {
						t.Errorf("%s: %v", key, err)
					}
				}
				if !link.broke.Load() {
					t.Error("the link did not break")
				}
				s.want("orders", 9, "SELECT count(*) FROM orders")
				s.want("deliveries", 9, "SELECT count(*) FROM deliveries")
				s.bank.wantMoved(t, 9)
			})
		}
	})

	t.Run("a claim that waits for too long is not sent, and the client may try again", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		release := p.committer.HoldUp()
		began := time.Now()
		p.refuses("second", http.StatusServiceUnavailable)
		if took := time.Since(began); took > 15*time.Second { // an attempt ends after 25
			t.Errorf("the client was refused after %v, want a second", took)
		}
		release()
		s.wantState("second", "no row")
		p.answers("second", http.StatusOK)
	})
}

// serveAll serves orders under keys at once. The function it returns waits for their ends.
func (p *process) serveAll(keys ...string) func() map[string]error {
	var mu sync.Mutex
	var all sync.WaitGroup
	errs := map[string]error{}
	for _, key := range keys {
		all.Go(func() {
			answer, err := p.serve(key)
			if err == nil && answer.Status != http.StatusOK {
				err = fmt.Errorf("answered %d %s", answer.Status, answer.Body)
			}
			mu.Lock()
			defer mu.Unlock()
			errs[key] = err
		})
	}
	return func() map[string]error {
		all.Wait()
		return errs
	}
}

func (s *env) eventually(want int, count func() int) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); count() != want; {
		if time.Now().After(deadline) {
			s.t.Fatalf("%d, want %d", count(), want)
		}
		time.Sleep(time.Millisecond)
	}
}

// weakLink is a pool's link to the database, which breaks around a packet.
type weakLink struct {
	armed  atomic.Bool
	before bool
	broke  atomic.Bool
}

// breakNext breaks the link at the next packet that ends with an order's commit:
// before the server receives it, or when its answer comes in.
func (l *weakLink) breakNext(before bool) {
	l.before = before
	l.armed.Store(true)
}

func (l *weakLink) pool(t *testing.T, like *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	config := like.Config()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return &weakConn{Conn: conn, link: l}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

type weakConn struct {
	net.Conn
	link    *weakLink
	sending atomic.Bool
}

func (c *weakConn) Write(b []byte) (int, error) {
	// An order's amount travels with its claim only: eight of them are a group.
	group := strings.Count(string(b), "/v1/orders") > 1
	if group && c.link.armed.CompareAndSwap(true, false) {
		c.link.broke.Store(true)
		if c.link.before {
			_ = c.Conn.Close()
			return 0, errLine
		}
		c.sending.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *weakConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.sending.Load() {
		time.Sleep(50 * time.Millisecond) // the server has sent the rest by now
		_ = c.Conn.Close()
		return 0, errLine
	}
	return n, err
}

package phase_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// link is a process's way to its database, which a test can cut.
type link struct {
	mu    sync.Mutex
	isCut bool
	open  []net.Conn
}

var errCut = errors.New("the link is cut")

func (l *link) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut {
		return nil, errCut
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		l.open = append(l.open, conn)
	}
	return conn, err
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = true
	for _, conn := range l.open {
		_ = conn.Close()
	}
	l.open = nil
}

// reset closes the connection from one port, and no other.
func (l *link) reset(port int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.open {
		if conn.LocalAddr().(*net.TCPAddr).Port == port {
			_ = conn.Close()
		}
	}
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = false
}

// cuttable starts a process whose link to the database can be cut.
func (s *env) cuttable() (*process, *link) {
	s.t.Helper()
	l := &link{}
	pool, err := postgres.Open(s.t.Context(), postgres.Config{URL: s.pool.Config().ConnString(), DialFunc: l.dial})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(pool.Close)
	return s.processOn(pool), l
}

// handedOverWithin is how long a request may stay with a process that has given
// it up, after the last fault. Its lease would keep it for 30 seconds.
const handedOverWithin = 3 * time.Second

// untilHandedOver waits until no process executes the request.
func (s *env) untilHandedOver(key string) {
	s.t.Helper()
	s.untilParked(key, handedOverWithin)
}

func (s *env) untilParked(key string, within time.Duration) {
	s.t.Helper()
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if s.state(key) == idempotency.Parked {
			return
		}
	}
	s.t.Fatalf("%s after the last fault the request is %s, want parked", within, s.state(key))
}

// slowTakeOvers has every takeover take a second, in which a test can cut the link.
const slowTakeOvers = `
	CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1); RETURN NEW; END $$;
	CREATE TRIGGER dawdle BEFORE INSERT ON takeovers FOR EACH ROW EXECUTE FUNCTION dawdle();
	ALTER TABLE takeovers ENABLE ALWAYS TRIGGER dawdle`

// slowClaims has every claim take a second to commit, and not heed pgx, which cancels a statement whose connection is
// lost: a commit that waits for the disk does not heed it, either.
const slowClaims = `
	CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		BEGIN PERFORM pg_sleep(1); EXCEPTION WHEN query_canceled THEN PERFORM pg_sleep(1); END;
		RETURN NEW;
	END $$;
	CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON requests DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION dawdle();
	ALTER TABLE requests ENABLE ALWAYS TRIGGER dawdle`

// sleeping counts the statements that such a trigger delays.
const sleeping = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"

// cutsInTakeOver cuts the link while the server takes a request over. The server commits, and no process learns of it.
func (s *env) cutsInTakeOver(link *link, takeOver func()) {
	s.t.Helper()
	s.exec(slowTakeOvers)
	gaveUp := make(chan struct{})
	go func() {
		defer close(gaveUp)
		takeOver()
	}()
	s.until("a takeover is under way", sleeping)
	link.cut()
	<-gaveUp
	s.until("the takeover is committed", "SELECT count(*) FROM takeovers")
	s.exec("DROP TRIGGER dawdle ON takeovers")
	link.mend()
}

// until waits until a query counts one.
func (s *env) until(what, sql string) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); s.count(sql) != 1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// learnsWithin is how long a process takes to learn of a takeover whose acknowledgment was lost: it waits until
// none of its statements can still be under way.
const learnsWithin = 15 * time.Second

// A process that loses its database in the middle of a request lives on, so
// others leave its requests alone. It must hand them over itself.
func TestHandover(t *testing.T) {
	t.Parallel()

	t.Run("a request that could not be parked is parked when the database is back", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p, link := s.cuttable()
		s.bank.has(func(context.Context, func() (string, error)) (string, error) {
			link.cut()
			return "", errLine
		}, silent)
		p.refuses("k", http.StatusServiceUnavailable)
		s.wantState("k", idempotency.Running)
		link.mend()
		s.untilHandedOver("k")
		s.want("attempts", 1, "SELECT attempts FROM request_status")
		s.process().answers("k", http.StatusOK)
		s.bank.wantMoved(t, 1)
	})

	t.Run("a request whose last commit was lost is parked when the database is back", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p, link := s.cuttable()
		s.shop.deliver = func(context.Context, *phase.Tx) (bool, error) {
			link.cut()
			return false, nil
		}
		p.refuses("k", http.StatusServiceUnavailable)
		s.wantState("k", idempotency.Running)
		s.shop.deliver = nil
		link.mend()
		s.untilHandedOver("k")
		s.process().answers("k", http.StatusOK)
		s.want("deliveries", 1, "SELECT count(*) FROM deliveries")
		s.bank.wantMoved(t, 1)
	})

	t.Run("a request that another process has finished meanwhile stays finished", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p, link := s.cuttable()
		s.bank.has(func(context.Context, func() (string, error)) (string, error) {
			link.cut()
			return "", errLine
		}, silent)
		p.refuses("k", http.StatusServiceUnavailable)
		p.expire()
		s.process().answers("k", http.StatusOK)
		link.mend()
		deadline := time.Now().Add(30 * time.Second)
		for ; s.count(countRefusals) == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the process that came back has not recorded that it was refused")
			}
		}
		s.wantState("k", idempotency.Finished)
		s.want("attempts of the successor", 1, "SELECT attempts FROM request_status")
		s.bank.wantMoved(t, 1)
	})

	for _, by := range []struct {
		name     string
		takeOver func(p *process)
	}{
		{"the completer", func(p *process) {
			p.exec("UPDATE runs SET due_at = clock_timestamp()")
			if taken, err := p.engine.TakeOver(p.t.Context(), 10); err == nil {
				p.t.Errorf("took over %d requests, want that the answer is lost", len(taken))
			}
		}},
		{"a client's retry", func(p *process) {
			if answer, err := p.serve("k"); err == nil {
				p.t.Errorf("answered %d, want that the answer to the takeover is lost", answer.Status)
			}
		}},
	} {
		t.Run("a request that "+by.name+" took over without learning of it is parked", func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.bank.has(silent, silent)
			s.process().refuses("k", http.StatusServiceUnavailable)
			p, link := s.cuttable()
			s.cutsInTakeOver(link, func() { by.takeOver(p) })
			s.wantState("k", idempotency.Running)
			s.untilParked("k", learnsWithin)
			s.want("attempts", 1, "SELECT attempts FROM request_status")
			s.process().answers("k", http.StatusOK)
			s.bank.wantMoved(t, 1)
		})
	}

	t.Run("a claim that commits after its connection was lost is parked", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p, link := s.cuttable()
		s.exec(slowClaims)
		go func() {
			s.until("a claim is being committed", sleeping)
			link.reset(s.count("SELECT client_port FROM pg_stat_activity WHERE datname = current_database() AND " +
				"wait_event = 'PgSleep'"))
		}()
		if answer, err := p.serve("k"); err == nil {
			t.Errorf("answered %d, want that the acknowledgment is lost", answer.Status)
		}
		s.untilParked("k", learnsWithin)
		s.exec("DROP TRIGGER dawdle ON requests")
		s.process().answers("k", http.StatusOK)
		s.bank.wantMoved(t, 1)
	})

	t.Run("a claim that never happened leaves nothing to hand over, and the key free", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p, link := s.cuttable()
		s.shop.record = func(*phase.Tx, order) error {
			link.cut()
			return nil
		}
		p.refuses("k", http.StatusServiceUnavailable)
		s.shop.record = nil
		link.mend()
		s.wantState("k", "no row")
		p.answers("k", http.StatusOK)
		s.bank.wantMoved(t, 1)
	})
}

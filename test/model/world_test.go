package model

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/phase/phasetest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

var engineSecret = []byte("the secret of a test's installation")

// fate is what becomes of one attempt.
type fate string

const (
	goesWell       fate = "goes well"
	isDeclined     fate = "is declined"
	losesAnswer    fate = "acts, and the answer is lost"
	losesQuestion  fate = "the question is lost"
	isNotSent      fate = "is not sent"
	spendsKey      fate = "the key fails for good"
	failsClaim     fate = "the first transaction fails"
	diesInClaim    fate = "dies in the first transaction"
	diesAsking     fate = "dies before the other side acts"
	diesAnswered   fate = "dies after the other side has acted"
	diesFinishing  fate = "dies in the last transaction"
	panicsAtTheEnd fate = "panics in the last transaction"
)

var fates = []fate{goesWell, goesWell, goesWell, isDeclined, losesAnswer, losesQuestion, isNotSent, spendsKey,
	failsClaim, diesInClaim, diesAsking, diesAnswered, diesFinishing, panicsAtTheEnd}

// The table allows doing things twice, so that doing them twice can be seen.
const worldTables = `
	CREATE TABLE purchases (account_id text, request_id text, name text);
	CREATE TABLE deliveries (account_id text, request_id text, name text)`

// order is what a client asks for. Name is the client's key, so that the shop
// can tell whose purchase it is.
type order struct {
	Name   string
	Amount int64
}

// purchase is what the phases of an order tell each other.
type purchase struct {
	Receipt  string
	Approved bool
}

type delivery struct {
	Name    string `json:"name"`
	Receipt string `json:"receipt"`
	Amount  int64  `json:"amount"`
	Outcome string `json:"outcome"`
}

type bankAPI interface {
	Pay(context.Context, phase.Permit, order) (purchase, error)
}

var bankPort = phase.NewPort[bankAPI]("bank", 24*time.Hour)

// world is an installation of two processes and the bank outside.
type world struct {
	pool    *pgxpool.Pool
	account string
	engines [2]*phase.Engine
	owners  [2]string
	steady  *phase.Flow[order, purchase] // is always completed
	hasty   *phase.Flow[order, purchase] // is given up as soon as its client is gone

	mu       sync.Mutex
	now      fate
	stalling *stall              // the next call waits here
	paid     map[string]purchase // by derived key
	spent    map[string]bool
	closed   map[string]bool
	moved    map[string]int // by the client's key: purchases paid and not reversed
	acted    map[string]int // by the client's key: how often the bank decided

	fenced atomic.Int32 // how often the fence refused a process
}

// stall is a call that waits, after acting or before it. When it wakes up it may
// find that the line has gone dead.
type stall struct {
	afterActing    bool
	dead           bool
	began, release chan struct{}
}

func newWorld(t *rapid.T, ctx context.Context, pool *pgxpool.Pool) *world {
	w := &world{pool: pool, account: id.New("acct", time.Now()), paid: map[string]purchase{}, spent: map[string]bool{},
		closed: map[string]bool{}, moved: map[string]int{}, acted: map[string]int{}}
	w.exec(t, ctx, "INSERT INTO accounts (id, name) VALUES ($1, 'Walk')", w.account)
	// What an earlier walk that failed has left is none of this one's business.
	w.exec(t, ctx, `
		UPDATE runs SET state = 'needs_review', owner = NULL, lease_until = NULL, due_at = NULL,
		    reason = 'left by an earlier walk'
		WHERE state IN ('running', 'parked')`)
	w.steady, w.hasty = w.flow("order.steady"), w.flow("order.hasty").AbandonUnsentAfter(time.Nanosecond, abandonOrder)
	for i := range w.engines {
		w.start(t, ctx, i)
	}
	return w
}

// start starts a process, in the place of the one that died. Its liveness never
// lapses on its own: dying is an action of the walk, not of a slow machine.
func (w *world) start(t *rapid.T, ctx context.Context, i int) {
	w.owners[i] = id.New("wk", time.Now())
	w.exec(t, ctx, `
		INSERT INTO workers (id, kind, host, pid, started_at, alive_until)
		VALUES ($1, 'walk', 'here', 1, now(), 'infinity')`, w.owners[i])
	w.engines[i] = phase.NewEngine(phase.Config{
		Pool:   w.pool,
		Secret: engineSecret,
		Owner:  w.owners[i],
		Log:    slog.New(phasetest.FenceCounter{Handler: slog.DiscardHandler, Fenced: &w.fenced}),
		Refuse: apirequest.Refuse,
	})
	phase.Connect[bankAPI](w.engines[i], bankPort, w)
	if err := w.engines[i].Register(ctx, w.steady, w.hasty); err != nil {
		t.Fatal(err)
	}
}

// replace ends a process and starts another one in its place.
func (w *world) replace(t *rapid.T, ctx context.Context, i int) {
	w.exec(t, ctx, "DELETE FROM workers WHERE id = $1", w.owners[i])
	w.start(t, ctx, i)
}

func (w *world) exec(t *rapid.T, ctx context.Context, sql string, args ...any) {
	if _, err := w.pool.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// longLockTimeout is for tables that a vacuum may have locked: on a slow machine, for more than a second.
const longLockTimeout = "SET LOCAL lock_timeout = '60s'; "

// unguarded changes what the database guards even against its owner.
func (w *world) unguarded(t *rapid.T, ctx context.Context, table, trigger, sql string) {
	err := pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, longLockTimeout+"ALTER TABLE "+table+" DISABLE TRIGGER "+trigger)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sql, w.account)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "ALTER TABLE "+table+" ENABLE ALWAYS TRIGGER "+trigger)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func (w *world) count(t *rapid.T, ctx context.Context, sql string, args ...any) (n int) {
	if err := w.pool.QueryRow(ctx, sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (w *world) flow(name string) *phase.Flow[order, purchase] {
	return phase.Define(name, 1,
		phase.Atomic("ordered", w.recordOrder),
		phase.Foreign("paid", bankPort, func(
			ctx context.Context, call phase.ForeignCall[bankAPI], in order, s *purchase,
		) (err error) {
			*s, err = call.To().Pay(ctx, call.Permit, in)
			return err
		}),
		phase.Atomic("delivered", w.deliverOrder),
	)
}

func (w *world) recordOrder(_ context.Context, tx *phase.Tx, in order, _ *purchase) (phase.Outcome, error) {
	tx.Write("INSERT INTO purchases VALUES (@account_id, @request_id, @name)",
		postgres.Args{"account_id": tx.AccountID, "request_id": tx.RequestID, "name": in.Name})
	switch w.fate() {
	case failsClaim:
		return phase.Outcome{}, apierror.Invalid("amount", "Not today.")
	case diesInClaim:
		runtime.Goexit()
	}
	return phase.Next, nil
}

func (w *world) deliverOrder(ctx context.Context, tx *phase.Tx, in order, s *purchase) (phase.Outcome, error) {
	// The hasty ones read before they write, which is another fence. Not where they
	// die: a goroutine would leave its transaction open, which a process does not.
	if in.Name[0] == 'h' && w.fate() != diesFinishing {
		rows, err := tx.Query(ctx, "SELECT name FROM purchases WHERE request_id = $1", tx.RequestID)
		if err != nil {
			return phase.Outcome{}, err
		}
		if _, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string]); err != nil {
			return phase.Outcome{}, err
		}
	}
	tx.Write("INSERT INTO deliveries VALUES (@account_id, @request_id, @name)",
		postgres.Args{"account_id": tx.AccountID, "request_id": tx.RequestID, "name": in.Name})
	switch w.fate() {
	case diesFinishing:
		runtime.Goexit()
	case panicsAtTheEnd:
		panic("a bug")
	}
	if !s.Approved {
		return phase.Reply(http.StatusPaymentRequired, "", delivery{in.Name, s.Receipt, in.Amount, "declined"}), nil
	}
	return phase.OK("or_"+in.Name, delivery{in.Name, s.Receipt, in.Amount, "delivered"}), nil
}

func abandonOrder(_ context.Context, _ *phase.Tx, in order, _ *purchase) (phase.Outcome, error) {
	return phase.Reply(http.StatusPaymentRequired, "", delivery{in.Name, "", in.Amount, "abandoned"}), nil
}

func (w *world) fate() fate {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Pay is the bank. Its memory is what decides how often money moved.
func (w *world) Pay(_ context.Context, permit phase.Permit, in order) (purchase, error) {
	w.mu.Lock()
	now, waits := w.now, w.stalling
	w.stalling = nil
	w.mu.Unlock()
	switch {
	case waits != nil && !waits.afterActing:
		waits.wait()
		if waits.dead {
			return purchase{}, phase.NotSent(errors.New("nobody picks up"))
		}
	case now == losesQuestion:
		return purchase{}, errors.New("the line went dead")
	case now == isNotSent:
		return purchase{}, phase.NotSent(errors.New("nobody picks up"))
	case now == diesAsking:
		runtime.Goexit()
	}
	answer, err := w.act(permit, in, now)
	switch {
	case waits != nil && waits.afterActing:
		waits.wait()
	case now == losesAnswer:
		return purchase{}, errors.New("the line went dead")
	case now == diesAnswered:
		runtime.Goexit()
	}
	return answer, err
}

func (s *stall) wait() {
	close(s.began)
	<-s.release
}

func (w *world) act(permit phase.Permit, in order, now fate) (purchase, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	done, is := w.paid[permit.Key()]
	switch {
	case permit.Mode() == phase.Reverse:
		if is && done.Approved && !w.closed[permit.Key()] {
			w.moved[in.Name]--
		}
		w.closed[permit.Key()] = true
		return purchase{}, phase.ErrReversed
	case w.closed[permit.Key()]:
		return purchase{}, phase.ErrReversed
	case is:
		return done, nil
	case w.spent[permit.Key()]: // also when it is looked up
		return purchase{}, phase.KeyRetired(errors.New("this key failed for good"))
	case permit.Mode() == phase.Lookup:
		return purchase{}, phase.ErrNotExecuted
	case now == spendsKey:
		w.now = goesWell
		w.spent[permit.Key()] = true
		return purchase{}, phase.KeyRetired(errors.New("this key failed for good"))
	}
	done = purchase{Receipt: id.New("rcpt", time.Now()), Approved: now != isDeclined}
	w.paid[permit.Key()] = done
	w.acted[in.Name]++
	if done.Approved {
		w.moved[in.Name]++
	}
	return done, nil
}

package phase_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/phase/phasetest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/wire"
)

var engineSecret = []byte("the secret of a test's installation")

// env is an installation in small: a database, a bank, and as many processes
// as a test starts.
type env struct {
	t    *testing.T
	pool *pgxpool.Pool
	bank *bank
	shop *shop

	fenced atomic.Int32 // how often the fence refused a process
}

// The tables of the shop allow what must not happen, so that a test can count it.
const shopTables = `
	CREATE TABLE orders (request_id text, amount bigint, actor text);
	CREATE TABLE deliveries (request_id text, receipt text, actor text, at timestamptz);
	CREATE TABLE trail (request_id text, operation text, actor text, status smallint)`

const account = "acct_test"

func setup(t *testing.T) *env {
	t.Helper()
	return setupOn(t, pgtest.New(t).Pool)
}

func setupOn(t *testing.T, pool *pgxpool.Pool) *env {
	t.Helper()
	s := &env{t: t, pool: pool, bank: newBank(), shop: &shop{}}
	pgtest.AllowImmortals(t, pool)
	s.exec(shopTables)
	s.exec("INSERT INTO accounts (id, name) VALUES ($1, 'Test')", account)
	return s
}

func (s *env) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.pool.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

// count runs a query for one number.
func (s *env) count(sql string, args ...any) (n int) {
	s.t.Helper()
	if err := s.pool.QueryRow(s.t.Context(), sql, args...).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (s *env) want(what string, want int, sql string, args ...any) {
	s.t.Helper()
	if got := s.count(sql, args...); got != want {
		s.t.Errorf("%s: %d, want %d", what, got, want)
	}
}

// state is the state of a key's request.
func (s *env) state(key string) (state string) {
	s.t.Helper()
	err := s.pool.QueryRow(s.t.Context(), "SELECT state FROM request_status WHERE key = $1", key).Scan(&state)
	if errors.Is(err, pgx.ErrNoRows) {
		return "no row"
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return state
}

func (s *env) wantState(key, want string) {
	s.t.Helper()
	if got := s.state(key); got != want {
		s.t.Errorf("the request is %s, want %s", got, want)
	}
}

// backdate moves a request into the past, which nothing but a test may do.
func (s *env) backdate(key string, by time.Duration) {
	s.t.Helper()
	s.unguarded("requests", "requests_are_final", `
		UPDATE requests SET created_at = created_at - $2::interval WHERE key = $1`, key, by)
	s.unguarded("answers", "answers_are_final", `
		UPDATE answers SET finished_at = finished_at - $2::interval, expires_at = expires_at - $2::interval
		WHERE request_id = (SELECT id FROM requests WHERE key = $1)`, key, by)
	s.unguarded("runs", "runs_move_forward", `
		UPDATE runs SET call_sent_at = ARRAY(SELECT at - $2::interval FROM unnest(call_sent_at) AS at)
		WHERE request_id = (SELECT id FROM requests WHERE key = $1)`, key, by)
}

// longLockTimeout is for tables that a vacuum may have locked: on a slow machine, for more than a second.
const longLockTimeout = "SET LOCAL lock_timeout = '60s'; "

func (s *env) unguarded(table, trigger, sql string, args ...any) {
	s.t.Helper()
	err := pgx.BeginFunc(s.t.Context(), s.pool, func(tx pgx.Tx) error {
		for _, statement := range []struct {
			sql  string
			args []any
		}{
			{longLockTimeout + "ALTER TABLE " + table + " DISABLE TRIGGER " + trigger, nil}, {sql, args},
			{"ALTER TABLE " + table + " ENABLE ALWAYS TRIGGER " + trigger, nil},
		} {
			if _, err := tx.Exec(s.t.Context(), statement.sql, statement.args...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

// failOver loses everything the database knows of requests, as an asynchronous
// standby does when it is promoted too early.
func (s *env) failOver() {
	s.t.Helper()
	s.unguarded("foreign_calls", "foreign_calls_are_final", "DELETE FROM foreign_calls")
	s.unguarded("fence_refusals", "fence_refusals_are_final", "DELETE FROM fence_refusals")
	s.unguarded("takeovers", "takeovers_are_final", "DELETE FROM takeovers")
	s.exec(longLockTimeout + "ALTER TABLE runs DISABLE TRIGGER runs_end_while_running")
	s.unguarded("runs", "runs_end_with_an_answer", "DELETE FROM runs")
	s.exec(longLockTimeout + "ALTER TABLE runs ENABLE ALWAYS TRIGGER runs_end_while_running")
	s.unguarded("answers", "answers_are_kept", "DELETE FROM answers")
	s.unguarded("requests", "requests_are_kept", "DELETE FROM requests")
	s.exec("DELETE FROM orders; DELETE FROM deliveries; DELETE FROM trail")
}

// process is one of an installation's processes.
type process struct {
	*env
	engine    *phase.Engine
	committer *phase.Committer
	owner     string
	buy       *phase.Flow[order, purchase]
}

// process starts a process that knows the shop. Its liveness never lapses by
// itself, so that no test depends on how fast the machine is.
func (s *env) process() *process {
	s.t.Helper()
	return s.processOn(s.pool)
}

// processOn starts a process with its own connections. edits change its configuration.
func (s *env) processOn(pool *pgxpool.Pool, edits ...func(*phase.Config)) *process {
	s.t.Helper()
	p := &process{env: s, owner: id.New("wk", time.Now()), buy: s.shop.buy()}
	s.exec(`
		INSERT INTO workers (id, kind, host, pid, started_at, alive_until)
		VALUES ($1, 'test', 'here', 1, now(), 'infinity')`, p.owner)
	p.committer = phase.NewCommitter(committerPool(s.t, pool))
	c := phase.Config{
		Pool: pool, Committer: p.committer, Secret: engineSecret, Owner: p.owner, Record: recordInTrail,
		Log:    slog.New(phasetest.FenceCounter{Handler: slog.DiscardHandler, Fenced: &s.fenced}),
		Encode: wire.Encode, Headers: apirequest.Headers, Refuse: apirequest.Refuse}
	for _, edit := range edits {
		edit(&c)
	}
	p.engine = phase.NewEngine(c)
	phase.Connect[bankAPI](p.engine, bankPort, s.bank)
	if err := p.engine.Register(s.t.Context(), p.buy); err != nil {
		s.t.Fatal(err)
	}
	return p
}

// committerPool is a pool to the same database, over the same link, for a committer.
func committerPool(t *testing.T, like *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	config := like.Config()
	maps.Copy(config.ConnConfig.RuntimeParams, phase.CommitterSession)
	config.MaxConns = phase.CommitterConns
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// expire lets a process look dead. If it is alive, it does not know.
func (p *process) expire() {
	p.t.Helper()
	p.exec("DELETE FROM workers WHERE id = $1", p.owner)
}

func recordInTrail(tx *phase.Tx, request *idempotency.Request, response *idempotency.StoredResponse) {
	tx.Write(`
		INSERT INTO trail SELECT *
		FROM unnest(@request_id::text[], @operation::text[], @actor::text[], @status::smallint[])`,
		postgres.RowsOf(trailRow{tx.RequestID, request.Flow, tx.Actor, int16(response.Status)}))
}

type trailRow struct {
	RequestID string `db:"request_id"`
	Operation string `db:"operation"`
	Actor     string `db:"actor"`
	Status    int16  `db:"status"`
}

const shopPath = "/v1/orders"

func call(key string, in order) phase.Request {
	params, _ := json.Marshal(in) // numbers and texts
	return phase.Request{
		Caller: phase.Caller{AccountID: account, RequestID: id.New("req", time.Now()), Key: key,
			Caller: apirequest.Context{APIVersion: "2026-08-26.dahlia"}.By("the merchant", "")},
		Method: http.MethodPost, Path: shopPath,
		Fingerprint: idempotency.Fingerprint(engineSecret, http.MethodPost, shopPath, params),
	}
}

// serve asks the process for the order every test asks for.
func (p *process) serve(key string) (phase.Response, error) {
	return p.serveOrder(key, order{Amount: 2000})
}

func (p *process) serveOrder(key string, in order) (phase.Response, error) {
	return p.buy.Serve(p.t.Context(), p.engine, call(key, in), in)
}

// answers asks and wants an answer of this status.
func (p *process) answers(key string, status int) phase.Response {
	p.t.Helper()
	answer, err := p.serve(key)
	if err != nil {
		p.t.Fatalf("no answer: %v", err)
	}
	if answer.Status != status {
		p.t.Fatalf("answered %d %s, want %d", answer.Status, answer.Body, status)
	}
	return answer
}

// refuses asks and wants a refusal of this status.
func (p *process) refuses(key string, status int) *apierror.Error {
	p.t.Helper()
	answer, err := p.serve(key)
	return wantRefusal(p.t, answer, err, status)
}

func wantRefusal(t *testing.T, answer phase.Response, err error, status int) *apierror.Error {
	t.Helper()
	var refusal *apierror.Error
	if !errors.As(err, &refusal) {
		t.Fatalf("answered %d %s, error %v; want a refusal", answer.Status, answer.Body, err)
	}
	if refusal.Status != status {
		t.Fatalf("refused with %v, want status %d", refusal, status)
	}
	return refusal
}

// dies serves a request on a process that does not live to see its end: the bank
// or the shop ends the goroutine, and nothing is cleaned up.
func (p *process) dies(key string) {
	p.t.Helper()
	gone := make(chan struct{})
	survived := true
	go func() {
		defer close(gone)
		_, _ = p.serve(key)
		survived = false
	}()
	<-gone
	if !survived {
		p.t.Fatal("the process was to die and did not")
	}
	p.expire()
}

// completes lets the process's completer look once, with everything parked due.
func (p *process) completes() int {
	p.t.Helper()
	p.exec("UPDATE runs SET due_at = clock_timestamp() WHERE state = 'parked'")
	taken, err := idempotency.ResumeUnfinished(p.t.Context(), p.pool, p.engine.Known(), p.owner, 10)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, r := range taken {
		_ = p.engine.Resume(p.t.Context(), r) // how it ended is in the row
	}
	return len(taken)
}

// tryNow is what a person does who has looked at a held request.
func (p *process) tryNow(key string) {
	p.t.Helper()
	var id string
	err := p.pool.QueryRow(p.t.Context(), "SELECT id FROM request_status WHERE key = $1", key).Scan(&id)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := idempotency.TryNow(p.t.Context(), p.pool, account, id); err != nil {
		p.t.Fatal(err)
	}
}

// order is what a caller of the shop asks for, purchase what its phases know.
type order struct {
	Amount int64
	Note   string
}
type purchase struct{ Receipt string }

// delivery is the answer. Its fields are not in alphabetical order, so that an
// answer that was decoded and encoded again differs from the original.
type delivery struct {
	Receipt string `json:"receipt"`
	Amount  int64  `json:"amount"`
	HTML    string `json:"html"`
}

// shop configures the operation of these tests.
type shop struct {
	check   func() error                                          // before the key is claimed
	record  func(tx *phase.Tx, in order) error                    // in the first transaction
	deliver func(ctx context.Context, tx *phase.Tx) (bool, error) // in the last: true refuses
	limit   time.Duration                                         // of AbandonUnsentAfter
}

const (
	orderRecorded  = "order_recorded"
	bankPaid       = "bank_paid"
	orderDelivered = "order_delivered"
)

// buy is the operation: record an order, have the bank pay it, deliver.
func (s *shop) buy() *phase.Flow[order, purchase] {
	flow := phase.Define("order.buy", 1,
		phase.Atomic(orderRecorded, s.recordOrder),
		phase.Foreign(bankPaid, bankPort, askBank),
		phase.Atomic(orderDelivered, s.deliverOrder),
	).Check(func(context.Context, phase.Reader, phase.Check, *order) error {
		if s.check == nil {
			return nil
		}
		return s.check()
	})
	if s.limit == 0 {
		return flow
	}
	return flow.AbandonUnsentAfter(s.limit, func(
		_ context.Context, _ *phase.Tx, in order, _ *purchase,
	) (phase.Outcome, error) {
		return phase.Reply(http.StatusPaymentRequired, "or_1", delivery{Receipt: "abandoned", Amount: in.Amount}), nil
	})
}

type orderRow struct {
	RequestID string `db:"request_id"`
	Amount    int64  `db:"amount"`
	Actor     string `db:"actor"`
}

type deliveryRow struct {
	RequestID string    `db:"request_id"`
	Receipt   string    `db:"receipt"`
	Actor     string    `db:"actor"`
	At        time.Time `db:"at"`
}

func (s *shop) recordOrder(_ context.Context, tx *phase.Tx, in order, _ *purchase) (phase.Outcome, error) {
	tx.Write("INSERT INTO orders SELECT * FROM unnest(@request_id::text[], @amount::bigint[], @actor::text[])",
		postgres.RowsOf(orderRow{tx.RequestID, in.Amount, tx.Actor}))
	if s.record != nil {
		return phase.Next, s.record(tx, in)
	}
	return phase.Next, nil
}

func askBank(ctx context.Context, call phase.ForeignCall[bankAPI], in order, s *purchase) (err error) {
	s.Receipt, err = call.To().Pay(ctx, call.Permit, in.Amount)
	return err
}

func (s *shop) deliverOrder(ctx context.Context, tx *phase.Tx, in order, state *purchase) (phase.Outcome, error) {
	tx.Write(`
		INSERT INTO deliveries SELECT *
		FROM unnest(@request_id::text[], @receipt::text[], @actor::text[], @at::timestamptz[])`,
		postgres.RowsOf(deliveryRow{tx.RequestID, state.Receipt, tx.Actor, tx.Now()}))
	if s.deliver != nil {
		refuse, err := s.deliver(ctx, tx)
		if err != nil {
			return phase.Outcome{}, err
		}
		if refuse {
			declined := &apierror.Error{Status: http.StatusPaymentRequired, Type: apierror.TypeCard, Message: "No."}
			return phase.Refuse("or_1", declined.WithCode("card_declined")), nil
		}
	}
	return phase.OK("or_1", delivery{Receipt: state.Receipt, Amount: in.Amount, HTML: "<b>"}), nil
}

// bankAPI is the port to the bank.
type bankAPI interface {
	Pay(ctx context.Context, permit phase.Permit, amount int64) (receipt string, err error)
}

// bankKeyRetention is how long the bank remembers a key.
const bankKeyRetention = 24 * time.Hour

var bankPort = phase.NewPort[bankAPI]("bank", bankKeyRetention)

// bank is another system: it remembers what it did under which key, and has bad days.
type bank struct {
	mu       sync.Mutex
	receipts map[string]string // by key
	closed   map[string]bool   // keys that were reversed
	asked    []asked
	moved    int // how often money moved
	days     []day
}

type asked struct {
	key  string
	mode phase.Mode
}

// day is one call's fate. honest does what is asked.
type day func(ctx context.Context, honest func() (string, error)) (string, error)

func newBank() *bank { return &bank{receipts: map[string]string{}, closed: map[string]bool{}} }

// has lets the next calls go like these; after them every call is honest.
func (b *bank) has(days ...day) { b.days = append(b.days, days...) }

func (b *bank) Pay(ctx context.Context, permit phase.Permit, amount int64) (string, error) {
	b.mu.Lock()
	b.asked = append(b.asked, asked{permit.Key(), permit.Mode()})
	var today day
	if len(b.days) > 0 {
		today, b.days = b.days[0], b.days[1:]
	}
	b.mu.Unlock()
	honest := func() (string, error) { return b.honest(permit) }
	if today == nil {
		return honest()
	}
	return today(ctx, honest)
}

func (b *bank) honest(permit phase.Permit) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	receipt, done := b.receipts[permit.Key()]
	switch {
	case permit.Mode() == phase.Reverse:
		b.closed[permit.Key()] = true
		return "", phase.ErrReversed
	case b.closed[permit.Key()]:
		return "", phase.ErrReversed
	case done:
		return receipt, nil
	case permit.Mode() == phase.Lookup:
		return "", phase.ErrNotExecuted
	}
	b.moved++
	receipt = id.New("rcpt", time.Now())
	b.receipts[permit.Key()] = receipt
	return receipt, nil
}

// keys are those that calls of a mode came under.
func (b *bank) keys(mode phase.Mode) (keys []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.asked {
		if a.mode == mode {
			keys = append(keys, a.key)
		}
	}
	return keys
}

func (b *bank) wantMoved(t *testing.T, want int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.moved != want {
		t.Errorf("money moved %d times, want %d", b.moved, want)
	}
}

// The bank's bad days.
var errLine = errors.New("the line went dead")

func silent(context.Context, func() (string, error)) (string, error) { return "", errLine }

func silentAfterActing(_ context.Context, honest func() (string, error)) (string, error) {
	_, _ = honest()
	return "", errLine
}

func closed(context.Context, func() (string, error)) (string, error) {
	return "", phase.NotSent(errors.New("nobody picks up"))
}

func keyRetiredByBank(context.Context, func() (string, error)) (string, error) {
	return "", phase.KeyRetired(errors.New("this key failed for good"))
}

func killsBefore(context.Context, func() (string, error)) (string, error) {
	runtime.Goexit()
	return "", nil
}

func killsAfter(_ context.Context, honest func() (string, error)) (string, error) {
	_, _ = honest()
	runtime.Goexit()
	return "", nil
}

// stall keeps a call waiting, before or after it has acted, until it is released.
type stall struct{ began, release chan struct{} }

func newStall() *stall { return &stall{make(chan struct{}), make(chan struct{})} }

func (s *stall) day(_ context.Context, honest func() (string, error)) (string, error) {
	receipt, err := honest()
	close(s.began)
	<-s.release
	return receipt, err
}

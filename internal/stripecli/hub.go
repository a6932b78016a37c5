package stripecli

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/webhook"
)

const (
	// lookEvery is how soon a socket sends what another process has queued. It polls:
	// a NOTIFY in the money transaction would make all commits of the database take turns.
	lookEvery = 200 * time.Millisecond
	// learnEvery is how soon a process learns of sessions that others began or ended.
	learnEvery = time.Second
	// idleFor is how long a session waits for its client to come back. Events queue up
	// meanwhile. The client itself waits ten seconds before it tries again.
	idleFor = 5 * time.Minute
	// unusedFor is how long a session waits for its first connection.
	unusedFor = time.Minute
	// idleOnlyAfter is how long a process runs before it ends sessions as idle: while no
	// server was up, no client could connect.
	idleOnlyAfter = time.Minute
	// mostSockets bounds what the clients of one process can hold.
	mostSockets = 500
	// mostWaiting bounds the log lines that wait to be written. More are dropped.
	mostWaiting = 1000
	// queryWithin bounds the hub's statements.
	queryWithin = 5 * time.Second
)

// Parts are what a Hub is made of.
type Parts struct {
	Pool   *pgxpool.Pool
	Keys   secret.Keys // the installation's, for webhooks
	Owner  string      // this process's liveness ID
	Render webhook.Render
	Log    *slog.Logger
}

// Hub has the WebSockets of one process. Any number of processes may have one.
type Hub struct {
	Parts
	started time.Time
	lines   chan logLine // to be written
	tails   atomic.Pointer[[]session]
	serving sync.WaitGroup // the connections

	mu      sync.Mutex
	sockets map[*socket]bool
	closing bool
}

// NewHub makes a hub. Run has to be called for it to deliver anything.
func NewHub(p Parts) *Hub {
	h := &Hub{Parts: p, started: time.Now(), lines: make(chan logLine, mostWaiting), sockets: map[*socket]bool{}}
	h.tails.Store(&[]session{})
	return h
}

// Run looks after the sockets and the sessions until ctx ends, then closes them.
func (h *Hub) Run(ctx context.Context) {
	defer h.serving.Wait()
	defer h.Close()
	var writing sync.WaitGroup
	writing.Go(func() { h.writeLines(ctx) })
	defer writing.Wait()
	look, learn := time.NewTicker(lookEvery), time.NewTicker(learnEvery)
	defer look.Stop()
	defer learn.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			err = h.look(ctx)
		case <-learn.C:
			err = h.learn(ctx)
		}
		if err != nil && ctx.Err() == nil {
			h.Log.WarnContext(ctx, "cannot read the sessions of the Stripe CLI", "error", err)
		}
	}
}

// Close ends all connections and accepts no more. The clients connect to another
// process, or to the next one here.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	for _, s := range h.open() {
		s.close(goingAway)
	}
}

func (h *Hub) open() []*socket {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*socket, 0, len(h.sockets))
	for s := range h.sockets {
		all = append(all, s)
	}
	return all
}

// add takes a socket in, or says that there is no room.
func (h *Hub) add(s *socket) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing || len(h.sockets) >= mostSockets {
		return false
	}
	h.sockets[s] = true
	h.serving.Add(1)
	return true
}

func (h *Hub) remove(s *socket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sockets, s)
	h.serving.Done()
}

const selectWaiting = `
	SELECT s.account_id, s.id FROM unnest(@account_ids::text[], @ids::text[]) AS s (account_id, id)
	WHERE EXISTS (SELECT FROM webhook_deliveries d
	              WHERE d.account_id = s.account_id AND d.endpoint_id = s.id AND d.state = 'pending'
	                AND d.claimed_by IS NULL AND d.due_at <= statement_timestamp())
	   OR EXISTS (SELECT FROM cli_log_lines l WHERE l.account_id = s.account_id AND l.session_id = s.id)`

type sessionKey struct{ AccountID, ID string }

// look wakes the sockets that something waits for.
func (h *Hub) look(ctx context.Context) error {
	open := h.open()
	if len(open) == 0 {
		return nil
	}
	waiting, err := query[sessionKey](ctx, h, selectWaiting, keysOf(open))
	if err != nil {
		return err
	}
	for _, s := range open {
		if slices.Contains(waiting, s.key()) {
			s.wake()
		}
	}
	return nil
}

func keysOf(sockets []*socket) postgres.Args {
	accounts, ids := []string{}, []string{}
	for _, s := range sockets {
		accounts, ids = append(accounts, s.AccountID), append(ids, s.ID)
	}
	return postgres.Args{"account_ids": accounts, "ids": ids}
}

// session is an open session, as its row tells it.
type session struct {
	AccountID  string
	ID         string
	Livemode   bool
	Feature    string
	Connection int
	Filters    json.RawMessage
	Idle       bool
	Revoked    bool
	filters    Filters
}

func (s session) key() sessionKey { return sessionKey{s.AccountID, s.ID} }

// A time that lies ahead was set before the database's clock fell back.
const selectSessions = `
	SELECT s.account_id, s.id, s.livemode, s.feature, s.connection, s.filters,
	       s.seen_at NOT BETWEEN clock_timestamp() - CASE s.connection WHEN 0 THEN @unused_for::interval
	                                                 ELSE @idle_for::interval END
	                         AND clock_timestamp() + interval '1 minute' AS idle,
	       NOT EXISTS (SELECT FROM api_keys k
	                   WHERE k.id = s.key_id AND k.account_id = s.account_id
	                     AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())) AS revoked
	FROM cli_sessions s
	WHERE s.ended_at IS NULL`

const touchSessions = `
	UPDATE cli_sessions s SET seen_at = clock_timestamp()
	FROM unnest(@account_ids::text[], @ids::text[]) AS here (account_id, id)
	WHERE s.account_id = here.account_id AND s.id = here.id AND s.ended_at IS NULL
	  AND s.seen_at NOT BETWEEN clock_timestamp() - interval '10 seconds' AND clock_timestamp()`

const endSession = `
	WITH ended AS (
		UPDATE cli_sessions SET ended_at = clock_timestamp()
		WHERE account_id = @account_id AND id = @id AND ended_at IS NULL
		RETURNING account_id, id
	), forgotten AS (
		DELETE FROM cli_log_lines l USING ended WHERE l.account_id = ended.account_id AND l.session_id = ended.id
	)
	UPDATE webhook_endpoints e SET deleted_at = clock_timestamp()
	FROM ended WHERE e.account_id = ended.account_id AND e.id = ended.id AND e.listener AND e.deleted_at IS NULL`

// learn reads which sessions there are, says which of them are connected here, and
// ends those that are over. A worker cancels the deliveries of a listener that ended.
func (h *Hub) learn(ctx context.Context) error {
	here := h.open()
	if len(here) > 0 {
		if err := h.exec(ctx, touchSessions, keysOf(here)); err != nil {
			return err
		}
	}
	sessions, err := query[session](ctx, h, selectSessions,
		postgres.Args{"unused_for": unusedFor, "idle_for": idleFor})
	if err != nil {
		return err
	}
	open := map[sessionKey]session{}
	tails := []session{}
	for _, s := range sessions {
		if s.Revoked || s.Idle && time.Since(h.started) > idleOnlyAfter {
			if err := h.exec(ctx, endSession, postgres.Args{"account_id": s.AccountID, "id": s.ID}); err != nil {
				return err
			}
			continue
		}
		open[s.key()] = s
		if s.Feature == RequestLogs && json.Unmarshal(s.Filters, &s.filters) == nil {
			tails = append(tails, s)
		}
	}
	h.tails.Store(&tails)
	for _, socket := range here {
		if now, is := open[socket.key()]; !is || now.Connection != socket.Connection {
			socket.close(superseded)
		}
	}
	return nil
}

func query[T any](ctx context.Context, h *Hub, sql string, args postgres.Args) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, queryWithin)
	defer cancel()
	rows, err := h.Pool.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

func (h *Hub) exec(ctx context.Context, sql string, args postgres.Args) error {
	ctx, cancel := context.WithTimeout(ctx, queryWithin)
	defer cancel()
	_, err := h.Pool.Exec(ctx, sql, args)
	return err
}

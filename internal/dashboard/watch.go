package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/recent"
)

// versions names the state of each topic: what differs has changed. Events tell
// of every change of a merchant's money, and postings also of what is booked
// without one: the acquirer has settled. Requests change without one, but only while they are
// unfinished, and those are few. Of deliveries, the latest are looked at, and those
// that wait. Pages get hashes: a version has ids of all accounts in it.
type versions struct {
	Money     string `json:"money"`
	Requests  string `json:"requests"`
	Processes string `json:"processes"`

	Deliveries string `json:"deliveries"`
}

const selectVersions = `
	SELECT hashtextextended(money, 0)::text AS money, hashtextextended(requests, 0)::text AS requests,
	       hashtextextended(processes, 0)::text AS processes, hashtextextended(deliveries, 0)::text AS deliveries
	FROM (` + selectStates + `) states`

const selectStates = `
	SELECT coalesce((SELECT max(last.id) FROM accounts a
	       CROSS JOIN LATERAL (SELECT max(e.id) AS id FROM events e WHERE e.account_id = a.id) last), '')
	           || coalesce((SELECT max(last.id) FROM ledger_books b
	       CROSS JOIN LATERAL (SELECT max(p.id) AS id FROM ledger_postings p WHERE p.book_id = b.id) last),
	       '') AS money, coalesce((SELECT max(last.id) FROM accounts a
	           CROSS JOIN LATERAL (SELECT max(r.id) AS id FROM requests r WHERE r.account_id = a.id) last), '')
	           || (SELECT concat('/', count(*), '/', sum(epoch), '/', sum(cardinality(recovery_points)), '/',
	               count(*) FILTER (WHERE state = 'needs_review'), '/', count(*) FILTER (WHERE state = 'parked'))
	                 FROM runs) AS requests,
	       (SELECT concat(count(*), '/', max(id)) FROM workers w WHERE ` + idempotency.Alive + `) AS processes,
	       concat((SELECT count(*) FROM (SELECT FROM webhook_deliveries WHERE state = 'pending' AND claimed_by IS NULL
	           LIMIT 1000) waiting), '/',
	              (SELECT sum(latest.attempts) FROM accounts a CROSS JOIN LATERAL (
	                  SELECT sum(attempts) AS attempts
	                  FROM (SELECT attempts FROM webhook_deliveries d WHERE d.account_id = a.id ORDER BY d.event_id DESC
	                      LIMIT 8) d) latest), '/',
	              (SELECT count(*) FROM webhook_deliveries WHERE claimed_by IS NOT NULL)) AS deliveries`

// A look follows the one before it after watchEvery, which is how late a page may
// be. Where a look takes long it is seldom: watching takes a fifth of one connection.
// One that failed took as long as it was waited for, which says nothing of the next.
const (
	watchEvery   = 150 * time.Millisecond
	watchRest    = 4 // times as long as a look took
	watchFailing = time.Second
)

// watchOn is how long the watcher goes on after the last page was closed. A reader who follows a link closes one page
// before the next is rendered, and the next one says which state it shows.
const watchOn = 30 * time.Second

// watcher asks the database what has changed, once for all open pages, and not at all
// while no page is open. It never listens to the money's transactions: a NOTIFY in one
// of them would make all of them commit one after the other.
type watcher struct {
	pool   *pgxpool.Pool
	recent *recent.Log
	log    *slog.Logger

	mu      sync.Mutex
	clients map[chan versions]struct{}
	over    chan struct{}      // closed when the server stops
	stop    context.CancelFunc // nil while nothing looks
	ending  *time.Timer        // after the last page was closed
	last    versions           // zero before the first look
	changed time.Time          // when the last look found something new
}

func newWatcher(pool *pgxpool.Pool, recent *recent.Log, log *slog.Logger) *watcher {
	return &watcher{pool: pool, recent: recent, log: log, clients: map[chan versions]struct{}{},
		over: make(chan struct{})}
}

// join sends the client the present versions now, and again after every change.
func (w *watcher) join(client chan versions) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients[client] = struct{}{}
	if w.ending != nil {
		w.ending.Stop()
	}
	if w.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		w.stop, w.last = stop, versions{}
		go w.run(ctx)
	} else if w.last != (versions{}) {
		client <- w.last
	}
}

func (w *watcher) leave(client chan versions) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.clients, client)
	if len(w.clients) > 0 {
		return
	}
	pause := watchOn
	select {
	case <-w.over:
		pause = 0
	default:
	}
	w.ending = time.AfterFunc(pause, w.end)
}

// end stops looking, unless a page is open.
func (w *watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.clients) == 0 && w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// now is the state of each topic at the last look. A page that is read from the database after it shows at least
// this state. While nothing looks, nothing is known, and the result is "".
func (w *watcher) now() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop == nil || w.last == (versions{}) {
		return ""
	}
	text, _ := json.Marshal(w.last) // texts always encode
	return string(text)
}

func (w *watcher) run(ctx context.Context) {
	for {
		began := time.Now()
		rows, _ := w.pool.Query(ctx, selectVersions)
		now, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[versions])
		rest := max(watchEvery, watchRest*time.Since(began))
		if err == nil {
			now.Requests += fmt.Sprintf("/%d", w.recent.Rejections())
			w.broadcast(ctx, now)
		} else if ctx.Err() == nil {
			rest = watchFailing
			w.log.Warn("watch", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(rest):
		}
	}
}

// broadcast keeps only the newest for a client that is slow.
func (w *watcher) broadcast(ctx context.Context, now versions) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now == w.last || ctx.Err() != nil {
		return
	}
	w.last, w.changed = now, time.Now()
	for client := range w.clients {
		select {
		case <-client:
		default:
		}
		client <- now
	}
}

// changedSince reports whether something may have changed since then. While nothing looks, it may have.
func (w *watcher) changedSince(then time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stop == nil || w.last == (versions{}) || w.changed.After(then)
}

const heartbeat = 15 * time.Second

// stream is the one stream that a page has: what changed, and never what it
// changed to. The page asks for that itself.
func (w *watcher) stream(out http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(out)
	_ = control.SetWriteDeadline(time.Time{}) // it is meant to last
	_ = control.SetReadDeadline(time.Time{})
	out.Header().Set("Content-Type", "text/event-stream")
	client := make(chan versions, 1)
	w.join(client)
	defer w.leave(client)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	var sent versions
	for first := true; ; first = false {
		select {
		case <-r.Context().Done():
			return
		case <-w.over:
			return
		case <-beat.C:
			fmt.Fprint(out, ": still here\n\n")
		case now := <-client:
			if now == sent && !first {
				continue
			}
			sent = now
			text, _ := json.Marshal(now) // texts always encode
			fmt.Fprintf(out, "retry: 1000\ndata: %s\n\n", text)
		}
		if control.Flush() != nil {
			return
		}
	}
}

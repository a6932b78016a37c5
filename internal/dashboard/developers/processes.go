package developers

import (
	"net/http"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/web"
)

// apiKey is what may be shown of a key: never the key.
type apiKey struct {
	ID        string
	AccountID string
	Livemode  bool
	Kind      string
	Display   string
	Demo      bool
	CreatedAt time.Time
	ExpiresAt *time.Time
	LastUsed  *time.Time `db:"last_used_at"`
	Ended     bool
}

// State is the key's, in the badges' words.
func (k apiKey) State() string {
	if k.Ended {
		return "ended"
	}
	return "active"
}

// keysPage shows the keys, and the commands of this installation that change them.
type keysPage struct {
	Keys    []apiKey
	Command string
	Owner   bool // the command has a placeholder for the schema owner's login
}

const selectKeys = `
	SELECT id, account_id, livemode, kind, display, demo, created_at, expires_at, last_used_at,
	       coalesce(expires_at <= clock_timestamp(), false) AS ended
	FROM api_keys
	ORDER BY account_id, livemode, kind DESC, id
	LIMIT 500`

func (s Pages) keys(r *http.Request) (*ui.Page, error) {
	found, err := ui.Read[apiKey](r.Context(), s.Pool, selectKeys, nil)
	if err != nil {
		return nil, err
	}
	data := keysPage{Keys: found, Command: s.Operator, Owner: strings.Contains(s.Operator, "://OWNER@")}
	return ui.Show("dashboard/keys", web.Page{Title: "API keys", Here: "keys", Data: data}), nil
}

// processRow is a process that says it is alive, or said so not long ago.
type processRow struct {
	ID        string
	Kind      string
	Host      string
	PID       int32 `db:"pid"`
	StartedAt time.Time
	Until     time.Time
	Alive     bool
	Executing int64
}

// State is the process's, in the badges' words.
func (p processRow) State() string {
	if p.Alive {
		return "alive"
	}
	return "dead"
}

const selectProcesses = `
	SELECT w.id, w.kind, w.host, w.pid, w.started_at, w.alive_until AS until, ` + idempotency.Alive + ` AS alive,
	       (SELECT count(*) FROM runs r WHERE r.owner = w.id) AS executing
	FROM workers w
	ORDER BY alive DESC, w.kind, w.started_at DESC
	LIMIT 100`

// queue is what waits for a worker.
type queue struct {
	Due    int64
	Later  int64
	Lost   int64
	Held   int64
	Oldest *time.Time
}

const selectQueue = `
	SELECT count(*) FILTER (WHERE ` + idempotency.Due + `) AS due,
	       count(*) FILTER (WHERE r.state = 'parked' AND NOT ` + idempotency.Due + `) AS later,
	       count(*) FILTER (WHERE r.state = 'running' AND NOT ` + idempotency.IsExecuting + `) AS lost,
	       count(*) FILTER (WHERE r.state = 'needs_review') AS held,
	       min(q.created_at) AS oldest
	FROM runs r JOIN requests q ON q.account_id = r.account_id AND q.id = r.request_id`

// verification is a worker's last run of verify: over recent data, every minute, or over everything, every night.
type verification struct {
	Scope        string
	CheckedUntil time.Time
	CleanUntil   *time.Time
	Rules        int32
	LeftOut      int32
	Violations   int32
}

// Recent tells whether the run checked only what can have changed.
func (v verification) Recent() bool { return v.Scope == "recent" }

const selectVerifications = `
	SELECT scope, checked_until, clean_until, rules, left_out, violations FROM verifications ORDER BY scope DESC`

type processesPage struct {
	Processes     []processRow
	Queue         queue
	Verifications []verification
	Kills         bool // the demo kills them if asked
	CSRF          string
}

func (s Pages) processes(r *http.Request) (*ui.Page, error) {
	found, err := ui.Read[processRow](r.Context(), s.Pool, selectProcesses, nil)
	if err != nil {
		return nil, err
	}
	waiting, err := ui.Read[queue](r.Context(), s.Pool, selectQueue, nil)
	if err != nil {
		return nil, err
	}
	verifications, err := ui.Read[verification](r.Context(), s.Pool, selectVerifications, nil)
	if err != nil {
		return nil, err
	}
	return ui.Show("dashboard/processes", web.Page{Title: "Processes", Here: "processes",
		Data: processesPage{found, waiting[0], verifications, s.Supervisor != nil, s.Token(r)}}), nil
}

package process

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Where a process says how it is.
const (
	healthPath = "/healthz" // liveness: restart the process if this fails
	readyPath  = "/readyz"  // readiness: route clients elsewhere if this fails
)

const (
	// probeTimeout is how long the database gets to say that it is there.
	probeTimeout = time.Second
	// askAgainAfter keeps those who ask from becoming work themselves.
	probeAgainAfter = time.Second
)

// health says whether a process runs and whether it can do its work.
type health struct {
	pool     *pgxpool.Pool // the liveness row's: requests cannot use it up
	draining atomic.Bool

	mu      sync.Mutex
	asked   time.Time
	reasons []string // against being ready, when it was asked last
}

// serve answers the two paths, and leaves every other to next.
func (h *health) serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.draining.Load() {
			w.Header().Set("Connection", "close") // the client's next request goes to another process
		}
		switch r.URL.Path {
		case healthPath:
			writeJSON(w, http.StatusOK, map[string]any{"alive": true})
		case readyPath:
			reasons := h.notReady(r.Context())
			status := http.StatusOK
			if len(reasons) > 0 {
				status = http.StatusServiceUnavailable
			}
			writeJSON(w, status, map[string]any{"ready": len(reasons) == 0, "reasons": reasons})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// notReady lists what keeps the process from its work. The list is public, so
// it names no address and repeats no error.
func (h *health) notReady(ctx context.Context) []string {
	if h.draining.Load() {
		return []string{"the process is stopping"}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.asked) < probeAgainAfter {
		return h.reasons
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	h.reasons = probeDatabase(ctx, h.pool)
	h.asked = time.Now()
	return h.reasons
}

// askDatabase wants it there, with the schema this binary was written for or a
// later one: a deploy migrates first, and must not take down what still runs.
func probeDatabase(ctx context.Context, pool *pgxpool.Pool) []string {
	schema, err := postgres.SchemaStatus(ctx, pool)
	switch {
	case errors.Is(err, postgres.ErrBeforeBaseline):
		return []string{"the database was made by an earlier development version"}
	case err != nil:
		return []string{"the database is unavailable"}
	case schema.Dirty:
		return []string{"a migration crashed halfway"}
	case schema.Version < schema.Latest:
		return []string{"the schema is older than this program: run ratchet migrate up"}
	}
	return []string{}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, _ := json.Marshal(body) // made of texts and booleans
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have disconnected
}

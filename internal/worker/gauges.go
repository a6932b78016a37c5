package worker

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/telemetry"
)

// gauges are numbers about the whole installation, read from its tables. Every
// worker shows the same.
type gauges struct {
	unfinished  *prometheus.GaugeVec
	oldest      *prometheus.GaugeVec
	differences *prometheus.GaugeVec
	due         *prometheus.GaugeVec
	lag         *prometheus.GaugeVec
	unapplied   *prometheus.GaugeVec
	unbooked    *prometheus.GaugeVec
}

// newGauges shows nothing until something has been counted: a 0 that was not
// counted would be wrong.
func newGauges(t *telemetry.Telemetry) *gauges {
	g := &gauges{
		unfinished: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ratchet_unfinished_requests",
			Help: "Unfinished requests: running, parked until they are due, or held for an operator.",
		}, []string{"state"}),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ratchet_oldest_unfinished_request_age_seconds",
			Help: "Age of the oldest unfinished request; 0 if there is none.",
		}, []string{"state"}),
		differences: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ratchet_ledger_differences",
			Help: "Differences between the books and the acquirer's settlement files in the last seven days. " +
				"Anything but 0 is an error.",
		}, nil),
	}
	g.due = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "ratchet_webhook_deliveries_due", Help: "Deliveries that are due and that no worker has claimed."}, nil)
	g.lag = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "ratchet_webhook_queue_lag_seconds",
		Help: "How long the oldest of them has been due; 0 if there is none.",
	}, nil)
	g.unapplied = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "ratchet_inbox_messages",
		Help: "Messages from outside that wait for their object, or are set aside for an operator.",
	}, []string{"state"})
	g.unbooked = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "ratchet_settled_movements",
		Help: "Settled movements that wait for their charge, or that contradict our records and are set aside for " +
			"an operator.",
	}, []string{"state"})
	t.Registry.MustRegister(g.unfinished, g.oldest, g.differences, g.due, g.lag, g.unapplied, g.unbooked)
	return g
}

const countUnfinished = `
	SELECT s.state, count(q.id), coalesce(extract(epoch FROM clock_timestamp() - min(q.created_at)), 0)::float8
	FROM (VALUES ('running'), ('parked'), ('needs_review')) AS s (state)
	LEFT JOIN (runs r JOIN requests q ON q.account_id = r.account_id AND q.id = r.request_id) ON r.state = s.state
	GROUP BY s.state`

func (g *gauges) countUnfinished(ctx context.Context, pool *pgxpool.Pool) error {
	rows, err := pool.Query(ctx, countUnfinished)
	if err != nil {
		return fmt.Errorf("count unfinished requests: %w", err)
	}
	var state string
	var count, age float64
	_, err = pgx.ForEachRow(rows, []any{&state, &count, &age}, func() error {
		g.unfinished.WithLabelValues(state).Set(count)
		g.oldest.WithLabelValues(state).Set(age)
		return nil
	})
	if err != nil {
		return fmt.Errorf("count unfinished requests: %w", err)
	}
	return nil
}

// A listener of the Stripe CLI may be disconnected, which is not a delay of the workers.
const countDue = `
	SELECT count(*)::float8, coalesce(extract(epoch FROM clock_timestamp() - min(due_at)), 0)::float8
	FROM webhook_deliveries WHERE state = 'pending' AND claimed_by IS NULL AND due_at <= statement_timestamp()
	  AND endpoint_id LIKE 'we\_%'`

const countUnapplied = `
	SELECT count(*) FILTER (WHERE state = 'waiting')::float8, count(*) FILTER (WHERE state = 'set_aside')::float8
	FROM inbox WHERE state <> 'applied'`

const countUnbooked = `
	SELECT (SELECT count(*) FROM movements_waiting)::float8, (SELECT count(*) FROM movements_set_aside)::float8`

// countQueues looks at what waits to go out and to come in.
func (g *gauges) countQueues(ctx context.Context, pool *pgxpool.Pool) error {
	var due, lag, waiting, aside float64
	if err := pool.QueryRow(ctx, countDue).Scan(&due, &lag); err != nil {
		return fmt.Errorf("count due deliveries: %w", err)
	}
	if err := pool.QueryRow(ctx, countUnapplied).Scan(&waiting, &aside); err != nil {
		return fmt.Errorf("count messages: %w", err)
	}
	g.unapplied.WithLabelValues(inbox.Waiting).Set(waiting)
	g.unapplied.WithLabelValues(inbox.SetAside).Set(aside)
	if err := pool.QueryRow(ctx, countUnbooked).Scan(&waiting, &aside); err != nil {
		return fmt.Errorf("count settled movements: %w", err)
	}
	g.unbooked.WithLabelValues(inbox.Waiting).Set(waiting)
	g.unbooked.WithLabelValues(inbox.SetAside).Set(aside)
	g.due.WithLabelValues().Set(due)
	g.lag.WithLabelValues().Set(lag)
	return nil
}

// That debits and credits are equal needs no gauge: the schema has no way to store
// anything else. What can differ is what the acquirer says of the same money.
const countDifferences = `
	SELECT count(*)::float8 FROM settlement_differences WHERE found_at > clock_timestamp() - interval '7 days'`

func (g *gauges) countDifferences(ctx context.Context, pool *pgxpool.Pool) error {
	var differences float64
	if err := pool.QueryRow(ctx, countDifferences).Scan(&differences); err != nil {
		return fmt.Errorf("count differences: %w", err)
	}
	g.differences.WithLabelValues().Set(differences)
	return nil
}

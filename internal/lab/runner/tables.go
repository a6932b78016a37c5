//go:build unix

package runner

import (
	"context"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/design"
	"github.com/ratchet-pay/ratchet/internal/lab/redis"
)

const (
	inboxShown = `
		SELECT event_id, state, reason FROM inbox WHERE event_id LIKE $2 || '.%' AND $1::bigint > 0
		ORDER BY received_at`
	inboxChargesShown = `SELECT amount, reference FROM lab_inbox.charges WHERE order_id = $1 AND $2::text <> ''`
	chargesShown      = `
		SELECT c.amount, c.status FROM charges c JOIN requests q ON q.account_id = c.account_id AND q.id = c.request_id
		WHERE q.key = $2 AND $1::bigint > 0`
	runsShown = `
		SELECT r.state, r.epoch, array_to_string(r.recovery_points, ', ') AS recovery_points
		FROM runs r JOIN requests q ON q.account_id = r.account_id AND q.id = r.request_id
		WHERE q.key = $2 AND $1::bigint > 0`
	answersShown = `
		SELECT a.status, array_to_string(a.recovery_points, ', ') AS recovery_points
		FROM answers a JOIN requests q ON q.account_id = a.account_id AND q.id = a.request_id
		WHERE q.key = $2 AND $1::bigint > 0`
)

// shown are the tables of the designs that are made of Ratchet.
var shown = map[string][]design.Table{
	"ratchet": {{Name: "runs", SQL: runsShown}, {Name: "answers", SQL: answersShown},
		{Name: "charges", SQL: chargesShown}},
	"inbox": {{Name: "inbox", SQL: inboxShown}, {Name: "runs", SQL: runsOfInbox},
		{Name: "lab_inbox.charges", SQL: inboxChargesShown}},
}

const runsOfInbox = `
	SELECT state, epoch, array_to_string(recovery_points, ', ') AS recovery_points FROM runs
	WHERE $1::bigint > 0 AND $2::text <> ''`

// changes are moments after which the tables may look different.
var changes = map[lab.Kind]bool{lab.Receives: true, lab.HangsUp: true, lab.CutOff: true, lab.Killed: true,
	lab.Stopped: true, lab.StoreLost: true, lab.FencedOff: true, lab.WorkerReceives: true, lab.Restarts: true,
	lab.BrokerEnds: true, lab.Continued: true}

// tablesNow are the tables of the order, or nil if they are as they were.
func (r *run) tablesNow(ctx context.Context) ([]lab.Table, error) {
	db := r.books
	switch {
	case r.Design.Name == "ratchet":
		db = r.ratchetDB
	case r.queue != nil && r.queue.books != nil:
		db = r.queue.books
	}
	tables := r.redisNow(ctx)
	for _, of := range append(shown[r.Design.Name], design.Tables(r.Design.Name)...) {
		t, err := readTable(ctx, db, of, r.order.Order, r.key)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", of.Name, err)
		}
		tables = append(tables, t)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if reflect.DeepEqual(tables, r.tables) {
		return nil, nil
	}
	r.tables = tables
	return tables, nil
}

// redisNow is the order's key in Redis, for the designs that keep it there. While Redis
// restarts, it has none.
func (r *run) redisNow(ctx context.Context) []lab.Table {
	if r.store == nil {
		return nil
	}
	t := lab.Table{Name: "redis", Columns: []string{"value"}}
	value, found, err := redis.NewClient(r.store.addr, nil).Get(ctx, "idempotency:"+r.key)
	if err == nil && found {
		t.Rows = [][]string{{short(value)}}
	}
	return []lab.Table{t}
}

func readTable(ctx context.Context, db *pgxpool.Pool, of design.Table, order int64, key string) (lab.Table, error) {
	t := lab.Table{Name: of.Name}
	rows, err := db.Query(ctx, of.SQL, order, key)
	if err != nil {
		return t, err
	}
	defer rows.Close()
	for _, field := range rows.FieldDescriptions() {
		t.Columns = append(t.Columns, field.Name)
	}
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return t, err
		}
		row := make([]string, len(values))
		for i, value := range values {
			if value != nil {
				row[i] = short(fmt.Sprint(value))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t, rows.Err()
}

// short keeps a response from filling the page.
func short(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

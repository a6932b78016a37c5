//go:build unix

package runner

import (
	"context"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/redis"
)

// shownTable is a table that the page shows, with what it has of one order. $1 is the
// order, and $2 its key.
type shownTable struct{ name, sql string }

const (
	tableShown   = `SELECT status, response_body FROM lab_table.idempotency_keys WHERE key = $2 AND $1::bigint > 0`
	managerShown = `SELECT state, response FROM lab_manager.requests WHERE key = $2 AND $1::bigint > 0`
	pointsShown  = `
		SELECT recovery_point, response_body FROM lab_points.idempotency_keys WHERE key = $2 AND $1::bigint > 0`
	messagesShown = `
		SELECT message_id, status FROM lab_queue.processed_messages
		WHERE message_id LIKE $2 || '.%' AND $1::bigint > 0 ORDER BY processed_at`
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

// What the designs have booked, by their schemas.
const (
	naiveBooks   = `SELECT amount, reference FROM lab_naive.charges WHERE order_id = $1 AND $2::text <> '' ORDER BY id`
	redisBooks   = `SELECT amount, reference FROM lab_redis.charges WHERE order_id = $1 AND $2::text <> '' ORDER BY id`
	tableBooks   = `SELECT amount, reference FROM lab_table.charges WHERE order_id = $1 AND $2::text <> '' ORDER BY id`
	managerBooks = `
		SELECT amount, reference FROM lab_manager.charges WHERE order_id = $1 AND $2::text <> '' ORDER BY id`
	pointsBooks = `SELECT amount, reference FROM lab_points.charges WHERE order_id = $1 AND $2::text <> '' ORDER BY id`
	queueBooks  = `SELECT amount, reference FROM lab_queue.charges WHERE order_id = $1 AND $2::text <> '' ORDER BY id`
)

var shown = map[string][]shownTable{
	"naive":           {{"lab_naive.charges", naiveBooks}},
	"redis-1s":        {{"lab_redis.charges", redisBooks}},
	"redis-24h":       {{"lab_redis.charges", redisBooks}},
	"redis-unawaited": {{"lab_redis.charges", redisBooks}},
	"table":           {{"lab_table.idempotency_keys", tableShown}, {"lab_table.charges", tableBooks}},
	"table-takeover":  {{"lab_table.idempotency_keys", tableShown}, {"lab_table.charges", tableBooks}},
	"table-tx":        {{"lab_table.idempotency_keys", tableShown}, {"lab_table.charges", tableBooks}},
	"manager":         {{"lab_manager.requests", managerShown}, {"lab_manager.charges", managerBooks}},
	"points":          {{"lab_points.idempotency_keys", pointsShown}, {"lab_points.charges", pointsBooks}},
	"ratchet":         {{"runs", runsShown}, {"answers", answersShown}, {"charges", chargesShown}},
	"queue-set":       {{"lab_queue.charges", queueBooks}},
	"queue-table":     {{"lab_queue.processed_messages", messagesShown}, {"lab_queue.charges", queueBooks}},
	"inbox":           {{"inbox", inboxShown}, {"runs", runsOfInbox}, {"lab_inbox.charges", inboxChargesShown}},
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
	db := r.db
	switch {
	case r.Design.Name == "ratchet":
		db = r.ratchetDB
	case r.queue != nil && r.queue.books != nil:
		db = r.queue.books
	}
	tables := r.redisNow(ctx)
	for _, of := range shown[r.Design.Name] {
		t, err := readTable(ctx, db, of, r.order.Order, r.key)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", of.name, err)
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

func readTable(ctx context.Context, db *pgxpool.Pool, of shownTable, order int64, key string) (lab.Table, error) {
	t := lab.Table{Name: of.name}
	rows, err := db.Query(ctx, of.sql, order, key)
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

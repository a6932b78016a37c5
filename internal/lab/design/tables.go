package design

// Table is a table that the page shows, with what it has of one order. $1 of its
// statement is the order, and $2 its key.
type Table struct{ Name, SQL string }

const (
	tableShown   = `SELECT status, response_body FROM idempotency_keys WHERE key = $2 AND $1::bigint > 0`
	managerShown = `SELECT state, response FROM requests WHERE key = $2 AND $1::bigint > 0`
	pointsShown  = `
		SELECT recovery_point, response_body FROM idempotency_keys WHERE key = $2 AND $1::bigint > 0`
	messagesShown = `
		SELECT message_id, status FROM processed_messages
		WHERE message_id LIKE $2 || '.%' AND $1::bigint > 0 ORDER BY processed_at`
	booksShown = `SELECT amount, reference FROM charges WHERE order_id = $1 AND $2::text <> '' ORDER BY id`
)

// Tables are the tables of a design. Their statements are for connections that work in its schema.
func Tables(name string) (all []Table) {
	switch name {
	case "table", "table-takeover", "table-tx":
		all = []Table{{"idempotency_keys", tableShown}}
	case "manager":
		all = []Table{{"requests", managerShown}}
	case "points":
		all = []Table{{"idempotency_keys", pointsShown}}
	case "queue-table":
		all = []Table{{"processed_messages", messagesShown}}
	}
	if Schema(name) == "" {
		return nil
	}
	all = append(all, Table{"charges", booksShown})
	for i := range all {
		all[i].Name = Schema(name) + "." + all[i].Name
	}
	return all
}

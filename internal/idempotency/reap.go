package idempotency

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// A bound in time has to be stable, here and in all that is asked again and again.
// clock_timestamp() is volatile: no index can be searched for it, and each look would
// read all that is not due yet.
const archiveExpired = `
	WITH expired AS (
		SELECT r.account_id, r.id, r.params, r.context, r.memo, r.headers, r.body
		FROM requests r
		WHERE r.state = 'finished' AND r.expires_at < statement_timestamp()
		ORDER BY r.expires_at
		LIMIT @limit
		FOR NO KEY UPDATE SKIP LOCKED
	), kept AS (
		INSERT INTO archived_answers (account_id, request_id, params, context, memo, headers, body)
		SELECT account_id, id, params, context, memo, headers, body FROM expired
	)
	UPDATE requests r
	SET state = 'archived', params = NULL, context = NULL, memo = NULL, headers = NULL, body = NULL
	FROM expired e
	WHERE r.account_id = e.account_id AND r.id = e.id
	RETURNING r.id`

// Reap moves the answers of finished requests past their expiry to the archive
// and returns how many. The rows and their keys stay. Unfinished work has no
// expiry, so it cannot be reaped, however old.
func Reap(ctx context.Context, db Reader, limit int) (int, error) {
	rows, err := db.Query(ctx, archiveExpired, pgx.StrictNamedArgs{"limit": limit})
	if err != nil {
		return 0, fmt.Errorf("archive expired answers: %w", err)
	}
	archived, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, fmt.Errorf("archive expired answers: %w", err)
	}
	return len(archived), nil
}

package idempotency

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// A bound in time has to be stable, here and in all that is asked again and again.
// clock_timestamp() is volatile: no index can be searched for it, and each look would
// read all that is not due yet. The copy is made first: a trigger compares what leaves
// the row with it.
const archiveExpired = `
	WITH expired AS (
		SELECT a.account_id, a.request_id, a.headers, a.body
		FROM answers a
		WHERE a.body IS NOT NULL AND a.expires_at < statement_timestamp()
		ORDER BY a.expires_at
		LIMIT @limit
		FOR NO KEY UPDATE SKIP LOCKED
	), kept AS (
		INSERT INTO archived_answers (account_id, request_id, headers, body)
		SELECT account_id, request_id, headers, body FROM expired
		RETURNING account_id, request_id
	)
	UPDATE answers a
	SET archived_at = clock_timestamp(), headers = NULL, body = NULL
	FROM kept k
	WHERE a.account_id = k.account_id AND a.request_id = k.request_id
	RETURNING a.request_id`

// Reap moves the headers and bodies of answers past their expiry to the archive and
// returns how many. The rows stay, and so do the keys. Unfinished work has no
// answer, so it cannot be reaped, however old.
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

package idempotency

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const releasedKeys = `
	SELECT w.account_id, w.livemode, w.key
	FROM unnest(@accounts::text[], @livemodes::boolean[], @keys::text[]) AS w (account_id, livemode, key)
	WHERE NOT EXISTS (
		SELECT FROM requests q JOIN runs r ON r.account_id = q.account_id AND r.request_id = q.id
		WHERE q.account_id = w.account_id AND q.livemode = w.livemode AND q.key = w.key AND ` + IsExecuting + `)`

// Released returns those of the keys whose request no live process is executing:
// it is finished, suspended, or its process is dead. One query answers for all.
func Released(ctx context.Context, db Reader, keys []Key) ([]Key, error) {
	accounts, livemodes, names := make([]string, len(keys)), make([]bool, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		accounts[i], livemodes[i], names[i] = k.AccountID, k.Livemode, k.Key
	}
	rows, err := db.Query(ctx, releasedKeys, pgx.StrictNamedArgs{
		"accounts": accounts, "livemodes": livemodes, "keys": names})
	if err != nil {
		return nil, fmt.Errorf("look for released keys: %w", err)
	}
	released, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Key])
	if err != nil {
		return nil, fmt.Errorf("look for released keys: %w", err)
	}
	return released, nil
}

package apikey

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

const lockKey = `SELECT ` + keyColumns + ` FROM api_keys WHERE id = @id FOR NO KEY UPDATE`

const expireKey = `
	UPDATE api_keys SET expires_at = least(expires_at, clock_timestamp() + @grace::interval)
	WHERE id = @id`

// Revoke ends a key after grace, which may be 0, and tells which it was.
// Processes that have just seen it honour it for two seconds more.
func Revoke(ctx context.Context, tx pgx.Tx, keyID string, grace time.Duration) (*Key, error) {
	rows, err := tx.Query(ctx, lockKey, postgres.Args{"id": keyID})
	if err != nil {
		return nil, fmt.Errorf("find API key: %w", err)
	}
	key, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[Key])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("API key %q not found", keyID)
	}
	if err != nil {
		return nil, fmt.Errorf("find API key: %w", err)
	}
	_, err = tx.Exec(ctx, expireKey, postgres.Args{"id": keyID, "grace": grace})
	if err != nil {
		return nil, fmt.Errorf("expire API key: %w", err)
	}
	return key, nil
}

// Roll makes a successor that may do the same, and ends the key after grace. A
// key that has ended has no successor: it was ended on purpose.
func Roll(ctx context.Context, tx pgx.Tx, hashKey []byte, keyID string, grace time.Duration) (old *Key, newID, key string, err error) {
	old, err = Revoke(ctx, tx, keyID, grace)
	if err != nil {
		return nil, "", "", err
	}
	if old.Expired {
		return nil, "", "", fmt.Errorf("%s has already expired; create a new key", keyID)
	}
	newID, key, err = create(ctx, tx, hashKey, old.AccountID, old.Kind, old.Permissions, old.Livemode)
	return old, newID, key, err
}

package apikey

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

const lockKey = `SELECT ` + keyColumns + ` FROM api_keys WHERE id = @id FOR NO KEY UPDATE`

const expireKey = `
	UPDATE api_keys SET expires_at = least(expires_at, clock_timestamp() + @grace::interval)
	WHERE id = @id
	RETURNING expires_at`

// ending is what the audit trail keeps of a key's end.
type ending struct {
	Grace     string    `json:"grace"`
	EndsAt    time.Time `json:"ends_at"`
	Successor string    `json:"successor,omitempty"`
}

// Revoke ends a key after grace, which may be 0, and tells which it was.
// Processes that have just seen it honor it for two seconds more.
func Revoke(ctx context.Context, tx pgx.Tx, keyID string, grace time.Duration) (*Key, error) {
	key, endsAt, err := end(ctx, tx, keyID, grace)
	if err != nil {
		return nil, err
	}
	return key, key.record(ctx, tx, "key.revoke", ending{Grace: grace.String(), EndsAt: endsAt.UTC()})
}

func (k *Key) record(ctx context.Context, tx pgx.Tx, operation string, details ending) error {
	return audit.RecordOperator(ctx, tx, audit.OperatorAct{
		User:      audit.Operator(),
		Operation: operation,
		AccountID: k.AccountID,
		Livemode:  k.Livemode,
		ObjectID:  k.ID,
		Details:   details,
	})
}

func end(ctx context.Context, tx pgx.Tx, keyID string, grace time.Duration) (key *Key, endsAt time.Time, err error) {
	rows, err := tx.Query(ctx, lockKey, postgres.Args{"id": keyID})
	if err != nil {
		return nil, endsAt, fmt.Errorf("find API key: %w", err)
	}
	key, err = pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[Key])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, endsAt, fmt.Errorf("API key %q not found", keyID)
	}
	if err != nil {
		return nil, endsAt, fmt.Errorf("find API key: %w", err)
	}
	err = tx.QueryRow(ctx, expireKey, postgres.Args{"id": keyID, "grace": grace}).Scan(&endsAt)
	if err != nil {
		return nil, endsAt, fmt.Errorf("expire API key: %w", err)
	}
	return key, endsAt, nil
}

// Roll makes a successor that may do the same, and ends the key after grace. A
// key that has ended has no successor: it was ended on purpose.
func Roll(
	ctx context.Context, tx pgx.Tx, hashKeys secret.Keys, keyID string, grace time.Duration,
) (old *Key, newID, key string, err error) {
	old, endsAt, err := end(ctx, tx, keyID, grace)
	if err != nil {
		return nil, "", "", err
	}
	if old.Expired {
		return nil, "", "", fmt.Errorf("%s has already expired; create a new key", keyID)
	}
	newID, key, err = create(ctx, tx, hashKeys, old.AccountID, old.Kind, old.Permissions, old.Livemode)
	if err != nil {
		return nil, "", "", err
	}
	return old, newID, key,
		old.record(ctx, tx, "key.roll", ending{Grace: grace.String(), EndsAt: endsAt.UTC(), Successor: newID})
}

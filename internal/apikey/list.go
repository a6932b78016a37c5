package apikey

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Key is what may be shown of a key.
type Key struct {
	ID          string
	AccountID   string
	Livemode    bool
	Kind        string
	Permissions Permissions
	Display     string
	Demo        bool
	CreatedAt   time.Time
	ExpiresAt   *time.Time
	LastUsedAt  *time.Time // to about a minute
	Expired     bool
}

const keyColumns = `id, account_id, livemode, kind, permissions, display, demo, created_at, expires_at, last_used_at,
	coalesce(expires_at <= clock_timestamp(), false) AS expired`

const listKeys = `
	SELECT ` + keyColumns + `
	FROM api_keys
	WHERE @account_id = '' OR account_id = @account_id
	ORDER BY account_id, id`

// List shows the keys of an account, or of all where accountID is "".
func List(ctx context.Context, db DB, accountID string) ([]Key, error) {
	rows, err := db.Query(ctx, listKeys, postgres.Args{"account_id": accountID})
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowToStructByName[Key])
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	return keys, nil
}

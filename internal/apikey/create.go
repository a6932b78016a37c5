package apikey

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// DB is a pool, or the transaction in which more is done than to a key.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

const insertKey = `
	INSERT INTO api_keys (id, account_id, livemode, kind, permissions, hash, secret_version, display, demo)
	VALUES (@id, @account_id, @livemode, @kind, @permissions, @hash, @secret_version, @display, @demo)
	ON CONFLICT (hash) DO NOTHING`

// made is what the audit trail keeps of a new key. verify compares the key with it,
// so a key that was not made here, or was changed since, is found.
type made struct {
	Kind        string      `json:"kind"`
	Permissions Permissions `json:"permissions"`
	Hash        string      `json:"hash"` // as the table has it: it opens nothing
	Demo        bool        `json:"demo"`
}

// keyDigits is 190 bits.
const keyDigits = 32

// Create makes a secret or publishable key for an account and returns it: the
// only time it can be read.
func Create(
	ctx context.Context, db DB, hashKeys secret.Keys, accountID, kind string, livemode bool,
) (keyID, key string, err error) {
	return create(ctx, db, hashKeys, accountID, kind, nil, livemode)
}

// CreateRestricted makes a key that may do what its permissions say and no more.
func CreateRestricted(
	ctx context.Context, db DB, hashKeys secret.Keys, accountID string, allowed Permissions, livemode bool,
) (keyID, key string, err error) {
	return create(ctx, db, hashKeys, accountID, Restricted, allowed, livemode)
}

func create(
	ctx context.Context, db DB, hashKeys secret.Keys, accountID, kind string, allowed Permissions, livemode bool,
) (keyID, key string, err error) {
	prefix := map[string]string{Secret: "sk", Publishable: "pk", Restricted: "rk"}[kind]
	if prefix == "" {
		return "", "", fmt.Errorf("a key must be %s, %s or %s, not %q", Secret, Publishable, Restricted, kind)
	}
	mode := "test"
	if livemode {
		mode = "live"
	}
	key = prefix + "_" + mode + "_" + id.Random(keyDigits)
	keyID, err = put(ctx, db, hashKeys, accountID, kind, allowed, livemode, key, false)
	return keyID, key, err
}

// Put stores the hash of a given key. Only the demo chooses its keys.
func Put(
	ctx context.Context, db DB, hashKeys secret.Keys, accountID, kind string, livemode bool, key string, demo bool,
) (string, error) {
	return put(ctx, db, hashKeys, accountID, kind, nil, livemode, key, demo)
}

func put(
	ctx context.Context, db DB, hashKeys secret.Keys, accountID, kind string, allowed Permissions, livemode bool,
	key string, demo bool,
) (string, error) {
	version, hashKey := hashKeys.Newest()
	hash := Hash(hashKey, key)
	keyID := id.New("key", time.Now())
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, insertKey, postgres.Args{
			"id":             keyID,
			"account_id":     accountID,
			"livemode":       livemode,
			"kind":           kind,
			"permissions":    allowed,
			"hash":           hash[:],
			"secret_version": version,
			"display":        Display(key),
			"demo":           demo,
		})
		if err != nil || tag.RowsAffected() == 0 {
			return err // or it is there already
		}
		return audit.RecordOperator(ctx, tx, audit.OperatorAct{
			User:      audit.Operator(),
			Operation: "key.create",
			AccountID: accountID,
			Livemode:  livemode,
			ObjectID:  keyID,
			Details:   made{kind, allowed, hex.EncodeToString(hash[:]), demo},
		})
	})
	if err != nil {
		return "", fmt.Errorf("store API key: %w", err)
	}
	return keyID, nil
}

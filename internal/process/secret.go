package process

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// ErrAnotherSecret says that the installation was made under another secret. API keys, signing secrets and the keys
// under which the acquirer is called would all be other ones.
var ErrAnotherSecret = errors.New("this is not the secret that the installation was made under; " +
	"with another one, no API key works and retries are refused (ratchet secrets replace --help)")

const (
	selectSecret = `SELECT digest FROM root_secrets`

	// The digests before and after. Nothing is returned while a process lives, or if there is no secret to replace.
	replaceSecret = `
		UPDATE root_secrets s SET digest = @digest FROM root_secrets old
		WHERE NOT EXISTS (SELECT FROM workers WHERE alive_until > clock_timestamp())
		RETURNING encode(old.digest, 'hex') AS replaced, encode(s.digest, 'hex') AS now`

	// Of two processes that start at once, one adds the row, and the other compares.
	insertSecret = `INSERT INTO root_secrets (digest) VALUES (@digest) ON CONFLICT DO NOTHING`
)

// CheckSecret fails if the installation was made under another secret. Before the first process has started there is
// nothing to compare with, and known is false.
func CheckSecret(ctx context.Context, pool *pgxpool.Pool, root secret.Root) (known bool, err error) {
	rows, err := pool.Query(ctx, selectSecret)
	if err != nil {
		return false, fmt.Errorf("check the secret: %w", err)
	}
	digest, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[[]byte])
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check the secret: %w", err)
	}
	if !hmac.Equal(digest, root.Digest()) {
		return true, ErrAnotherSecret
	}
	return true, nil
}

// ClaimSecret checks the secret. The first process of an installation adds the secret's digest.
func ClaimSecret(ctx context.Context, pool *pgxpool.Pool, root secret.Root) error {
	known, err := CheckSecret(ctx, pool, root)
	if known || err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, insertSecret, postgres.Args{"digest": root.Digest()}); err != nil {
		return fmt.Errorf("add the secret's digest: %w", err)
	}
	_, err = CheckSecret(ctx, pool, root)
	return err
}

// ErrProcessesLive says that the secret cannot be replaced now: what a live process derives from the old one would not
// match.
var ErrProcessesLive = errors.New("nothing to replace, or a process of the installation is running: stop all of them")

// ReplaceSecret makes another secret the installation's, and writes the act of user into the audit trail.
func ReplaceSecret(ctx context.Context, pool *pgxpool.Pool, root secret.Root, user, reason string) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var act struct {
			Replaced string `json:"replaced"`
			Now      string `json:"now"`
			Reason   string `json:"reason"`
		}
		err := tx.QueryRow(ctx, replaceSecret, postgres.Args{"digest": root.Digest()}).Scan(&act.Replaced, &act.Now)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrProcessesLive
		}
		if err != nil {
			return fmt.Errorf("replace the secret: %w", err)
		}
		act.Reason = reason
		return audit.RecordOperator(ctx, tx, audit.OperatorAct{
			User: user, Operation: "secret.replace", ObjectID: "root_secret", Details: act})
	})
}

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// Errors about the secrets that a process or a command was given.
var (
	// ErrAnotherSecret says that the installation was made under another secret. API keys, signing secrets and the keys
	// under which the acquirer is called would all be other ones.
	ErrAnotherSecret = errors.New("this is not the secret that the installation was made under; " +
		"with another one, no API key works and retries are refused (ratchet secrets --help)")
	// ErrSecretMissing says that one of several secrets that are in use was not given.
	ErrSecretMissing = errors.New("a secret of the installation is missing: while it is rotated, processes need " +
		"the new secret in RATCHET_SECRET and the older one in RATCHET_SECRET_OLD")
)

const (
	selectSecrets = `
		SELECT version, digest, coalesce(active_at <= clock_timestamp(), false) AS active,
		       retired_at IS NOT NULL AS retired
		FROM root_secrets ORDER BY version`

	selectKeptKeys = `SELECT version, purpose, sealed_by, sealed FROM kept_keys ORDER BY version, purpose`

	// Of two processes that start at once, one adds the row, and the other compares.
	insertSecret = `INSERT INTO root_secrets (digest) VALUES (@digest) ON CONFLICT DO NOTHING`
)

type secretRow struct {
	Version int16
	Digest  []byte
	Active  bool
	Retired bool
}

type keptKey struct {
	Version  int16
	Purpose  string
	SealedBy int16
	Sealed   string
}

// ReadSecrets compares the secrets that a process was given with those of the installation, and derives its keys. It
// fails if one that is in use was not given. Before the first process has started there is nothing to compare with, and
// it returns nil.
func ReadSecrets(ctx context.Context, pool *pgxpool.Pool, given ...secret.Root) (*secret.Roots, error) {
	versions, err := readVersions(ctx, pool, given)
	if err != nil || len(versions) == 0 {
		return nil, err
	}
	return secret.NewRoots(versions...), nil
}

// readVersions are the versions that the installation knows, and the secrets given that it does not use yet.
func readVersions(ctx context.Context, pool *pgxpool.Pool, given []secret.Root) (versions []secret.Version, err error) {
	sealed, err := query[keptKey](ctx, pool, selectKeptKeys) // before the secrets that may have sealed them
	if err != nil {
		return nil, err
	}
	rows, err := query[secretRow](ctx, pool, selectSecrets)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	byNumber, missing := map[int16]secret.Root{}, false
	waiting := slices.Clone(given)
	for _, row := range rows {
		root := rootOf(given, row.Digest)
		waiting = slices.DeleteFunc(waiting, func(r secret.Root) bool { return bytes.Equal(r.Digest(), row.Digest) })
		switch {
		case root != nil:
			byNumber[row.Version] = root
		case !row.Retired:
			missing = true
		}
	}
	if missing && len(byNumber) == 0 {
		return nil, ErrAnotherSecret
	}
	if missing {
		return nil, ErrSecretMissing
	}
	kept, err := openKeptKeys(sealed, byNumber)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		v := secret.Version{Keys: kept[row.Version]}
		if root := byNumber[row.Version]; root != nil && !row.Retired {
			v = secret.VersionOf(row.Version, root)
		}
		v.Number, v.Active, v.Retired = row.Version, row.Active, row.Retired
		versions = append(versions, v)
	}
	for _, root := range waiting {
		versions = append(versions, secret.VersionOf(0, root))
	}
	return versions, nil
}

func rootOf(given []secret.Root, digest []byte) secret.Root {
	for _, root := range given {
		if bytes.Equal(root.Digest(), digest) {
			return root
		}
	}
	return nil
}

// openKeptKeys are the keys of older versions, which a newer one has sealed.
func openKeptKeys(rows []keptKey, roots map[int16]secret.Root) (map[int16]map[string][]byte, error) {
	all := map[int16]map[string][]byte{}
	for _, row := range rows {
		by := roots[row.SealedBy]
		if by == nil {
			return nil, fmt.Errorf("open the keys of root secret %d: version %d sealed them: %w", row.Version,
				row.SealedBy, ErrSecretMissing)
		}
		key, err := by.OpenKept(row.Version, row.Purpose, row.Sealed)
		if err != nil {
			return nil, fmt.Errorf("open the keys of root secret %d: %w", row.Version, err)
		}
		if all[row.Version] == nil {
			all[row.Version] = map[string][]byte{}
		}
		all[row.Version][row.Purpose] = key
	}
	return all, nil
}

func query[T any](ctx context.Context, pool *pgxpool.Pool, sql string) ([]T, error) {
	rows, err := pool.Query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("read the root secrets: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("read the root secrets: %w", err)
	}
	return all, nil
}

// ClaimSecrets is ReadSecrets. The first process of an installation adds the first secret's digest.
func ClaimSecrets(ctx context.Context, pool *pgxpool.Pool, given ...secret.Root) (*secret.Roots, error) {
	roots, err := ReadSecrets(ctx, pool, given...)
	if roots != nil || err != nil {
		return roots, err
	}
	if _, err := pool.Exec(ctx, insertSecret, postgres.Args{"digest": given[0].Digest()}); err != nil {
		return nil, fmt.Errorf("add the secret's digest: %w", err)
	}
	return ReadSecrets(ctx, pool, given...)
}

// learnEvery is how often a process looks for a rotation. After learnedBy, every live process has seen it.
const (
	learnEvery = time.Second
	learnedBy  = 5 * learnEvery
)

// learnSecrets follows rotations until ctx ends.
func learnSecrets(
	ctx context.Context, pool *pgxpool.Pool, roots *secret.Roots, given []secret.Root, log *slog.Logger,
) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(learnEvery):
		}
		versions, err := readVersions(ctx, pool, given)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.ErrorContext(ctx, "cannot read root secrets", "error", err)
		case len(versions) > 0:
			roots.Set(versions)
		}
	}
}

// ErrProcessesLive says that the secret cannot be replaced now: what a live process derives from the old one would not
// match.
var ErrProcessesLive = errors.New("nothing to replace, or a process of the installation is running: stop all of them")

// The digests before and after. Nothing is returned while a process lives, or if there is no secret to replace. What
// older secrets have made is lost with the newest one, which sealed their keys.
const replaceSecret = `
	WITH newest AS (
		SELECT version, digest FROM root_secrets
		WHERE NOT EXISTS (SELECT FROM workers WHERE alive_until > clock_timestamp())
		ORDER BY version DESC LIMIT 1
	), forgotten AS (
		DELETE FROM kept_keys WHERE version IN (SELECT generate_series(1, version) FROM newest)
	), older AS (
		DELETE FROM root_secrets s USING newest n WHERE s.version < n.version
	), signed AS (
		UPDATE webhook_endpoints e SET secret_version = n.version, previous_secret_version = n.version FROM newest n
	)
	UPDATE root_secrets s SET digest = @digest, active_at = clock_timestamp() FROM newest n WHERE s.version = n.version
	RETURNING encode(n.digest, 'hex') AS replaced, encode(s.digest, 'hex') AS now`

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

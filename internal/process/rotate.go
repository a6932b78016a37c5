package process

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/people"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// Rotation replaces the root secret while the processes run. Each step is one transaction, and Run begins where an
// earlier run stopped.
//
//	added ──every live process has it──▶ active ──▶ second factors sealed again ──▶ older one retired
type Rotation struct {
	Pool   *pgxpool.Pool
	Newest secret.Root
	Older  []secret.Root
	User   string // for the audit trail
	Reason string
	Say    func(format string, args ...any) // tells the operator of progress
}

// A process that starts reads the secrets after its row in workers is there, and the rotation reads the rows after the
// secret is there. So one of the two notices the other.
const (
	addSecret = `
		INSERT INTO root_secrets (version, digest, active_at)
		SELECT max(version) + 1, @digest, NULL FROM root_secrets HAVING count(*) > 0
		ON CONFLICT DO NOTHING`

	withdrawSecret = `DELETE FROM root_secrets WHERE digest = @digest AND active_at IS NULL`

	selectUninformed = `
		SELECT kind || ' on ' || host || ', process ' || pid FROM workers
		WHERE alive_until > clock_timestamp() AND @digest <> ALL (secrets)
		ORDER BY kind, host, pid`

	selectAdded = `
		SELECT version, digest, active_at IS NOT NULL AS active, retired_at IS NOT NULL AS retired
		FROM root_secrets WHERE digest = @digest`

	// A lead gives the processes time to learn of it before one of them makes something under it.
	activateSecret = `
		UPDATE root_secrets SET active_at = clock_timestamp() + @lead::interval
		WHERE version = @version AND active_at IS NULL`

	keepKey = `
		INSERT INTO kept_keys AS k (version, purpose, sealed_by, sealed)
		VALUES (@version, @purpose, @sealed_by, @sealed)
		ON CONFLICT (version, purpose) DO UPDATE SET sealed_by = EXCLUDED.sealed_by, sealed = EXCLUDED.sealed`

	// A process that learned of it late has sealed something under the older one until then.
	secretIsKnownEverywhere = `
		SELECT coalesce(active_at < clock_timestamp() - @lead::interval, false)
		FROM root_secrets WHERE version = @version`
)

// Run adds the newest secret, makes it active once every live process has it, and seals second factors again. It can be
// interrupted at any time and run again.
func (r Rotation) Run(ctx context.Context) error {
	added, err := r.add(ctx)
	if err != nil {
		return err
	}
	if !added.Active {
		if err := r.requireInformed(ctx); err != nil {
			return err
		}
		if err := r.activate(ctx, added.Version); err != nil {
			return err
		}
		r.Say("version %d of the root secret is active in %s", added.Version, learnedBy)
	}
	if err := r.waitUntilKnown(ctx, added.Version); err != nil {
		return err
	}
	return r.sealAgain(ctx)
}

func (r Rotation) digest() postgres.Args { return postgres.Args{"digest": r.Newest.Digest()} }

func (r Rotation) add(ctx context.Context) (secretRow, error) {
	if _, err := r.Pool.Exec(ctx, addSecret, r.digest()); err != nil {
		return secretRow{}, fmt.Errorf("add the secret: %w", err)
	}
	rows, err := r.Pool.Query(ctx, selectAdded, r.digest())
	if err != nil {
		return secretRow{}, fmt.Errorf("add the secret: %w", err)
	}
	added, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[secretRow])
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return added, errors.New("this installation has no root secret yet: start a process, which adds the first one")
	case err != nil:
		return added, fmt.Errorf("add the secret: %w", err)
	case added.Retired:
		return added, errors.New("RATCHET_SECRET has been retired: create a new one")
	}
	_, err = ReadSecrets(ctx, r.Pool, r.given()...) // those that it takes over from must be given, too
	if err != nil {
		return added, errors.Join(err, r.withdraw(ctx))
	}
	return added, nil
}

func (r Rotation) given() []secret.Root { return append([]secret.Root{r.Newest}, r.Older...) }

func (r Rotation) withdraw(ctx context.Context) error {
	_, err := r.Pool.Exec(ctx, withdrawSecret, r.digest())
	return err
}

// requireInformed fails if a live process was not given the secret. Then the secret is withdrawn: a process that
// restarts with its old settings must start.
func (r Rotation) requireInformed(ctx context.Context) error {
	rows, err := r.Pool.Query(ctx, selectUninformed, r.digest())
	if err != nil {
		return fmt.Errorf("look for processes: %w", err)
	}
	uninformed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for processes: %w", err)
	}
	if len(uninformed) == 0 {
		return nil
	}
	return errors.Join(fmt.Errorf("these processes do not have the new secret; restart each with it in RATCHET_SECRET "+
		"and the older one in RATCHET_SECRET_OLD:\n  %s", strings.Join(uninformed, "\n  ")), r.withdraw(ctx))
}

// activate keeps the keys of older versions under the newest secret, and sets when it becomes active.
func (r Rotation) activate(ctx context.Context, version int16) error {
	versions, err := readVersions(ctx, r.Pool, r.given())
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, r.Pool, func(tx pgx.Tx) error {
		for _, v := range versions {
			if v.Number >= version || v.Number == 0 {
				continue
			}
			if err := r.keep(ctx, tx, v, version); err != nil {
				return fmt.Errorf("keep the keys of version %d: %w", v.Number, err)
			}
		}
		tag, err := tx.Exec(ctx, activateSecret, postgres.Args{"version": version, "lead": learnedBy})
		if err != nil {
			return fmt.Errorf("activate the secret: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return errors.New("another command rotates the secret: run this one again")
		}
		return r.record(ctx, tx, "secret.rotate", version)
	})
}

func (r Rotation) keep(ctx context.Context, tx pgx.Tx, older secret.Version, version int16) error {
	for _, purpose := range secret.Kept {
		key := older.Keys[purpose]
		if key == nil {
			return fmt.Errorf("the key for %s is not known", purpose)
		}
		sealed, err := r.Newest.Keep(older.Number, purpose, key)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, keepKey, postgres.Args{"version": older.Number, "purpose": purpose, "sealed_by": version,
			"sealed": sealed})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r Rotation) record(ctx context.Context, tx pgx.Tx, operation string, version int16) error {
	return audit.RecordOperator(ctx, tx, audit.OperatorAct{
		User: r.User, Operation: operation, ObjectID: "root_secret",
		Details: map[string]any{
			"version": version, "newest": hex.EncodeToString(r.Newest.Digest()), "reason": r.Reason},
	})
}

func (r Rotation) waitUntilKnown(ctx context.Context, version int16) error {
	for {
		var known bool
		err := r.Pool.QueryRow(ctx, secretIsKnownEverywhere,
			postgres.Args{"version": version, "lead": learnedBy}).Scan(&known)
		if err != nil {
			return fmt.Errorf("wait until every process uses the secret: %w", err)
		}
		if known {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(learnEvery / 4):
		}
	}
}

// sealAtOnce bounds a batch. Each user is a transaction with an audit row.
const sealAtOnce = 100

func (r Rotation) sealAgain(ctx context.Context) error {
	roots, err := ReadSecrets(ctx, r.Pool, r.given()...)
	if err != nil {
		return err
	}
	for {
		n, err := people.SealAgain(ctx, r.Pool, people.By{Actor: r.User}, roots.Keys(secret.TOTP), sealAtOnce)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		r.Say("%d second factors sealed again", n)
	}
}

// Use is what was made under a version of the root secret.
type Use struct {
	Version int16
	What    string
	Count   int64
	Needs   bool // the secret itself: its key is not kept
}

// SecretState is a version of the root secret.
type SecretState struct {
	Version   int16
	Digest    []byte
	ActiveAt  *time.Time
	RetiredAt *time.Time
	Current   bool
}

const (
	selectSecretStates = `
		SELECT version, digest, active_at, retired_at,
		       version = (SELECT max(version) FROM root_secrets WHERE active_at <= clock_timestamp()) AS current
		FROM root_secrets ORDER BY version`

	sealedByVersion = `CASE WHEN strpos(totp_secret, '.') > 0 THEN split_part(totp_secret, '.', 1)::smallint ELSE 1 END`

	selectUses = `
		SELECT ` + sealedByVersion + ` AS version, 'second factors of users' AS what, count(*) AS count, true AS needs
		FROM users WHERE totp_secret IS NOT NULL GROUP BY 1
		UNION ALL
		SELECT secret_version, 'API keys', count(*), false FROM api_keys
		WHERE expires_at IS NULL OR expires_at > clock_timestamp() GROUP BY 1
		UNION ALL
		SELECT secret_version, 'signing secrets of webhook endpoints', count(*), false FROM webhook_endpoints
		WHERE deleted_at IS NULL AND NOT listener GROUP BY 1
		UNION ALL
		SELECT q.fingerprint_version, 'requests that are not finished', count(*), false
		FROM runs r JOIN requests q ON q.account_id = r.account_id AND q.id = r.request_id GROUP BY 1
		UNION ALL
		SELECT secret_version, 'blocks of the audit trail', count(*), false FROM audit_blocks GROUP BY 1
		ORDER BY 1, 2`

	// Nothing is lost: every key is kept, nothing is sealed under the secret, and every process has learned of a newer
	// one.
	retireSecret = `
		UPDATE root_secrets s SET retired_at = clock_timestamp()
		WHERE s.version = @version AND s.retired_at IS NULL AND s.active_at IS NOT NULL
		  AND EXISTS (SELECT FROM root_secrets newer WHERE newer.version > s.version
		              AND newer.active_at < clock_timestamp() - @lead::interval)
		  AND @purposes = (SELECT count(*) FROM kept_keys k WHERE k.version = s.version)
		  AND NOT EXISTS (SELECT FROM kept_keys k WHERE k.sealed_by = s.version)
		  AND NOT EXISTS (SELECT FROM users WHERE totp_secret IS NOT NULL AND ` + sealedByVersion + ` = s.version)`
)

// SecretStates are the versions of the root secret, and what was made under them.
func SecretStates(ctx context.Context, pool *pgxpool.Pool) (states []SecretState, uses []Use, err error) {
	if states, err = query[SecretState](ctx, pool, selectSecretStates); err != nil {
		return nil, nil, err
	}
	uses, err = query[Use](ctx, pool, selectUses)
	return states, uses, err
}

// ErrStillNeeded says that a secret cannot be retired yet.
var ErrStillNeeded = errors.New("this version is the newest, is retired already, or is still needed: " +
	"see ratchet secrets status, and run ratchet secrets rotate again")

// Retire ends a version: no process needs its secret from now on.
func (r Rotation) Retire(ctx context.Context, version int16) error {
	return pgx.BeginFunc(ctx, r.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, retireSecret,
			postgres.Args{"version": version, "lead": learnedBy, "purposes": len(secret.Kept)})
		if err != nil {
			return fmt.Errorf("retire version %d: %w", version, err)
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("retire version %d: %w", version, ErrStillNeeded)
		}
		return r.record(ctx, tx, "secret.retire", version)
	})
}

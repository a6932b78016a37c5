package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// ErrWrongCode says that a code is wrong, too old, or was used before.
var ErrWrongCode = errors.New("wrong code")

// Enroll gives a user a second factor, once a code proves that the app has the secret. It returns the recovery codes:
// the only time they can be read. The user's other sessions end.
func Enroll(
	ctx context.Context, db DB, by By, keys secret.Keys, session *Session, shared, typed string,
) (codes []string, err error) {
	step := stepOf(shared, typed, time.Now())
	if step == 0 {
		return nil, ErrWrongCode
	}
	sealed, err := SealTOTP(keys, session.User.ID, shared)
	if err != nil {
		return nil, err
	}
	codes, hashes := newRecoveryCodes()
	return codes, changeBut(ctx, db, by, session.User.ID, session.ID, "user.totp", func(u *User) error {
		u.TOTPSecret, u.TOTPStep, u.RecoveryCodes = &sealed, step, hashes
		return nil
	})
}

// UseCode accepts a code of a user's app, or one of the recovery codes. Neither works a second time.
func UseCode(ctx context.Context, db DB, by By, keys secret.Keys, userID, typed string) error {
	return change(ctx, db, by, userID, "user.code", func(u *User) error {
		if u.TOTPSecret == nil || u.DisabledAt != nil {
			return ErrWrongCode
		}
		if at := slices.Index(u.RecoveryCodes, recoveryHash(typed)); at >= 0 {
			u.RecoveryCodes = slices.Delete(u.RecoveryCodes, at, at+1)
			return nil
		}
		shared, err := OpenTOTP(keys, u.ID, *u.TOTPSecret)
		if err != nil {
			return err
		}
		step := stepOf(shared, typed, time.Now())
		if step == 0 || step <= u.TOTPStep {
			return ErrWrongCode
		}
		u.TOTPStep = step
		return nil
	})
}

// The order lets an interrupted batch continue where it stopped.
const sealedOtherwise = `
	SELECT id FROM users WHERE totp_secret IS NOT NULL AND NOT starts_with(totp_secret, @prefix)
	ORDER BY id LIMIT @at_once`

// SealAgain seals the secrets of up to atOnce users under the newest key, each in a transaction with an audit row. It
// returns how many there were. It is for a version of the key after the first.
func SealAgain(ctx context.Context, db DB, by By, keys secret.Keys, atOnce int) (int, error) {
	version, _ := keys.Newest()
	rows, err := db.Query(ctx, sealedOtherwise, postgres.Args{"prefix": secret.SealedBy(version), "at_once": atOnce})
	if err != nil {
		return 0, fmt.Errorf("find second factors: %w", err)
	}
	users, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, fmt.Errorf("find second factors: %w", err)
	}
	for _, userID := range users {
		err := change(ctx, db, by, userID, "user.seal", func(u *User) error {
			if u.TOTPSecret == nil {
				return nil // it was removed just now
			}
			shared, err := OpenTOTP(keys, u.ID, *u.TOTPSecret)
			if err != nil {
				return err
			}
			sealed, err := SealTOTP(keys, u.ID, shared)
			u.TOTPSecret = &sealed
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("seal the second factor of %s: %w", userID, err)
		}
	}
	return len(users), nil
}

package people

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ratchet-pay/ratchet/internal/secret"
)

// ErrWrongCode says that a code is wrong, too old, or was used before.
var ErrWrongCode = errors.New("wrong code")

// Enroll gives a user a second factor, once a code proves that the app has the secret. It returns the recovery codes:
// the only time they can be read. The user's other sessions end.
func Enroll(
	ctx context.Context, db DB, by By, root secret.Root, session *Session, shared, typed string,
) (codes []string, err error) {
	step := stepOf(shared, typed, time.Now())
	if step == 0 {
		return nil, ErrWrongCode
	}
	sealed, err := SealTOTP(root, session.User.ID, shared)
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
func UseCode(ctx context.Context, db DB, by By, root secret.Root, userID, typed string) error {
	return change(ctx, db, by, userID, "user.code", func(u *User) error {
		if u.TOTPSecret == nil || u.DisabledAt != nil {
			return ErrWrongCode
		}
		if at := slices.Index(u.RecoveryCodes, recoveryHash(typed)); at >= 0 {
			u.RecoveryCodes = slices.Delete(u.RecoveryCodes, at, at+1)
			return nil
		}
		shared, err := OpenTOTP(root, u.ID, *u.TOTPSecret)
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

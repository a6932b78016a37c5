// Package people keeps the users of the dashboard and their sessions. Each change of a user and its audit row are one
// transaction.
package people

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Role is what a user may do. Each includes the one before it.
type Role string

// The roles.
const (
	View       Role = "view"       // see everything
	Operate    Role = "operate"    // refund, capture, resend, edit, resolve held requests
	Administer Role = "administer" // manage users and webhook endpoints
)

var rank = map[Role]int{View: 1, Operate: 2, Administer: 3}

// Includes tells whether the role allows what another one does.
func (r Role) Includes(other Role) bool { return rank[r] > 0 && rank[r] >= rank[other] }

// Known tells whether there is such a role.
func (r Role) Known() bool { return rank[r] > 0 }

// DB is a pool, or a transaction.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// By is who changes a user, for the audit trail.
type By struct {
	Actor   string
	Address string
}

// User is a person who may log in.
type User struct {
	ID              string
	Email           string
	Role            Role
	PasswordHash    string
	PasswordInitial bool    // another person chose it
	TOTPSecret      *string `db:"totp_secret"` // sealed; nil: there is no second factor
	TOTPStep        int64   `db:"totp_step"`
	RecoveryCodes   []string
	CreatedAt       time.Time
	DisabledAt      *time.Time
}

// Errors about users.
var (
	ErrUnknown = errors.New("user not found")
	ErrExists  = errors.New("user already exists")
	ErrEmail   = errors.New("a user’s name must be an email address")
	ErrRole    = errors.New("a role must be view, operate or administer")
	ErrLast    = errors.New("this is the last administrator who is not disabled")
)

const userColumns = `id, email, role, password_hash, password_initial, totp_secret, totp_step, recovery_codes,
	created_at, disabled_at`

const (
	selectUsers = `SELECT ` + userColumns + ` FROM users ORDER BY email`
	userByEmail = `SELECT ` + userColumns + ` FROM users WHERE email = @email`
	lockUser    = `SELECT ` + userColumns + ` FROM users WHERE id = @id FOR NO KEY UPDATE`
	anyUser     = `SELECT EXISTS (SELECT FROM users) AS any`

	insertUser = `
		INSERT INTO users (id, email, role, password_hash, password_initial)
		VALUES (@id, @email, @role, @password_hash, true)
		ON CONFLICT (email) DO NOTHING`

	updateUser = `
		UPDATE users SET role = @role, password_hash = @password_hash, password_initial = @password_initial,
			totp_secret = @totp_secret, totp_step = @totp_step, recovery_codes = @recovery_codes,
			disabled_at = @disabled_at
		WHERE id = @id`

	// Two administrators who disable each other at the same time wait here, one for the other.
	lockAdministrators = `
		SELECT id FROM users WHERE role = 'administer' AND disabled_at IS NULL ORDER BY id FOR NO KEY UPDATE`
)

// Email is how an email address is stored.
func Email(typed string) string { return strings.ToLower(strings.TrimSpace(typed)) }

var emailShape = regexp.MustCompile(`^[^\s@]+@[^\s@]+$`)

// Any tells whether there is a user, so that logging in takes an email.
func Any(ctx context.Context, db DB) (bool, error) {
	rows, err := db.Query(ctx, anyUser)
	if err != nil {
		return false, fmt.Errorf("look for users: %w", err)
	}
	is, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
	if err != nil {
		return false, fmt.Errorf("look for users: %w", err)
	}
	return is, nil
}

// List returns all users, sorted by email.
func List(ctx context.Context, db DB) ([]User, error) { return collect(ctx, db, selectUsers, nil) }

// Find is the user with an email, or ErrUnknown.
func Find(ctx context.Context, db DB, email string) (*User, error) {
	found, err := collect(ctx, db, userByEmail, postgres.Args{"email": Email(email)})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrUnknown, Email(email))
	}
	return &found[0], nil
}

func collect(ctx context.Context, db DB, sql string, args postgres.Args) ([]User, error) {
	var given []any
	if args != nil {
		given = []any{args}
	}
	rows, err := db.Query(ctx, sql, given...)
	if err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	users, err := pgx.CollectRows(rows, pgx.RowToStructByName[User])
	if err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	return users, nil
}

// state is what the audit trail says of a user after each change. verify compares the user with it, so a user that was
// made or changed by hand is found. The digests prove values, and reveal none.
type state struct {
	Email    string `json:"email"`
	Role     Role   `json:"role"`
	Disabled bool   `json:"disabled"`
	Password string `json:"password"`
	Initial  bool   `json:"initial"`
	TOTP     string `json:"totp"`
	Recovery string `json:"recovery"`
}

func (u *User) state() state {
	s := state{
		Email:    u.Email,
		Role:     u.Role,
		Disabled: u.DisabledAt != nil,
		Password: digest(u.PasswordHash),
		Initial:  u.PasswordInitial,
		Recovery: digest(strings.Join(u.RecoveryCodes, ",")),
	}
	if u.TOTPSecret != nil {
		s.TOTP = digest(*u.TOTPSecret)
	}
	return s
}

func (u *User) record(ctx context.Context, tx pgx.Tx, by By, operation string) error {
	return audit.RecordOperator(ctx, tx, audit.OperatorAct{
		User:      by.Actor,
		Address:   by.Address,
		Operation: operation,
		ObjectID:  u.ID,
		Details:   u.state(),
	})
}

// Create makes a user and returns the first password, which the user must change at the first login.
func Create(ctx context.Context, db DB, by By, email string, role Role) (user *User, password string, err error) {
	email = Email(email)
	switch {
	case !emailShape.MatchString(email):
		return nil, "", ErrEmail
	case !role.Known():
		return nil, "", ErrRole
	}
	password = newPassword()
	user = &User{ID: id.New("usr", time.Now()), Email: email, Role: role, PasswordHash: hashPassword(password),
		PasswordInitial: true}
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, insertUser, postgres.Args{"id": user.ID, "email": email, "role": string(role),
			"password_hash": user.PasswordHash})
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("%w: %s", ErrExists, email)
		}
		return user.record(ctx, tx, by, "user.create")
	})
	if err != nil {
		return nil, "", fmt.Errorf("create a user: %w", err)
	}
	return user, password, nil
}

// SetRole changes a user's role and writes an audit row. It returns ErrRole for a role that does not exist.
func SetRole(ctx context.Context, db DB, by By, userID string, role Role) error {
	if !role.Known() {
		return ErrRole
	}
	return change(ctx, db, by, userID, "user.role", func(u *User) error { u.Role = role; return nil })
}

// Disable ends a user's sessions, and keeps the user from logging in.
func Disable(ctx context.Context, db DB, by By, userID string) error {
	return change(ctx, db, by, userID, "user.disable", func(u *User) error {
		now := time.Now()
		u.DisabledAt = &now
		return nil
	})
}

// Enable lets a disabled user log in again.
func Enable(ctx context.Context, db DB, by By, userID string) error {
	return change(ctx, db, by, userID, "user.enable", func(u *User) error { u.DisabledAt = nil; return nil })
}

// ResetPassword gives a user a new first password, and ends the user's sessions.
func ResetPassword(ctx context.Context, db DB, by By, userID string) (password string, err error) {
	password = newPassword()
	hash := hashPassword(password)
	return password, change(ctx, db, by, userID, "user.password", func(u *User) error {
		u.PasswordHash, u.PasswordInitial = hash, true
		return nil
	})
}

// ErrWrongPassword says that the present password is another one.
var ErrWrongPassword = errors.New("wrong password")

// ChangePassword gives a user a password of the user's own, and ends the user's other sessions.
func ChangePassword(ctx context.Context, db DB, by By, session *Session, present, next string) error {
	u := session.User
	if !matches(present, u.PasswordHash) {
		return ErrWrongPassword
	}
	if err := CheckPassword(next, u.Email); err != nil {
		return err
	}
	hash, was := hashPassword(next), u.PasswordHash
	return changeBut(ctx, db, by, u.ID, session.ID, "user.password", func(u *User) error {
		if u.PasswordHash != was {
			return ErrWrongPassword // it was changed meanwhile
		}
		u.PasswordHash, u.PasswordInitial = hash, false
		return nil
	})
}

// ResetTOTP removes a user's second factor, and ends the user's sessions.
func ResetTOTP(ctx context.Context, db DB, by By, userID string) error {
	return change(ctx, db, by, userID, "user.totp_reset", func(u *User) error {
		u.TOTPSecret, u.RecoveryCodes = nil, nil
		return nil
	})
}

// Operations that leave the user's sessions alone.
var keepsSessions = map[string]bool{"user.seal": true, "user.enable": true, "user.role": true, "user.code": true}

func change(ctx context.Context, db DB, by By, userID, operation string, do func(*User) error) error {
	return changeBut(ctx, db, by, userID, "", operation, do)
}

// changeBut changes a user and writes the audit row. All the user's sessions end, but one.
func changeBut(
	ctx context.Context, db DB, by By, userID, but, operation string, do func(*User) error,
) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		administrators, err := lock(ctx, tx)
		if err != nil {
			return err
		}
		found, err := collect(ctx, tx, lockUser, postgres.Args{"id": userID})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("%w: %s", ErrUnknown, userID)
		}
		u := &found[0]
		if err := do(u); err != nil {
			return err
		}
		last := len(administrators) == 1 && administrators[0] == u.ID
		if last && (u.Role != Administer || u.DisabledAt != nil) {
			return ErrLast
		}
		if err := u.save(ctx, tx); err != nil {
			return err
		}
		if !keepsSessions[operation] {
			if err := EndAll(ctx, tx, u.ID, but); err != nil {
				return err
			}
		}
		return u.record(ctx, tx, by, operation)
	})
}

func lock(ctx context.Context, tx pgx.Tx) (administrators []string, err error) {
	rows, err := tx.Query(ctx, lockAdministrators)
	if err != nil {
		return nil, fmt.Errorf("lock the administrators: %w", err)
	}
	administrators, err = pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("lock the administrators: %w", err)
	}
	return administrators, nil
}

func (u *User) save(ctx context.Context, tx pgx.Tx) error {
	if u.RecoveryCodes == nil {
		u.RecoveryCodes = []string{}
	}
	_, err := tx.Exec(ctx, updateUser, postgres.Args{
		"id":               u.ID,
		"role":             string(u.Role),
		"password_hash":    u.PasswordHash,
		"password_initial": u.PasswordInitial,
		"totp_secret":      u.TOTPSecret,
		"totp_step":        u.TOTPStep,
		"recovery_codes":   u.RecoveryCodes,
		"disabled_at":      u.DisabledAt,
	})
	if err != nil {
		return fmt.Errorf("change a user: %w", err)
	}
	return nil
}

// EndSessions logs a user out everywhere, with an audit row.
func EndSessions(ctx context.Context, db DB, by By, userID string) error {
	return change(ctx, db, by, userID, "user.end_sessions", func(*User) error { return nil })
}

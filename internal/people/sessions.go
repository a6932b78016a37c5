package people

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// How long a session lasts. Idle is for a browser that was left open, Absolute for a cookie that was stolen, and
// Halfway for the second factor to be typed.
const (
	Idle     = 30 * time.Minute
	Absolute = 12 * time.Hour
	Halfway  = 10 * time.Minute
)

// Installation is the actor who gave the password of the installation.
const Installation = "dashboard"

// Session is what a browser's cookie opens.
type Session struct {
	ID        string
	Complete  bool // false: the second factor is missing
	Address   string
	Browser   string
	BeganAt   time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
	User      *User // nil: the password of the installation was given
}

// Actor is who the audit trail names for what is done in the session.
func (s *Session) Actor() string {
	if s.User == nil {
		return Installation
	}
	return s.User.Email
}

// Role is the user's role. A session without a user, which an operator opened in a terminal, administers.
func (s *Session) Role() Role {
	if s.User == nil {
		return Administer
	}
	return s.User.Role
}

// Visit is the browser that begins a session.
type Visit struct{ Address, Browser string }

const insertSession = `
	INSERT INTO user_sessions (id, user_id, hash, complete, address, browser, began_at, seen_at, expires_at)
	SELECT @id, nullif(@user_id, ''), @hash, @complete, @address, @browser, now, now, now + @lasts::interval
	FROM (SELECT clock_timestamp() AS now) clock`

// Authenticate is the user with an email and a password, or nil. It takes the same time if the user does not exist.
func Authenticate(ctx context.Context, db DB, email, password string) (*User, error) {
	found, err := collect(ctx, db, userByEmail, postgres.Args{"email": Email(email)})
	if err != nil {
		return nil, err
	}
	hash := unknownHash()
	if len(found) == 1 {
		hash = found[0].PasswordHash
	}
	if !matches(password, hash) || len(found) == 0 || found[0].DisabledAt != nil {
		return nil, nil
	}
	return &found[0], nil
}

// Begin begins a session and returns the value of its cookie. A user of nil gave the password of the installation. A
// session that is complete is a login, and has an audit row.
func Begin(
	ctx context.Context, db DB, key []byte, user *User, complete bool, visit Visit,
) (token string, err error) {
	token = rand.Text() + rand.Text()
	s := Session{ID: id.New("uses", time.Now()), User: user}
	args := postgres.Args{"id": s.ID, "user_id": "", "hash": hashToken(key, token), "complete": complete,
		"address": visit.Address, "browser": visit.Browser, "lasts": Absolute}
	if user != nil {
		args["user_id"] = user.ID
	}
	if !complete {
		args["lasts"] = Halfway
	}
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, insertSession, args); err != nil || !complete {
			return err
		}
		return RecordLogin(ctx, tx, By{s.Actor(), visit.Address}, s.ID, http.StatusOK)
	})
	if err != nil {
		return "", fmt.Errorf("begin a session: %w", err)
	}
	return token, nil
}

// RecordLogin writes the audit row of a login, or of one that was refused.
func RecordLogin(ctx context.Context, tx pgx.Tx, by By, sessionID string, status int) error {
	operation := "dashboard.login"
	if status != http.StatusOK {
		operation = "dashboard.login_refused"
	}
	return record(ctx, tx, by, operation, sessionID, status)
}

func record(ctx context.Context, tx pgx.Tx, by By, operation, sessionID string, status int) error {
	return audit.RecordOperator(ctx, tx, audit.OperatorAct{
		User:      by.Actor,
		Address:   by.Address,
		Operation: operation,
		ObjectID:  sessionID,
		Status:    status,
		Details:   map[string]any{},
	})
}

func hashToken(key []byte, token string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(token))
	return mac.Sum(nil)
}

// The database's clock decides. A session of the installation's password ends when there is a user.
const openSession = `
	FROM user_sessions s LEFT JOIN users u ON u.id = s.user_id
	WHERE s.ended_at IS NULL AND s.expires_at > clock_timestamp() AND s.seen_at > clock_timestamp() - @idle::interval
	  AND u.disabled_at IS NULL AND (s.user_id IS NOT NULL OR NOT EXISTS (SELECT FROM users))`

const sessionColumns = `s.id, s.complete, s.address, s.browser, s.began_at, s.seen_at, s.expires_at,
	coalesce(s.user_id, '') AS user_id`

const (
	sessionByHash  = `SELECT ` + sessionColumns + openSession + ` AND s.hash = ANY (@hashes::bytea[])`
	sessionsOfUser = `SELECT ` + sessionColumns + openSession + ` AND s.complete AND s.user_id = @user_id
		ORDER BY s.seen_at DESC`
	userByID = `SELECT ` + userColumns + ` FROM users WHERE id = @id`

	// Not at every request: a row is written once a minute.
	touchSession = `
		UPDATE user_sessions SET seen_at = clock_timestamp()
		WHERE id = @id AND seen_at < clock_timestamp() - interval '1 minute'`

	endSession = `
		UPDATE user_sessions SET ended_at = clock_timestamp()
		WHERE id = @id AND ended_at IS NULL AND (@user_id = '' OR user_id = @user_id)`

	endSessions = `
		UPDATE user_sessions SET ended_at = clock_timestamp()
		WHERE user_id = @user_id AND ended_at IS NULL AND id <> @but`

	// An operator who suspects something has a week to look at the addresses.
	removeSessions = `
		DELETE FROM user_sessions
		WHERE least(ended_at, expires_at, seen_at + @idle::interval) < clock_timestamp() - interval '7 days'`
)

type sessionRow struct {
	ID        string
	Complete  bool
	Address   string
	Browser   string
	BeganAt   time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
	UserID    string
}

func (r sessionRow) session(u *User) Session {
	return Session{ID: r.ID, Complete: r.Complete, Address: r.Address, Browser: r.Browser, BeganAt: r.BeganAt,
		SeenAt: r.SeenAt, ExpiresAt: r.ExpiresAt, User: u}
}

// Open is the session that a cookie opens, or nil. It may have begun under any of the keys.
func Open(ctx context.Context, db DB, keys [][]byte, token string) (*Session, error) {
	var hashes [][]byte
	for _, key := range keys {
		hashes = append(hashes, hashToken(key, token))
	}
	found, err := sessions(ctx, db, sessionByHash, postgres.Args{"hashes": hashes, "idle": Idle})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if found[0].UserID == "" {
		s := found[0].session(nil)
		return &s, nil
	}
	users, err := collect(ctx, db, userByID, postgres.Args{"id": found[0].UserID})
	if err != nil || len(users) == 0 {
		return nil, err
	}
	s := found[0].session(&users[0])
	return &s, nil
}

// Sessions are those of a user that are open, the latest first.
func Sessions(ctx context.Context, db DB, u *User) (all []Session, err error) {
	found, err := sessions(ctx, db, sessionsOfUser, postgres.Args{"user_id": u.ID, "idle": Idle})
	for _, row := range found {
		all = append(all, row.session(u))
	}
	return all, err
}

func sessions(ctx context.Context, db DB, sql string, args postgres.Args) ([]sessionRow, error) {
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[sessionRow])
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	return found, nil
}

// Touch says that a session is used: it does not end as idle.
func Touch(ctx context.Context, db DB, sessionID string) error {
	return exec(ctx, db, touchSession, postgres.Args{"id": sessionID})
}

// End ends a session: of one user, if userID is not "".
func End(ctx context.Context, db DB, sessionID, userID string) error {
	return exec(ctx, db, endSession, postgres.Args{"id": sessionID, "user_id": userID})
}

// LogOut ends a session because a person asked for it, and leaves an audit row: of one user, if userID is not "".
func LogOut(ctx context.Context, db DB, by By, sessionID, userID string) error {
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, endSession, postgres.Args{"id": sessionID, "user_id": userID})
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return record(ctx, tx, by, "dashboard.logout", sessionID, http.StatusOK)
	})
	if err != nil {
		return fmt.Errorf("log out: %w", err)
	}
	return nil
}

// EndAll ends all sessions of a user, but one.
func EndAll(ctx context.Context, db DB, userID, but string) error {
	return exec(ctx, db, endSessions, postgres.Args{"user_id": userID, "but": but})
}

func exec(ctx context.Context, db DB, sql string, args postgres.Args) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sql, args); err != nil {
			return fmt.Errorf("change a session: %w", err)
		}
		return nil
	})
}

// RemoveEnded deletes sessions that ended a week ago.
func RemoveEnded(ctx context.Context, db DB) (removed int, err error) {
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, removeSessions, postgres.Args{"idle": Idle})
		removed = int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("remove ended sessions: %w", err)
	}
	return removed, nil
}

package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The SQLSTATEs this package decides by.
const (
	foreignKeyViolation    = "23503"
	uniqueViolation        = "23505"
	undefinedTable         = "42P01"
	undefinedColumn        = "42703"
	serializationFailure   = "40001"
	completionUnknown      = "40003"
	deadlockDetected       = "40P01"
	adminShutdown          = "57P01"
	crashShutdown          = "57P02"
	cannotConnectNow       = "57P03"
	queryCanceled          = "57014" // by statement_timeout, or by a person
	lockNotAvailable       = "55P03" // lock_timeout: another session kept the lock for too long
	featureNotSupported    = "0A000" // also a prepared statement whose columns a migration has changed
	readOnly               = "25006" // a standby, or a server that an administrator has closed for writing
	idleTooLong            = "25P03" // inside a transaction: idleInTransactionTimeout has ended the session
	connectionProblemClass = "08"
	noRoomClass            = "53" // on disk, in memory, for one more connection
)

// Code is the SQLSTATE the server answered with, or "" if err is no answer of the server.
func Code(err error) string {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return ""
	}
	return answer.Code
}

// IsUniqueViolation reports whether the named unique constraint or index refused the row.
func IsUniqueViolation(err error, constraint string) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == uniqueViolation && answer.ConstraintName == constraint
}

// IsForeignKeyViolation reports whether the row refers to one that does not exist.
func IsForeignKeyViolation(err error) bool { return Code(err) == foreignKeyViolation }

// LacksSchema reports whether the statement uses a table or column that does not exist.
func LacksSchema(err error) bool {
	code := Code(err)
	return code == undefinedTable || code == undefinedColumn
}

// IsRetryable reports whether the server rolled the transaction back only
// because of who else was running: the same transaction may succeed if run again
// from its first statement.
func IsRetryable(err error) bool {
	code := Code(err)
	return code == serializationFailure || code == deadlockDetected || IsStalePlan(err)
}

// IsStalePlan reports whether a migration has changed the columns of a statement
// that this session had prepared. Nothing was done. The driver prepares the
// statement again before its next use.
func IsStalePlan(err error) bool {
	// The server's message is translated; the name of its function is not.
	const planCheck = "RevalidateCachedQuery"
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == featureNotSupported && answer.Routine == planCheck
}

// IsLockTimeout reports whether another session kept a lock for longer than the
// statement was willing to wait.
func IsLockTimeout(err error) bool { return Code(err) == lockNotAvailable }

// ConnectionLost reports whether err leaves it unknown what became of a
// statement that was sent, COMMIT above all: it may have happened, it may
// not, and it may be happening now. Only give it errors that came from the
// driver; it takes everything it does not know for a loss.
//
// pgconn.SafeToRetry answers another question (did the client write any byte?)
// and must not be used in its place: it is about a connection, not about what
// a caller did before on that connection.
func ConnectionLost(err error) bool {
	if err == nil {
		return false
	}
	// Answers that the driver words itself. ErrTxCommitRollback is the server
	// saying ROLLBACK to a COMMIT: nothing happened, and that is known.
	for _, known := range []error{pgx.ErrNoRows, pgx.ErrTooManyRows, pgx.ErrTxClosed, pgx.ErrTxCommitRollback} {
		if errors.Is(err, known) {
			return false
		}
	}

	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return true
	}
	switch answer.Code {
	case adminShutdown, crashShutdown, cannotConnectNow, completionUnknown, idleTooLong:
		return true
	}
	return strings.HasPrefix(answer.Code, connectionProblemClass)
}

// IsTransient reports whether err says that the server cannot run any statement
// now: it is starting, stopping, full, read-only or unreachable, or it timed out.
// Nothing is wrong with the statement.
func IsTransient(err error) bool {
	if code := Code(err); code != "" {
		switch code {
		case adminShutdown, crashShutdown, cannotConnectNow, readOnly, queryCanceled, lockNotAvailable:
			return true
		}
		return IsRetryable(err) || strings.HasPrefix(code, connectionProblemClass) ||
			strings.HasPrefix(code, noRoomClass)
	}
	var dialed *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &dialed) || errors.As(err, &network) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, context.DeadlineExceeded)
}

package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// OperatorAct is something a person did with the command line instead of the API.
type OperatorAct struct {
	User      string // of the operating system; the trail shows "operator:" before it
	Operation string // such as "request.release"
	AccountID string
	Livemode  bool
	RequestID string // the request the operator acted on; if empty, the act gets a new id
	Key       string // idempotency key of that request
	ObjectID  string // what it made or changed
	Address   string // of the person's machine, if that is known
	Status    int    // 0: http.StatusOK
	Details   any    // the decision and its grounds; must encode as JSON, and hold no secret
}

// Operator is who works at this machine, for the trail: the user of the operating system.
func Operator() string {
	u, err := user.Current()
	if err != nil {
		return "uid " + strconv.Itoa(os.Getuid()) // a container without /etc/passwd
	}
	return u.Username
}

// RecordOperator writes the audit row of what a person did. It belongs into the
// transaction that does it.
func RecordOperator(ctx context.Context, tx pgx.Tx, act OperatorAct) error {
	return recordUnasked(ctx, tx, "operator:"+act.User, act)
}

// ActorInbox is who raises an alarm in the trail.
const ActorInbox = "inbox"

// RecordAlarm writes an audit row for an event that no user caused and that an
// operator should know about. It ignores User.
func RecordAlarm(ctx context.Context, tx pgx.Tx, alarm OperatorAct) error {
	return recordUnasked(ctx, tx, ActorInbox, alarm)
}

// recordUnasked writes a row that belongs to no request.
func recordUnasked(ctx context.Context, tx pgx.Tx, actor string, act OperatorAct) error {
	details, err := json.Marshal(act.Details)
	if err != nil {
		return fmt.Errorf("encode audit details: %w", err)
	}
	var now time.Time
	err = tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
	if err != nil {
		return fmt.Errorf("read the time: %w", err)
	}
	if act.RequestID == "" {
		act.RequestID = id.New("op", now)
	}
	if act.Status == 0 {
		act.Status = http.StatusOK
	}
	row := newRow(event{now, act.AccountID, act.Livemode, act.RequestID}, act.Operation, act.ObjectID, details)
	row.IdempotencyKey = orNull(act.Key)
	row.Actor = actor
	row.Address = orNull(act.Address)
	row.Status = int16(act.Status)
	_, err = tx.Exec(ctx, insertEvents, postgres.RowsOf(row))
	if err != nil {
		return fmt.Errorf("write audit row: %w", err)
	}
	return nil
}

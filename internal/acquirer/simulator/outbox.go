package simulator

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// A notification is written in the transaction of the change it reports. One in
// four is held back for a moment, so that a later one may overtake it, and one in
// four is sent again after it was acknowledged: both happen with real acquirers,
// and a receiver has to cope with them.
const insertNotices = `
	INSERT INTO acquirer.outbox (id, kind, authorization_id, body, at, due_at, repeats)
	SELECT id, kind, authorization_id, body, @at::timestamptz,
	       @at::timestamptz + CASE WHEN random() < 0.25 THEN interval '300 ms' ELSE interval '0' END,
	       CASE WHEN random() < 0.25 THEN 1 ELSE 0 END
	FROM unnest(@ids::text[], @kinds::text[], @authorizations::text[], @bodies::bytea[]) AS new (id, kind,
	    authorization_id, body)`

// letters are notices turned into the arrays that insertNotices takes.
type letters struct {
	ids, kinds     []string
	authorizations []*string
	bodies         [][]byte
}

// add writes a notice about a payment, or with nil about many, and returns its bytes.
func (l *letters) add(id, kind string, authorization *string, notice any) ([]byte, error) {
	body, err := json.Marshal(notice)
	if err != nil {
		return nil, err
	}
	l.ids = append(l.ids, id)
	l.kinds = append(l.kinds, kind)
	l.authorizations = append(l.authorizations, authorization)
	l.bodies = append(l.bodies, body)
	return body, nil
}

func (l *letters) queue(changes *pgx.Batch, at time.Time) {
	if len(l.ids) > 0 {
		changes.Queue(insertNotices, postgres.Args{
			"at":             at,
			"ids":            l.ids,
			"kinds":          l.kinds,
			"authorizations": l.authorizations,
			"bodies":         l.bodies,
		})
	}
}

// notice is a row of the outbox that is being sent.
type notice struct {
	Number int64
	Body   []byte
}

// A sender that takes a notice has it until its next attempt is due: a sender that
// dies in between costs a pause, not the notice.
const takeNotices = `
	UPDATE acquirer.outbox
	SET attempts = attempts + 1,
	    due_at = now() + least(interval '250 ms' * 2 ^ least(attempts, 16), interval '5 minutes')
	WHERE number IN (
		SELECT number FROM acquirer.outbox
		WHERE acknowledged_at IS NULL AND due_at <= now() - @delay::interval
		ORDER BY due_at LIMIT @limit
		FOR UPDATE SKIP LOCKED)
	RETURNING number, body`

const acknowledgeNotices = `
	UPDATE acquirer.outbox
	SET acknowledged_at = CASE WHEN repeats = 0 THEN now() END, repeats = greatest(repeats - 1, 0), attempts = 0,
	    due_at = now()
	WHERE number = ANY(@numbers)`

func (a *announcer) take(ctx context.Context) ([]notice, error) {
	rows, err := a.pool.Query(ctx, takeNotices, postgres.Args{"delay": a.delay, "limit": atOnce})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[notice])
}

// acknowledge notes the notices that are acknowledged, as many together as have
// come while it noted the ones before, until no more can come.
func (a *announcer) acknowledge(ctx context.Context, acknowledged <-chan int64) {
	for number := range acknowledged {
		numbers := []int64{number}
		for waiting := true; waiting; {
			select {
			case next, open := <-acknowledged:
				if waiting = open; open {
					numbers = append(numbers, next)
				}
			default:
				waiting = false
			}
		}
		_, err := a.pool.Exec(ctx, acknowledgeNotices, postgres.Args{"numbers": numbers})
		a.complain(ctx, "note acknowledgments", err)
	}
}

const countUnacknowledged = `SELECT count(*) FROM acquirer.outbox WHERE acknowledged_at IS NULL`

const selectUnacknowledged = `
	SELECT DISTINCT authorization_id FROM acquirer.outbox
	WHERE acknowledged_at IS NULL AND kind <> 'batch.settled'`

// Unacknowledged lists the authorizations of which the acquirer knows something that it
// has not got across yet.
func Unacknowledged(ctx context.Context, db Queryer) ([]string, error) {
	rows, err := db.Query(ctx, selectUnacknowledged)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

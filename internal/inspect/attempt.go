package inspect

import (
	"context"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Attempt is one driver's time with a request.
type Attempt struct {
	Epoch   int32
	From    time.Time
	Until   *time.Time // nil while it lasts
	Stood   string     // the recovery point it began at; "" for the first
	End     End
	Refused *time.Time // when its process came back and the fence refused its commit; nil: it did not
	Host    *string    // nil if it was not recorded: an undisturbed request leaves no name
	PID     *int32
	Kind    *string // of the process: serve, work; nil as soon as its row among the workers is gone
}

// End is how an attempt ended.
type End string

const (
	Ended     End = "finished"  // with an outcome
	Died      End = "died"      // its process stopped renewing its liveness, and did not come back
	Stalled   End = "stalled"   // the same, but its process came back after another one had taken over
	Parked    End = "parked"    // without an outcome; a worker tries again later
	Executing End = "executing" // it has not ended
	Waiting   End = "held"      // a person has to decide
)

// WentSilent says whether the attempt ended because its process stopped renewing its liveness.
func (a Attempt) WentSilent() bool { return a.End == Died || a.End == Stalled }

type takeover struct {
	Epoch      int32
	At         time.Time
	Was        string
	Point      string
	LostByHost *string
	LostByPID  *int32 `db:"lost_by_pid"`
	LostByKind *string
	SeenUntil  *time.Time
	CameBack   bool // its process has renewed its liveness since
	RefusedAt  *time.Time
	OwnerHost  *string
	OwnerPID   *int32 `db:"owner_pid"`
	OwnerKind  *string
}

// A process that renews its liveness sets it ahead by the time it lasts: what is later was
// renewed after the takeover.
const takeovers = `
	SELECT t.epoch, t.at, t.was, t.point, t.lost_by_host, t.lost_by_pid, l.kind AS lost_by_kind, t.seen_until,
	       coalesce(l.alive_until > t.at + @alive_for::interval, false) AS came_back, f.at AS refused_at,
	       t.owner_host, t.owner_pid, o.kind AS owner_kind
	FROM takeovers t
	LEFT JOIN fence_refusals f ON f.account_id = t.account_id AND f.request_id = t.request_id AND f.epoch = t.epoch
	LEFT JOIN workers l ON l.id = t.lost_by
	LEFT JOIN workers o ON o.id = t.owner
	WHERE t.account_id = @account_id AND t.request_id = @id
	ORDER BY t.epoch`

func attempts(ctx context.Context, db idempotency.Reader, of idempotency.Summary) ([]Attempt, error) {
	taken, err := rows[takeover](ctx, db, takeovers, postgres.Args{"account_id": of.AccountID, "id": of.ID,
		"alive_for": idempotency.AliveFor})
	if err != nil {
		return nil, err
	}
	return lanes(of, taken), nil
}

// lastHeartbeat is when a lost driver last renewed its liveness. The moment of its crash is
// unknown, and this is the best estimate. It cannot have crashed before it began.
func lastHeartbeat(began time.Time, t takeover) *time.Time {
	if t.SeenUntil == nil {
		return &t.At
	}
	seen := t.SeenUntil.Add(-idempotency.AliveFor)
	switch {
	case seen.After(t.At):
		return &t.At
	case seen.Before(began):
		return &began
	}
	return &seen
}

// outliveDeeds moves the end of an attempt behind everything the process is known to have
// done: its last heartbeat may be older than that.
func (r *Request) outliveDeeds() {
	for i := range r.Attempts {
		a := &r.Attempts[i]
		if !a.WentSilent() || a.Until == nil {
			continue
		}
		later := func(did time.Time) {
			if did.After(*a.Until) {
				a.Until = &did
			}
		}
		for _, s := range r.RecoveryPoints {
			if s.ReachedAt != nil && s.Epoch == a.Epoch {
				later(*s.ReachedAt)
			}
		}
		for _, c := range r.Calls {
			if i+1 == len(r.Attempts) || c.SentAt.Before(r.Attempts[i+1].From) {
				later(c.SentAt)
			}
		}
	}
}

// lanes turns takeovers, which are the moments between attempts, into the
// attempts themselves.
func lanes(of idempotency.Summary, taken []takeover) []Attempt {
	all := []Attempt{{Epoch: 1, From: of.CreatedAt}}
	for _, t := range taken {
		last := &all[len(all)-1]
		last.Until, last.End = &t.At, Parked
		if t.Was == idempotency.Running {
			last.End, last.Host, last.PID, last.Kind = Died, t.LostByHost, t.LostByPID, t.LostByKind
			last.Until, last.Refused = lastHeartbeat(last.From, t), t.RefusedAt
			if t.CameBack || t.RefusedAt != nil {
				last.End = Stalled
			}
		}
		all = append(all,
			Attempt{Epoch: t.Epoch, From: t.At, Stood: t.Point, Host: t.OwnerHost, PID: t.OwnerPID, Kind: t.OwnerKind})
	}
	last := &all[len(all)-1]
	switch of.State {
	case idempotency.Running:
		last.End, last.Host, last.PID = Executing, of.OwnerHost, of.OwnerPID
		if !of.Executing {
			last.End = Died
		}
	case idempotency.Parked:
		last.End = Parked
	case idempotency.Held:
		last.End = Waiting
	default:
		last.End, last.Until = Ended, of.FinishedAt
	}
	return all
}

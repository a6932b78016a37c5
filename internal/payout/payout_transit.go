package payout

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// They are taken in any order, so that those that keep failing do not keep out the others.
const payoutsDue = `WITH ` + resource.WithClocks + `
	SELECT p.account_id, p.livemode, ` + resource.MerchantColumns + `, coalesce(k.ahead, interval '0') AS ahead, p.id,
	       p.status
	FROM payouts p
	JOIN accounts a ON a.id = p.account_id
	LEFT JOIN clocks k ON k.account_id = p.account_id AND NOT p.livemode
	WHERE p.locked_by IS NULL AND p.status IN ('pending', 'in_transit')
	  AND CASE p.status WHEN 'pending' THEN p.departs_at ELSE p.arrives_at END <= clock_timestamp() + coalesce(k.ahead,
	      interval '0')
	ORDER BY random() LIMIT @limit`

// MovePayouts takes every payout whose time has come a step on: into transit, or
// to its arrival. Like all jobs it says how many things were due.
func MovePayouts(ctx context.Context, e *phase.Engine, db *pgxpool.Pool) (done int, err error) {
	type due struct {
		resource.Task
		ID, Status string
	}
	found, err := resource.QueryDue[due](ctx, db, payoutsDue)
	if err != nil {
		return 0, err
	}
	return resource.ForEach(ctx, found, func(p due) error {
		if p.Status == payoutPending {
			return resource.RunJob(ctx, e, DepartPayout, p.Task, "departure of "+p.ID, payoutID{p.ID})
		}
		return resource.RunJob(ctx, e, ArrivePayout, p.Task, "arrival of "+p.ID, payoutID{p.ID})
	})
}

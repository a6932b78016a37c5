package payout

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// The day is the last one of the schedule. A worker that was down on it pays later, but only if something was available
// when the day ended: what becomes available after that waits for the next day of the schedule.
//
// The sum over a book comes last: it is the only part that costs anything, and once the day's payout is made it is not
// asked for again. Without MATERIALIZED it comes first, for every book: a condition on one table alone is looked at
// before any join. The order is any, so that payouts that keep failing do not keep out the others.
const automaticPayoutsDue = `
	WITH unpaid AS MATERIALIZED (
		SELECT b.id AS book, b.account_id, b.livemode, ` + resource.MerchantColumns + `, t.ahead, b.currency, d.day,
		       least(clock_timestamp() + t.ahead, (d.day + 1)::timestamp AT TIME ZONE 'UTC') AS at
		FROM payout_schedules s
		JOIN accounts a ON a.id = s.account_id
		JOIN ledger_books b ON b.account_id = s.account_id AND b.livemode = s.livemode
		CROSS JOIN LATERAL (SELECT account_ahead(b.account_id, b.livemode) AS ahead) t
		CROSS JOIN LATERAL (
			SELECT max(x.day) AS day
			FROM (SELECT ((clock_timestamp() + t.ahead) AT TIME ZONE 'UTC')::date - back AS day
			      FROM generate_series(0, 31) back) x
			WHERE x.day >= s.since AND CASE s.frequency
			    WHEN 'daily' THEN true
			    WHEN 'weekly' THEN extract(isodow FROM x.day) = ANY (s.days)
			    ELSE extract(day FROM x.day) = ANY (s.days)
			        OR extract(day FROM x.day + 1) = 1 AND extract(day FROM x.day) < ANY (s.days)
			    END) d
		WHERE s.frequency <> 'manual' AND d.day IS NOT NULL
		  AND NOT EXISTS (SELECT FROM payouts p
		      WHERE p.account_id = b.account_id AND p.livemode = b.livemode AND p.currency = b.currency
		        AND p.automatic_on = d.day)
	)
	SELECT u.account_id, u.livemode, u.country, u.default_currency, u.statement_descriptor, u.payout_delay_days,
	       u.default_version, u.ahead, u.currency, u.day
	FROM (SELECT * FROM unpaid ORDER BY random()) u CROSS JOIN LATERAL ledger_balance(u.book, u.at) m
	WHERE m.available > 0
	LIMIT @limit`

// MakeAutomaticPayouts pays out all that is available, on the days of each account's schedule. The day is part of
// the key, and of a unique constraint.
func MakeAutomaticPayouts(ctx context.Context, e *phase.Engine, db *pgxpool.Pool) (done int, err error) {
	type due struct {
		resource.Task
		Currency string
		Day      time.Time
	}
	found, err := resource.QueryWithTimeout[due](ctx, db, automaticPayoutsDue,
		pgx.StrictNamedArgs{"limit": resource.BatchSize})
	if err != nil {
		return 0, fmt.Errorf("find due payouts: %w", err)
	}
	return resource.ForEach(ctx, found, func(d due) error {
		key := fmt.Sprintf("payout of %s on %s", d.Currency, d.Day.Format(time.DateOnly))
		return resource.RunJob(ctx, e, PayOutAutomatically, d.Task, key, automaticPayout{d.Currency, d.Day})
	})
}

// automaticPayout says which automatic payout to make.
type automaticPayout struct {
	Currency string
	Day      time.Time // of the schedule, by the account's clock
}

// PayOutAutomatically pays out all that is available in a currency. It is CreatePayout
// but for the amount, which is what the sweep finds under the lock of the book. Its flow
// is named after the only schedule that there was once, because stored requests name it.
var PayOutAutomatically = phase.Define("payout.daily", 2,
	phase.Atomic(payoutRecorded, func(
		ctx context.Context, tx *phase.Tx, in automaticPayout, s *payoutState,
	) (phase.Outcome, error) {
		s.Payout = newPayout(tx, payoutStandard)
		amount, err := ledger.Sweep(ctx, tx, s.Payout.BalanceTransaction, s.Payout.ID, in.Currency)
		if err != nil {
			return phase.Outcome{}, err
		}
		if amount == 0 {
			// another worker was faster; nothing is stored, and the day is still free
			return phase.Outcome{}, apierror.Locked()
		}
		s.Payout.Amount = amount
		s.Payout.Currency = in.Currency
		s.Payout.AutomaticOn = &in.Day
		s.Payout.Description = resource.NilIfEmpty("STRIPE PAYOUT")
		s.Payout.insert(tx)
		return phase.Next, nil
	}),
	phase.Foreign(bankAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ automaticPayout, s *payoutState,
	) error {
		return sendPayout(ctx, call, s)
	}),
	phase.Atomic(payoutFinalized, func(
		ctx context.Context, tx *phase.Tx, _ automaticPayout, s *payoutState,
	) (phase.Outcome, error) {
		return finalizePayout(ctx, tx, nil, s)
	}),
)

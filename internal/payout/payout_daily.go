package payout

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// The sum over a book comes last: it is the only part that costs anything, and once
// the day's payout is made it is not asked for again. Without MATERIALIZED it comes
// first, for every book: a condition on one table alone is looked at before any join.
const dailyPayoutsDue = `
	WITH unpaid AS MATERIALIZED (
		SELECT b.id AS book, b.account_id, b.livemode, ` + resource.MerchantColumns + `, t.ahead, b.currency, t.day
		FROM accounts a
		JOIN ledger_books b ON b.account_id = a.id
		CROSS JOIN LATERAL (
			SELECT x.ahead, ((clock_timestamp() + x.ahead) AT TIME ZONE 'UTC')::date AS day
			FROM (SELECT account_ahead(b.account_id, b.livemode) AS ahead) x) t
		WHERE a.payout_schedule = 'daily'
		  AND NOT EXISTS (SELECT FROM payouts p
		      WHERE p.account_id = b.account_id AND p.livemode = b.livemode AND p.currency = b.currency
		        AND p.automatic_on = t.day)
	)
	SELECT account_id, livemode, country, default_currency, statement_descriptor, payout_delay_days, default_version,
	       ahead, currency, day
	FROM unpaid
	WHERE ledger_available(book) > 0
	LIMIT @limit`

// MakeDailyPayouts pays out all that is available, once a day, to the merchants
// who have asked for that. The day is part of the key, and of a unique constraint.
func MakeDailyPayouts(ctx context.Context, e *phase.Engine, db *pgxpool.Pool) (done int, err error) {
	type due struct {
		resource.Task
		Currency string
		Day      time.Time
	}
	found, err := resource.QueryDue[due](ctx, db, dailyPayoutsDue)
	if err != nil {
		return 0, err
	}
	return resource.ForEach(ctx, found, func(d due) error {
		key := fmt.Sprintf("payout of %s on %s", d.Currency, d.Day.Format(time.DateOnly))
		return resource.RunJob(ctx, e, PayOutDaily, d.Task, key, dailyPayout{d.Currency, d.Day})
	})
}

// dailyPayout says which automatic payout to make.
type dailyPayout struct {
	Currency string
	Day      time.Time // by the account's clock
}

// PayOutDaily pays out all that is available in a currency. It is CreatePayout
// but for the amount, which is what the sweep finds under the lock of the book.
var PayOutDaily = phase.Define("payout.daily", 2,
	phase.Atomic(payoutRecorded, func(
		ctx context.Context, tx *phase.Tx, in dailyPayout, s *payoutState,
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
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ dailyPayout, s *payoutState,
	) error {
		return askBank(ctx, call, s)
	}),
	phase.Atomic(payoutFinalized, func(
		ctx context.Context, tx *phase.Tx, _ dailyPayout, s *payoutState,
	) (phase.Outcome, error) {
		return finalizePayout(ctx, tx, nil, s)
	}),
)

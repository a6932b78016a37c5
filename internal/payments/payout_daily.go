package payments

import (
	"context"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// dailyPayout says which automatic payout to make.
type dailyPayout struct {
	Currency string
	Day      time.Time // by the account's clock
}

// PayOutDaily pays out all that is available in a currency. It is CreatePayout
// but for the amount, which is what the sweep finds under the lock of the book.
var PayOutDaily = phase.Define("payout.daily", 1,
	phase.Atomic(payoutRecorded, func(ctx context.Context, tx *phase.Tx, in dailyPayout, s *payoutState) (phase.Outcome, error) {
		s.Payout = newPayout(tx, payoutStandard)
		amount, err := ledger.Sweep(ctx, tx, s.Payout.BalanceTransaction, s.Payout.ID, in.Currency)
		if err != nil {
			return phase.Outcome{}, err
		}
		if amount == 0 {
			return phase.Outcome{}, apierror.Locked() // somebody else was faster; nothing is stored, and the day is still free
		}
		s.Payout.Amount, s.Payout.Currency, s.Payout.AutomaticOn, s.Payout.Description = amount, in.Currency, &in.Day, orNull("STRIPE PAYOUT")
		s.Payout.insert(tx)
		return phase.Next, nil
	}),
	phase.Foreign(bankAnswered, acquirer.Port, func(ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ dailyPayout, s *payoutState) error {
		return askBank(ctx, call, s)
	}),
	phase.Atomic(payoutSettled, func(ctx context.Context, tx *phase.Tx, _ dailyPayout, s *payoutState) (phase.Outcome, error) {
		return settlePayout(ctx, tx, nil, s)
	}),
)

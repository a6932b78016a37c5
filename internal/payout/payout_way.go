package payout

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// payoutID is all that a step on a payout's way needs to know.
type payoutID struct {
	ID string
}

// The recovery points on a payout's way.
const (
	payoutDeparted = "payout_departed"
	payoutArrived  = "payout_arrived"
)

// DepartPayout puts a payout into transit when its time has come: from now on it
// cannot be canceled.
var DepartPayout = phase.Define("payout.depart", 1,
	phase.Atomic(payoutDeparted, func(
		ctx context.Context, tx *phase.Tx, in payoutID, _ *struct{},
	) (phase.Outcome, error) {
		payout, err := payoutAt(ctx, tx, in.ID, payoutPending)
		if err != nil {
			return phase.Outcome{}, err
		}
		payout.Status = payoutInTransit
		payout.move(tx, payoutPending)
		event.Emit(tx, "payout.updated", payout.ID, payout.Render(), map[string]any{"status": payoutPending})
		return phase.OK(payout.ID, payout.Render()), nil
	}),
)

// ArrivePayout ends a payout on the day of its arrival and books the money as gone.
var ArrivePayout = phase.Define("payout.arrive", 1,
	phase.Atomic(payoutArrived, func(
		ctx context.Context, tx *phase.Tx, in payoutID, _ *struct{},
	) (phase.Outcome, error) {
		payout, err := payoutAt(ctx, tx, in.ID, payoutInTransit)
		if err != nil {
			return phase.Outcome{}, err
		}
		payout.arrive(tx)
		payout.move(tx, payoutInTransit)
		return phase.OK(payout.ID, payout.Render()), nil
	}),
)

// arrive books a payout's money as gone, or that of a reversal as fetched.
func (p *Payout) arrive(tx *phase.Tx) {
	posting := ledger.PayoutPaid(id.New("txn", tx.Now()), p.ID, p.Currency, p.Amount, tx.Now())
	if p.OriginalPayout != nil {
		posting = ledger.PayoutReversalPaid(posting.ID, p.ID, p.Currency, -p.Amount, tx.Now())
	}
	ledger.Post(tx, posting)
	p.Status = payoutPaid
	event.Emit(tx, "payout.paid", p.ID, p.Render(), nil)
	if p.AutomaticOn != nil {
		event.Emit(tx, "payout.reconciliation_completed", p.ID, p.Render(), nil)
	}
}

// payoutAt locks a payout that has to be in a state and not locked by another request. It
// stores nothing where it is not: the job will see it again.
func payoutAt(ctx context.Context, tx *phase.Tx, id, status string) (*Payout, error) {
	payout, err := lockedPayout(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	if payout.Status != status || payout.LockedBy != nil {
		return nil, apierror.Locked()
	}
	return payout, nil
}

package payout

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/balance"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// ReversePayoutParams are what POST /v1/payouts/{payout}/reverse takes.
type ReversePayoutParams struct {
	ID       string        `path:"payout"`
	Metadata form.Metadata `form:"metadata"`
	Expand   form.Expand   `form:"expand"`
}

type reversalState struct {
	payoutState        // the reversal, and what the bank says of it
	Original    Payout // what it reverses
}

// ReversePayout fetches a paid payout back from the bank. The reversal is a
// separate payout with a negative amount; its money is pending until it arrives.
var ReversePayout = phase.Define("payout.reverse", 2,
	phase.Atomic(recallRecorded, recordReversal),
	phase.Foreign(recallAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ ReversePayoutParams, s *reversalState,
	) error {
		return recallPayout(ctx, call, s.Original, &s.payoutState)
	}),
	phase.Atomic(recallFinalized, finalizeReversal),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *ReversePayoutParams) error {
	if _, err := in.Metadata.New(); err != nil {
		return err
	}
	return payoutExists(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
})

func recordReversal(
	ctx context.Context, tx *phase.Tx, in ReversePayoutParams, s *reversalState,
) (phase.Outcome, error) {
	original, err := lockedPayout(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if original.LockedBy != nil || original.Status == payoutNew {
		return phase.Outcome{}, apierror.Locked()
	}
	if refusal := original.refuseReversal(); refusal != nil {
		return phase.Refuse(original.ID, refusal), nil
	}
	metadata, err := in.Metadata.Apply(nil)
	if err != nil {
		return phase.Outcome{}, err
	}
	s.Original, s.Payout = *original, newPayout(tx, payoutStandard)
	s.Payout.Amount, s.Payout.Currency, s.Payout.Destination = -original.Amount, original.Currency, original.Destination
	s.Payout.OriginalPayout, s.Payout.Metadata = &original.ID, metadata
	original.reserve(tx)
	return phase.Next, nil
}

// refuseReversal says why a payout cannot be reversed, or nil.
func (p *Payout) refuseReversal() *apierror.Error {
	switch {
	case p.OriginalPayout != nil:
		return apierror.Invalid("", "Payout %s is itself a reversal and cannot be reversed.", p.ID)
	case p.ReversedBy != nil:
		return apierror.Invalid("", "Payout %s has already been reversed by %s.", p.ID, *p.ReversedBy)
	case p.Status == payoutPending:
		return apierror.Invalid("", "Payout %s is still pending: cancel it instead of reversing it.", p.ID)
	case p.Status != payoutPaid:
		return apierror.Invalid("", "Payout %s cannot be reversed: its status is %s, and only a paid payout can be.",
			p.ID, p.Status)
	}
	return nil
}

func finalizeReversal(
	ctx context.Context, tx *phase.Tx, in ReversePayoutParams, s *reversalState,
) (phase.Outcome, error) {
	original, err := lockedPayout(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if !s.Result.Approved {
		original.release(tx)
		return phase.Refuse(original.ID,
			apierror.Invalid("", "Payout %s could not be reversed: %s", original.ID, s.Result.Message)), nil
	}
	before := original.object()
	original.ReversedBy = &s.Payout.ID
	original.release(tx)
	previous, err := event.Changes(before, original.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	event.Emit(tx, "payout.updated", original.ID, original.Render(), previous)

	reversal := s.Payout
	reversal.insert(tx)
	fetch := ledger.PayoutReversal(reversal.BalanceTransaction, reversal.ID, reversal.Currency, -reversal.Amount,
		reversal.ArrivesAt)
	ledger.Post(tx, fetch)
	reversal.Status, reversal.BankReference = payoutPending, &s.Result.Reference
	reversal.move(tx, payoutNew)
	event.Emit(tx, "payout.created", reversal.ID, reversal.Render(), nil)
	return replyWithPayout(ctx, tx, in.Expand, &reversal, original, balance.BalanceTransactionOf(tx, fetch))
}

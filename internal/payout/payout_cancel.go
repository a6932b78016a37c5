package payout

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// CancelPayoutParams are what POST /v1/payouts/{payout}/cancel takes.
type CancelPayoutParams struct {
	ID     string      `path:"payout"`
	Expand form.Expand `form:"expand"`
}

// The recovery points of taking a payout back, before it has left or after.
const (
	recallRecorded  = "recall_recorded"
	recallAnswered  = "recall_answered"
	recallFinalized = "recall_finalized"
)

// CancelPayout takes a payout back before it leaves. The payout is marked before
// the bank is asked, so that it does not leave meanwhile.
var CancelPayout = phase.Define("payout.cancel", 2,
	phase.Atomic(recallRecorded, recordCancel),
	phase.Foreign(recallAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ CancelPayoutParams, s *payoutState,
	) error {
		return recallPayout(ctx, call, s.Payout, s)
	}),
	phase.Atomic(recallFinalized, finalizeCancel),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *CancelPayoutParams) error {
	return payoutExists(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
})

const reservePayout = `
	UPDATE payouts SET locked_by = @request_id WHERE account_id = @account_id AND id = @id AND locked_by IS NULL`

func (p *Payout) reserve(tx *phase.Tx) {
	tx.WriteOne(reservePayout, pgx.StrictNamedArgs{"account_id": p.AccountID, "id": p.ID, "request_id": tx.RequestID})
}

const releasePayout = `
	UPDATE payouts SET locked_by = NULL, reversed_by = @reversed_by
	WHERE account_id = @account_id AND id = @id AND locked_by = @request_id`

func (p *Payout) release(tx *phase.Tx) {
	tx.WriteOne(releasePayout, pgx.StrictNamedArgs{
		"account_id":  p.AccountID,
		"id":          p.ID,
		"request_id":  tx.RequestID,
		"reversed_by": p.ReversedBy,
	})
}

func recordCancel(ctx context.Context, tx *phase.Tx, in CancelPayoutParams, s *payoutState) (phase.Outcome, error) {
	payout, err := lockedPayout(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	switch {
	case payout.LockedBy != nil || payout.Status == payoutNew:
		return phase.Outcome{}, apierror.Locked()
	case payout.AutomaticOn != nil:
		return phase.Refuse(payout.ID,
			apierror.Invalid("", "Payout %s was made automatically and cannot be canceled.", payout.ID)), nil
	case payout.Status != payoutPending || payout.OriginalPayout != nil:
		return phase.Refuse(payout.ID,
			apierror.Invalid("", "Payout %s cannot be canceled: its status is %s, and only a pending payout can be.",
				payout.ID, payout.Status)), nil
	}
	payout.reserve(tx)
	s.Payout = *payout
	return phase.Next, nil
}

// recallPayout recalls all the money that a payout sent.
func recallPayout(
	ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], sent Payout, s *payoutState,
) (err error) {
	s.Result, err = call.To().Recall(ctx, call.Permit,
		acquirer.Order{Authorization: *sent.BankReference, Amount: sent.Amount, Currency: sent.Currency})
	return err
}

func finalizeCancel(ctx context.Context, tx *phase.Tx, in CancelPayoutParams, s *payoutState) (phase.Outcome, error) {
	payout, err := lockedPayout(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if !s.Result.Approved {
		payout.release(tx)
		return phase.Refuse(payout.ID,
			apierror.Invalid("", "Payout %s could not be canceled: %s", payout.ID, s.Result.Message)), nil
	}
	back := payout.returnToBalance(tx, payoutCanceled)
	payout.move(tx, payoutPending)
	event.Emit(tx, "payout.canceled", payout.ID, payout.Render(), nil)
	return replyWithPayout(ctx, tx, in.Expand, payout, back)
}

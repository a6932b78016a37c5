package dispute

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// CloseDisputeParams are what POST /v1/disputes/{dispute}/close takes.
type CloseDisputeParams struct {
	ID     string      `path:"dispute"`
	Expand form.Expand `form:"expand"`
}

// CloseChargeDisputeParams are what POST /v1/charges/{charge}/dispute/close takes.
type CloseChargeDisputeParams struct {
	Charge string      `path:"charge"`
	Expand form.Expand `form:"expand"`

	Found string // the charge's latest dispute
}

// The recovery points of giving a dispute up.
const (
	closeRecorded = "close_recorded"
	closeAnswered = "close_answered"
	disputeClosed = "dispute_closed"
)

// CloseDispute gives a dispute up: the cardholder keeps the money.
//
//	(nothing) ──▶ close_recorded ──▶ close_answered ──▶ dispute_closed
//	   claim + reserve         accept, no tx open      lost, answer
//
// The money was withdrawn when the dispute was opened, so nothing is posted.
var CloseDispute = closeBy[CloseDisputeParams]("dispute.close").Check(func(
	ctx context.Context, db phase.Reader, caller phase.Check, in *CloseDisputeParams,
) error {
	_, err := disputeOr404(resource.Get[Dispute](ctx, db, disputeByID, resource.PrincipalOfCheck(caller), in.ID))(in.ID)
	return err
})

// CloseChargeDispute is CloseDispute at the charge's own address.
var CloseChargeDispute = closeBy[CloseChargeDisputeParams]("charge.dispute.close").Check(func(
	ctx context.Context, db phase.Reader, caller phase.Check, in *CloseChargeDisputeParams,
) error {
	dispute, err := disputeOfCharge(ctx, db, resource.PrincipalOfCheck(caller), in.Charge)
	if err == nil {
		in.Found = dispute.ID
	}
	return err
})

func (in CloseDisputeParams) dispute() string           { return in.ID }
func (in CloseDisputeParams) expand() form.Expand       { return in.Expand }
func (in CloseChargeDisputeParams) dispute() string     { return in.Found }
func (in CloseChargeDisputeParams) expand() form.Expand { return in.Expand }

func closeBy[P interface {
	dispute() string
	expand() form.Expand
}](name string) *phase.Flow[P, disputeState] {
	return phase.Define(name, 1,
		phase.Atomic(closeRecorded, func(
			ctx context.Context, tx *phase.Tx, in P, s *disputeState,
		) (phase.Outcome, error) {
			return recordClose(ctx, tx, in.dispute(), s)
		}),
		phase.Foreign(closeAnswered, acquirer.Port, func(
			ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ P, s *disputeState,
		) error {
			return acceptDispute(ctx, call, s)
		}),
		phase.Atomic(disputeClosed, func(
			ctx context.Context, tx *phase.Tx, in P, s *disputeState,
		) (phase.Outcome, error) {
			return closeDispute(ctx, tx, in.expand(), s)
		}),
	)
}

func recordClose(ctx context.Context, tx *phase.Tx, id string, s *disputeState) (phase.Outcome, error) {
	dispute, err := lockedDispute(ctx, tx, id)
	if err != nil {
		return phase.Outcome{}, err
	}
	if dispute.LockedBy != nil {
		return phase.Outcome{}, apierror.Locked()
	}
	if !dispute.needsResponse() {
		return phase.Refuse(dispute.ID,
			apierror.Invalid("", "Dispute %s is %s and cannot be closed.", dispute.ID, dispute.Status)), nil
	}
	s.ID = dispute.ID
	s.Order = acquirer.Order{Dispute: dispute.AcquirerReference, Amount: dispute.Amount, Currency: dispute.Currency}
	dispute.LockedBy = &tx.RequestID
	dispute.change(tx, dispute.Status)
	return phase.Next, nil
}

func acceptDispute(ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], s *disputeState) (err error) {
	s.Result, err = call.To().AcceptDispute(ctx, call.Permit, s.Order)
	return err
}

// closeDispute records that the bank has it. A decision that arrived
// meanwhile stays: its event and its posting are written once.
func closeDispute(ctx context.Context, tx *phase.Tx, paths form.Expand, s *disputeState) (phase.Outcome, error) {
	dispute, err := lockedDispute(ctx, tx, s.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	before, status := dispute.object(), dispute.Status
	dispute.LockedBy = nil
	if !s.Result.Approved {
		dispute.change(tx, status)
		return phase.Refuse(dispute.ID,
			apierror.Invalid("", "Dispute %s could not be closed: %s", dispute.ID, s.Result.Message)), nil
	}
	if dispute.isClosed() {
		dispute.change(tx, status)
		return replyWithDispute(ctx, tx, paths, dispute)
	}
	dispute.Status = disputeLost
	if dispute.isInquiry() {
		dispute.Status = inquiryClosed
	}
	dispute.change(tx, status)
	previous, err := event.Changes(before, dispute.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	event.Emit(tx, "charge.dispute.closed", dispute.ID, dispute.Render(), previous)
	return replyWithDispute(ctx, tx, paths, dispute)
}

package dispute

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// EscalateDispute turns an inquiry into a chargeback: now the money is gone.
var EscalateDispute = payment.NotificationFlow(acquirer.DisputeEscalated, "dispute_escalated", func(
	ctx context.Context, tx *phase.Tx, in payment.NotificationParams, charge *payment.Charge,
) (phase.Outcome, error) {
	dispute, err := openDisputeNamed(ctx, tx, in)
	if err != nil {
		return phase.Outcome{}, err
	}
	if !dispute.isInquiry() {
		return phase.Outcome{}, inbox.Refused("dispute %s is not an inquiry", dispute.ID)
	}
	before := dispute.object()
	status := dispute.Status
	dispute.Status, dispute.CaseType = disputeNeedsResponse, acquirer.CaseChargeback
	dispute.withdraw(tx)
	charge.ChargeBack(tx, dispute.Amount)
	dispute.change(tx, status)
	previous, err := event.Changes(before, dispute.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	event.Emit(tx, "charge.dispute.updated", dispute.ID, dispute.Render(), previous)
	event.Emit(tx, "charge.dispute.funds_withdrawn", dispute.ID, dispute.Render(), nil)
	return phase.OK(dispute.ID, dispute.Render()), nil
})

// DecideDispute records how the cardholder's bank has decided.
var DecideDispute = payment.NotificationFlow(acquirer.DisputeClosed, "dispute_decided", func(
	ctx context.Context, tx *phase.Tx, in payment.NotificationParams, charge *payment.Charge,
) (phase.Outcome, error) {
	dispute, err := openDisputeNamed(ctx, tx, in)
	if err != nil {
		return phase.Outcome{}, err
	}
	before, status := dispute.object(), dispute.Status
	switch {
	case in.Notification.Outcome == acquirer.OutcomeWithdrawn && dispute.isInquiry():
		dispute.Status = inquiryClosed
	case in.Notification.Outcome != acquirer.OutcomeWithdrawn && dispute.isInquiry():
		return phase.Outcome{}, inbox.NotYet("dispute %s is still an inquiry", dispute.ID)
	case in.Notification.Outcome == acquirer.OutcomeWon:
		dispute.Status = disputeWon
		dispute.reinstate(tx)
		charge.ChargeBack(tx, -dispute.Amount)
	case in.Notification.Outcome == acquirer.OutcomeLost:
		dispute.Status = disputeLost
	default:
		return phase.Outcome{}, inbox.Refused("a chargeback cannot end as %q", in.Notification.Outcome)
	}
	dispute.change(tx, status)
	previous, err := event.Changes(before, dispute.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	event.Emit(tx, "charge.dispute.closed", dispute.ID, dispute.Render(), previous)
	if dispute.Status == disputeWon {
		event.Emit(tx, "charge.dispute.funds_reinstated", dispute.ID, dispute.Render(), nil)
	}
	return phase.OK(dispute.ID, dispute.Render()), nil
})

// openDisputeNamed locks the dispute that a notification goes on about.
func openDisputeNamed(ctx context.Context, tx *phase.Tx, in payment.NotificationParams) (*Dispute, error) {
	dispute, err := disputeNamed(ctx, tx, in.Notification.Reference)
	switch {
	case err != nil:
		return nil, err
	case dispute == nil:
		return nil, inbox.NotYet("dispute %s not found", in.Notification.Reference)
	case dispute.isClosed():
		return nil, inbox.Refused("dispute %s is closed: %s", dispute.ID, dispute.Status)
	case dispute.ChargeID != in.Charge || dispute.Amount != in.Notification.Amount:
		return nil, inbox.Refused("dispute %s is about %d of charge %s", dispute.ID, dispute.Amount, dispute.ChargeID)
	}
	return dispute, nil
}

package dispute

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// OpenDispute records that a cardholder disputes a charge. Of a chargeback the money
// is gone already; an inquiry only asks.
var OpenDispute = payment.NotificationFlow(acquirer.DisputeOpened, "dispute_opened", func(
	ctx context.Context, tx *phase.Tx, in payment.NotificationParams, charge *payment.Charge,
) (phase.Outcome, error) {
	news := in.Notification
	known, err := disputeNamed(ctx, tx, news.Reference)
	switch {
	case err != nil:
		return phase.Outcome{}, err
	case known != nil:
		return phase.Outcome{}, inbox.Refused("dispute %s is already open, as %s", news.Reference, known.ID)
	case !charge.Captured:
		return phase.Outcome{}, inbox.NotYet("charge %s is not captured", charge.ID)
	}
	dispute := Dispute{
		AccountID:         tx.AccountID,
		ID:                id.New("du", tx.Now()),
		Livemode:          tx.Livemode,
		RequestID:         tx.RequestID,
		ChargeID:          charge.ID,
		AcquirerReference: news.Reference,
		Amount:            news.Amount,
		Currency:          news.Currency,
		CaseType:          news.Case,
		Reason:            news.Reason,
		NetworkCode:       news.NetworkCode,
		Eligibility:       news.Eligibility,
		Status:            disputeNeedsResponse,
		RespondBy:         news.RespondBy,
		Metadata:          map[string]string{},
		Brand:             charge.Card.Brand,
		PaymentIntentID:   charge.PaymentIntentID,
		CreatedAt:         tx.Now(),
	}
	if dispute.Eligibility == nil {
		dispute.Eligibility = []string{}
	}
	withdrawn := int64(0)
	if news.Case == acquirer.CaseInquiry {
		dispute.Status = inquiryNeedsResponse
	} else {
		dispute.withdraw(tx)
		withdrawn = dispute.Amount
	}
	charge.ChargeBack(tx, withdrawn)
	dispute.insert(tx)
	event.Emit(tx, "charge.dispute.created", dispute.ID, dispute.Render(), nil)
	if withdrawn > 0 {
		event.Emit(tx, "charge.dispute.funds_withdrawn", dispute.ID, dispute.Render(), nil)
	}
	return phase.OK(dispute.ID, dispute.Render()), nil
})

func disputeNamed(ctx context.Context, tx *phase.Tx, reference string) (*Dispute, error) {
	args := resource.PrincipalOf(tx.Caller).Args()
	args["reference"] = reference
	return resource.QueryOne[Dispute](ctx, tx, lockDisputeByName, args)
}

package payments

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// What of a charge is charged back is counted on its row, where a CHECK holds it
// to what was captured.
const chargeBack = `
	UPDATE charges SET disputed = true, amount_charged_back = amount_charged_back + @amount
	WHERE account_id = @account_id AND id = @id`

func (c *Charge) chargeBack(tx *phase.Tx, amount int64) {
	tx.WriteOne(chargeBack, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": c.ID, "amount": amount})
}

// OpenDispute writes down that a cardholder complains. Of a chargeback the money
// is gone already; an inquiry only asks.
var OpenDispute = notice(acquirer.DisputeOpened, "dispute_opened", func(ctx context.Context, tx *phase.Tx, in Notified, charge *Charge) (phase.Outcome, error) {
	news := in.News
	known, err := disputeNamed(ctx, tx, news.Reference)
	switch {
	case err != nil:
		return phase.Outcome{}, err
	case known != nil:
		return phase.Outcome{}, inbox.Refused("dispute %s is open already, as %s", news.Reference, known.ID)
	case !charge.Captured:
		return phase.Outcome{}, inbox.NotYet("charge %s is not captured", charge.ID)
	}
	dispute := Dispute{
		AccountID: tx.AccountID, ID: id.New("du", tx.Now()), Livemode: tx.Livemode, RequestID: tx.RequestID, ChargeID: charge.ID,
		AcquirerReference: news.Reference, Amount: news.Amount, Currency: news.Currency, CaseType: news.Case, Reason: news.Reason,
		NetworkCode: news.NetworkCode, Eligibility: news.Eligibility, Status: disputeNeedsResponse, RespondBy: news.RespondBy,
		Metadata: map[string]string{}, Brand: charge.Card.Brand, PaymentIntentID: charge.PaymentIntentID, CreatedAt: tx.Now(),
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
	charge.chargeBack(tx, withdrawn)
	dispute.insert(tx)
	emit(tx, "charge.dispute.created", dispute.ID, dispute.wire(), nil)
	if withdrawn > 0 {
		emit(tx, "charge.dispute.funds_withdrawn", dispute.ID, dispute.wire(), nil)
	}
	return phase.OK(dispute.ID, dispute.wire()), nil
})

func disputeNamed(ctx context.Context, tx *phase.Tx, reference string) (*Dispute, error) {
	args := viewer(tx.Caller).args()
	args["reference"] = reference
	return one[Dispute](ctx, tx, lockDisputeByName, args)
}

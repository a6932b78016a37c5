package payment

import (
	"context"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// NotificationParams is what the flow of a notification works with.
type NotificationParams struct {
	Message      inbox.Message
	Notification acquirer.Notification `json:"News"` // as stored requests name it
	Charge       string                // the charge whose payment it is about
}

// NotificationFlow is a flow that applies one kind of notification: one transaction, which
// the message's row in the inbox guards. It makes no foreign call.
func NotificationFlow(
	kind, point string,
	apply func(ctx context.Context, tx *phase.Tx, in NotificationParams, charge *Charge) (phase.Outcome, error),
) *phase.Flow[NotificationParams, struct{}] {
	return phase.Define("acquirer."+kind, 1,
		phase.Atomic(point, func(
			ctx context.Context, tx *phase.Tx, in NotificationParams, _ *struct{},
		) (phase.Outcome, error) {
			charge, err := lockedCharge(ctx, tx, in.Charge)
			if err != nil {
				return phase.Outcome{}, err
			}
			if charge.Currency != in.Notification.Currency {
				return phase.Outcome{},
					inbox.Refused("its currency is %s, and that of charge %s is %s",
						in.Notification.Currency, charge.ID, charge.Currency)
			}
			inbox.Take(tx, in.Message)
			return apply(ctx, tx, in, charge)
		}))
}

// ChargeOwner is the charge that an authorization belongs to, and its account.
type ChargeOwner struct {
	Charge          string
	PaymentIntentID *string
	AccountID       string
	Livemode        bool
	apirequest.Merchant
}

// ChargeOfAuthorization finds the charges of an authorization in all accounts: a notification does not name one. An
// authorization is unique in each account. If two accounts have one of the same name, neither is meant for certain.
const ChargeOfAuthorization = `
	SELECT c.id AS charge, c.payment_intent_id, c.account_id, c.livemode, ` + resource.MerchantColumns + `,
	       account_ahead(c.account_id, c.livemode) AS ahead
	FROM charges c JOIN accounts a ON a.id = c.account_id
	WHERE c.acquirer_reference = @authorization
	LIMIT 2`

// Call is a message as the request that it becomes: of the account it concerns,
// by the one who sent it. The inbox guards it, so it needs no key.
func (w ChargeOwner) Call(m inbox.Message) phase.Request {
	return phase.Request{
		Caller: phase.Caller{AccountID: w.AccountID, Livemode: w.Livemode, RequestID: id.New("req", time.Now()),
			Caller: apirequest.Context{
				APIVersion: w.DefaultVersion.OrCurrent(),
				Merchant:   w.Merchant,
			}.By(apirequest.ActorAcquirer, "")},
		Method: "POST", Path: acquirer.NotificationsPath, Fingerprint: m.Digest,
	}
}

package payments

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Notified is what the flow of a notification works with.
type Notified struct {
	Message inbox.Message
	News    acquirer.Notification
	Charge  string // the charge whose payment it is about
}

// notice is a flow that applies one kind of notification: one transaction, which
// the message's row in the inbox guards. Nobody is there to answer a call, so it
// has none.
func notice(kind, point string, apply func(ctx context.Context, tx *phase.Tx, in Notified, charge *Charge) (phase.Outcome, error)) *phase.Flow[Notified, struct{}] {
	return phase.Define("acquirer."+kind, 1,
		phase.Atomic(point, func(ctx context.Context, tx *phase.Tx, in Notified, _ *struct{}) (phase.Outcome, error) {
			charge, err := lockedCharge(ctx, tx, in.Charge)
			if err != nil {
				return phase.Outcome{}, err
			}
			if charge.Currency != in.News.Currency {
				return phase.Outcome{}, inbox.Refused("it is in %s, and charge %s in %s", in.News.Currency, charge.ID, charge.Currency)
			}
			inbox.Take(tx, in.Message)
			return apply(ctx, tx, in, charge)
		}))
}

// notices are the flows by the kind of notification.
var notices = map[string]*phase.Flow[Notified, struct{}]{
	acquirer.DisputeOpened:    OpenDispute,
	acquirer.DisputeEscalated: EscalateDispute,
	acquirer.DisputeClosed:    DecideDispute,
	acquirer.RefundSucceeded:  CompleteRefund,
	acquirer.RefundFailed:     FailRefund,
	acquirer.MovementSettled:  SettleMovement,
}

// ActorAcquirer is who the audit trail says did what a notification told.
const ActorAcquirer = "acquirer"

// whose is the charge that an authorization belongs to, and its account.
type whose struct {
	Charge          string
	PaymentIntentID *string
	AccountID       string
	Livemode        bool
	apirequest.Merchant
}

// The acquirer does not know our accounts. An authorization is unique in each,
// and should two have one of the same name, neither is meant for certain.
const chargeOfAuthorization = `
	SELECT c.id AS charge, c.payment_intent_id, c.account_id, c.livemode, ` + merchantColumns + `,
	       account_ahead(c.account_id, c.livemode) AS ahead
	FROM charges c JOIN accounts a ON a.id = c.account_id
	WHERE c.acquirer_reference = @authorization
	LIMIT 2`

// ApplyNotification is how the inbox has the acquirer's notifications applied.
func ApplyNotification(e *phase.Engine) inbox.Apply {
	return func(ctx context.Context, m inbox.Message) error {
		var news acquirer.Notification
		body := json.NewDecoder(bytes.NewReader(m.Body))
		if err := body.Decode(&news); err != nil {
			return inbox.Refused("it cannot be read: %v", err)
		}
		flow, known := notices[news.Kind]
		if !known {
			return inbox.Refused("nothing is known of the kind %q", news.Kind)
		}
		if news.Authorization == "" || news.Reference == "" || news.Amount <= 0 {
			return inbox.Refused("it does not say what it is about")
		}
		rows, err := e.Pool().Query(ctx, chargeOfAuthorization, pgx.StrictNamedArgs{"authorization": news.Authorization})
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[whose])
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return inbox.NotYet("no charge here has the authorization %s", news.Authorization)
		case len(found) > 1:
			return inbox.Refused("charges of several accounts have the authorization %s", news.Authorization)
		}
		_, err = flow.Serve(ctx, e, found[0].call(m), Notified{m, news, found[0].Charge})
		return err
	}
}

// call is a message as the request that it becomes: of the account it concerns,
// by the one who sent it. The inbox guards it, so it needs no key.
func (w whose) call(m inbox.Message) phase.Request {
	return phase.Request{
		Caller: phase.Caller{AccountID: w.AccountID, Livemode: w.Livemode, RequestID: id.New("req", time.Now()),
			Caller: apirequest.Context{APIVersion: w.DefaultVersion.OrCurrent(), Merchant: w.Merchant}.By(ActorAcquirer, "")},
		Method: "POST", Path: acquirer.NotificationsPath, Fingerprint: m.Digest,
	}
}

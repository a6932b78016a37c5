package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/setupintent"
)

// ExpireCheckoutSessionParams are what POST /v1/checkout/sessions/{session}/expire takes.
type ExpireCheckoutSessionParams struct {
	ID     string      `path:"session"`
	Expand form.Expand `form:"expand"`
}

const checkoutSessionExpired = "checkout_session_expired"

// ExpireCheckoutSession ends a session in which nothing was paid. Its intent is
// canceled with it. While a payment is in progress it gets a 429.
var ExpireCheckoutSession = phase.Define("checkout_session.expire", 1,
	phase.Atomic(checkoutSessionExpired, expireSession),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *ExpireCheckoutSessionParams) error {
	_, err := readSession(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
	return err
})

func expireSession(
	ctx context.Context, tx *phase.Tx, in ExpireCheckoutSessionParams, _ *struct{},
) (phase.Outcome, error) {
	session, err := lockedSession(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if session.Status != sessionOpen {
		return phase.Outcome{},
			apierror.Invalid("",
				"This Checkout Session has a status of %s. Only one with a status of open can be expired.",
				session.Status)
	}
	if err := session.cancelIntent(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	session.releaseCoupon(tx)
	session.Status = sessionExpired
	session.update(tx)
	event.Emit(tx, "checkout.session.expired", session.ID, session.Render(), nil)
	return replyWithSession(ctx, tx, in.Expand, session, nil)
}

// cancelIntent cancels what the session would have been paid with.
func (s *CheckoutSession) cancelIntent(ctx context.Context, tx *phase.Tx) error {
	switch {
	case s.PaymentIntentID != nil:
		intent, err := payment.LockIntent(ctx, tx, *s.PaymentIntentID)
		if err != nil {
			return err
		}
		if intent.LockedBy != nil {
			return apierror.Locked()
		}
		intent.Cancel(tx, nil)
	case s.SetupIntentID != nil:
		setup, err := setupintent.LockSetup(ctx, tx, *s.SetupIntentID)
		if err != nil {
			return err
		}
		if setup.LockedBy != nil {
			return apierror.Locked()
		}
		setup.Cancel(tx, nil)
	}
	return nil
}

// dueSession is a session whose time is over, and what is needed to act on it.
type dueSession struct {
	AccountID string
	Livemode  bool
	ID        string
	apirequest.Merchant
}

// A session that is being paid, or its card set up, is not among those that are
// looked at: a hundred of them would keep all that are behind them.
const dueSessions = `
	SELECT s.account_id, s.livemode, s.id, ` + resource.MerchantColumns + `,
	       account_ahead(s.account_id, s.livemode) AS ahead
	FROM checkout_sessions s JOIN accounts a ON a.id = s.account_id
	WHERE s.status = 'open' AND s.expires_at <= now()
	  AND NOT EXISTS (SELECT FROM payment_intents p
	      WHERE p.account_id = s.account_id AND p.id = s.payment_intent_id AND p.locked_by IS NOT NULL)
	  AND NOT EXISTS (SELECT FROM setup_intents i
	      WHERE i.account_id = s.account_id AND i.id = s.setup_intent_id AND i.locked_by IS NOT NULL)
	ORDER BY s.expires_at LIMIT @limit`

// ExpireDueSessions expires the sessions whose time is over, at most limit of
// them, and returns how many it has expired. It is the same operation as the one a
// merchant can ask for, with the same trace in the audit trail. It can run any
// number of times at once: the second finds a session that is not open any more,
// and one that is being paid is left for the next time.
func ExpireDueSessions(ctx context.Context, e *phase.Engine, limit int) (expired int, err error) {
	rows, err := e.Pool().Query(ctx, dueSessions, pgx.StrictNamedArgs{"limit": limit})
	if err != nil {
		return 0, fmt.Errorf("look for sessions to expire: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowToStructByName[dueSession])
	if err != nil {
		return 0, fmt.Errorf("look for sessions to expire: %w", err)
	}
	_, err = resource.ForEach(ctx, due, func(s dueSession) error {
		err := resource.ServeJob(ctx, e, ExpireCheckoutSession, s.call(), ExpireCheckoutSessionParams{ID: s.ID})
		var refused *apierror.Error
		switch {
		case err == nil:
			expired++
		case !errors.As(err, &refused) || refused.Status >= http.StatusInternalServerError:
			return fmt.Errorf("expire %s: %w", s.ID, err)
		}
		return nil
	})
	return expired, err
}

func (s dueSession) call() phase.Request {
	return phase.Request{
		Caller: phase.Caller{
			AccountID: s.AccountID, Livemode: s.Livemode, RequestID: id.New("req", time.Now()),
			Caller: apirequest.Context{
				APIVersion: s.DefaultVersion.OrCurrent(),
				Merchant:   s.Merchant,
			}.By(apirequest.ActorClock, ""),
		},
		Method: http.MethodPost, Path: "/v1/checkout/sessions/" + s.ID + "/expire", Fingerprint: []byte(s.ID),
	}
}

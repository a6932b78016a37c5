package payment

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// ExpireChargeParams are what the worker asks for.
type ExpireChargeParams struct{ Charge string }

// ExpireCharge voids an authorization that the merchant did not capture in time, by the
// account's clock. To the merchant it looks like a refund, with a reason that no
// request can give.
//
//	(nothing) ──▶ refund_recorded ──▶ refund_answered ──▶ charge_expired
//	  claim + reserve the charge     void, no tx open     answer
var ExpireCharge = phase.Define("charge.expire", 1,
	phase.Atomic(refundRecorded, recordExpiry),
	phase.Foreign(refundAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ ExpireChargeParams, s *refundState,
	) error {
		return callForRefund(ctx, call, s)
	}),
	phase.Atomic("charge_expired", func(
		ctx context.Context, tx *phase.Tx, _ ExpireChargeParams, s *refundState,
	) (phase.Outcome, error) {
		charge, refund, _, err := finalizeRefund(ctx, tx, s)
		if err != nil {
			return phase.Outcome{}, err
		}
		if refund.Status == refundSucceeded {
			event.Emit(tx, "charge.expired", charge.ID, charge.Render(), nil)
		}
		return phase.OK(charge.ID, charge.Render()), nil
	}),
)

// recordExpiry looks again, under the charge's lock: if two workers found the same charge,
// one of them gets an error that there is nothing to do, and stores nothing.
func recordExpiry(ctx context.Context, tx *phase.Tx, in ExpireChargeParams, s *refundState) (phase.Outcome, error) {
	charge, err := lockedCharge(ctx, tx, in.Charge)
	if err != nil {
		return phase.Outcome{}, err
	}
	if charge.Captured || charge.AmountRefunded > 0 || charge.CaptureBefore == nil ||
		charge.CaptureBefore.After(apirequest.AccountNow(tx)) {
		return phase.Outcome{}, apierror.Invalid("", "Charge %s has not expired.", charge.ID)
	}
	return recordRefund(ctx, tx, in.Charge, RefundParams{Reason: expiredReason()}, s)
}

// expiredReason is the reason of the refund of an expired authorization.
func expiredReason() *string { return new("expired_uncaptured_charge") }

// The first bound is for the index: no account is further ahead than the furthest clock.
// One that could not be voided has a failed refund, and is left to an operator.
const selectExpired = `WITH ` + resource.WithClocks + `
	SELECT c.id AS charge, c.payment_intent_id, c.account_id,
	       c.livemode, ` + resource.MerchantColumns + `, coalesce(k.ahead, interval '0') AS ahead
	FROM charges c
	JOIN accounts a ON a.id = c.account_id
	LEFT JOIN clocks k ON k.account_id = c.account_id AND NOT c.livemode
	WHERE c.capture_before < statement_timestamp() + (SELECT coalesce(max(ahead), interval '0') FROM clocks)
	  AND c.capture_before < statement_timestamp() + coalesce(k.ahead, interval '0') AND NOT c.captured
	  AND c.amount_refunded = 0 AND c.locked_by IS NULL
	  AND NOT EXISTS (SELECT FROM refunds r WHERE r.account_id = c.account_id AND r.charge_id = c.id)
	ORDER BY c.capture_before LIMIT @limit`

// expiredAtOnce bounds how many authorizations one run voids.
const expiredAtOnce = 32

// ExpireAuthorizations voids the authorizations that were not captured in time. Any number of
// processes may do so at once.
func ExpireAuthorizations(ctx context.Context, e *phase.Engine) (tried int, err error) {
	rows, err := e.Pool().Query(ctx, selectExpired, pgx.StrictNamedArgs{"limit": expiredAtOnce})
	if err != nil {
		return 0, err
	}
	expired, err := pgx.CollectRows(rows, pgx.RowToStructByName[ChargeOwner])
	if err != nil {
		return 0, err
	}
	return resource.ForEach(ctx, expired, func(w ChargeOwner) error {
		err := w.expire(ctx, e)
		var elsewhere *apierror.Error // another process does it, or the engine continues it later
		if errors.As(err, &elsewhere) {
			return nil
		}
		return err
	})
}

// canceledByTime is the cancellation_reason of an intent whose authorization has expired. No
// request can give it.
const canceledByTime = "automatic"

// expire voids one: alone, or with the intent that it was made for.
func (w ChargeOwner) expire(ctx context.Context, e *phase.Engine) error {
	if w.PaymentIntentID == nil {
		return resource.ServeJob(ctx, e, ExpireCharge, w.expiry(), ExpireChargeParams{w.Charge})
	}
	return resource.ServeJob(ctx, e, CancelPaymentIntent, w.expiry(),
		CancelPaymentIntentParams{ID: *w.PaymentIntentID, Reason: new(canceledByTime)})
}

func (w ChargeOwner) expiry() phase.Request {
	return phase.Request{
		Caller: phase.Caller{AccountID: w.AccountID, Livemode: w.Livemode, RequestID: id.New("req", time.Now()),
			Caller: apirequest.Context{
				APIVersion: w.DefaultVersion.OrCurrent(),
				Merchant:   w.Merchant,
			}.By(apirequest.ActorWorker, "")},
		Method: "POST", Path: "/worker/charges/" + w.Charge + "/expire", Fingerprint: []byte(w.Charge),
	}
}

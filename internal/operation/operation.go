// Package operation is the registry of all operations: the engine, the worker and the
// tests range over it.
package operation

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/adoption"
	"github.com/ratchet-pay/ratchet/internal/catalog"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/dispute"
	"github.com/ratchet-pay/ratchet/internal/endpoint"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/payout"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/session"
	"github.com/ratchet-pay/ratchet/internal/setupintent"
	"github.com/ratchet-pay/ratchet/internal/stripecli"
)

// Register makes every operation known to an engine. A version stays in this
// list for as long as requests may stand on it.
func Register(ctx context.Context, e *phase.Engine) error {
	err := e.Register(ctx,
		payment.CreateCharge, payment.CaptureCharge, payment.UpdateCharge,
		adoption.Charge, adoption.Capture, adoption.Refund,
		payment.CreateRefund, payment.RefundCharge, payment.RefundWholeCharge, payment.UpdateRefund,
		payment.UpdateChargeRefund,
		customer.CreateCustomer, customer.UpdateCustomer, customer.DeleteCustomer,
		customer.CreateCard, customer.UpdateCard, customer.DeleteCard,
		customer.CreateToken, customer.CreateConfirmationToken, customer.CreateTestConfirmationToken,
		customer.CreatePaymentMethod, customer.UpdatePaymentMethod, customer.AttachPaymentMethod,
		customer.DetachPaymentMethod,
		customer.RetrieveTestCard,
		payment.CreatePaymentIntent, payment.ConfirmPaymentIntent, payment.AuthenticatePayment,
		payment.UpdatePaymentIntent, payment.CapturePaymentIntent, payment.CancelPaymentIntent,
		payment.IncrementAuthorization,
		payout.CreatePayout, payout.UpdatePayout, payout.CancelPayout, payout.ReversePayout,
		payout.PayOutAutomatically, payout.DepartPayout, payout.ArrivePayout, payout.NotifyBalance,
		payout.UpdateBalanceSettings,
		customer.CreateTestClock, customer.AdvanceTestClock, customer.SetTestClockReady, customer.DeleteTestClock,
		catalog.CreateProduct, catalog.UpdateProduct, catalog.DeleteProduct, catalog.CreatePrice, catalog.UpdatePrice,
		catalog.CreateCoupon, catalog.UpdateCoupon, catalog.DeleteCoupon, catalog.CreateShippingRate,
		catalog.UpdateShippingRate, catalog.CreatePromotionCode, catalog.UpdatePromotionCode,
		session.CreateCheckoutSession, session.UpdateCheckoutSession, session.ExpireCheckoutSession,
		session.ConfirmPaymentPage, session.UpdatePaymentPage,
		session.CreatePaymentLink, session.UpdatePaymentLink, session.OpenPaymentLink,
		setupintent.CreateSetupIntent, setupintent.ConfirmSetupIntent, setupintent.AuthenticateSetup,
		setupintent.UpdateSetupIntent, setupintent.CancelSetupIntent,
		endpoint.CreateWebhookEndpoint, endpoint.UpdateWebhookEndpoint, endpoint.DeleteWebhookEndpoint,
		endpoint.RetryEvent, stripecli.CreateSession,
		dispute.UpdateDispute, dispute.UpdateChargeDispute, dispute.CloseDispute, dispute.CloseChargeDispute,
		payment.CancelRefund, payment.ExpireRefund, payment.ExpireCharge,
		dispute.OpenDispute, dispute.EscalateDispute, dispute.DecideDispute, payment.CompleteRefund,
		payment.FailRefund, payout.SettlePart, payout.SettleLate, payout.ShowSettled,
	)
	if err != nil {
		return err
	}
	return registerFormer(ctx, e)
}

// notificationFlows are the flows by the kind of notification.
var notificationFlows = map[string]*phase.Flow[payment.NotificationParams, struct{}]{
	acquirer.DisputeOpened:    dispute.OpenDispute,
	acquirer.DisputeEscalated: dispute.EscalateDispute,
	acquirer.DisputeClosed:    dispute.DecideDispute,
	acquirer.RefundSucceeded:  payment.CompleteRefund,
	acquirer.RefundFailed:     payment.FailRefund,
}

// ApplyNotification is how the inbox has the acquirer's notifications applied.
func ApplyNotification(e *phase.Engine) inbox.Apply {
	return func(ctx context.Context, m inbox.Message) error {
		if m.Kind == acquirer.BatchSettled {
			return payout.ApplyPart(ctx, e, m)
		}
		var news acquirer.Notification
		body := json.NewDecoder(bytes.NewReader(m.Body))
		if err := body.Decode(&news); err != nil {
			return inbox.Refused("unreadable: %v", err)
		}
		flow, known := notificationFlows[news.Kind]
		if !known {
			return inbox.Refused("unknown kind %q", news.Kind)
		}
		if news.Authorization == "" || news.Reference == "" || news.Amount <= 0 {
			return inbox.Refused("it names no object")
		}
		rows, err := e.Pool().Query(ctx, payment.ChargeOfAuthorization,
			pgx.StrictNamedArgs{"authorization": news.Authorization})
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[payment.ChargeOwner])
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return inbox.NotYet("no charge has the authorization %s", news.Authorization)
		case len(found) > 1:
			return inbox.Refused("charges of several accounts have the authorization %s", news.Authorization)
		}
		_, err = flow.Serve(ctx, e, found[0].Call(m),
			payment.NotificationParams{Message: m, Notification: news, Charge: found[0].Charge})
		return err
	}
}

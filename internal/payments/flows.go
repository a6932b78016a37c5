package payments

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Register makes every operation known to an engine. A version stays in this
// list for as long as requests may stand on it.
func Register(ctx context.Context, e *phase.Engine) error {
	return e.Register(ctx,
		CreateCharge, CaptureCharge, UpdateCharge,
		CreateRefund, RefundCharge, RefundWholeCharge, UpdateRefund, UpdateChargeRefund,
		CreateCustomer, UpdateCustomer, DeleteCustomer,
		CreateCard, UpdateCard, DeleteCard,
		CreateToken,
		CreatePaymentMethod, UpdatePaymentMethod, AttachPaymentMethod, DetachPaymentMethod,
		CreatePaymentIntent, ConfirmPaymentIntent, AuthenticatePayment, UpdatePaymentIntent, CapturePaymentIntent, CancelPaymentIntent,
		IncrementAuthorization,
		CreatePayout, UpdatePayout, CancelPayout, ReversePayout, PayOutDaily, DepartPayout, ArrivePayout, TellBalance,
		CreateTestClock, AdvanceTestClock, SetTestClockReady, DeleteTestClock,
		CreateProduct, UpdateProduct, DeleteProduct, CreatePrice, UpdatePrice,
		CreateCheckoutSession, UpdateCheckoutSession, ExpireCheckoutSession, ConfirmPaymentPage,
		CreateSetupIntent, ConfirmSetupIntent, AuthenticateSetup, UpdateSetupIntent, CancelSetupIntent,
		CreateWebhookEndpoint, UpdateWebhookEndpoint, DeleteWebhookEndpoint, RetryEvent,
		UpdateDispute, UpdateChargeDispute, CloseDispute, CloseChargeDispute,
		CancelRefund, ExpireRefund, ExpireCharge,
		OpenDispute, EscalateDispute, DecideDispute, CompleteRefund, FailRefund, SettlePart, SettleLate, ShowSettled,
	)
}

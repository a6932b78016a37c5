package operation

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/payout"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/session"
	"github.com/ratchet-pay/ratchet/internal/setupintent"
)

// registerFormer makes older versions known, so that requests that an older program left unfinished are finished. In
// version 1 the last recovery point was named "settled", the word for what the acquirer pays out days later.
func registerFormer(ctx context.Context, e *phase.Engine) error {
	const charge, refund, paid, setup, payoutMade, recall = "charge_finalized", "refund_finalized",
		"payment_finalized", "setup_finalized", "payout_finalized", "recall_finalized"
	return e.Register(ctx,
		payment.CreateCharge.Formerly(1, charge, "charge_settled"),
		payment.CreateRefund.Formerly(1, refund, "refund_settled"),
		payment.RefundCharge.Formerly(1, refund, "refund_settled"),
		payment.RefundWholeCharge.Formerly(1, refund, "refund_settled"),
		payment.CreatePaymentIntent.Formerly(1, paid, "payment_settled"),
		payment.ConfirmPaymentIntent.Formerly(1, paid, "payment_settled"),
		payment.AuthenticatePayment.Formerly(1, paid, "payment_settled"),
		session.ConfirmPaymentPage.Formerly(1, paid, "payment_settled"),
		setupintent.CreateSetupIntent.Formerly(1, setup, "setup_settled"),
		setupintent.ConfirmSetupIntent.Formerly(1, setup, "setup_settled"),
		setupintent.AuthenticateSetup.Formerly(1, setup, "setup_settled"),
		payout.CreatePayout.Formerly(1, payoutMade, "payout_settled"),
		payout.PayOutAutomatically.Formerly(1, payoutMade, "payout_settled"),
		payout.CancelPayout.Formerly(1, recall, "recall_settled"),
		payout.ReversePayout.Formerly(1, recall, "recall_settled"),
	)
}

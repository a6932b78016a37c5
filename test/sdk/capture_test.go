//go:build unix

package sdk_test

import (
	"fmt"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestCaptures(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("a hold takes no money", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		held := a.retrieveCharge(a.hold(3000).ID)
		equal(t, "state", []any{held.Status, held.Paid, held.Captured, held.AmountCaptured},
			[]any{stripe.ChargeStatusSucceeded, true, false, int64(0)})
		if held.BalanceTransaction != nil {
			t.Errorf("it has the balance transaction %s", held.BalanceTransaction.ID)
		}
		equal(t, "pending balance", a.pending(), int64(0))
	})

	t.Run("a whole capture takes all of it", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge, err := a.V1Charges.Capture(t.Context(), a.hold(3000).ID, &stripe.ChargeCaptureParams{
			ReceiptEmail: stripe.String("ada@example.com"),
			Expand:       stripe.StringSlice([]string{"balance_transaction"}),
		})
		noError(t, err)
		equal(t, "charge", []any{charge.Captured, charge.AmountCaptured, charge.AmountRefunded, charge.ReceiptEmail},
			[]any{true, int64(3000), int64(0), "ada@example.com"})
		equal(t, "money", []int64{charge.BalanceTransaction.Amount, charge.BalanceTransaction.Fee}, []int64{3000, 117})
		equal(t, "pending balance", a.pending(), int64(2883))
	})

	t.Run("a partial capture gives the rest back", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge, err := a.V1Charges.Capture(t.Context(), a.hold(3000).ID, &stripe.ChargeCaptureParams{
			Amount: stripe.Int64(1000), Expand: stripe.StringSlice([]string{"balance_transaction", "refunds"})})
		noError(t, err)
		equal(t, "amounts",
			[]int64{charge.Amount, charge.AmountCaptured, charge.AmountRefunded, charge.BalanceTransaction.Amount},
			[]int64{3000, 1000, 2000, 1000})
		equal(t, "refunded", charge.Refunded, false)
		rest := charge.Refunds.Data
		equal(t, "refunds", []any{len(rest), rest[0].Amount, rest[0].Status},
			[]any{1, int64(2000), stripe.RefundStatusSucceeded})
		equal(t, "pending balance", a.pending(), int64(1000-59))
	})

	t.Run("nothing is captured twice", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge := a.hold(3000)
		_, err := a.V1Charges.Capture(t.Context(), charge.ID, nil)
		noError(t, err)
		_, err = a.V1Charges.Capture(t.Context(), charge.ID, nil)
		refused(t, err,
			invalid("charge_already_captured", "", fmt.Sprintf("Charge %s has already been captured.", charge.ID)))
		equal(t, "pending balance", a.pending(), int64(2883))
	})

	t.Run("no more is captured than is held", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		_, err := a.V1Charges.Capture(t.Context(), a.hold(3000).ID,
			&stripe.ChargeCaptureParams{Amount: stripe.Int64(3001)})
		refused(t, err,
			invalid("", "amount",
				"The payment could not be captured because the requested capture amount is greater than the amount "+
					"you can capture for this charge."))
		equal(t, "pending balance", a.pending(), int64(0))
	})
}

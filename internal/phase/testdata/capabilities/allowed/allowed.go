// Package allowed is the control: what the other packages here do wrong, done right.
package allowed

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

type bankAPI interface {
	Pay(context.Context, phase.Permit) error
}

var port = phase.NewPort[bankAPI]("bank", 0)

type order struct{}

var flow = phase.Define("order.buy", 1,
	phase.Atomic("recorded", func(_ context.Context, tx *phase.Tx, _ order, _ *struct{}) (phase.Outcome, error) {
		tx.Write("SELECT 1", nil)
		return phase.Next, nil
	}),
	phase.Foreign("paid", port, func(ctx context.Context, call phase.ForeignCall[bankAPI], _ order, _ *struct{}) error {
		return call.To().Pay(ctx, call.Permit)
	}),
	phase.Atomic("delivered", func(context.Context, *phase.Tx, order, *struct{}) (phase.Outcome, error) {
		return phase.OK("", nil), nil
	}),
)

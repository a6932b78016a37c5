// Package network calls another system inside a transaction, and does not compile.
package network

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

type bankAPI interface {
	Pay(context.Context, phase.Permit) error
}

type order struct{}

func pay(ctx context.Context, call phase.ForeignCall[bankAPI]) error {
	return call.To().Pay(ctx, call.Permit)
}

var paid = phase.Atomic("paid", func(ctx context.Context, tx *phase.Tx, _ order, _ *struct{}) (phase.Outcome, error) {
	return phase.Next, pay(ctx, tx)
})

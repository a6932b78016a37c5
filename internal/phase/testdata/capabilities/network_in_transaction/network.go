// Package network asks another system inside a transaction, and does not compile.
package network

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

type teller interface {
	Pay(context.Context, phase.Slip) error
}

var port = phase.NewPort[teller]("bank", 0)

type order struct{}

var paid = phase.Atomic("paid", func(ctx context.Context, tx *phase.Tx, _ order, _ *struct{}) (phase.Outcome, error) {
	return phase.Next, port.Dial(tx).Pay(ctx, tx)
})

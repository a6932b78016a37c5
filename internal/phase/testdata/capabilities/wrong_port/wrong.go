// Package wrong calls one system through the port of another, and does not compile.
package wrong

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

type bankAPI interface {
	Pay(context.Context, phase.Permit) error
}

type courier interface {
	Send(context.Context, phase.Permit) error
}

var port = phase.NewPort[bankAPI]("bank", 0)

type order struct{}

var paid = phase.Foreign("paid", port, func(
	ctx context.Context, call phase.ForeignCall[courier], _ order, _ *struct{},
) error {
	return call.To().Send(ctx, call.Permit)
})

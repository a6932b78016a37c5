// Package write writes while it waits for another system, and does not compile.
package write

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

type bankAPI interface {
	Pay(context.Context, phase.Permit) error
}

var port = phase.NewPort[bankAPI]("bank", 0)

type order struct{}

var paid = phase.Foreign("paid", port, func(
	_ context.Context, call phase.ForeignCall[bankAPI], _ order, _ *struct{},
) error {
	call.Write("SELECT 1", nil)
	return nil
})

// Package wrong puts a phase of one flow into another, and does not compile.
package wrong

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

type order struct{}

type another struct{}

var flow = phase.Define("order.buy", 1,
	phase.Atomic("recorded", func(context.Context, *phase.Tx, order, *struct{}) (phase.Outcome, error) {
		return phase.Next, nil
	}),
	phase.Atomic("delivered", func(context.Context, *phase.Tx, another, *struct{}) (phase.Outcome, error) {
		return phase.OK("", nil), nil
	}),
)

package customer

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// UpdateCustomerParams are what POST /v1/customers/{customer} takes.
type UpdateCustomerParams struct {
	CustomerParams
	ID            string `path:"customer"`
	DefaultSource string `form:"default_source"`
}

const customerUpdated = "customer_updated"

// UpdateCustomer changes what was sent and leaves the rest.
var UpdateCustomer = phase.Define("customer.update", 1,
	phase.Atomic(customerUpdated, changeCustomer),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateCustomerParams) error {
	if err := CustomerExists(ctx, db, resource.ViewerOf(caller), in.ID); err != nil {
		return err
	}
	return in.check(ctx, db, caller, in.ID, nil)
})

func changeCustomer(ctx context.Context, tx *phase.Tx, in UpdateCustomerParams, _ *struct{}) (phase.Outcome, error) {
	customer, err := lockedCustomer(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	before := customer.object()
	known, err := customer.apply(ctx, tx, in.CustomerParams)
	if err != nil {
		return phase.Outcome{}, err
	}
	if in.DefaultSource != "" {
		card, err := resource.Get[CustomerCard](ctx, tx, CardByID, resource.PrincipalOf(tx.Caller), in.DefaultSource)
		if err != nil {
			return phase.Outcome{}, err
		}
		if card == nil || card.CustomerID != customer.ID {
			return phase.Outcome{}, apierror.NoSuch("source", "default_source", in.DefaultSource)
		}
		customer.DefaultSource = &card.ID
	}
	previous, err := event.Changes(before, customer.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	customer.update(tx)
	for _, card := range known {
		insertCustomerCard(tx, card)
		event.Emit(tx, "customer.source.created", card.ID, card.Render(), nil)
	}
	if len(previous) > 0 {
		event.Emit(tx, "customer.updated", customer.ID, customer.Render(), previous)
	}
	return replyWithCustomer(ctx, tx, in.Expand, customer, known)
}

package customer

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// UpdateCustomerParams are what POST /v1/customers/{customer} takes.
type UpdateCustomerParams struct {
	CustomerParams
	ID            string `path:"customer"`
	DefaultSource string `form:"default_source"`
}

// The recovery points of a change. The last two are for one that brings a card.
const (
	customerUpdated         = "customer_updated"
	customerUpdatedWithCard = "customer_updated_with_card"
)

// UpdateCustomer changes what was sent and leaves the rest. A card is verified first; if
// its issuer declines, nothing changes.
//
//	(nothing) ──▶ customer_updated ──▶ card_verified ──▶ customer_updated_with_card
//	      claim + change + answer   call, no tx open  change, insert, answer
//	      without a card
var UpdateCustomer = phase.Define("customer.update", 2,
	phase.Atomic(customerUpdated, updateCustomer),
	phase.Foreign(cardVerified, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], in UpdateCustomerParams, s *cardState,
	) (err error) {
		s.Result, err = callIssuer(ctx, call, in.Found.Card)
		return err
	}),
	phase.Atomic(customerUpdatedWithCard, updateCustomerWithCard),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateCustomerParams) error {
	if err := CustomerExists(ctx, db, resource.PrincipalOfCheck(caller), in.ID); err != nil {
		return err
	}
	return in.check(ctx, db, caller, in.ID, nil)
})

// updateCustomer changes the customer, or with a card says what is wrong with the rest
// before the issuer is asked.
func updateCustomer(ctx context.Context, tx *phase.Tx, in UpdateCustomerParams, _ *cardState) (phase.Outcome, error) {
	change, err := in.change(ctx, tx, acquirer.Result{})
	switch {
	case err != nil:
		return phase.Outcome{}, err
	case in.Found != nil:
		return phase.Next, in.Found.Consume(ctx, tx)
	}
	return change.write(ctx, tx, in.Expand)
}

func updateCustomerWithCard(
	ctx context.Context, tx *phase.Tx, in UpdateCustomerParams, s *cardState,
) (phase.Outcome, error) {
	if !s.Result.Approved {
		return phase.Refuse(in.ID, CardError(s.Result)), nil
	}
	change, err := in.change(ctx, tx, s.Result)
	if err != nil {
		return refuseLate(in.ID, err)
	}
	return change.write(ctx, tx, in.Expand)
}

// customerChange is a customer as an update makes it, which is not written yet.
type customerChange struct {
	customer *Customer
	cards    []CustomerCard
	previous map[string]any
}

// change locks the customer and applies to it what was sent.
func (in UpdateCustomerParams) change(
	ctx context.Context, tx *phase.Tx, answer acquirer.Result,
) (c customerChange, err error) {
	if c.customer, err = lockedCustomer(ctx, tx, in.ID); err != nil {
		return c, err
	}
	before := c.customer.object()
	if c.cards, err = c.customer.apply(tx, in.CustomerParams, answer); err != nil {
		return c, err
	}
	if in.DefaultSource != "" {
		card, err := resource.Get[CustomerCard](ctx, tx, CardByID, resource.PrincipalOf(tx.Caller), in.DefaultSource)
		if err != nil {
			return c, err
		}
		if card == nil || card.CustomerID != c.customer.ID {
			return c, apierror.NoSuch("source", "default_source", in.DefaultSource)
		}
		c.customer.DefaultSource = &card.ID
	}
	c.previous, err = event.Changes(before, c.customer.object())
	return c, err
}

func (c customerChange) write(ctx context.Context, tx *phase.Tx, paths form.Expand) (phase.Outcome, error) {
	c.customer.update(tx)
	for _, card := range c.cards {
		insertCustomerCard(tx, card)
		event.Emit(tx, "customer.source.created", card.ID, card.Render(), nil)
	}
	if len(c.previous) > 0 {
		event.Emit(tx, "customer.updated", c.customer.ID, c.customer.Render(), c.previous)
	}
	return replyWithCustomer(ctx, tx, paths, c.customer, c.cards)
}

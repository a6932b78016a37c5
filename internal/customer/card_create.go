package customer

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// CreateCardParams are what POST /v1/customers/{customer}/sources takes.
type CreateCardParams struct {
	Customer string        `path:"customer"`
	Source   SourceParam   `form:"source,required"`
	Metadata form.Metadata `form:"metadata"`
	Expand   form.Expand   `form:"expand"`

	Found *PaymentSource // the card of Source
}

const cardKept = "card_kept"

// CreateCard keeps a card with a customer. The first one becomes the default.
var CreateCard = phase.Define("card.create", 1,
	phase.Atomic(cardKept, keepCard),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *CreateCardParams) (err error) {
	if err := CustomerExists(ctx, db, resource.ViewerOf(caller), in.Customer); err != nil {
		return err
	}
	if _, err := in.Metadata.New(); err != nil {
		return err
	}
	in.Found, err = SourceFrom(ctx, db, caller, &in.Source)
	return err
})

func keepCard(ctx context.Context, tx *phase.Tx, in CreateCardParams, _ *struct{}) (phase.Outcome, error) {
	customer, err := lockedCustomer(ctx, tx, in.Customer)
	if err != nil {
		return phase.Outcome{}, err
	}
	hadOne := customer.DefaultSource
	card, err := customer.takeCard(ctx, tx, in.Found)
	if err != nil {
		return phase.Outcome{}, err
	}
	card.Metadata, err = in.Metadata.Apply(nil)
	if err != nil {
		return phase.Outcome{}, err
	}
	insertCustomerCard(tx, card)
	event.Emit(tx, "customer.source.created", card.ID, card.Render(), nil)
	if hadOne == nil {
		customer.update(tx)
	} else {
		customer.DefaultSource = hadOne
	}
	return replyWithCard(ctx, tx, in.Expand, &card, customer.Render())
}

func replyWithCard(
	ctx context.Context, tx *phase.Tx, paths form.Expand, card *CustomerCard, known ...any,
) (phase.Outcome, error) {
	body, err := resource.Expand(ctx, tx, resource.PrincipalOf(tx.Caller), paths, card.Render(), known...)
	if err != nil {
		return phase.Outcome{}, err
	}
	return phase.OK(card.ID, body), nil
}

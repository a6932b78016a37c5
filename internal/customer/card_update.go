package customer

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// UpdateCardParams are what POST /v1/customers/{customer}/sources/{id} takes.
type UpdateCardParams struct {
	Customer string `path:"customer"`
	ID       string `path:"id"`
	CardHolder
	testcard.NewExpiry
	Metadata form.Metadata `form:"metadata"`
	Expand   form.Expand   `form:"expand"`
}

const cardUpdated = "card_updated"

const updateCard = `
	UPDATE cards SET card = @card, metadata = @metadata
	WHERE account_id = @account_id AND id = @id AND deleted_at IS NULL`

// UpdateCard changes what is written on a customer's card.
var UpdateCard = phase.Define("card.update", 1,
	phase.Atomic(cardUpdated, changeCard),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateCardParams) error {
	if err := in.CardHolder.check("", ""); err != nil {
		return err
	}
	return CustomerExists(ctx, db, resource.PrincipalOfCheck(caller), in.Customer)
})

func changeCard(ctx context.Context, tx *phase.Tx, in UpdateCardParams, _ *struct{}) (phase.Outcome, error) {
	card, err := lockedCard(ctx, tx, in.Customer, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	before := card.Render()
	card.Card.CardHolder = card.Card.changed(in.CardHolder)
	if err := in.Apply(&card.Card.ExpMonth, &card.Card.ExpYear, tx.Now()); err != nil {
		return phase.Outcome{}, err
	}
	card.Metadata, err = in.Metadata.Apply(card.Metadata)
	if err != nil {
		return phase.Outcome{}, err
	}
	previous, err := event.Changes(before, card.Render())
	if err != nil {
		return phase.Outcome{}, err
	}
	tx.WriteOne(updateCard,
		pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": card.ID, "card": card.Card, "metadata": card.Metadata})
	if len(previous) > 0 {
		event.Emit(tx, "customer.source.updated", card.ID, card.Render(), previous)
	}
	return replyWithCard(ctx, tx, in.Expand, card)
}

// lockedCard reads a customer's card for a change.
func lockedCard(ctx context.Context, tx *phase.Tx, customerID, id string) (*CustomerCard, error) {
	card, err := resource.Get[CustomerCard](ctx, tx, lockCard, resource.PrincipalOf(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	if card == nil || card.CustomerID != customerID {
		return nil, apierror.NotFound("source", "id", id)
	}
	return card, nil
}

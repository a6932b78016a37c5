package customer

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// DeleteCardParams are what DELETE /v1/customers/{customer}/sources/{id} takes: nothing.
type DeleteCardParams struct {
	Customer string `path:"customer"`
	ID       string `path:"id"`
}

const cardRemoved = "card_removed"

const deleteCard = `
	UPDATE cards SET deleted_at = @deleted_at WHERE account_id = @account_id AND id = @id AND deleted_at IS NULL`

// DeleteCard takes a card away from a customer. If it was the default, the
// newest of the others takes its place.
var DeleteCard = phase.Define("card.delete", 1,
	phase.Atomic(cardRemoved, removeCard),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *DeleteCardParams) error {
	return CustomerExists(ctx, db, resource.PrincipalOfCheck(caller), in.Customer)
})

func removeCard(ctx context.Context, tx *phase.Tx, in DeleteCardParams, _ *struct{}) (phase.Outcome, error) {
	customer, err := lockedCustomer(ctx, tx, in.Customer)
	if err != nil {
		return phase.Outcome{}, err
	}
	card, err := lockedCard(ctx, tx, in.Customer, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	left, err := cardsOfCustomers(ctx, tx, resource.PrincipalOf(tx.Caller), []string{customer.ID})
	if err != nil {
		return phase.Outcome{}, err
	}
	tx.WriteOne(deleteCard, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": card.ID, "deleted_at": tx.Now()})
	event.Emit(tx, "customer.source.deleted", card.ID, card.Render(), nil)
	wasSource, wasMethod := customer.DefaultSource, customer.InvoiceSettings.DefaultPaymentMethod
	if resource.Deref(wasSource) == card.ID {
		customer.DefaultSource = newestBut(card.ID, left[customer.ID])
	}
	if resource.Deref(wasMethod) == card.ID {
		customer.InvoiceSettings.DefaultPaymentMethod = nil
	}
	if resource.Deref(wasSource) == card.ID || resource.Deref(wasMethod) == card.ID {
		customer.update(tx)
	}
	return phase.OK(card.ID, Deleted{card.ID, "card", true}), nil
}

func newestBut(gone string, cards resource.ListObject) *string {
	for _, item := range cards.Data {
		if card := item.(CardObject); card.ID != gone {
			return &card.ID
		}
	}
	return nil
}

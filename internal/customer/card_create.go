package customer

import (
	"context"
	"errors"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
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

// The recovery points of a new card.
const (
	tokenSpent   = "token_spent"
	cardVerified = "card_verified"
	cardKept     = "card_kept"
)

// cardState is what the issuer said of a card that a customer is to keep.
type cardState struct {
	Result acquirer.Result `json:"Answer"` // as stored requests name it
}

// CreateCard keeps a card with a customer, after its issuer has said that it is
// good. The first one becomes the default.
//
//	(nothing) ──▶ token_spent ──▶ card_verified ──▶ card_kept
//	         claim       call, no tx open     insert, answer
//
// A token is used up even if the issuer declines, as by a charge.
var CreateCard = phase.Define("card.create", 2,
	phase.Atomic(tokenSpent, func(
		ctx context.Context, tx *phase.Tx, in CreateCardParams, _ *cardState,
	) (phase.Outcome, error) {
		return phase.Next, in.Found.Consume(ctx, tx)
	}),
	phase.Foreign(cardVerified, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], in CreateCardParams, s *cardState,
	) (err error) {
		s.Result, err = callIssuer(ctx, call, in.Found.Card)
		return err
	}),
	phase.Atomic(cardKept, keepCard),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *CreateCardParams) (err error) {
	if err := CustomerExists(ctx, db, resource.PrincipalOfCheck(caller), in.Customer); err != nil {
		return err
	}
	if _, err := in.Metadata.New(); err != nil {
		return err
	}
	in.Found, err = SourceFrom(ctx, db, caller, &in.Source)
	return err
})

func keepCard(ctx context.Context, tx *phase.Tx, in CreateCardParams, s *cardState) (phase.Outcome, error) {
	if !s.Result.Approved {
		return phase.Refuse(in.Customer, CardError(s.Result)), nil
	}
	customer, err := lockedCustomer(ctx, tx, in.Customer)
	if err != nil {
		return refuseLate(in.Customer, err)
	}
	hadOne := customer.DefaultSource
	card := customer.takeCard(tx, in.Found, s.Result)
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
	return replyWithCard(ctx, tx, in.Expand, &card, customer)
}

// refuseLate makes a refusal the request's outcome. The issuer has been asked by now, so
// that the request cannot be undone: the customer was deleted or changed meanwhile.
func refuseLate(customer string, err error) (phase.Outcome, error) {
	var refusal *apierror.Error
	if errors.As(err, &refusal) {
		return phase.Refuse(customer, refusal), nil
	}
	return phase.Outcome{}, err
}

func replyWithCard(
	ctx context.Context, tx *phase.Tx, paths form.Expand, card *CustomerCard, fresh ...resource.Renderer,
) (phase.Outcome, error) {
	return resource.Reply(ctx, tx, paths, card.ID, card.Render(), fresh...)
}

package customer

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// CreateTokenParams are what POST /v1/tokens takes.
type CreateTokenParams struct {
	Card   *TypedCard  `form:"card"`
	Expand form.Expand `form:"expand"`

	Shown Card // what is kept of it; the number does not survive the check
}

// TypedCard is a card as the customer typed it. Its number and security code cannot
// be printed, encoded or stored.
type TypedCard struct {
	testcard.Typed
	CardHolder
}

const tokenCreated = "token_created"

// CreateToken turns typed card details into a token, which can be used once.
//
//	(nothing) ──▶ token_created
//	      claim + insert + answer
var CreateToken = phase.Define("token.create", 1,
	phase.Atomic(tokenCreated, createToken),
).Check(recognizeCard)

// recognizeCard is the edge beyond which no card number goes: it is one of the
// test cards, or the request is refused.
func recognizeCard(_ context.Context, _ phase.Reader, caller phase.Check, in *CreateTokenParams) (err error) {
	if in.Card == nil {
		return apierror.Invalid("", "You must supply either a card, customer, bank account, or PII to create a token.").
			WithCode("parameter_missing")
	}
	in.Shown, err = in.Card.recognize(caller, "card")
	in.Card = nil
	return err
}

// recognize finds out which test card was typed. at names the hash in errors.
func (c *TypedCard) recognize(caller phase.Check, at string) (Card, error) {
	if err := c.CardHolder.check(at+"[", "]"); err != nil {
		return Card{}, err
	}
	known, err := testcard.Validate(c.Typed, caller.At, caller.Livemode)
	if err != nil {
		return Card{}, err
	}
	card := fromTestCard(known, caller.Keys(secret.Cards).Oldest())
	card.ExpMonth, card.ExpYear = c.ExpMonth, c.Year()
	card.CardHolder = CardHolder{}.changed(c.CardHolder)
	if c.CVC != nil {
		card.CVCCheck = resource.NilIfEmpty("unchecked")
	}
	return card, nil
}

func createToken(ctx context.Context, tx *phase.Tx, in CreateTokenParams, _ *struct{}) (phase.Outcome, error) {
	token := Token{
		ID: id.New("tok", tx.Now()), Livemode: tx.Livemode, Card: in.Shown, CardID: id.New("card", tx.Now()),
		ClientIP: resource.NilIfEmpty(tx.Address), CreatedAt: tx.Now(),
	}
	tx.Write(insertToken, pgx.StrictNamedArgs{
		"account_id": tx.AccountID, "id": token.ID, "livemode": token.Livemode, "request_id": tx.RequestID,
		"card": token.Card, "card_id": token.CardID, "client_ip": token.ClientIP, "created_at": token.CreatedAt,
	})
	return resource.Reply(ctx, tx, in.Expand, token.ID, token.Render())
}

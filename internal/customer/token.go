package customer

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

func init() {
	resource.Register(resource.Kind{Object: "token", Table: "tokens"})
}

// Token represents a card, and can be used once.
type Token struct {
	ID        string
	Livemode  bool
	Card      Card
	CardID    string
	ClientIP  *string
	UsedBy    *string // the request that spent it
	CreatedAt time.Time
}

// TokenObject is a token on the wire.
type TokenObject struct {
	ID       string     `json:"id"`
	Object   string     `json:"object"`
	Card     CardObject `json:"card"`
	ClientIP *string    `json:"client_ip"`
	Created  int64      `json:"created"`
	Livemode bool       `json:"livemode"`
	Type     string     `json:"type"`
	Used     bool       `json:"used"`
}

// Render is the object as API responses show it, before anything in it is expanded.
func (t *Token) Render() any {
	card := t.Card.Render(t.CardID, nil, nil)
	card.Networks = &cardNetworks{}
	return TokenObject{
		ID: t.ID, Object: "token", Card: card, ClientIP: t.ClientIP,
		Created: resource.Unix(t.CreatedAt), Livemode: t.Livemode, Type: "card", Used: t.UsedBy != nil,
	}
}

const insertToken = `
	INSERT INTO tokens (account_id, id, livemode, request_id, card, card_id, client_ip, created_at)
	VALUES (@account_id, @id, @livemode, @request_id, @card, @card_id, @client_ip, @created_at)`

const selectTokens = `
	SELECT id, livemode, card, card_id, client_ip, used_by, created_at
	FROM tokens
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	tokenByID    = selectTokens + ` AND id = @id`
	lockToken    = tokenByID + ` FOR NO KEY UPDATE`
	consumeToken = `
		UPDATE tokens SET used_by = @request_id WHERE account_id = @account_id AND id = @id AND used_by IS NULL`
)

// magicToken returns the token that Stripe's test mode knows by name, such as
// tok_visa. It is never used up. nil if there is none of that name.
func magicToken(name string, v resource.Principal, now time.Time) (*Token, error) {
	known, is, err := magicCard(testcard.ByToken, name, v.Livemode)
	if !is {
		return nil, err
	}
	card := fromTestCard(known, v.CardKey)
	card.ExpMonth, card.ExpYear = testcard.Expiry(now)
	return &Token{ID: name, Livemode: v.Livemode, Card: card, CardID: id.New("card", now), CreatedAt: now}, nil
}

// RetrieveToken answers GET /v1/tokens/{token}. Stripe answers 400, not 404, for
// a token that does not exist. Live mode knows no magic ones.
func RetrieveToken(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve) (any, error) {
	token, _ := magicToken(in.ID, v, time.Now())
	if token == nil {
		found, err := resource.Get[Token](ctx, db, tokenByID, v, in.ID)
		if err != nil {
			return nil, err
		}
		token = found
	}
	if token == nil {
		return nil, apierror.NoSuch("token", "token", in.ID)
	}
	return resource.Expand(ctx, db, v, in.Expand, token.Render())
}

// PaymentSource is the card that a request names, found before its key is claimed.
type PaymentSource struct {
	Card   Card   `json:"card"`
	CardID string `json:"card_id"`         // of the card kept with a customer, or a fresh one
	Token  string `json:"token,omitempty"` // to be spent; "" for a magic one
}

// SourceParam is the parameter source: a token, or a card with its number, which
// clients sent before there were tokens.
type SourceParam = form.Either[SourceCard]

// SourceCard is the card of source[object]=card.
type SourceCard struct {
	Object string `form:"object,required" enum:"card"`
	TypedCard
}

// SourceFrom finds the card that the parameter source names. Nothing of what was
// typed stays in the parameter.
func SourceFrom(ctx context.Context, db phase.Reader, caller phase.Check, sent *SourceParam) (*PaymentSource, error) {
	if sent.Hash == nil {
		return SourceFromToken(ctx, db, resource.PrincipalOfCheck(caller), "source", sent.Text)
	}
	card, err := sent.Hash.recognize(caller, "source")
	sent.Hash = nil
	if err != nil {
		return nil, err
	}
	return &PaymentSource{Card: card, CardID: id.New("card", caller.At)}, nil
}

// SourceFromToken finds the card of a token. param names the parameter
// in errors.
func SourceFromToken(
	ctx context.Context, db phase.Reader, v resource.Principal, param, name string,
) (*PaymentSource, error) {
	now := time.Now() // of a card that has no row: only the year of its expiry depends on it
	magic, err := magicToken(name, v, now)
	if err != nil {
		return nil, err
	}
	if magic != nil {
		return &PaymentSource{Card: magic.Card, CardID: magic.CardID}, nil
	}
	token, err := resource.Get[Token](ctx, db, tokenByID, v, name)
	if err != nil {
		return nil, err
	}
	if token == nil {
		return nil, apierror.NoSuch("token", param, name)
	}
	if token.UsedBy != nil {
		return nil, tokenUsed(name)
	}
	return &PaymentSource{Card: token.Card, CardID: token.CardID, Token: token.ID}, nil
}

// Consume uses the source's token up, if it has one. Two requests that send the
// same token at once meet in the token's row.
func (s *PaymentSource) Consume(ctx context.Context, tx *phase.Tx) error {
	if s.Token == "" {
		return nil
	}
	token, err := resource.Get[Token](ctx, tx, lockToken, resource.PrincipalOf(tx.Caller), s.Token)
	if err != nil {
		return err
	}
	if token == nil || token.UsedBy != nil {
		return tokenUsed(s.Token)
	}
	tx.WriteOne(consumeToken, pgx.StrictNamedArgs{
		"account_id": tx.AccountID, "id": s.Token, "request_id": tx.RequestID})
	return nil
}

func tokenUsed(name string) *apierror.Error {
	return apierror.Invalid("", "You cannot use a Stripe token more than once: %s.", form.Quote(name)).
		WithCode("token_already_used")
}

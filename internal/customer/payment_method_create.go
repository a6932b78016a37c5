package customer

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// PaymentMethodData is a payment method as a caller describes one, in
// POST /v1/payment_methods and in payment_method_data of an intent.
type PaymentMethodData struct {
	Type           string                `form:"type,required" enum:"card"`
	Card           *MethodCard           `form:"card"`
	BillingDetails *BillingDetailsParams `form:"billing_details"`
	Metadata       form.Metadata         `form:"metadata"`
	AllowRedisplay string                `form:"allow_redisplay" enum:"always,limited,unspecified"`
}

// MethodCard is the card of a method: a token, or typed card details.
type MethodCard struct {
	Token    string        `form:"token"`
	Number   *testcard.PAN `form:"number"`
	ExpMonth *int64        `form:"exp_month"`
	ExpYear  *int64        `form:"exp_year"`
	CVC      *testcard.CVC `form:"cvc"`
}

// NewMethod is a method that does not exist yet: the first phase inserts it and
// spends the token it came from.
type NewMethod struct {
	Method PaymentMethod
	Source *PaymentSource `json:"source,omitempty"` // the token, if there was one
}

// Recognize finds out what card the data describe. Beyond it no number goes. at
// is where the data stand among the parameters: "payment_method_data", or "".
func (d *PaymentMethodData) Recognize(
	ctx context.Context, db phase.Reader, caller phase.Check, at string,
) (*NewMethod, error) {
	if d.Card == nil {
		return nil, apierror.Missing(resource.NestedParam(at, "card"))
	}
	if err := d.BillingDetails.check(resource.NestedParam(at, "billing_details")); err != nil {
		return nil, err
	}
	card, source, err := d.Card.recognize(ctx, db, caller, resource.NestedParam(at, "card"))
	if err != nil {
		return nil, err
	}
	method := newMethod(caller.Caller, card, caller.At)
	method.BillingDetails = method.BillingDetails.changed(d.BillingDetails)
	if method.Metadata, err = d.Metadata.New(); err != nil {
		return nil, resource.WithinParam(at, err)
	}
	if d.AllowRedisplay != "" {
		method.AllowRedisplay = d.AllowRedisplay
	}
	d.Card = nil // nothing of what was typed is stored
	return &NewMethod{*method, source}, nil
}

func (c *MethodCard) recognize(
	ctx context.Context, db phase.Reader, caller phase.Check, at string,
) (Card, *PaymentSource, error) {
	if c.Token != "" {
		if c.Number != nil || c.ExpMonth != nil || c.ExpYear != nil || c.CVC != nil {
			return Card{}, nil,
				apierror.Invalid("", "You may only specify one of these parameters: %s[token], %s[number].", at, at).
					WithCode("parameters_exclusive")
		}
		source, err := SourceFromToken(ctx, db, resource.PrincipalOfCheck(caller), at+"[token]", c.Token)
		if err != nil {
			return Card{}, nil, err
		}
		return source.Card, source, nil
	}
	switch {
	case c.Number == nil:
		return Card{}, nil, apierror.Missing(at + "[number]")
	case c.ExpMonth == nil:
		return Card{}, nil, apierror.Missing(at + "[exp_month]")
	case c.ExpYear == nil:
		return Card{}, nil, apierror.Missing(at + "[exp_year]")
	}
	typed := testcard.Typed{Number: *c.Number, ExpMonth: *c.ExpMonth, ExpYear: *c.ExpYear, CVC: c.CVC}
	known, err := testcard.Validate(typed, caller.At, caller.Livemode)
	if err != nil {
		return Card{}, nil, err
	}
	card := fromTestCard(known, caller.Keys(secret.Cards).Oldest())
	card.ExpMonth, card.ExpYear = typed.ExpMonth, typed.Year()
	if c.CVC != nil {
		card.CVCCheck = resource.NilIfEmpty("unchecked")
	}
	return card, nil, nil
}

// Insert inserts the method and spends its token.
func (n *NewMethod) Insert(ctx context.Context, tx *phase.Tx) error {
	if n.Source != nil {
		if err := n.Source.Consume(ctx, tx); err != nil {
			return err
		}
	}
	n.Method.insert(tx)
	return nil
}

// CreatePaymentMethodParams are what POST /v1/payment_methods takes.
type CreatePaymentMethodParams struct {
	PaymentMethodData
	Expand form.Expand `form:"expand"`

	New *NewMethod // what the data describe
}

const methodCreated = "payment_method_created"

// CreatePaymentMethod keeps a card that can pay once, or be attached to a customer.
//
//	(nothing) ──▶ payment_method_created
//	      claim + insert + answer
var CreatePaymentMethod = phase.Define("payment_method.create", 1,
	phase.Atomic(methodCreated, func(
		ctx context.Context, tx *phase.Tx, in CreatePaymentMethodParams, _ *struct{},
	) (phase.Outcome, error) {
		if err := in.New.Insert(ctx, tx); err != nil {
			return phase.Outcome{}, err
		}
		return replyWithMethod(ctx, tx, in.Expand, &in.New.Method)
	}),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *CreatePaymentMethodParams) (err error) {
	in.New, err = in.Recognize(ctx, db, caller, "")
	return err
})

func replyWithMethod(
	ctx context.Context, tx *phase.Tx, paths form.Expand, method *PaymentMethod,
) (phase.Outcome, error) {
	return resource.Reply(ctx, tx, paths, method.ID, method.Render())
}

package customer

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// UpdatePaymentMethodParams are what POST /v1/payment_methods/{payment_method} takes.
type UpdatePaymentMethodParams struct {
	ID             string                `path:"payment_method"`
	BillingDetails *BillingDetailsParams `form:"billing_details"`
	Card           *testcard.NewExpiry   `form:"card"`
	Metadata       form.Metadata         `form:"metadata"`
	AllowRedisplay string                `form:"allow_redisplay" enum:"always,limited,unspecified"`
	Expand         form.Expand           `form:"expand"`
}

// UpdatePaymentMethod changes what may change of a customer's card.
var UpdatePaymentMethod = phase.Define("payment_method.update", 1,
	phase.Atomic("payment_method_updated", changeMethod),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdatePaymentMethodParams) error {
	if err := in.BillingDetails.check("billing_details"); err != nil {
		return err
	}
	return methodExists(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
})

func changeMethod(ctx context.Context, tx *phase.Tx, in UpdatePaymentMethodParams, _ *struct{}) (phase.Outcome, error) {
	method, err := LockMethod(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if refusal := method.refuseCard("POST"); refusal != nil {
		return phase.Outcome{}, refusal
	}
	if method.CustomerID == nil {
		return phase.Outcome{},
			apierror.Invalid("", "You must save this PaymentMethod to a customer before you can update it.")
	}
	before := method.Render()
	method.BillingDetails = method.BillingDetails.changed(in.BillingDetails)
	if err := in.Card.Apply(&method.Card.ExpMonth, &method.Card.ExpYear, tx.Now()); err != nil {
		return phase.Outcome{}, err
	}
	if in.AllowRedisplay != "" {
		method.AllowRedisplay = in.AllowRedisplay
	}
	if method.Metadata, err = in.Metadata.Apply(method.Metadata); err != nil {
		return phase.Outcome{}, err
	}
	previous, err := event.Changes(before, method.Render())
	if err != nil {
		return phase.Outcome{}, err
	}
	method.update(tx)
	if len(previous) > 0 {
		event.Emit(tx, "payment_method.updated", method.ID, method.Render(), previous)
	}
	return replyWithMethod(ctx, tx, in.Expand, method)
}

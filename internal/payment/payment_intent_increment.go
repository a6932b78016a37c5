package payment

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// IncrementAuthorizationParams are what POST
// /v1/payment_intents/{intent}/increment_authorization takes. Amount is the new
// total, in minor units.
type IncrementAuthorizationParams struct {
	ID                  string        `path:"intent"`
	Amount              int64         `form:"amount,required"`
	Description         *string       `form:"description" max:"1000"`
	Metadata            form.Metadata `form:"metadata"`
	StatementDescriptor *string       `form:"statement_descriptor" max:"22"`
	Expand              form.Expand   `form:"expand"`
}

const incrementRefused = "authorization_increment_refused"

// IncrementAuthorization refuses: an intent has to have asked for incremental
// authorization when it was made, and no account here may
// (PaymentIntentParams.check). A refusal is what most accounts get of Stripe.
var IncrementAuthorization = phase.Define("payment_intent.increment_authorization", 1,
	phase.Atomic(incrementRefused, func(
		ctx context.Context, tx *phase.Tx, in IncrementAuthorizationParams, _ *struct{},
	) (phase.Outcome, error) {
		intent, err := LockIntent(ctx, tx, in.ID)
		if err != nil {
			return phase.Outcome{}, err
		}
		if intent.LockedBy != nil {
			return phase.Outcome{}, apierror.Locked()
		}
		return phase.Refuse(intent.ID, intent.refuseIncrement(in.Amount)), nil
	}),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *IncrementAuthorizationParams) error {
	if err := resource.CheckDescriptors(in.StatementDescriptor, nil); err != nil {
		return err
	}
	if _, err := in.Metadata.New(); err != nil {
		return err
	}
	intent, err := readIntent(ctx, db, resource.PrincipalOfCheck(caller), in.ID, "")
	if err != nil {
		return err
	}
	return money.Check(in.Amount, intent.Currency)
})

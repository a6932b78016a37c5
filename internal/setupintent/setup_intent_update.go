package setupintent

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// UpdateSetupIntentParams are what POST /v1/setup_intents/{intent} takes.
type UpdateSetupIntentParams struct {
	ID     string      `path:"intent"`
	Expand form.Expand `form:"expand"`
	SetupIntentParams
}

const setupUpdated = "setup_intent_updated"

// UpdateSetupIntent changes what was sent and leaves the rest.
var UpdateSetupIntent = phase.Define("setup_intent.update", 1,
	phase.Atomic(setupUpdated, changeSetup),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateSetupIntentParams) error {
	setup, err := readSetup(ctx, db, resource.PrincipalOfCheck(caller), in.ID, "")
	if err != nil {
		return err
	}
	customer := in.Customer
	if customer == "" {
		customer = resource.Deref(setup.CustomerID)
	}
	if err := in.check(ctx, db, caller); err != nil {
		return err
	}
	return in.CheckUse(customer)
})

func changeSetup(ctx context.Context, tx *phase.Tx, in UpdateSetupIntentParams, _ *struct{}) (phase.Outcome, error) {
	setup, err := LockSetup(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if in.Method() != nil || in.Customer != "" && in.Customer != resource.Deref(setup.CustomerID) {
		if refusal := setup.refuseDirectly("update"); refusal != nil {
			return phase.Outcome{}, refusal
		}
		if refusal := setup.refuse("update"); refusal != nil {
			return phase.Outcome{}, refusal
		}
	}
	if err := setup.Apply(in.SetupIntentParams); err != nil {
		return phase.Outcome{}, err
	}
	if err := in.Insert(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	if in.Method() != nil {
		setup.abandonAttempt(tx)
	}
	setup.Update(tx)
	return replyWithSetup(ctx, tx, in.Expand, setup, in.Fresh()...)
}

// CancelSetupIntentParams are what POST /v1/setup_intents/{intent}/cancel takes.
type CancelSetupIntentParams struct {
	ID     string      `path:"intent"`
	Reason *string     `form:"cancellation_reason" enum:"abandoned,duplicate,requested_by_customer"`
	Expand form.Expand `form:"expand"`
}

const setupCanceled = "setup_intent_canceled"

// CancelSetupIntent ends a setup that has not succeeded.
var CancelSetupIntent = phase.Define("setup_intent.cancel", 1,
	phase.Atomic(setupCanceled, cancelSetup),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *CancelSetupIntentParams) error {
	_, err := readSetup(ctx, db, resource.PrincipalOfCheck(caller), in.ID, "")
	return err
})

func cancelSetup(ctx context.Context, tx *phase.Tx, in CancelSetupIntentParams, _ *struct{}) (phase.Outcome, error) {
	setup, err := LockSetup(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if setup.LockedBy != nil {
		return phase.Outcome{}, apierror.Locked()
	}
	if refusal := setup.refuseDirectly("cancel"); refusal != nil {
		return phase.Outcome{}, refusal
	}
	if refusal := setup.refuse("cancel"); refusal != nil {
		return phase.Refuse(setup.ID, refusal), nil
	}
	setup.Cancel(tx, in.Reason)
	return replyWithSetup(ctx, tx, in.Expand, setup)
}

// Cancel queues the UPDATEs that mark the setup intent as canceled and end its open attempt, and the event.
func (s *SetupIntent) Cancel(tx *phase.Tx, reason *string) {
	s.Status, s.CancellationReason, s.NextAction = payment.IntentCanceled, reason, nil
	s.abandonAttempt(tx)
	s.Update(tx)
	event.Emit(tx, "setup_intent.canceled", s.ID, s.Render(), nil)
}

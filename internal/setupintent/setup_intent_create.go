package setupintent

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// SetupIntentParams are what a setup can be created or updated with.
type SetupIntentParams struct {
	Customer             string                  `form:"customer" max:"5000"`
	Description          *string                 `form:"description,unset" max:"1000"`
	Metadata             form.Metadata           `form:"metadata"`
	PaymentMethodOptions *customer.MethodOptions `form:"payment_method_options"`
	PaymentMethodTypes   []string                `form:"payment_method_types" enum:"card"`
	customer.MethodParams
}

// CreateSetupIntentParams are what POST /v1/setup_intents takes.
type CreateSetupIntentParams struct {
	AutomaticPaymentMethods *payment.AutomaticPaymentMethods `form:"automatic_payment_methods"`
	Confirm                 bool                             `form:"confirm"`
	ReturnURL               string                           `form:"return_url" max:"2048"`
	Usage                   string                           `form:"usage" enum:"off_session,on_session"`
	UseStripeSDK            bool                             `form:"use_stripe_sdk"`
	Token                   string                           `form:"confirmation_token" max:"5000"`
	Expand                  form.Expand                      `form:"expand"`
	SetupIntentParams
}

const setupRecorded = "setup_intent_recorded"

// CreateSetupIntent notes a card that is to be made ready for payments to come,
// and with confirm=true does it.
//
//	(nothing) ──▶ setup_intent_recorded ──▶ card_answered ──▶ setup_finalized
//	   claim + insert, and the end      call, no tx open     keep the card, answer
//	   without confirm
var CreateSetupIntent = phase.Define("setup_intent.create", 2,
	phase.Atomic(setupRecorded, recordSetup),
	phase.Foreign(cardAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ CreateSetupIntentParams, s *SetupTry,
	) error {
		return s.Send(ctx, call)
	}),
	phase.Atomic(setupFinalized, func(
		ctx context.Context, tx *phase.Tx, in CreateSetupIntentParams, s *SetupTry,
	) (phase.Outcome, error) {
		return s.finalize(ctx, tx, in.Expand)
	}),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *CreateSetupIntentParams) error {
	if in.PaymentMethodTypes != nil && in.AutomaticPaymentMethods != nil && in.AutomaticPaymentMethods.Enabled {
		return apierror.Invalid("",
			"You may only specify one of these parameters: automatic_payment_methods, payment_method_types.").
			WithCode("parameters_exclusive")
	}
	if _, err := in.Metadata.New(); err != nil {
		return err
	}
	confirm := in.confirm()
	if err := confirm.Check("SetupIntent", in.Confirm); err != nil {
		return err
	}
	if _, err := confirm.Enter(ctx, db, caller, &in.MethodParams); err != nil {
		return err
	}
	in.ReturnURL = confirm.ReturnURL
	if err := in.check(ctx, db, caller); err != nil || in.Confirm {
		return err // with confirm=true RefuseConfirm says whether the method may be used
	}
	return in.CheckUse(in.Customer)
})

// confirm is what only a confirmation takes.
func (in *CreateSetupIntentParams) confirm() payment.ConfirmParams {
	return payment.ConfirmParams{ReturnURL: in.ReturnURL, UseStripeSDK: in.UseStripeSDK, ConfirmationToken: in.Token}
}

// check finds the customer and the method.
func (in *SetupIntentParams) check(ctx context.Context, db phase.Reader, caller phase.Check) error {
	if _, err := in.Metadata.Apply(nil); err != nil {
		return err
	}
	if in.Customer != "" {
		if err := customer.CustomerExists(ctx, db, resource.PrincipalOfCheck(caller), in.Customer); err != nil {
			return resource.AsParam(err, "customer")
		}
	}
	return in.Find(ctx, db, caller)
}

// recordSetup makes the setup, and with confirm=true begins it. As with a payment,
// it stays if its confirmation is refused.
func recordSetup(ctx context.Context, tx *phase.Tx, in CreateSetupIntentParams, s *SetupTry) (phase.Outcome, error) {
	method := in.Method()
	if in.CheckUse(in.Customer) != nil {
		in.Found = nil // what may not be used does not become its method
	}
	setup, err := in.Setup(tx)
	if err != nil {
		return phase.Outcome{}, err
	}
	if err := in.Insert(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	event.Emit(tx, "setup_intent.created", setup.ID, setup.Render(), nil)
	if !in.Confirm {
		setup.Insert(tx)
		return replyWithSetup(ctx, tx, in.Expand, setup, in.Fresh()...)
	}
	if refusal := setup.RefuseConfirm(method, in.ReturnURL != ""); refusal != nil {
		setup.Insert(tx)
		return phase.Refuse(setup.ID, setup.ShowTo(tx.Caller, refusal)), nil
	}
	confirm := in.confirm()
	if err := confirm.UseToken(ctx, tx, setup.ID); err != nil {
		return phase.Outcome{}, err
	}
	s.Begin(tx, setup, method, confirm.ReturnTo(tx.Caller))
	setup.Insert(tx)
	return phase.Next, nil
}

// Setup is the setup as it was asked for, not confirmed yet.
func (in *CreateSetupIntentParams) Setup(tx *phase.Tx) (*SetupIntent, error) {
	setup := &SetupIntent{
		AccountID:               tx.AccountID,
		ID:                      id.New("seti", tx.Now()),
		Livemode:                tx.Livemode,
		RequestID:               tx.RequestID,
		Status:                  payment.IntentNeedsMethod,
		Usage:                   "off_session",
		AutomaticPaymentMethods: in.AutomaticPaymentMethods.OrDefault(in.PaymentMethodTypes),
		PaymentMethodTypes:      []string{"card"},
		CreatedAt:               tx.Now(),
	}
	setup.ClientSecret = setup.ID + "_secret_" + id.Random(25)
	setup.PaymentMethodOptions.Card.RequestThreeDSecure = "automatic"
	if in.Usage != "" {
		setup.Usage = in.Usage
	}
	return setup, setup.Apply(in.SetupIntentParams)
}

// Apply changes the setup as the caller asked.
func (s *SetupIntent) Apply(in SetupIntentParams) (err error) {
	s.Description = resource.Patch(in.Description, s.Description)
	if in.Customer != "" {
		s.CustomerID = &in.Customer
	}
	card := &s.PaymentMethodOptions.Card
	card.RequestThreeDSecure = in.PaymentMethodOptions.ThreeDSecure(card.RequestThreeDSecure)
	if method := in.Method(); method != nil {
		s.PaymentMethodID, s.Status = &method.ID, payment.IntentNeedsConfirmation
		s.LastSetupError, s.NextAction = nil, nil
	}
	s.Metadata, err = in.Metadata.Apply(s.Metadata)
	return err
}

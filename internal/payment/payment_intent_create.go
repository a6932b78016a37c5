package payment

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// PaymentIntentParams are what an intent can be created or updated with.
type PaymentIntentParams struct {
	Customer                  string                  `form:"customer" max:"5000"`
	Description               *string                 `form:"description,unset" max:"1000"`
	PaymentMethodOptions      *customer.MethodOptions `form:"payment_method_options"`
	PaymentMethodTypes        []string                `form:"payment_method_types" enum:"card"`
	ReceiptEmail              *string                 `form:"receipt_email,unset" max:"800"`
	SetupFutureUsage          *string                 `form:"setup_future_usage,unset" enum:"off_session,on_session"`
	Shipping                  *resource.Shipping      `form:"shipping,unset"`
	StatementDescriptor       *string                 `form:"statement_descriptor" max:"22"`
	StatementDescriptorSuffix *string                 `form:"statement_descriptor_suffix" max:"22"`
	TransferGroup             *string                 `form:"transfer_group" max:"5000"`
	customer.MethodParams
}

// ConfirmParams are what only a confirmation takes.
type ConfirmParams struct {
	ReturnURL             string `form:"return_url" max:"2048"`
	OffSession            string `form:"off_session" enum:"true,false,one_off,recurring"`
	ErrorOnRequiresAction bool   `form:"error_on_requires_action"`
	UseStripeSDK          bool   `form:"use_stripe_sdk"`
	ConfirmationToken     string `form:"confirmation_token" max:"5000"`

	// OnPage says that Stripe.js confirms, with a publishable key. It shows the bank's page over the
	// merchant's, and it pays with a card: there is no need for an address to come back to.
	OnPage bool
}

// CreatePaymentIntentParams are what POST /v1/payment_intents takes.
type CreatePaymentIntentParams struct {
	Amount                  int64                    `form:"amount,required"`
	Currency                string                   `form:"currency,required"`
	AutomaticPaymentMethods *AutomaticPaymentMethods `form:"automatic_payment_methods"`
	CaptureMethod           string                   `form:"capture_method" enum:"automatic,automatic_async,manual"`
	ConfirmationMethod      string                   `form:"confirmation_method" enum:"automatic,manual"`
	Confirm                 bool                     `form:"confirm"`
	Metadata                form.Metadata            `form:"metadata"`
	Expand                  form.Expand              `form:"expand"`
	PaymentIntentParams
	ConfirmParams
}

// intentRecorded is the first recovery point of an intent's creation. With
// confirm=true those of a confirmation follow.
const intentRecorded = "payment_intent_recorded"

// CreatePaymentIntent notes a payment that is to be made, and with confirm=true
// makes it.
//
//	(nothing) ──▶ payment_intent_recorded ──▶ payment_answered ──▶ payment_finalized
//	     claim + insert, and the end      call, no tx open     post to the ledger, answer
//	     without confirm
var CreatePaymentIntent = phase.Define("payment_intent.create", 2,
	phase.Atomic(intentRecorded, recordIntent),
	phase.Foreign(PaymentAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ CreatePaymentIntentParams, s *Attempt,
	) error {
		return s.Send(ctx, call)
	}),
	phase.Atomic(PaymentFinalized, func(
		ctx context.Context, tx *phase.Tx, in CreatePaymentIntentParams, s *Attempt,
	) (phase.Outcome, error) {
		return s.finalize(ctx, tx, in.Expand)
	}),
).Check(checkIntent).AbandonUnsentAfter(AbandonChargeAfter, func(
	ctx context.Context, tx *phase.Tx, in CreatePaymentIntentParams, s *Attempt,
) (phase.Outcome, error) {
	return s.abandon(ctx, tx, in.Expand)
})

// checkIntent verifies the amount, and finds the customer and the method.
func checkIntent(ctx context.Context, db phase.Reader, caller phase.Check, in *CreatePaymentIntentParams) (err error) {
	if in.Currency, err = money.Parse(in.Currency); err != nil {
		return err
	}
	if err := money.Check(in.Amount, in.Currency); err != nil {
		return err
	}
	if _, err := in.Metadata.New(); err != nil {
		return err
	}
	if in.PaymentMethodTypes != nil && in.AutomaticPaymentMethods != nil && in.AutomaticPaymentMethods.Enabled {
		return apierror.Invalid("",
			"You may only specify one of these parameters: automatic_payment_methods, payment_method_types.").
			WithCode("parameters_exclusive")
	}
	if err := in.ConfirmParams.Check("PaymentIntent", in.Confirm); err != nil {
		return err
	}
	if err := in.enter(ctx, db, caller, &in.PaymentIntentParams); err != nil {
		return err
	}
	if err := in.PaymentIntentParams.Check(ctx, db, caller); err != nil || in.Confirm {
		return err // with confirm=true RefuseConfirm says whether the method may be used
	}
	return in.CheckUse(in.Customer)
}

// Check verifies what is the same for a new intent, a change of one and its
// confirmation, and finds the method.
func (in *PaymentIntentParams) Check(ctx context.Context, db phase.Reader, caller phase.Check) error {
	if err := resource.CheckEmail("receipt_email", in.ReceiptEmail); err != nil {
		return err
	}
	if in.StatementDescriptor != nil && *in.StatementDescriptor != "" {
		return apierror.Invalid("statement_descriptor",
			"The `statement_descriptor` parameter is not supported for the `card` payment method type. "+
				"Use `statement_descriptor_suffix` instead to append additional information to your account's "+
				"descriptor.")
	}
	if in.StatementDescriptorSuffix != nil && *in.StatementDescriptorSuffix != "" {
		if err := resource.CheckDescriptors(nil, in.StatementDescriptorSuffix); err != nil {
			return err
		}
	}
	options := in.PaymentMethodOptions
	if options != nil && options.Card != nil && options.Card.RequestIncrementalAuthorization == "if_available" {
		return apierror.Invalid("payment_method_options[card][request_incremental_authorization]",
			"This account is not eligible for the requested card features. See "+
				"https://stripe.com/docs/payments/flexible-payments for more details.").
			WithCode("payment_intent_invalid_parameter")
	}
	if in.Customer != "" {
		if err := customer.CustomerExists(ctx, db, resource.PrincipalOfCheck(caller), in.Customer); err != nil {
			return resource.AsParam(err, "customer")
		}
	}
	return in.Find(ctx, db, caller)
}

// Check refuses what only a confirmation of the kind of intent takes where there is none.
func (in *ConfirmParams) Check(kind string, confirm bool) error {
	if in.ReturnURL != "" && !resource.IsReturnURL(in.ReturnURL) {
		return apierror.Invalid("return_url", "Not a valid URL").WithCode("url_invalid")
	}
	if confirm {
		return nil
	}
	for _, p := range [...]struct {
		name string
		sent bool
	}{{"return_url", in.ReturnURL != ""}, {"off_session", in.OffSession != ""},
		{"error_on_requires_action", in.ErrorOnRequiresAction}, {"use_stripe_sdk", in.UseStripeSDK},
		{"confirmation_token", in.ConfirmationToken != ""}} {
		if p.sent {
			return onlyWithConfirm(kind, p.name)
		}
	}
	return nil
}

// Enter finds the confirmation token, if there is one, and has the rest of the request say
// what the customer has entered. What the caller sends beside it counts more.
func (in *ConfirmParams) Enter(
	ctx context.Context, db phase.Reader, caller phase.Check, method *customer.MethodParams,
) (*customer.ConfirmationToken, error) {
	if in.ConfirmationToken == "" {
		return nil, nil
	}
	if method.PaymentMethod != "" || method.PaymentMethodData != nil {
		return nil, apierror.Invalid("",
			"You may only specify one of these parameters: confirmation_token, payment_method, payment_method_data.").
			WithCode("parameters_exclusive")
	}
	token, err := customer.FindConfirmationToken(ctx, db, caller, in.ConfirmationToken)
	if err != nil {
		return nil, err
	}
	method.PaymentMethod = token.PaymentMethodID
	if in.ReturnURL == "" {
		in.ReturnURL = resource.Deref(token.ReturnURL)
	}
	return token, nil
}

// enter is Enter for a payment, which takes more of what was entered.
func (in *ConfirmParams) enter(
	ctx context.Context, db phase.Reader, caller phase.Check, params *PaymentIntentParams,
) error {
	token, err := in.Enter(ctx, db, caller, &params.MethodParams)
	if err != nil || token == nil {
		return err
	}
	if to := token.Shipping; params.Shipping == nil && to != nil {
		params.Shipping = &resource.Shipping{Address: to.Address, Name: to.Name, Phone: to.Phone}
	}
	if params.SetupFutureUsage == nil {
		params.SetupFutureUsage = token.SetupFutureUsage
	}
	return nil
}

// UseToken uses the confirmation token up, if there is one.
func (in *ConfirmParams) UseToken(ctx context.Context, tx *phase.Tx, intent string) error {
	if in.ConfirmationToken == "" {
		return nil
	}
	return customer.UseConfirmationToken(ctx, tx, in.ConfirmationToken, intent)
}

// offSession says that the cardholder is not present.
func (in *ConfirmParams) offSession() bool { return in.OffSession != "" && in.OffSession != "false" }

// recordIntent makes the intent, and with confirm=true begins to pay it. If the
// confirmation is refused, the intent stays all the same, and waits for a better one.
func recordIntent(ctx context.Context, tx *phase.Tx, in CreatePaymentIntentParams, s *Attempt) (phase.Outcome, error) {
	method := in.Method()
	if in.CheckUse(in.Customer) != nil {
		in.Found = nil // what may not pay for the intent does not become its method
	}
	intent, err := in.Intent(tx)
	if err != nil {
		return phase.Outcome{}, err
	}
	if err := in.Insert(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	event.Emit(tx, "payment_intent.created", intent.ID, intent.Render(), nil)
	if !in.Confirm {
		intent.Insert(tx)
		return replyWithIntent(ctx, tx, in.Expand, intent, in.Fresh()...)
	}
	if refusal := intent.RefuseConfirm(method, method != nil, in.ConfirmParams); refusal != nil {
		intent.Insert(tx)
		return phase.Refuse(intent.ID, intent.ShowTo(tx.Caller, refusal)), nil
	}
	if err := in.UseToken(ctx, tx, intent.ID); err != nil {
		return phase.Outcome{}, err
	}
	s.Begin(tx, intent, method, in.ConfirmParams)
	intent.Insert(tx)
	return s.next(ctx, tx, intent, method, in.Expand)
}

// Intent is the payment as it was asked for, not confirmed yet.
func (in CreatePaymentIntentParams) Intent(tx *phase.Tx) (*PaymentIntent, error) {
	p := &PaymentIntent{
		AccountID:            tx.AccountID,
		ID:                   id.New("pi", tx.Now()),
		Livemode:             tx.Livemode,
		RequestID:            tx.RequestID,
		Amount:               in.Amount,
		Currency:             in.Currency,
		Status:               IntentNeedsMethod,
		CaptureMethod:        captureAutomaticAsync,
		ConfirmationMethod:   "automatic",
		PaymentMethodOptions: PaymentMethodOptions{Card: CardOptions{RequestThreeDSecure: "automatic"}},
		CreatedAt:            tx.Now(),
	}
	p.ClientSecret = p.ID + "_secret_" + id.Random(25)
	if in.CaptureMethod != "" {
		p.CaptureMethod = in.CaptureMethod
	}
	if in.ConfirmationMethod != "" {
		p.ConfirmationMethod = in.ConfirmationMethod
	}
	p.AutomaticPaymentMethods = in.AutomaticPaymentMethods.OrDefault(in.PaymentMethodTypes)
	p.PaymentMethodTypes = []string{"card"}
	return p, p.apply(in.PaymentIntentParams, in.Metadata)
}

// OrDefault offers everything, unless the caller has said what to offer.
func (a *AutomaticPaymentMethods) OrDefault(types []string) *AutomaticPaymentMethods {
	switch {
	case types != nil:
		return nil
	case a == nil:
		return &AutomaticPaymentMethods{AllowRedirects: "always", Enabled: true}
	case a.AllowRedirects == "":
		return &AutomaticPaymentMethods{AllowRedirects: "always", Enabled: a.Enabled}
	}
	return a
}

// apply changes the intent as the caller asked.
func (p *PaymentIntent) apply(in PaymentIntentParams, metadata form.Metadata) (err error) {
	p.Description, p.ReceiptEmail = resource.Patch(in.Description, p.Description), resource.Patch(in.ReceiptEmail,
		p.ReceiptEmail)
	p.SetupFutureUsage = resource.Patch(in.SetupFutureUsage, p.SetupFutureUsage)
	p.StatementDescriptorSuffix = resource.Patch(in.StatementDescriptorSuffix, p.StatementDescriptorSuffix)
	if in.Customer != "" {
		p.CustomerID = &in.Customer
	}
	if in.Shipping != nil {
		p.Shipping = resource.NilIfZero(in.Shipping)
	}
	card := &p.PaymentMethodOptions.Card
	card.RequestThreeDSecure = in.PaymentMethodOptions.ThreeDSecure(card.RequestThreeDSecure)
	if method := in.Method(); method != nil {
		p.TakeMethod(method)
	}
	p.TransferGroup, err = resource.SetOnce("transfer_group", p.ID, p.TransferGroup, in.TransferGroup)
	if err != nil {
		return err
	}
	p.Metadata, err = metadata.Apply(p.Metadata)
	return err
}

// TakeMethod makes a method the one the intent will be paid with. What was
// known of the last one is forgotten.
func (p *PaymentIntent) TakeMethod(method *customer.PaymentMethod) {
	p.PaymentMethodID, p.Status = &method.ID, IntentNeedsConfirmation
	p.LastPaymentError, p.Authenticated, p.NextAction = nil, false, nil
}

package setupintent

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// ConfirmSetupIntentParams are what POST /v1/setup_intents/{intent}/confirm takes.
type ConfirmSetupIntentParams struct {
	ID           string                  `path:"intent"`
	ClientSecret string                  `form:"client_secret" json:"-"`
	ReturnURL    string                  `form:"return_url" max:"2048"`
	UseStripeSDK bool                    `form:"use_stripe_sdk"`
	Token        string                  `form:"confirmation_token" max:"5000"`
	Options      *customer.MethodOptions `form:"payment_method_options"`
	Expand       form.Expand             `form:"expand"`
	customer.MethodParams
}

// SetupTry is one try at a setup: what its phases tell each other.
type SetupTry struct {
	IntentID string
	Session  *string // the checkout session it is part of
	Method   customer.PaymentMethod
	Passed   bool            // the cardholder has passed the authentication
	Result   acquirer.Result `json:"Answer"` // as stored requests name it
}

// The recovery points of an attempt at a setup.
const (
	setupConfirmationRecorded = "setup_confirmation_recorded"
	cardAnswered              = "card_answered"
	setupFinalized            = "setup_finalized"
)

// ConfirmSetupIntent asks the card's issuer whether the card can be used later.
//
//	(nothing) ──▶ setup_confirmation_recorded ──▶ card_answered ──▶ setup_finalized
//	   claim + reserve the setup            call, no tx open    keep the card, answer
var ConfirmSetupIntent = phase.Define("setup_intent.confirm", 2,
	phase.Atomic(setupConfirmationRecorded, recordSetupConfirmation),
	phase.Foreign(cardAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ ConfirmSetupIntentParams, s *SetupTry,
	) error {
		return s.Send(ctx, call)
	}),
	phase.Atomic(setupFinalized, func(
		ctx context.Context, tx *phase.Tx, in ConfirmSetupIntentParams, s *SetupTry,
	) (phase.Outcome, error) {
		return s.finalize(ctx, tx, in.Expand)
	}),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *ConfirmSetupIntentParams) error {
	setup, err := readSetup(ctx, db, resource.PrincipalOfCheck(caller), in.ID, in.ClientSecret)
	if err != nil {
		return err
	}
	confirm := in.confirm()
	if err := confirm.Check("SetupIntent", true); err != nil {
		return err
	}
	if _, err := confirm.Enter(ctx, db, caller, &in.MethodParams); err != nil {
		return err
	}
	in.ReturnURL = confirm.ReturnURL
	if err := in.Find(ctx, db, caller); err != nil || in.Method() != nil || setup.PaymentMethodID == nil {
		return err
	}
	in.Found, err = resource.Get[customer.PaymentMethod](ctx, db, customer.MethodByID,
		resource.PrincipalOfCheck(caller), *setup.PaymentMethodID)
	return err
})

// confirm is what the confirmation has in common with that of a payment.
func (in *ConfirmSetupIntentParams) confirm() payment.ConfirmParams {
	return payment.ConfirmParams{ReturnURL: in.ReturnURL, UseStripeSDK: in.UseStripeSDK, ConfirmationToken: in.Token}
}

func recordSetupConfirmation(
	ctx context.Context, tx *phase.Tx, in ConfirmSetupIntentParams, s *SetupTry,
) (phase.Outcome, error) {
	setup, err := LockSetup(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if setup.LockedBy != nil {
		return phase.Outcome{}, apierror.Locked()
	}
	if refusal := setup.refuseDirectly("confirm"); refusal != nil {
		return phase.Outcome{}, setup.ShowTo(tx.Caller, refusal)
	}
	returns := in.ReturnURL != "" || payment.OnPage(tx.Caller, in.UseStripeSDK)
	if refusal := setup.RefuseConfirm(in.Method(), returns); refusal != nil {
		return phase.Refuse(setup.ID, setup.ShowTo(tx.Caller, refusal)), nil
	}
	err = setup.Apply(SetupIntentParams{PaymentMethodOptions: in.Options, MethodParams: in.MethodParams})
	if err != nil {
		return phase.Outcome{}, err
	}
	if err := in.Insert(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	confirm := in.confirm()
	if err := confirm.UseToken(ctx, tx, setup.ID); err != nil {
		return phase.Outcome{}, err
	}
	s.Begin(tx, setup, in.Method(), confirm.ReturnTo(tx.Caller))
	setup.Update(tx)
	return phase.Next, nil
}

// RefuseConfirm says why a setup cannot be confirmed with the method it would have,
// or nil. returns says that a customer who is sent away has a way back. The caller says
// who is shown the setup.
func (s *SetupIntent) RefuseConfirm(method *customer.PaymentMethod, returns bool) *apierror.Error {
	if refusal := s.refuse("confirm"); refusal != nil {
		return refusal
	}
	if method == nil {
		return apierror.Invalid("",
			"You cannot confirm this SetupIntent because it's missing a payment method. Update the SetupIntent with "+
				"a payment method and then confirm it again.").WithCode("setup_intent_unexpected_state")
	}
	if refusal := method.RefuseUse(resource.Deref(s.CustomerID)); refusal != nil {
		return refusal
	}
	if !returns && s.AutomaticPaymentMethods.MayRedirect() {
		return payment.MissingReturnURL("SetupIntent")
	}
	return nil
}

// Begin reserves the setup for this attempt. The caller has asked RefuseConfirm,
// and writes it.
func (s *SetupTry) Begin(tx *phase.Tx, setup *SetupIntent, method *customer.PaymentMethod, returnURL string) {
	setup.ReturnURL = resource.NilIfEmpty(returnURL)
	setup.abandonAttempt(tx)
	s.reserve(tx, setup, method)
}

// reserve makes the setup this attempt's until the issuer has answered.
func (s *SetupTry) reserve(tx *phase.Tx, setup *SetupIntent, method *customer.PaymentMethod) {
	s.IntentID, s.Method, s.Session = setup.ID, *method, setup.CheckoutSession
	setup.Status, setup.LockedBy = payment.IntentProcessing, &tx.RequestID
	setup.NextAction, setup.LastSetupError = nil, nil
}

// Send asks the issuer, through the acquirer, whether the card may be kept. No money moves. The answer, a decline too,
// is in s.Result. An error means that the outcome is not known.
func (s *SetupTry) Send(ctx context.Context, call phase.ForeignCall[acquirer.Acquirer]) (err error) {
	s.Result, err = call.To().Verify(ctx, call.Permit, acquirer.Order{
		Card: s.Method.Card.Vault, Currency: customer.VerificationCurrency, SetUp: true, Authenticated: s.Passed})
	return err
}

// finalize records what the issuer answered, keeps the card, and answers.
func (s *SetupTry) finalize(ctx context.Context, tx *phase.Tx, paths form.Expand) (phase.Outcome, error) {
	owner, err := payment.LockOwner(ctx, tx, s.Session)
	if err != nil {
		return phase.Outcome{}, err
	}
	end, err := s.Conclude(ctx, tx, owner)
	switch {
	case err != nil:
		return phase.Outcome{}, err
	case end.Declined != nil:
		return phase.Refuse(end.Setup.ID, end.Declined), nil
	}
	return replyWithSetup(ctx, tx, paths, end.Setup, end.fresh...)
}

// setupConclusion is how an attempt at a setup ended, for the function that responds.
type setupConclusion struct {
	Setup    *SetupIntent
	fresh    []resource.Renderer // what the attempt has made and changed
	Declined *apierror.Error
}

// Conclude records what the issuer answered, and keeps the card. The caller has
// locked the setup's owner, if it has one.
func (s *SetupTry) Conclude(
	ctx context.Context, tx *phase.Tx, owner payment.Owner,
) (end setupConclusion, err error) {
	setup, err := LockSetup(ctx, tx, s.IntentID)
	if err != nil {
		return end, err
	}
	end.Setup, setup.LockedBy = setup, nil
	method, refused, err := customer.LockToUse(ctx, tx, s.Method.ID, resource.Deref(setup.CustomerID))
	if err != nil {
		return end, err
	}
	if method == nil {
		method = &s.Method
	}
	switch {
	case s.Result.Code == acquirer.CodeAuthenticationNeeded:
		challenge := id.New("3ds", tx.Now())
		setup.Status = payment.IntentNeedsAction
		setup.Challenge = &challenge
		setup.NextAction = payment.ChallengeAt(tx, challenge, setup.ReturnURL)
		attempt := setup.tried(tx, *method, payment.IntentNeedsAction, s.authenticated())
		setup.Update(tx)
		event.Emit(tx, "setup_intent.requires_action", setup.ID, setup.Render(), nil)
		end.fresh = append(end.fresh, method, attempt)
		return end, nil
	case !s.Result.Approved:
		declined := customer.CardError(s.Result)
		declined.PaymentMethod = method.Render()
		end.Declined, err = s.fail(tx, setup, declined)
		return end, err
	case refused != nil:
		end.Declined, err = s.fail(tx, setup, refused)
		return end, err
	}
	method.Card.ApplyResult(s.Result)
	setup.Status = payment.IntentSucceeded
	attempt := setup.tried(tx, *method, payment.IntentSucceeded, s.authenticated())
	setup.Update(tx)
	method.SetUp = method.SetUp || setup.Usage == "off_session"
	if method.CustomerID == nil && setup.CustomerID != nil {
		method.Attach(tx, *setup.CustomerID)
	} else {
		method.RecordUse(tx)
	}
	event.Emit(tx, "setup_intent.succeeded", setup.ID, setup.Render(), nil)
	if owner != nil {
		owner.CardKept(tx)
	}
	end.fresh = append(end.fresh, method, attempt)
	return end, nil
}

// authenticated is the outcome of the authentication, nil if there was none.
func (s *SetupTry) authenticated() *attemptSecure {
	if !s.Passed {
		return nil
	}
	return secured(true)
}

// fail ends an attempt whose card was declined, or whose method can no longer be used. The setup can be tried again,
// with another method.
func (s *SetupTry) fail(tx *phase.Tx, setup *SetupIntent, declined *apierror.Error) (*apierror.Error, error) {
	remembered, err := declined.Remember()
	if err != nil {
		return nil, err
	}
	setup.Status, setup.PaymentMethodID, setup.LastSetupError = payment.IntentNeedsMethod, nil, remembered
	setup.tried(tx, s.Method, attemptFailed, s.authenticated())
	setup.Update(tx)
	event.Emit(tx, "setup_intent.setup_failed", setup.ID, setup.Render(), nil)
	return setup.ShowTo(tx.Caller, declined), nil
}

// ShowTo makes an error show the setup, as far as the caller may see it.
func (s *SetupIntent) ShowTo(caller phase.Caller, e *apierror.Error) *apierror.Error {
	e.SetupIntent = s.Render()
	if apirequest.Of(caller).Publishable {
		e.SetupIntent = s.Public()
	}
	return e
}

// AuthenticateSetup moves a setup on after its cardholder has passed or failed the
// challenge, as [payment.AuthenticatePayment] does an intent.
var AuthenticateSetup = phase.Define("setup_intent.authenticate", 2,
	phase.Atomic(payment.AuthenticationRecorded, recordSetupAuthentication),
	phase.Foreign(cardAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ payment.AuthenticateParams, s *SetupTry,
	) error {
		return s.Send(ctx, call)
	}),
	phase.Atomic(setupFinalized, func(
		ctx context.Context, tx *phase.Tx, _ payment.AuthenticateParams, s *SetupTry,
	) (phase.Outcome, error) {
		return s.finalize(ctx, tx, nil)
	}),
)

func recordSetupAuthentication(
	ctx context.Context, tx *phase.Tx, in payment.AuthenticateParams, s *SetupTry,
) (phase.Outcome, error) {
	setup, err := LockSetup(ctx, tx, in.Intent)
	if err != nil {
		return phase.Outcome{}, err
	}
	if setup.Status != payment.IntentNeedsAction || resource.Deref(setup.Challenge) != in.Challenge {
		return phase.Outcome{}, payment.ChallengeOver()
	}
	method, refused, err := customer.LockToUse(ctx, tx, resource.Deref(setup.PaymentMethodID),
		resource.Deref(setup.CustomerID))
	if err != nil {
		return phase.Outcome{}, err
	}
	if !in.Passed && method != nil {
		refused = payment.AuthenticationFailed("setup_intent_authentication_failure", method)
	}
	if refused != nil {
		if setup.LastSetupError, err = refused.Remember(); err != nil {
			return phase.Outcome{}, err
		}
		if method != nil {
			setup.tried(tx, *method, attemptFailed, secured(in.Passed))
		} else {
			setup.abandonAttempt(tx)
		}
		setup.Status, setup.PaymentMethodID, setup.NextAction = payment.IntentNeedsMethod, nil, nil
		setup.Update(tx)
		event.Emit(tx, "setup_intent.setup_failed", setup.ID, setup.Render(), nil)
		return replyWithSetup(ctx, tx, nil, setup)
	}
	s.Passed = true
	s.reserve(tx, setup, method)
	setup.Update(tx)
	return phase.Next, nil
}

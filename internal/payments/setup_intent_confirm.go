package payments

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// ConfirmSetupIntentParams are what POST /v1/setup_intents/{intent}/confirm takes.
type ConfirmSetupIntentParams struct {
	ID           string         `path:"intent"`
	ClientSecret string         `form:"client_secret" json:"-"`
	ReturnURL    string         `form:"return_url" max:"2048"`
	UseStripeSDK bool           `form:"use_stripe_sdk"`
	Options      *MethodOptions `form:"payment_method_options"`
	Expand       form.Expand    `form:"expand"`
	MethodParams
}

// setupTry is one try at a setup: what its phases tell each other.
type setupTry struct {
	IntentID string
	Session  *string // the checkout session it is part of
	Method   PaymentMethod
	Passed   bool // the cardholder has authenticated himself
	Answer   acquirer.Answer
}

// The recovery points of an attempt at a setup.
const (
	setupConfirmationRecorded = "setup_confirmation_recorded"
	cardAnswered              = "card_answered"
	setupSettled              = "setup_settled"
)

// ConfirmSetupIntent asks the card's issuer whether the card can be used later.
//
//	(nothing) ──▶ setup_confirmation_recorded ──▶ card_answered ──▶ setup_settled
//	   claim + reserve the setup            ask, no tx open     keep the card, answer
var ConfirmSetupIntent = phase.Define("setup_intent.confirm", 1,
	phase.Atomic(setupConfirmationRecorded, recordSetupConfirmation),
	phase.Foreign(cardAnswered, acquirer.Port, func(ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ ConfirmSetupIntentParams, s *setupTry) error {
		return s.ask(ctx, call)
	}),
	phase.Atomic(setupSettled, func(ctx context.Context, tx *phase.Tx, in ConfirmSetupIntentParams, s *setupTry) (phase.Outcome, error) {
		return s.settle(ctx, tx, in.Expand)
	}),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *ConfirmSetupIntentParams) error {
	setup, err := readSetup(ctx, db, viewerOf(caller), in.ID, in.ClientSecret)
	if err != nil {
		return err
	}
	confirm := ConfirmParams{ReturnURL: in.ReturnURL}
	if err := confirm.check("SetupIntent", true); err != nil {
		return err
	}
	if err := in.find(ctx, db, caller); err != nil || in.method() != nil || setup.PaymentMethodID == nil {
		return err
	}
	in.Found, err = byID[PaymentMethod](ctx, db, methodByID, viewerOf(caller), *setup.PaymentMethodID)
	return err
})

func recordSetupConfirmation(ctx context.Context, tx *phase.Tx, in ConfirmSetupIntentParams, s *setupTry) (phase.Outcome, error) {
	setup, err := lockedSetup(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if setup.BusyWith != nil {
		return phase.Outcome{}, apierror.Locked()
	}
	if refusal := setup.refuseDirectly("confirm"); refusal != nil {
		return phase.Outcome{}, setup.showTo(tx.Caller, refusal)
	}
	if refusal := setup.refuseConfirm(in.method(), in.ReturnURL); refusal != nil {
		return phase.Refuse(setup.ID, setup.showTo(tx.Caller, refusal)), nil
	}
	if err := setup.apply(SetupIntentParams{PaymentMethodOptions: in.Options, MethodParams: in.MethodParams}); err != nil {
		return phase.Outcome{}, err
	}
	if err := in.keep(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	s.begin(tx, setup, in.method(), in.ReturnURL)
	setup.update(tx)
	return phase.Next, nil
}

// refuseConfirm says why a setup cannot be confirmed with the method it would have,
// or nil. The caller says who is shown the setup.
func (s *SetupIntent) refuseConfirm(method *PaymentMethod, returnURL string) *apierror.Error {
	if refusal := s.refuse("confirm"); refusal != nil {
		return refusal
	}
	if method == nil {
		return apierror.Invalid("", "You cannot confirm this SetupIntent because it's missing a payment method. Update the SetupIntent with a payment method "+
			"and then confirm it again.").WithCode("setup_intent_unexpected_state")
	}
	if refusal := method.refuseUse(deref(s.CustomerID)); refusal != nil {
		return refusal
	}
	if returnURL == "" && s.AutomaticPaymentMethods.mayRedirect() {
		return missingReturnURL("SetupIntent")
	}
	return nil
}

// begin reserves the setup for this attempt. The caller has asked refuseConfirm,
// and writes it.
func (s *setupTry) begin(tx *phase.Tx, setup *SetupIntent, method *PaymentMethod, returnURL string) {
	setup.ReturnURL = orNull(returnURL)
	setup.abandonAttempt(tx)
	s.reserve(tx, setup, method)
}

// reserve makes the setup this attempt's until the issuer has answered.
func (s *setupTry) reserve(tx *phase.Tx, setup *SetupIntent, method *PaymentMethod) {
	s.IntentID, s.Method, s.Session = setup.ID, *method, setup.CheckoutSession
	setup.Status, setup.BusyWith, setup.NextAction, setup.LastSetupError = intentProcessing, &tx.RequestID, nil, nil
}

func (s *setupTry) ask(ctx context.Context, call phase.ForeignCall[acquirer.Acquirer]) (err error) {
	s.Answer, err = call.To().Verify(ctx, call.Permit, acquirer.Order{
		Card: s.Method.Card.Vault, Currency: verificationCurrency, SetUp: true, Authenticated: s.Passed})
	return err
}

// settle writes down what the issuer answered, keeps the card, and answers.
func (s *setupTry) settle(ctx context.Context, tx *phase.Tx, paths form.Expand) (phase.Outcome, error) {
	owner, err := lockOwner(ctx, tx, s.Session)
	if err != nil {
		return phase.Outcome{}, err
	}
	end, err := s.conclude(ctx, tx, owner)
	switch {
	case err != nil:
		return phase.Outcome{}, err
	case end.declined != nil:
		return phase.Refuse(end.setup.ID, end.declined), nil
	}
	return replyWithSetup(ctx, tx, paths, end.setup, end.known...)
}

// setupConclusion is how an attempt at a setup ended, for whoever answers.
type setupConclusion struct {
	setup    *SetupIntent
	known    []any
	declined *apierror.Error
}

// conclude writes down what the issuer answered, and keeps the card. The caller has
// locked the setup's owner, if it has one.
func (s *setupTry) conclude(ctx context.Context, tx *phase.Tx, owner Owner) (end setupConclusion, err error) {
	setup, err := lockedSetup(ctx, tx, s.IntentID)
	if err != nil {
		return end, err
	}
	end.setup, setup.BusyWith = setup, nil
	method := s.Method
	switch {
	case s.Answer.Code == acquirer.CodeAuthenticationNeeded:
		challenge := id.New("3ds", tx.Now())
		setup.Status, setup.Challenge, setup.NextAction = intentNeedsAction, &challenge, challengeAt(tx, challenge, setup.ReturnURL)
		attempt := setup.tried(tx, method, intentNeedsAction, s.asked())
		setup.update(tx)
		emit(tx, "setup_intent.requires_action", setup.ID, setup.wire(), nil)
		end.known = append(end.known, method.wire(), attempt.wire())
		return end, nil
	case !s.Answer.Approved:
		end.declined, err = s.fail(tx, setup)
		return end, err
	}
	method.Card.heard(s.Answer)
	setup.Status = intentSucceeded
	attempt := setup.tried(tx, method, intentSucceeded, s.asked())
	setup.update(tx)
	method.SetUp = method.SetUp || setup.Usage == "off_session"
	if method.CustomerID == nil && setup.CustomerID != nil {
		method.attach(tx, *setup.CustomerID)
	} else {
		method.update(tx)
	}
	emit(tx, "setup_intent.succeeded", setup.ID, setup.wire(), nil)
	if owner != nil {
		owner.CardKept(tx)
	}
	end.known = append(end.known, method.wire(), attempt.wire())
	return end, nil
}

// asked is what came of asking the cardholder, nil if he was not.
func (s *setupTry) asked() *attemptSecure {
	if !s.Passed {
		return nil
	}
	return secured(true)
}

// fail ends an attempt that was declined. The setup can be tried again, with
// another method.
func (s *setupTry) fail(tx *phase.Tx, setup *SetupIntent) (*apierror.Error, error) {
	declined := cardError(s.Answer)
	declined.PaymentMethod = s.Method.wire()
	remembered, err := json.Marshal(declined)
	if err != nil {
		return nil, fmt.Errorf("encode last_setup_error: %w", err)
	}
	setup.Status, setup.PaymentMethodID, setup.LastSetupError = intentNeedsMethod, nil, remembered
	setup.tried(tx, s.Method, attemptFailed, s.asked())
	setup.update(tx)
	emit(tx, "setup_intent.setup_failed", setup.ID, setup.wire(), nil)
	return setup.showTo(tx.Caller, declined), nil
}

// showTo makes an error show the setup, as far as the caller may see it.
func (s *SetupIntent) showTo(caller phase.Caller, e *apierror.Error) *apierror.Error {
	e.SetupIntent = s.wire()
	if apirequest.Of(caller).Publishable {
		e.SetupIntent = s.public()
	}
	return e
}

// AuthenticateSetup moves a setup on after its cardholder has passed or failed
// his challenge, as AuthenticatePayment does an intent.
var AuthenticateSetup = phase.Define("setup_intent.authenticate", 1,
	phase.Atomic(authenticationRecorded, recordSetupAuthentication),
	phase.Foreign(cardAnswered, acquirer.Port, func(ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ AuthenticateParams, s *setupTry) error {
		return s.ask(ctx, call)
	}),
	phase.Atomic(setupSettled, func(ctx context.Context, tx *phase.Tx, _ AuthenticateParams, s *setupTry) (phase.Outcome, error) {
		return s.settle(ctx, tx, nil)
	}),
)

func recordSetupAuthentication(ctx context.Context, tx *phase.Tx, in AuthenticateParams, s *setupTry) (phase.Outcome, error) {
	setup, err := lockedSetup(ctx, tx, in.Intent)
	if err != nil {
		return phase.Outcome{}, err
	}
	if setup.Status != intentNeedsAction || deref(setup.Challenge) != in.Challenge {
		return phase.Outcome{}, challengeOver()
	}
	method, err := lockedMethod(ctx, tx, deref(setup.PaymentMethodID))
	if err != nil {
		return phase.Outcome{}, err
	}
	if !in.Passed {
		setup.LastSetupError, err = authenticationFailed("setup_intent_authentication_failure", method)
		if err != nil {
			return phase.Outcome{}, err
		}
		setup.Status, setup.PaymentMethodID, setup.NextAction = intentNeedsMethod, nil, nil
		setup.tried(tx, *method, attemptFailed, secured(false))
		setup.update(tx)
		emit(tx, "setup_intent.setup_failed", setup.ID, setup.wire(), nil)
		return replyWithSetup(ctx, tx, nil, setup)
	}
	s.Passed = true
	s.reserve(tx, setup, method)
	setup.update(tx)
	return phase.Next, nil
}

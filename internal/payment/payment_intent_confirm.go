package payment

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// ConfirmPaymentIntentParams are what POST /v1/payment_intents/{intent}/confirm takes.
type ConfirmPaymentIntentParams struct {
	ID            string                  `path:"intent"`
	CaptureMethod string                  `form:"capture_method" enum:"automatic,automatic_async,manual"`
	ClientSecret  string                  `form:"client_secret" json:"-"`
	Options       *customer.MethodOptions `form:"payment_method_options"`
	Types         []string                `form:"payment_method_types" enum:"card"`
	ReceiptEmail  *string                 `form:"receipt_email,unset" max:"800"`
	FutureUsage   *string                 `form:"setup_future_usage,unset" enum:"off_session,on_session"`
	Shipping      *resource.Shipping      `form:"shipping,unset"`
	Expand        form.Expand             `form:"expand"`
	customer.MethodParams
	ConfirmParams
}

// Attempt is one try at an intent's money: what its phases tell each other,
// whichever operation it is part of.
type Attempt struct {
	IntentID string
	Session  *string        // the checkout session it is part of
	New      *PaymentIntent // the intent, if the attempt's request creates it
	Method   customer.PaymentMethod
	Order    acquirer.Order
	Result   acquirer.Result `json:"Answer"` // as stored requests name it
	MayAsk   bool            // the cardholder is present and can be sent to their bank's page
	NoAction bool            // the merchant wants an error instead of sending them there
}

// The recovery points of an attempt.
const (
	confirmationRecorded = "confirmation_recorded"
	PaymentAnswered      = "payment_answered"
	PaymentFinalized     = "payment_finalized"
)

// ConfirmPaymentIntent tries to pay an intent.
//
//	(nothing) ──▶ confirmation_recorded ──▶ payment_answered ──▶ payment_finalized
//	  claim + reserve the intent       call, no tx open      post to the ledger, answer
//
// The intent is "processing" during the call to the acquirer, and other requests that
// would change it get a 429.
var ConfirmPaymentIntent = phase.Define("payment_intent.confirm", 2,
	phase.Atomic(confirmationRecorded, recordConfirmation),
	phase.Foreign(PaymentAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ ConfirmPaymentIntentParams, s *Attempt,
	) error {
		return s.Send(ctx, call)
	}),
	phase.Atomic(PaymentFinalized, func(
		ctx context.Context, tx *phase.Tx, in ConfirmPaymentIntentParams, s *Attempt,
	) (phase.Outcome, error) {
		return s.finalize(ctx, tx, in.Expand)
	}),
).Check(checkConfirmation).AbandonUnsentAfter(AbandonChargeAfter, func(
	ctx context.Context, tx *phase.Tx, in ConfirmPaymentIntentParams, s *Attempt,
) (phase.Outcome, error) {
	return s.abandon(ctx, tx, in.Expand)
})

// params are the ones a confirmation shares with an update.
func (in *ConfirmPaymentIntentParams) params() PaymentIntentParams {
	return PaymentIntentParams{
		PaymentMethodOptions: in.Options, PaymentMethodTypes: in.Types, ReceiptEmail: in.ReceiptEmail,
		SetupFutureUsage: in.FutureUsage, Shipping: in.Shipping, MethodParams: in.MethodParams,
	}
}

// checkConfirmation finds the intent, and the method it is to be paid with: the
// one sent, or the one it has.
func checkConfirmation(ctx context.Context, db phase.Reader, caller phase.Check, in *ConfirmPaymentIntentParams) error {
	intent, err := readIntent(ctx, db, resource.PrincipalOfCheck(caller), in.ID, in.ClientSecret)
	if err != nil {
		return err
	}
	if intent.ConfirmationMethod == "manual" && apirequest.Of(caller.Caller).Publishable {
		return intent.ShowTo(caller.Caller,
			intent.unexpected("This PaymentIntent's `confirmation_method` is manual: it can only be confirmed with "+
				"a secret key."))
	}
	if err := in.ConfirmParams.Check("PaymentIntent", true); err != nil {
		return err
	}
	if resource.Deref(in.FutureUsage) != "" && in.offSession() {
		return offSessionSetup()
	}
	params := in.params()
	if err := in.enter(ctx, db, caller, &params); err != nil {
		return err
	}
	if err := params.Check(ctx, db, caller); err != nil {
		return err
	}
	in.MethodParams, in.Shipping, in.FutureUsage = params.MethodParams, params.Shipping, params.SetupFutureUsage
	if in.Method() != nil || intent.PaymentMethodID == nil {
		return nil
	}
	in.Found, err = resource.Get[customer.PaymentMethod](ctx, db, customer.MethodByID,
		resource.PrincipalOfCheck(caller), *intent.PaymentMethodID)
	return err
}

// OnPage says whether Stripe.js is the caller that confirms.
func OnPage(caller phase.Caller, useStripeSDK bool) bool {
	return useStripeSDK && apirequest.Of(caller).Publishable
}

// ReturnTo is where the cardholder goes after the challenge: with use_stripe_sdk, a merchant's server leaves the
// challenge to Stripe.js, which stays on the merchant's page.
func (in ConfirmParams) ReturnTo(caller phase.Caller) string {
	if in.UseStripeSDK && !apirequest.Of(caller).Publishable {
		return ""
	}
	return in.ReturnURL
}

func recordConfirmation(
	ctx context.Context, tx *phase.Tx, in ConfirmPaymentIntentParams, s *Attempt,
) (phase.Outcome, error) {
	intent, err := LockIntent(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if intent.LockedBy != nil {
		return phase.Outcome{}, apierror.Locked()
	}
	if refusal := intent.refuseDirectly("confirm"); refusal != nil {
		return phase.Outcome{}, intent.ShowTo(tx.Caller, refusal)
	}
	sent := in.PaymentMethod != "" || in.New != nil
	if !sent && in.Found != nil && (intent.PaymentMethodID == nil || *intent.PaymentMethodID != in.Found.ID) {
		return phase.Outcome{}, apierror.Locked() // it was given another method since we looked
	}
	in.OnPage = OnPage(tx.Caller, in.UseStripeSDK)
	if refusal := intent.RefuseConfirm(in.Method(), sent, in.ConfirmParams); refusal != nil {
		return phase.Refuse(intent.ID, intent.ShowTo(tx.Caller, refusal)), nil
	}
	params := in.params()
	if !sent {
		params.Found = nil // it has that method already, and what is known of it stays
	}
	if err := intent.apply(params, form.Metadata{}); err != nil {
		return phase.Outcome{}, err
	}
	if in.CaptureMethod != "" {
		intent.CaptureMethod = in.CaptureMethod
	}
	if err := in.Insert(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	if err := in.UseToken(ctx, tx, intent.ID); err != nil {
		return phase.Outcome{}, err
	}
	s.Begin(tx, intent, in.Method(), in.ConfirmParams)
	intent.Update(tx)
	return s.next(ctx, tx, intent, in.Method(), in.Expand)
}

// Begin reserves the intent for this attempt and prepares the call, or sends the
// cardholder to their bank first. The caller has called RefuseConfirm, and writes the
// intent.
func (s *Attempt) Begin(tx *phase.Tx, intent *PaymentIntent, method *customer.PaymentMethod, in ConfirmParams) {
	intent.ReturnURL = resource.NilIfEmpty(in.ReturnTo(tx.Caller))
	s.MayAsk, s.NoAction = !in.offSession() && !in.ErrorOnRequiresAction, in.ErrorOnRequiresAction
	wanted := !in.offSession() && intent.wantsAuthentication(method.Card)
	if wanted && s.MayAsk {
		intent.require(tx)
		return
	}
	s.reserve(tx, intent, method, in.offSession())
	s.Order.Challenge = wanted
}

// next goes on to the acquirer, unless the cardholder is wanted first.
func (s *Attempt) next(
	ctx context.Context, tx *phase.Tx, intent *PaymentIntent, method *customer.PaymentMethod, paths form.Expand,
) (phase.Outcome, error) {
	if intent.Status == IntentProcessing {
		return phase.Next, nil
	}
	return replyWithIntent(ctx, tx, paths, intent, method)
}

// reserve makes the intent this attempt's until the acquirer has answered.
func (s *Attempt) reserve(tx *phase.Tx, intent *PaymentIntent, method *customer.PaymentMethod, offSession bool) {
	s.IntentID, s.Session, s.Method = intent.ID, intent.CheckoutSession, *method
	if intent.RequestID == tx.RequestID {
		s.New = intent
	}
	s.Order = acquirer.Order{
		Merchant:      tx.AccountID,
		Livemode:      tx.Livemode,
		Card:          method.Card.Vault,
		Amount:        intent.Amount,
		Currency:      intent.Currency,
		Capture:       intent.CaptureMethod != captureManual,
		Authenticated: intent.Authenticated,
		OffSession:    offSession,
		SetUp:         method.SetUp,
		Object:        intent.ID,
	}
	intent.Status = IntentProcessing
	intent.LockedBy = &tx.RequestID
	intent.NextAction = nil
	intent.LastPaymentError = nil
}

// wantsAuthentication says that the merchant wants the cardholder authenticated even if
// the cardholder's bank does not.
func (p *PaymentIntent) wantsAuthentication(card customer.Card) bool {
	return !p.Authenticated && p.PaymentMethodOptions.Card.RequestThreeDSecure != "automatic" && card.Supports3DS()
}

// Send asks the acquirer to authorize the order, and to capture it if the order says so. What the acquirer answers,
// a decline too, is in s.Result. An error means that the outcome is not known.
func (s *Attempt) Send(ctx context.Context, call phase.ForeignCall[acquirer.Acquirer]) (err error) {
	s.Result, err = call.To().Authorize(ctx, call.Permit, s.Order)
	return err
}

// finalize records what the acquirer answered, books the money, and answers.
func (s *Attempt) finalize(ctx context.Context, tx *phase.Tx, paths form.Expand) (phase.Outcome, error) {
	owner, err := LockOwner(ctx, tx, s.Session)
	if err != nil {
		return phase.Outcome{}, err
	}
	end, err := s.Conclude(ctx, tx, owner)
	switch {
	case err != nil:
		return phase.Outcome{}, err
	case end.Declined != nil:
		return phase.Refuse(end.Intent.ID, end.Declined), nil
	}
	return replyWithIntent(ctx, tx, paths, end.Intent, end.fresh...)
}

// conclusion is how an attempt ended, for the function that responds.
type conclusion struct {
	Intent   *PaymentIntent
	fresh    []resource.Renderer // what the attempt has made and changed
	Declined *apierror.Error
}

// reserved returns the attempt's intent as it is now. While the request that creates an
// intent is under way, no other request can change it, so it need not be read again.
func (s *Attempt) reserved(ctx context.Context, tx *phase.Tx) (*PaymentIntent, error) {
	if s.New == nil {
		return LockIntent(ctx, tx, s.IntentID)
	}
	return new(*s.New), nil // a copy: the phase may run again
}

// Conclude records what the acquirer answered and books the money. The caller has
// locked the intent's owner, if it has one.
func (s *Attempt) Conclude(ctx context.Context, tx *phase.Tx, owner Owner) (end conclusion, err error) {
	intent, err := s.reserved(ctx, tx)
	if err != nil {
		return end, err
	}
	end.Intent, intent.LockedBy = intent, nil
	if s.Result.Code == acquirer.CodeAuthenticationNeeded && s.MayAsk {
		intent.require(tx)
		intent.conclude(tx)
		end.fresh = append(end.fresh, &s.Method)
		return end, nil
	}
	if s.Result.Approved && s.Result.Replayed {
		adopted, err := AdoptParams{Authorization: s.Result.Reference}.Find(ctx, tx)
		if err != nil {
			return end, err
		}
		if adopted != nil {
			end.fresh, err = s.takeAdopted(ctx, tx, intent, adopted)
			if err == nil && owner != nil {
				owner.Paid(tx, intent)
			}
			return end, err
		}
	}
	charge := intent.pendingCharge(tx, s.Method)
	charge.insert(tx)
	charge.applyResult(s.Result)
	intent.LatestCharge = &charge.ID
	if !s.Result.Approved {
		if owner != nil {
			owner.Declined(tx)
		}
		end.Declined, err = s.fail(tx, intent, charge)
		return end, err
	}
	method, err := s.consumeMethod(ctx, tx, intent)
	if err != nil {
		return end, err
	}
	end.fresh = append(intent.applyApproval(tx, charge), charge, method)
	intent.conclude(tx)
	if owner != nil {
		owner.Paid(tx, intent)
	}
	return end, nil
}

// require sends the cardholder to their bank's page.
func (p *PaymentIntent) require(tx *phase.Tx) {
	challenge := id.New("3ds", tx.Now())
	p.Status, p.Challenge, p.NextAction = IntentNeedsAction, &challenge, ChallengeAt(tx, challenge, p.ReturnURL)
	event.Emit(tx, "payment_intent.requires_action", p.ID, p.Render(), nil)
}

// ChallengeAt is the next action that points an integration to the bank's page.
func ChallengeAt(tx *phase.Tx, challenge string, returnURL *string) *NextAction {
	url := apirequest.Of(tx.Caller).BaseURL + ChallengePath + challenge
	if returnURL == nil {
		return &NextAction{
			Type:         "use_stripe_sdk",
			UseStripeSDK: &UseStripeSDK{StripeJS: url, Type: "three_d_secure_redirect"},
		}
	}
	return &NextAction{Type: "redirect_to_url", RedirectToURL: &RedirectToURL{ReturnURL: *returnURL, URL: url}}
}

// ChallengePath comes before the name of a challenge in the address of its page.
const ChallengePath = "/3d_secure/"

// pendingCharge is the attempt as a charge, before the issuer's answer is noted.
func (p *PaymentIntent) pendingCharge(tx *phase.Tx, method customer.PaymentMethod) *Charge {
	return &Charge{
		AccountID:       tx.AccountID,
		ID:              id.New("ch", tx.Now()),
		Livemode:        tx.Livemode,
		RequestID:       tx.RequestID,
		PaymentIntentID: &p.ID,
		Amount:          p.Amount,
		Currency:        p.Currency,
		Status:          chargePending,
		CustomerID:      p.CustomerID,
		Card: ChargedCard{
			Card:          method.Card,
			ID:            method.ID,
			Billing:       &method.BillingDetails,
			Authenticated: p.Authenticated,
			Descriptor: statement(apirequest.Of(tx.Caller).StatementDescriptor, p.StatementDescriptor,
				p.StatementDescriptorSuffix),
		},
		Description:               p.Description,
		Metadata:                  p.Metadata,
		ReceiptEmail:              p.ReceiptEmail,
		Shipping:                  p.Shipping,
		FraudDetails:              map[string]string{},
		StatementDescriptor:       p.StatementDescriptor,
		StatementDescriptorSuffix: p.StatementDescriptorSuffix,
		TransferGroup:             p.TransferGroup,
		CreatedAt:                 tx.Now(),
	}
}

// applyApproval records a charge that was approved: it is captured, or authorized. It
// returns the objects made besides the charge.
func (p *PaymentIntent) applyApproval(tx *phase.Tx, charge *Charge) (fresh []resource.Renderer) {
	if p.CaptureMethod == captureManual {
		charge.markAuthorized(tx)
		p.Status, p.AmountCapturable = IntentNeedsCapture, p.Amount
	} else {
		fresh = append(fresh, charge.capture(tx, charge.Amount))
		charge.SettlementPending = p.CaptureMethod == captureAutomaticAsync && apirequest.Of(tx.Caller).Notified
		p.Status, p.AmountReceived = IntentSucceeded, p.Amount
	}
	charge.finalize(tx)
	event.Emit(tx, "charge.succeeded", charge.ID, charge.Render(), nil)
	if p.Status == IntentSucceeded {
		event.Emit(tx, "payment_intent.succeeded", p.ID, p.Render(), nil)
	} else {
		event.Emit(tx, "payment_intent.amount_capturable_updated", p.ID, p.Render(), nil)
	}
	return fresh
}

// consumeMethod records that the method has paid: it is attached to the customer if the merchant
// wants to use it again, and is spent if it has no customer. It returns the method.
func (s *Attempt) consumeMethod(
	ctx context.Context, tx *phase.Tx, intent *PaymentIntent,
) (*customer.PaymentMethod, error) {
	method, attach := s.Method, false
	if method.CustomerID == nil && intent.CustomerID != nil && intent.SetupFutureUsage != nil {
		// During the call, another request may have attached the method, or used it up.
		locked, err := customer.LockMethod(ctx, tx, method.ID)
		if err != nil {
			return nil, err
		}
		method, attach = *locked, locked.CustomerID == nil && locked.SpentBy == nil
	}
	before := method
	method.Card.ApplyResult(s.Result)
	method.SetUp = method.SetUp || resource.Deref(intent.SetupFutureUsage) == "off_session"
	switch {
	case attach:
		method.Attach(tx, *intent.CustomerID)
	case method.CustomerID == nil:
		method.SpentBy = &tx.RequestID
		method.RecordUse(tx)
	case method.SetUp != before.SetUp || resource.Deref(method.Card.CVCCheck) != resource.Deref(before.Card.CVCCheck):
		method.RecordUse(tx)
	}
	return &method, nil
}

// fail ends an attempt that was declined. The intent can be tried again, with
// another method.
func (s *Attempt) fail(tx *phase.Tx, intent *PaymentIntent, charge *Charge) (*apierror.Error, error) {
	charge.Status, charge.FailureCode, charge.FailureMessage = chargeFailed, &s.Result.Code, &s.Result.Message
	charge.finalize(tx)
	event.Emit(tx, "charge.failed", charge.ID, charge.Render(), nil)

	declined := customer.CardError(s.Result)
	if s.NoAction && s.Result.Code == acquirer.CodeAuthenticationNeeded {
		declined.DeclineCode = "authentication_not_handled"
		declined.Message = "This payment required an authentication action to complete, but " +
			"`error_on_requires_action` was set. When you're ready, you can upgrade your integration to handle " +
			"actions at https://stripe.com/docs/payments/payment-intents/upgrade-to-handle-actions."
	}
	declined.Charge, declined.PaymentMethod = charge.ID, s.Method.Render()
	remembered, err := declined.Remember()
	if err != nil {
		return nil, err
	}
	intent.Status = IntentNeedsMethod
	intent.PaymentMethodID = nil
	intent.LastPaymentError = remembered
	intent.Authenticated = false
	intent.conclude(tx)
	event.Emit(tx, "payment_intent.payment_failed", intent.ID, intent.Render(), nil)
	return intent.ShowTo(tx.Caller, declined), nil
}

// ShowTo makes an error show the intent, as far as the caller may see it.
func (p *PaymentIntent) ShowTo(caller phase.Caller, e *apierror.Error) *apierror.Error {
	e.PaymentIntent = p.Render()
	if apirequest.Of(caller).Publishable {
		e.PaymentIntent = p.Public()
	}
	return e
}

// abandon ends an attempt that was never asked for in time. The acquirer has
// confirmed that nothing was taken and nothing can be any more.
func (s *Attempt) abandon(ctx context.Context, tx *phase.Tx, paths form.Expand) (phase.Outcome, error) {
	s.Result = NeverSent
	return s.finalize(ctx, tx, paths)
}

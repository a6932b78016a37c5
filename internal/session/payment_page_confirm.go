package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/setupintent"
)

// ConfirmPaymentPageParams are what POST /v1/payment_pages/{session}/confirm takes.
type ConfirmPaymentPageParams struct {
	ID             string  `path:"session"`
	Email          *string `form:"email" max:"800"`
	ExpectedAmount *int64  `form:"expected_amount"`
	ReturnURL      string  `form:"return_url" max:"2048"`
	ShippingRate   string  `form:"shipping_rate" max:"5000"`
	customer.MethodParams
}

// pageAttempt is one press of Pay. Of its two parts the one of the session's mode is used.
type pageAttempt struct {
	Setup   bool
	Payment payment.Attempt
	Card    setupintent.SetupTry
}

const pageConfirmed = "payment_page_confirmed"

// ConfirmPaymentPage pays for a checkout session, or makes its card ready for
// payments to come, as an intent's confirmation does.
//
//	(nothing) ──▶ payment_page_confirmed ──▶ payment_answered ──▶ payment_finalized
//	  claim + reserve the intent        call, no tx open     post to the ledger,
//	                                                         complete the session, answer
//
// The first press makes the session's intent, the next ones try it again. Of two
// presses at once one gets a 429: the intent is busy. A declined card
// leaves the session open. A card that wants 3-D Secure leaves it open, too, until
// the cardholder has passed: AuthenticatePayment then completes it.
var ConfirmPaymentPage = phase.Define("payment_page.confirm", 2,
	phase.Atomic(pageConfirmed, recordPageConfirmation),
	phase.Foreign(payment.PaymentAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ ConfirmPaymentPageParams, s *pageAttempt,
	) error {
		if s.Setup {
			return s.Card.Send(ctx, call)
		}
		return s.Payment.Send(ctx, call)
	}),
	phase.Atomic(payment.PaymentFinalized, finalizePage),
).Check(checkPageConfirmation).AbandonUnsentAfter(payment.AbandonChargeAfter, func(
	ctx context.Context, tx *phase.Tx, in ConfirmPaymentPageParams, s *pageAttempt,
) (phase.Outcome, error) {
	s.Payment.Result, s.Card.Result = payment.NeverSent, payment.NeverSent
	return finalizePage(ctx, tx, in, s)
})

// checkPageConfirmation finds the method, and that the customer saw the right amount.
func checkPageConfirmation(
	ctx context.Context, db phase.Reader, caller phase.Check, in *ConfirmPaymentPageParams,
) error {
	session, err := readSession(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
	if err != nil {
		return err
	}
	if refusal := session.refuseConfirm(); refusal != nil {
		return refusal
	}
	shipping, err := session.option(in.ShippingRate)
	if err != nil {
		return err
	}
	if err := session.checkExpected(in.ExpectedAmount, shipping); err != nil {
		return err
	}
	if err := resource.CheckEmail("email", in.Email); err != nil {
		return err
	}
	confirm := payment.ConfirmParams{ReturnURL: in.ReturnURL}
	if err := confirm.Check("PaymentIntent", true); err != nil {
		return err
	}
	if err := in.Find(ctx, db, caller); err != nil {
		return err
	}
	if in.Method() == nil {
		return apierror.Missing("payment_method")
	}
	if err := session.checkEmail(ctx, db, in); err != nil {
		return err
	}
	return in.CheckUse(resource.Deref(session.CustomerID))
}

// checkEmail refuses to complete a session without an address to write to. The session, its
// customer or the payment method may have one already.
func (s *CheckoutSession) checkEmail(ctx context.Context, db phase.Reader, in *ConfirmPaymentPageParams) error {
	for _, email := range []*string{in.Email, s.CustomerEmail, in.Method().BillingDetails.Email} {
		if resource.Deref(email) != "" {
			return nil
		}
	}
	email, err := s.emailOfCustomer(ctx, db)
	if err == nil && resource.Deref(email) == "" {
		err = apierror.Missing("email")
	}
	return err
}

// checkExpected refuses to charge another amount than the customer saw.
func (s *CheckoutSession) checkExpected(expected *int64, shipping ShippingOption) error {
	if expected == nil || s.Mode != modePayment || *expected == *s.totalWith(shipping) {
		return nil
	}
	return apierror.Invalid("expected_amount",
		"The amount of this Checkout Session is %d, which is not the expected amount.",
		*s.totalWith(shipping)).WithCode("checkout_amount_mismatch")
}

// choose ships the order as the customer wants it. The amount is checked once more, because
// another press of Pay may have changed the choice since the check.
func (s *CheckoutSession) choose(in ConfirmPaymentPageParams) error {
	shipping, err := s.option(in.ShippingRate)
	if err != nil {
		return err
	}
	if in.ShippingRate != "" {
		s.ship(shipping)
	}
	return s.checkExpected(in.ExpectedAmount, shipping)
}

// RefuseConfirm says why a session cannot be paid any more, or nil.
func (s *CheckoutSession) refuseConfirm() *apierror.Error {
	if s.Status == sessionOpen {
		return nil
	}
	return apierror.Invalid("",
		"This Checkout Session has a status of %s. Only one with a status of open can be paid.", s.Status).
		WithCode("checkout_session_unexpected_state")
}

func recordPageConfirmation(
	ctx context.Context, tx *phase.Tx, in ConfirmPaymentPageParams, s *pageAttempt,
) (phase.Outcome, error) {
	session, err := lockedSession(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if refusal := session.refuseConfirm(); refusal != nil {
		return phase.Refuse(session.ID, refusal), nil
	}
	if session.ExpiresAt.Before(tx.Now()) { // and no worker has come by yet
		session.Status = sessionExpired
		return phase.Outcome{}, session.refuseConfirm()
	}
	if in.ReturnURL == "" {
		in.ReturnURL = session.URL
	}
	if err := session.choose(in); err != nil {
		return phase.Outcome{}, err
	}
	session.Attempts++
	session.meet(tx, in)
	if session.Mode == modeSetup {
		s.Setup = true
		return s.beginSetup(ctx, tx, session, in)
	}
	return s.beginPayment(ctx, tx, session, in)
}

// meet records who is paying, and creates a customer if the merchant wants one.
func (s *CheckoutSession) meet(tx *phase.Tx, in ConfirmPaymentPageParams) {
	billing := in.Method().BillingDetails
	s.CustomerDetails = &CustomerDetails{
		Address:   resource.NilIfZero(&billing.Address),
		Email:     billing.Email,
		Name:      billing.Name,
		Phone:     billing.Phone,
		TaxExempt: "none",
		TaxIDs:    []string{},
	}
	for _, email := range []*string{in.Email, s.CustomerEmail} { // the merchant knows best
		s.CustomerDetails.Email = resource.Patch(email, s.CustomerDetails.Email)
	}
	if s.CustomerID != nil || !s.wantsCustomer() {
		return
	}
	customer := customer.Customer{
		AccountID:           tx.AccountID,
		ID:                  id.New("cus", tx.Now()),
		Livemode:            tx.Livemode,
		RequestID:           tx.RequestID,
		Email:               s.CustomerDetails.Email,
		Name:                billing.Name,
		Phone:               billing.Phone,
		Address:             resource.NilIfZero(&billing.Address),
		Metadata:            map[string]string{},
		InvoicePrefix:       customer.InvoicePrefix(),
		NextInvoiceSequence: 1,
		PreferredLocales:    []string{},
		TaxExempt:           "none",
		CreatedAt:           tx.Now(),
	}
	customer.Insert(tx)
	event.Emit(tx, "customer.created", customer.ID, customer.Render(), nil)
	s.CustomerID = &customer.ID
}

// wantsCustomer says that the session has to end with a customer: the merchant
// always wants one, or means to use the card again.
func (s *CheckoutSession) wantsCustomer() bool {
	data := s.Options.PaymentIntent
	return resource.Deref(s.CustomerCreation) == "always" || data != nil && data.SetupFutureUsage != nil
}

// beginPayment reserves the session's intent for this attempt, and makes it first
// if there is none yet.
func (s *pageAttempt) beginPayment(
	ctx context.Context, tx *phase.Tx, session *CheckoutSession, in ConfirmPaymentPageParams,
) (phase.Outcome, error) {
	intent, err := session.intent(ctx, tx)
	if err != nil {
		return phase.Outcome{}, err
	}
	if intent.LockedBy != nil {
		return phase.Outcome{}, apierror.Locked()
	}
	if err := session.reserveCoupon(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	intent.Amount = *session.AmountTotal // which the choice of shipping may have changed
	if intent.CustomerID == nil {        // whom the page may just have made
		intent.CustomerID = session.CustomerID
	}
	intent.TakeMethod(in.Method())
	if err := in.Insert(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	confirm := payment.ConfirmParams{ReturnURL: in.ReturnURL}
	if refusal := intent.RefuseConfirm(in.Method(), true, confirm); refusal != nil {
		return phase.Outcome{}, intent.ShowTo(tx.Caller, refusal)
	}
	s.Payment.Begin(tx, intent, in.Method(), confirm)
	if session.PaymentIntentID == nil {
		session.PaymentIntentID = &intent.ID
		intent.Insert(tx)
	} else {
		intent.Update(tx)
	}
	session.update(tx)
	if intent.Status == payment.IntentProcessing {
		return phase.Next, nil
	}
	return replyWithPage(ctx, tx, session, intent, nil)
}

// intent is the session's, which no other request changes meanwhile, or a new one.
func (s *CheckoutSession) intent(ctx context.Context, tx *phase.Tx) (*payment.PaymentIntent, error) {
	if s.PaymentIntentID != nil {
		return payment.LockIntent(ctx, tx, *s.PaymentIntentID)
	}
	in := payment.CreatePaymentIntentParams{Amount: *s.AmountTotal, Currency: *s.Currency}
	if data := s.Options.PaymentIntent; data != nil {
		in.CaptureMethod, in.Metadata, in.PaymentIntentParams = data.CaptureMethod, data.Metadata, data.params()
	}
	in.Customer, in.PaymentMethodTypes = resource.Deref(s.CustomerID), []string{"card"}
	intent, err := in.Intent(tx)
	if err != nil {
		return nil, err
	}
	intent.CheckoutSession = &s.ID
	intent.PaymentMethodOptions.Card.RequestThreeDSecure = s.Options.RequestThreeDSecure
	event.Emit(tx, "payment_intent.created", intent.ID, intent.Render(), nil)
	return intent, nil
}

// beginSetup reserves the session's setup for this attempt.
func (s *pageAttempt) beginSetup(
	ctx context.Context, tx *phase.Tx, session *CheckoutSession, in ConfirmPaymentPageParams,
) (phase.Outcome, error) {
	setup, err := setupintent.LockSetup(ctx, tx, *session.SetupIntentID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if setup.LockedBy != nil {
		return phase.Outcome{}, apierror.Locked()
	}
	err = setup.Apply(setupintent.SetupIntentParams{
		Customer:     resource.Deref(session.CustomerID),
		MethodParams: in.MethodParams,
	})
	if err != nil {
		return phase.Outcome{}, err
	}
	if err := in.Insert(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	if refusal := setup.RefuseConfirm(in.Method(), in.ReturnURL != ""); refusal != nil {
		return phase.Outcome{}, setup.ShowTo(tx.Caller, refusal)
	}
	s.Card.Begin(tx, setup, in.Method(), in.ReturnURL)
	setup.Update(tx)
	session.update(tx)
	return phase.Next, nil
}

// finalizePage records how the attempt ended, and answers with the page.
func finalizePage(
	ctx context.Context, tx *phase.Tx, in ConfirmPaymentPageParams, s *pageAttempt,
) (phase.Outcome, error) {
	session, err := lockedSession(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if s.Setup {
		end, err := s.Card.Conclude(ctx, tx, session)
		switch {
		case err != nil:
			return phase.Outcome{}, err
		case end.Declined != nil:
			return phase.Refuse(in.ID, end.Declined), nil
		}
		return replyWithPage(ctx, tx, session, nil, end.Setup)
	}
	end, err := s.Payment.Conclude(ctx, tx, session)
	switch {
	case err != nil:
		return phase.Outcome{}, err
	case end.Declined != nil:
		return phase.Refuse(in.ID, end.Declined), nil
	}
	return replyWithPage(ctx, tx, session, end.Intent, nil)
}

func replyWithPage(
	ctx context.Context, tx *phase.Tx, session *CheckoutSession, intent *payment.PaymentIntent,
	setup *setupintent.SetupIntent,
) (phase.Outcome, error) {
	body, err := session.page(ctx, tx, resource.PrincipalOf(tx.Caller), intent, setup)
	if err != nil {
		return phase.Outcome{}, err
	}
	return phase.OK(session.ID, body), nil
}

// Paid completes the session with the intent that has paid for it. A hold
// is paid when it is captured.
func (s *CheckoutSession) Paid(tx *phase.Tx, intent *payment.PaymentIntent) {
	if intent.Status == payment.IntentSucceeded {
		s.PaymentStatus = sessionPaid
	}
	s.complete(tx)
}

// CardKept completes a session that only wanted to keep a card.
func (s *CheckoutSession) CardKept(tx *phase.Tx) { s.complete(tx) }

func init() {
	payment.RegisterOwner(payment.OwnerPort{
		Lock: func(ctx context.Context, tx *phase.Tx, id string) (payment.Owner, error) {
			return lockedSession(ctx, tx, id)
		},
		Captured: func(tx *phase.Tx, id string) {
			tx.WriteOne(paySession, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": id})
		},
	})
}

const paySession = `
	UPDATE checkout_sessions SET payment_status = 'paid'
	WHERE account_id = @account_id AND id = @id AND status = 'complete' AND payment_status = 'unpaid'`

// completeSession is its own guard: only an open session is completed.
const completeSession = `
	UPDATE checkout_sessions SET status = 'complete', payment_status = @payment_status
	WHERE account_id = @account_id AND id = @id AND status = 'open'`

// complete ends the session. Its event comes behind those of the intent.
func (s *CheckoutSession) complete(tx *phase.Tx) {
	s.Status = sessionComplete
	s.redeemCoupon(tx)
	tx.WriteOne(completeSession,
		pgx.StrictNamedArgs{"account_id": s.AccountID, "id": s.ID, "payment_status": s.PaymentStatus})
	event.Emit(tx, "checkout.session.completed", s.ID, s.Render(), nil)
}

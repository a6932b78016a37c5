package customer

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// AttachPaymentMethodParams are what POST /v1/payment_methods/{payment_method}/attach takes.
type AttachPaymentMethodParams struct {
	ID       string      `path:"payment_method"`
	Customer string      `form:"customer,required" max:"5000"`
	Expand   form.Expand `form:"expand"`

	New *NewMethod // of a magic id, which makes a new method at every use
}

type attachState struct {
	Method PaymentMethod
	Result acquirer.Result `json:"Answer"` // as stored requests name it
}

// The recovery points of an attachment.
const (
	methodFound    = "payment_method_found"
	methodVerified = "payment_method_verified"
	methodAttached = "payment_method_attached"
)

// AttachPaymentMethod keeps a card with a customer, after its issuer has said
// that it is good.
//
//	(nothing) ──▶ payment_method_found ──▶ payment_method_verified ──▶ payment_method_attached
//	          claim                  call, no tx open            give it to the customer, answer
//
// A crash on the way leaves the method as it was; asking the issuer twice moves no money.
var AttachPaymentMethod = phase.Define("payment_method.attach", 1,
	phase.Atomic(methodFound, findMethodToAttach),
	phase.Foreign(methodVerified, acquirer.Port, verifyMethod),
	phase.Atomic(methodAttached, attachMethod),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *AttachPaymentMethodParams) error {
	if err := CustomerExists(ctx, db, resource.PrincipalOfCheck(caller), in.Customer); err != nil {
		return resource.AsParam(err, "customer")
	}
	return in.find(ctx, db, caller)
})

// find resolves the method that is named. A magic id makes a new one.
func (in *AttachPaymentMethodParams) find(ctx context.Context, db phase.Reader, caller phase.Check) error {
	magic, err := MagicMethod(in.ID, caller.Caller, caller.Keys(secret.Cards).Oldest(), caller.At)
	if err != nil {
		return err
	}
	if magic != nil {
		in.New = &NewMethod{Method: *magic}
		in.ID = magic.ID
		return nil
	}
	return methodExists(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
}

func findMethodToAttach(
	ctx context.Context, tx *phase.Tx, in AttachPaymentMethodParams, s *attachState,
) (phase.Outcome, error) {
	return in.reserve(ctx, tx, s)
}

// reserve inserts a new method, or locks an existing one and checks that it can be attached.
func (in AttachPaymentMethodParams) reserve(ctx context.Context, tx *phase.Tx, s *attachState) (phase.Outcome, error) {
	if in.New != nil {
		s.Method = in.New.Method
		return phase.Next, in.New.Insert(ctx, tx)
	}
	method, err := LockMethod(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if refusal := method.refuseAttach(in.Customer); refusal != nil {
		return phase.Outcome{}, refusal
	}
	if method.CustomerID != nil { // already attached: nothing to do
		return replyWithMethod(ctx, tx, in.Expand, method)
	}
	s.Method = *method
	return phase.Next, nil
}

// refuseAttach says why a method cannot become a customer's, or nil.
func (m *PaymentMethod) refuseAttach(customer string) *apierror.Error {
	switch {
	case m.SpentBy != nil:
		return apierror.Invalid("",
			"This PaymentMethod was previously used without being attached to a Customer or was detached from a "+
				"Customer, and may not be used again.")
	case m.CustomerID != nil && *m.CustomerID != customer:
		return apierror.Invalid("", "The payment method you provided has already been attached to a customer.")
	}
	return nil
}

func methodSpent() *apierror.Error {
	return apierror.Invalid("payment_method",
		"The provided PaymentMethod was previously used with a PaymentIntent without Customer attachment, "+
			"shared with a connected account without Customer attachment, or was detached from a Customer. It may "+
			"not be used again. To use a PaymentMethod multiple times, you must attach it to a Customer first.")
}

// verifyMethod asks the issuer of the card, of no amount.
func verifyMethod(
	ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ AttachPaymentMethodParams, s *attachState,
) (err error) {
	s.Result, err = callIssuer(ctx, call, s.Method.Card)
	return err
}

// callIssuer has the issuer verify a card, without an amount.
func callIssuer(
	ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], card Card,
) (acquirer.Result, error) {
	return call.To().Verify(ctx, call.Permit, acquirer.Order{Card: card.Vault, Currency: VerificationCurrency})
}

// VerificationCurrency is that of an amount of nothing.
const VerificationCurrency = "usd"

func attachMethod(
	ctx context.Context, tx *phase.Tx, in AttachPaymentMethodParams, s *attachState,
) (phase.Outcome, error) {
	method, refused, err := s.verified(ctx, tx, in.Customer)
	switch {
	case err != nil:
		return phase.Outcome{}, err
	case refused != nil:
		return phase.Refuse(s.Method.ID, refused), nil
	}
	method.Attach(tx, in.Customer)
	return replyWithMethod(ctx, tx, in.Expand, method)
}

// verified is the method, locked, with what its issuer said of it; or why it
// cannot become the customer's.
func (s *attachState) verified(
	ctx context.Context, tx *phase.Tx, customer string,
) (*PaymentMethod, *apierror.Error, error) {
	if !s.Result.Approved {
		declined := CardError(s.Result)
		declined.PaymentMethod = s.Method.Render()
		return nil, declined, nil
	}
	method, err := LockMethod(ctx, tx, s.Method.ID)
	if err != nil {
		return nil, nil, err
	}
	if refusal := method.refuseAttach(customer); refusal != nil {
		return nil, refusal, nil
	}
	method.Card.ApplyResult(s.Result)
	return method, nil, nil
}

// Attach queues the UPDATE that attaches the method to a customer, and the event payment_method.attached. The caller
// has locked the method.
func (m *PaymentMethod) Attach(tx *phase.Tx, customer string) {
	m.CustomerID = &customer
	m.update(tx)
	event.Emit(tx, "payment_method.attached", m.ID, m.Render(), nil)
}

// ApplyResult copies the issuer's check of the security code. It stays nil if the client sent no code.
func (c *Card) ApplyResult(a acquirer.Result) {
	if c.CVCCheck != nil && a.CVCCheck != "" {
		c.CVCCheck = &a.CVCCheck
	}
}

// DetachPaymentMethodParams are what POST /v1/payment_methods/{payment_method}/detach takes.
type DetachPaymentMethodParams struct {
	ID     string      `path:"payment_method"`
	Expand form.Expand `form:"expand"`
}

const methodDetached = "payment_method_detached"

// DetachPaymentMethod takes a card away from its customer, for good: it cannot
// pay or be attached again.
var DetachPaymentMethod = phase.Define("payment_method.detach", 1,
	phase.Atomic(methodDetached, detachMethod),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *DetachPaymentMethodParams) error {
	return methodExists(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
})

func detachMethod(ctx context.Context, tx *phase.Tx, in DetachPaymentMethodParams, _ *struct{}) (phase.Outcome, error) {
	method, err := LockMethod(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if refusal := method.refuseCard("DELETE"); refusal != nil {
		return phase.Outcome{}, refusal
	}
	if method.CustomerID == nil {
		return phase.Outcome{},
			apierror.Invalid("",
				"The payment method you provided is not attached to a customer so detachment is impossible.")
	}
	forgetDefault(tx, *method.CustomerID, method.ID)
	method.detach(tx)
	return replyWithMethod(ctx, tx, in.Expand, method)
}

func (m *PaymentMethod) detach(tx *phase.Tx) {
	previous := map[string]any{"customer": m.CustomerID}
	m.CustomerID, m.SpentBy = nil, &tx.RequestID
	m.update(tx)
	event.Emit(tx, "payment_method.detached", m.ID, m.Render(), previous)
}

// forgetDefault leaves the customer without a default method if it was this one.
func forgetDefault(tx *phase.Tx, customer, method string) {
	const forgetDefaultMethod = `
		UPDATE customers SET invoice_settings = (invoice_settings::jsonb || '{"default_payment_method": null}')::json
		WHERE account_id = @account_id AND id = @id AND invoice_settings ->> 'default_payment_method' = @method`
	tx.Write(forgetDefaultMethod, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": customer, "method": method})
}

package payment

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/balance"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// CreateChargeParams are what POST /v1/charges takes.
type CreateChargeParams struct {
	Amount                    int64                `form:"amount,required"`
	Currency                  string               `form:"currency,required"`
	Source                    customer.SourceParam `form:"source"`
	Customer                  string               `form:"customer" max:"500"`
	Capture                   *bool                `form:"capture"`
	Description               *string              `form:"description,unset" max:"40000"`
	Metadata                  form.Metadata        `form:"metadata"`
	ReceiptEmail              *string              `form:"receipt_email,unset" max:"800"`
	Shipping                  *resource.Shipping   `form:"shipping"`
	StatementDescriptor       *string              `form:"statement_descriptor" max:"22"`
	StatementDescriptorSuffix *string              `form:"statement_descriptor_suffix" max:"22"`
	TransferGroup             *string              `form:"transfer_group" max:"5000"`
	Expand                    form.Expand          `form:"expand"`

	Found      customer.PaymentSource // the card that Source or Customer names
	AttachedTo *string                // the customer that the card is attached to, if any
}

// chargeState is stored at each recovery point. A process that takes over after a crash continues with it, and with
// the request's parameters: nothing else is passed from one phase to the next.
type chargeState struct {
	ID       string
	At       time.Time
	Merchant string // the account, whom the acquirer pays
	Livemode bool
	Result   acquirer.Result `json:"Answer"` // as stored requests name it
}

// The recovery points of a charge.
const (
	chargeRecorded   = "charge_recorded"
	acquirerAnswered = "acquirer_answered"
	chargeFinalized  = "charge_finalized"
)

// AbandonChargeAfter is the age from which a worker no longer makes a charge that no client is waiting for, because the
// customer would be surprised by it. abandonCharge ends it as failed.
const AbandonChargeAfter = 10 * time.Minute

// CreateCharge takes money from a card and owes it to a merchant.
//
//	(nothing) ──▶ charge_recorded ──▶ acquirer_answered ──▶ charge_finalized
//	      claim + insert       call, no tx open       post to the ledger, answer
var CreateCharge = phase.Define("charge.create", 2,
	phase.Atomic(chargeRecorded, recordCharge),
	phase.Foreign(acquirerAnswered, acquirer.Port, callAcquirer),
	phase.Atomic(chargeFinalized, finalizeCharge),
).Check(checkCharge).AbandonUnsentAfter(AbandonChargeAfter, abandonCharge)

// checkCharge verifies the amount and finds the card before anything is done.
func checkCharge(ctx context.Context, db phase.Reader, caller phase.Check, in *CreateChargeParams) (err error) {
	in.Currency, err = money.Parse(in.Currency)
	if err != nil {
		return err
	}
	if err := money.Check(in.Amount, in.Currency); err != nil {
		return err
	}
	if _, err := in.Metadata.Apply(nil); err != nil {
		return err
	}
	if err := resource.CheckEmail("receipt_email", in.ReceiptEmail); err != nil {
		return err
	}
	if err := resource.CheckDescriptors(in.StatementDescriptor, in.StatementDescriptorSuffix); err != nil {
		return err
	}
	if in.Customer != "" {
		return in.findCustomersCard(ctx, db, resource.PrincipalOfCheck(caller))
	}
	if !in.Source.Sent() {
		return apierror.Invalid("", "Must provide source or customer.").WithCode("parameter_missing")
	}
	found, err := customer.SourceFrom(ctx, db, caller, &in.Source)
	if err != nil {
		return err
	}
	in.Found = *found
	return nil
}

// findCustomersCard finds the card of the customer that is to be charged: the
// one named, or the default.
func (in *CreateChargeParams) findCustomersCard(ctx context.Context, db phase.Reader, v resource.Principal) error {
	if in.Source.Hash != nil {
		return apierror.Invalid("source",
			"A customer is charged with a card that is kept with the customer. Add this one to the customer first.")
	}
	payer, err := resource.Get[customer.Customer](ctx, db, customer.CustomerByID, v, in.Customer)
	if err != nil {
		return err
	}
	if payer == nil || payer.DeletedAt != nil {
		return apierror.NoSuch("customer", "customer", in.Customer)
	}
	source := in.Source.Text
	if source == "" && payer.DefaultSource != nil {
		source = *payer.DefaultSource
	}
	if source == "" {
		e := &apierror.Error{
			Status:  http.StatusPaymentRequired,
			Type:    apierror.TypeCard,
			Message: "Cannot charge a customer that has no active card",
			Param:   "card",
		}
		return e.WithCode("missing")
	}
	card, err := resource.Get[customer.CustomerCard](ctx, db, customer.CardByID, v, source)
	if err != nil {
		return err
	}
	if card == nil || card.CustomerID != payer.ID {
		return apierror.Invalid("source", "Customer %s does not have a linked source with ID %s.", payer.ID,
			form.Quote(source)).WithCode("missing")
	}
	in.Found, in.AttachedTo = customer.PaymentSource{Card: card.Card, CardID: card.ID}, &payer.ID
	return nil
}

// recordCharge stores the pending charge before the acquirer is called. If the process crashes during the call, another
// one finds the charge and finishes it.
func recordCharge(ctx context.Context, tx *phase.Tx, in CreateChargeParams, s *chargeState) (phase.Outcome, error) {
	if err := in.Found.Consume(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	s.ID, s.At = id.New("ch", tx.Now()), tx.Now()
	s.Merchant, s.Livemode = tx.AccountID, tx.Livemode
	charge, err := pendingCharge(tx, in, s)
	if err != nil {
		return phase.Outcome{}, err
	}
	charge.insert(tx)
	return phase.Next, nil
}

// pendingCharge builds the charge from the parameters and the state: the same row in every phase, without reading it.
func pendingCharge(tx *phase.Tx, in CreateChargeParams, s *chargeState) (Charge, error) {
	metadata, err := in.Metadata.Apply(nil)
	if err != nil {
		return Charge{}, err
	}
	return Charge{
		AccountID:  tx.AccountID,
		ID:         s.ID,
		Livemode:   tx.Livemode,
		RequestID:  tx.RequestID,
		Amount:     in.Amount,
		Currency:   in.Currency,
		Status:     chargePending,
		CustomerID: resource.NilIfEmpty(in.Customer),
		Card: ChargedCard{Card: in.Found.Card, ID: in.Found.CardID, Customer: in.AttachedTo,
			Descriptor: statement(apirequest.Of(tx.Caller).StatementDescriptor, in.StatementDescriptor,
				in.StatementDescriptorSuffix)},
		Description:               resource.Patch(in.Description, nil),
		Metadata:                  metadata,
		ReceiptEmail:              resource.Patch(in.ReceiptEmail, nil),
		Shipping:                  in.Shipping,
		StatementDescriptor:       in.StatementDescriptor,
		StatementDescriptorSuffix: in.StatementDescriptorSuffix,
		TransferGroup:             resource.Patch(in.TransferGroup, nil),
		CreatedAt:                 s.At,
	}, nil
}

// callAcquirer authorizes the amount, and captures it unless capture=false. A decline is a result; an error means that
// the outcome is unknown, and the engine calls again under the same key.
func callAcquirer(
	ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], in CreateChargeParams, s *chargeState,
) (err error) {
	s.Result, err = call.To().Authorize(ctx, call.Permit, acquirer.Order{
		Merchant: s.Merchant, Livemode: s.Livemode,
		Card: in.Found.Card.Vault, Amount: in.Amount, Currency: in.Currency, Capture: in.captures(), Object: s.ID,
	})
	return err
}

func (in CreateChargeParams) captures() bool { return in.Capture == nil || *in.Capture }

// finalizeCharge stores the acquirer's answer, posts the money to the ledger, and returns the response.
func finalizeCharge(ctx context.Context, tx *phase.Tx, in CreateChargeParams, s *chargeState) (phase.Outcome, error) {
	charge, err := pendingCharge(tx, in, s)
	if err != nil {
		return phase.Outcome{}, err
	}
	charge.applyResult(s.Result)
	if !s.Result.Approved {
		return failCharge(tx, charge, s.Result), nil
	}
	// The acquirer knew the key already. That is usual after a crash. After a restore from a backup, ratchet reconcile
	// may have adopted the charge under another ID: then that charge is the response.
	if s.Result.Replayed {
		adopted, err := AdoptParams{Authorization: s.Result.Reference}.Find(ctx, tx)
		if err != nil {
			return phase.Outcome{}, err
		}
		if adopted != nil {
			if err := charge.supersede(tx, adopted); err != nil {
				return phase.Outcome{}, err
			}
			return replyWithCharge(ctx, tx, in.Expand, adopted)
		}
	}
	var fresh []resource.Renderer
	if in.captures() {
		fresh = append(fresh, charge.capture(tx, charge.Amount))
	} else {
		charge.markAuthorized(tx)
	}
	charge.finalize(tx)
	event.Emit(tx, "charge.succeeded", charge.ID, charge.Render(), nil)

	return replyWithCharge(ctx, tx, in.Expand, &charge, fresh...)
}

// applyResult copies the acquirer's answer into the charge: outcome, reference and the results of the card checks.
func (c *Charge) applyResult(a acquirer.Result) {
	if a.Approved {
		c.Status, c.AcquirerReference = chargeSucceeded, &a.Reference
	}
	c.Outcome = outcomeOf(a)
	c.Card.AuthorizationCode = resource.NilIfEmpty(a.AuthorizationCode)
	c.Card.AddressLine1Check = resource.NilIfEmpty(a.AddressLine1Check)
	c.Card.PostalCodeCheck = resource.NilIfEmpty(a.PostalCodeCheck)
	if a.CVCCheck != "" {
		c.Card.CVCCheck = &a.CVCCheck
	}
}

// capture posts a sale of amount (minor units) to the ledger, marks the charge as captured, and returns the balance
// transaction.
func (c *Charge) capture(tx *phase.Tx, amount int64) *balance.BalanceTransaction {
	available := apirequest.AccountNow(tx).AddDate(0, 0, apirequest.Of(tx.Caller).PayoutDelayDays)
	if bypassesPending(c.Card.Vault) {
		available = apirequest.AccountNow(tx) // by the clock that the worker uses for balance.available
	}
	sale := ledger.Sale(id.New("txn", tx.Now()), c.ID, c.Currency, amount, money.Fee(amount, c.Currency), available)
	sale.Description = c.Description
	ledger.Post(tx, sale)
	c.Captured, c.AmountCaptured, c.BalanceTransaction, c.CaptureBefore = true, amount, &sale.ID, nil
	return balance.BalanceTransactionOf(tx, sale)
}

// markAuthorized marks the charge as authorized and not captured, and sets when the authorization expires.
func (c *Charge) markAuthorized(tx *phase.Tx) {
	expires := apirequest.AccountNow(tx).Add(authorizationTime)
	c.CaptureBefore = &expires
}

// bypassesPending reports whether a test card's money is available immediately.
func bypassesPending(card string) bool { return strings.HasPrefix(card, "bypassPending") }

// failCharge ends a charge that was declined. The failed charge stays, and the
// error names it.
func failCharge(tx *phase.Tx, charge Charge, a acquirer.Result) phase.Outcome {
	charge.Status, charge.FailureCode, charge.FailureMessage = chargeFailed, &a.Code, &a.Message
	charge.finalize(tx)
	event.Emit(tx, "charge.failed", charge.ID, charge.Render(), nil)
	declined := customer.CardError(a)
	declined.Charge = charge.ID
	return phase.Refuse(charge.ID, declined)
}

// NeverSent is used as the answer when the acquirer was never called.
var NeverSent = acquirer.Result{
	Code:          "processing_error",
	DeclineCode:   "processing_error",
	AdviceCode:    "try_again_later",
	Outcome:       "invalid",
	NetworkStatus: "not_sent_to_network",
	Message:       "An error occurred while processing your card. Try again in a little bit.",
}

// abandonCharge fails a charge that was not sent in time. The engine has reversed the key before: the acquirer
// confirmed that it took nothing, and rejects a late request under that key.
func abandonCharge(_ context.Context, tx *phase.Tx, in CreateChargeParams, s *chargeState) (phase.Outcome, error) {
	charge, err := pendingCharge(tx, in, s)
	if err != nil {
		return phase.Outcome{}, err
	}
	charge.applyResult(NeverSent)
	return failCharge(tx, charge, NeverSent), nil
}

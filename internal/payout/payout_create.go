package payout

import (
	"context"
	"slices"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/balance"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// CreatePayoutParams are what POST /v1/payouts takes.
type CreatePayoutParams struct {
	Amount              int64         `form:"amount,required" min:"1"`
	Currency            string        `form:"currency,required"`
	Description         *string       `form:"description,unset" max:"40000"`
	Destination         string        `form:"destination" max:"500"`
	Metadata            form.Metadata `form:"metadata"`
	Method              string        `form:"method" enum:"standard,instant"`
	SourceType          string        `form:"source_type" enum:"bank_account,card,fpx"`
	StatementDescriptor *string       `form:"statement_descriptor" max:"22"`
	Expand              form.Expand   `form:"expand"`
}

// payoutState is what the phases of a payout tell each other.
type payoutState struct {
	Payout Payout
	Result acquirer.Result `json:"Answer"` // as stored requests name it
}

// The recovery points of a payout.
const (
	payoutRecorded  = "payout_recorded"
	bankAnswered    = "bank_answered"
	payoutFinalized = "payout_finalized"
)

// CreatePayout sends available money to the merchant's bank account.
//
//	(nothing) ──▶ payout_recorded ──▶ bank_answered ──▶ payout_finalized
//	 claim + take the money out     call, no tx open   note the answer, or put the money back
//
// The money leaves what is available before the bank is asked, under the lock of
// the book, so that two payouts at once cannot both have the last of it. There is
// no compensation: a payout that is finished late is still the one that was asked for.
var CreatePayout = phase.Define("payout.create", 2,
	phase.Atomic(payoutRecorded, recordPayout),
	phase.Foreign(bankAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ CreatePayoutParams, s *payoutState,
	) error {
		return sendPayout(ctx, call, s)
	}),
	phase.Atomic(payoutFinalized, func(
		ctx context.Context, tx *phase.Tx, in CreatePayoutParams, s *payoutState,
	) (phase.Outcome, error) {
		return finalizePayout(ctx, tx, in.Expand, s)
	}),
).Check(checkPayout)

// returnedAccounts are the test bank accounts that no payout reaches: the
// simulated bank says why.
var returnedAccounts = []string{
	"ba_us_accountClosed", "ba_us_debitNotAuthorized", "ba_us_insufficientFunds", "ba_us_invalidCurrency",
	"ba_us_noAccount"}

func checkPayout(_ context.Context, _ phase.Reader, caller phase.Check, in *CreatePayoutParams) (err error) {
	in.Currency, err = money.Parse(in.Currency)
	if err != nil {
		return err
	}
	if _, err := in.Metadata.New(); err != nil {
		return err
	}
	if in.StatementDescriptor != nil {
		if err := resource.CheckDescriptors(in.StatementDescriptor); err != nil {
			return err
		}
	}
	if in.Method == "" {
		in.Method = payoutStandard
	}
	own := bankAccountOf(caller.AccountID)
	if in.Destination == "" {
		in.Destination = own
	}
	if in.Destination != own && (caller.Livemode || !slices.Contains(returnedAccounts, in.Destination)) {
		return apierror.NoSuch("external account", "destination", in.Destination)
	}
	return nil
}

func recordPayout(ctx context.Context, tx *phase.Tx, in CreatePayoutParams, s *payoutState) (phase.Outcome, error) {
	metadata, err := in.Metadata.Apply(nil)
	if err != nil {
		return phase.Outcome{}, err
	}
	s.Payout = newPayout(tx, in.Method)
	s.Payout.Amount = in.Amount
	s.Payout.Currency = in.Currency
	s.Payout.Destination = in.Destination
	s.Payout.Metadata = metadata
	s.Payout.Description, s.Payout.StatementDescriptor = resource.Patch(in.Description, nil), in.StatementDescriptor
	enough := in.SourceType == "" || in.SourceType == "card" // all money here comes from cards
	if enough {
		enough, err = ledger.DebitAvailable(ctx, tx, s.Payout.BalanceTransaction, s.Payout.ID, in.Currency, in.Amount)
		if err != nil {
			return phase.Outcome{}, err
		}
	}
	if !enough {
		return phase.Refuse("", insufficient()), nil
	}
	s.Payout.insert(tx)
	return phase.Next, nil
}

// insufficient is Stripe's refusal, two spaces and all.
func insufficient() *apierror.Error {
	return apierror.Invalid("amount",
		"You have insufficient funds in your Stripe account for this transfer. Your card balance is too low.  "+
			"You can use the /v1/balance endpoint to view your Stripe balance (for more details, see "+
			"stripe.com/docs/api#balance).").WithCode("balance_insufficient")
}

// departsAfter is how long a payout can be canceled. Stripe hands its payouts to
// the banks in batches through the day; we assume the next one in an hour.
const departsAfter = time.Hour

// newPayout is a payout that sets out now, by the account's clock: a standard
// one arrives at the second midnight from now, in UTC.
func newPayout(tx *phase.Tx, method string) Payout {
	now := apirequest.AccountNow(tx)
	p := Payout{
		AccountID:          tx.AccountID,
		ID:                 id.New("po", tx.Now()),
		Livemode:           tx.Livemode,
		RequestID:          tx.RequestID,
		Status:             payoutNew,
		Method:             method,
		Metadata:           map[string]string{},
		BalanceTransaction: id.New("txn", tx.Now()),
		DepartsAt:          now,
		ArrivesAt:          now,
		CreatedAt:          tx.Now(),
		Destination:        bankAccountOf(tx.AccountID),
	}
	if method == payoutStandard {
		p.DepartsAt = now.Add(departsAfter)
		p.ArrivesAt = now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 2)
	}
	return p
}

// sendPayout has the acquirer send the money. A closed bank account is a result, not an error.
func sendPayout(ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], s *payoutState) (err error) {
	s.Result, err = call.To().PayOut(ctx, call.Permit,
		acquirer.Order{Destination: s.Payout.Destination, Amount: s.Payout.Amount, Currency: s.Payout.Currency})
	return err
}

// finalizePayout records what the bank answered. Money that it did not take is
// available again. The payout is read again: its metadata may have changed while
// the bank was asked.
func finalizePayout(ctx context.Context, tx *phase.Tx, paths form.Expand, s *payoutState) (phase.Outcome, error) {
	payout, err := lockedPayout(ctx, tx, s.Payout.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	payout.Status = payoutPending
	var fresh []resource.Renderer
	if s.Result.Approved {
		payout.BankReference = &s.Result.Reference
		event.Emit(tx, "payout.created", payout.ID, payout.Render(), nil)
		if payout.Method == payoutInstant {
			payout.arrive(tx)
		}
	} else {
		event.Emit(tx, "payout.created", payout.ID, payout.Render(), nil)
		fresh = append(fresh, payout.returnToBalance(tx, payoutFailed))
		payout.FailureCode, payout.FailureMessage = &s.Result.Code, &s.Result.Message
		event.Emit(tx, "payout.failed", payout.ID, payout.Render(), nil)
	}
	payout.move(tx, payoutNew)
	return replyWithPayout(ctx, tx, paths, payout, fresh...)
}

// returnToBalance books the money of a payout that was not paid as available again,
// and returns its balance transaction.
func (p *Payout) returnToBalance(tx *phase.Tx, status string) *balance.BalanceTransaction {
	kind := map[string]string{payoutFailed: "payout_failure", payoutCanceled: "payout_cancel"}[status]
	back := ledger.PayoutReturn(id.New("txn", tx.Now()), p.ID, kind, p.Currency, p.Amount, tx.Now())
	ledger.Post(tx, back)
	p.Status, p.FailureBalanceTransaction = status, &back.ID
	return balance.BalanceTransactionOf(tx, back)
}

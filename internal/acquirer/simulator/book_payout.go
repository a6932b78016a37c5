package simulator

import (
	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/id"
)

// returned are the test bank accounts that no payout reaches, and why. They are
// named after Stripe's test tokens of bank accounts. Every other account is paid.
var returned = map[string]struct{ code, message string }{
	"ba_us_accountClosed":      {"account_closed", "The bank account has been closed."},
	"ba_us_debitNotAuthorized": {"debit_not_authorized", "Debit transactions are not approved on the bank account."},
	"ba_us_insufficientFunds":  {"insufficient_funds", "The paying account has insufficient funds."},
	"ba_us_invalidCurrency":    {"invalid_currency", "The bank account does not accept this currency."},
	"ba_us_noAccount":          {"no_account", "The bank account was not found."},
}

// payOut sends money to a bank account. Its record is kept like a sale's: what
// was sent is captured, what was fetched back is refunded.
func (b *book) payOut(op *operation) {
	order := op.asked.Order
	sent := &authorization{
		id: id.New(referencePrefix[acquirer.VerbPayOut], b.at), card: order.Destination, currency: order.Currency,
		held: order.Amount, captured: order.Amount, change: inserted,
	}
	if back, comes := returned[order.Destination]; comes {
		b.refuse(op, &authorization{card: order.Destination}, back.code)
		op.answer.Message = back.message
		return
	}
	b.authorizations[sent.id] = sent
	op.answer.Reference = sent.id
	b.approve(op, sent, payout, order.Amount)
}

// recall fetches all of a payout back, once.
func (b *book) recall(op *operation) {
	order := op.asked.Order
	sent, refusal := b.authorizationFor(order)
	switch {
	case refusal != "":
	case order.Amount != sent.captured:
		refusal = acquirer.CodeAmountMismatch
	case sent.refunded > 0:
		refusal = acquirer.CodeAlreadyVoided
	}
	if refusal != "" {
		b.refuse(op, sent, refusal)
		return
	}
	sent.refunded = sent.captured
	b.approve(op, sent, recall, order.Amount)
}

// undoPayout takes back what was sent, unless it was fetched back already.
func (a *authorization) undoPayout() (kind string, amount int64) {
	if a.refunded > 0 {
		return none, 0
	}
	a.refunded = a.captured
	return recall, a.captured
}

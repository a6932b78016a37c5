//go:build unix

package bank

import (
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/id"
)

// payment is an authorization or a payout, in minor units. What a payout sent counts
// as captured, and what came back as refunded.
type payment struct {
	merchant       string
	livemode       bool
	card, currency string
	held           int64
	captured       int64
	refunded       int64
	released       bool
	operations     []*operation // oldest first
}

// operation is what was done under a key.
type operation struct {
	record
	payment  *payment // nil if it was refused
	reversed bool
	settled  bool
}

// decide says what the bank answers to an order, and changes nothing.
func (b *Bank) decide(verb acquirer.Verb, order acquirer.Order) acquirer.Result {
	answer := acquirer.Result{
		Approved: true, Reference: id.New("bank", time.Now()), Amount: order.Amount, Currency: order.Currency}
	p := b.payments[order.Authorization]
	if p == nil {
		p = &payment{}
	}
	switch verb {
	case acquirer.VerbAuthorize, acquirer.VerbVerify:
		return decideCard(answer, order)
	case acquirer.VerbPayOut:
		return answer
	case acquirer.VerbSubmitEvidence, acquirer.VerbAcceptDispute:
		return refused(answer, acquirer.CodeUnknownDispute) // cardholders never complain here
	}
	if code := p.refuses(verb, order); code != "" {
		return refused(answer, code)
	}
	answer.CapturedAmount = p.captured
	switch verb {
	case acquirer.VerbCapture:
		answer.CapturedAmount = order.Amount
	case acquirer.VerbVoid:
		answer.Amount = p.held
	case acquirer.VerbRefund:
		answer.RefundStatus = "succeeded"
	}
	return answer
}

func decideCard(answer acquirer.Result, order acquirer.Order) acquirer.Result {
	answer.NetworkStatus, answer.Outcome, answer.RiskLevel = "approved_by_network", "authorized", "normal"
	if strings.HasSuffix(order.Card, "_declined") {
		answer.NetworkStatus, answer.Outcome = "declined_by_network", "issuer_declined"
		answer.DeclineCode, answer.Message = "generic_decline", "Your card was declined."
		return refused(answer, acquirer.CodeCardDeclined)
	}
	if order.Capture {
		answer.CapturedAmount = order.Amount
	}
	return answer
}

func refused(answer acquirer.Result, code string) acquirer.Result {
	answer.Approved, answer.Code = false, code
	return answer
}

// refuses is the code of the rule that an order about a payment breaks.
func (p *payment) refuses(verb acquirer.Verb, order acquirer.Order) (code string) {
	switch {
	case p.operations == nil:
		return acquirer.CodeUnknownAuthorization
	case p.currency != order.Currency:
		return acquirer.CodeCurrencyMismatch
	case verb == acquirer.VerbRefund && p.captured == 0:
		return acquirer.CodeNothingCaptured
	case verb == acquirer.VerbRefund && order.Amount > p.captured-p.refunded:
		return acquirer.CodeAmountTooLarge
	case verb == acquirer.VerbRecall && order.Amount != p.captured:
		return acquirer.CodeAmountMismatch
	case verb == acquirer.VerbRecall && p.refunded > 0, verb != acquirer.VerbRefund && p.released:
		return acquirer.CodeAlreadyVoided
	case verb == acquirer.VerbRefund, verb == acquirer.VerbRecall:
		return ""
	case p.captured > 0:
		return acquirer.CodeAlreadyCaptured
	case verb == acquirer.VerbCapture && order.Amount > p.held:
		return acquirer.CodeAmountTooLarge
	case verb == acquirer.VerbVoid && order.Amount != 0 && order.Amount != p.held:
		return acquirer.CodeAmountMismatch
	}
	return ""
}

// reversible says whether nothing is built on an approved operation.
func (b *Bank) reversible(op *operation) bool {
	p := op.payment
	switch {
	case p == nil, op.Verb == acquirer.VerbVoid, op.Verb == acquirer.VerbRecall:
		return true
	case op.settled:
		return false // it has been paid
	case op.kind() == acquirer.KindHold:
		return p.captured == 0 && !p.released
	case op.Verb == acquirer.VerbRefund:
		return true
	}
	return p.refunded == 0
}

// apply does to the books what a record says.
func (b *Bank) apply(r record) {
	switch {
	case r.Settled != nil:
		b.parts = append(b.parts, *r.Settled)
		for _, m := range r.Settled.Movements {
			b.references[m.Reference].settled = true
		}
	case r.Reversal:
		b.applyReversal(r)
	default:
		op := &operation{record: r}
		b.operations[r.Key] = op
		b.references[r.Result.Reference] = op
		b.history = append(b.history, op)
		if r.Result.Approved {
			b.move(op)
		}
	}
}

// move is what an approved operation does to its payment.
func (b *Bank) move(op *operation) {
	order, answer := op.Order, op.Result
	switch op.Verb {
	case acquirer.VerbVerify:
		return
	case acquirer.VerbAuthorize, acquirer.VerbPayOut:
		op.payment = &payment{merchant: order.Merchant, livemode: order.Livemode, card: order.Card + order.Destination,
			currency: order.Currency, held: order.Amount, captured: answer.CapturedAmount}
		if op.Verb == acquirer.VerbPayOut {
			op.payment.captured = order.Amount
		}
		b.payments[answer.Reference] = op.payment
	default:
		op.payment = b.payments[order.Authorization]
	}
	switch op.Verb {
	case acquirer.VerbCapture:
		op.payment.captured = order.Amount
	case acquirer.VerbVoid:
		op.payment.released = true
	case acquirer.VerbRefund, acquirer.VerbRecall:
		op.payment.refunded += order.Amount
	}
	op.payment.operations = append(op.payment.operations, op)
}

// applyReversal undoes an operation, or leaves a tombstone where there was none.
func (b *Bank) applyReversal(r record) {
	op := b.operations[r.Key]
	if op == nil {
		b.operations[r.Key] = &operation{record: r, reversed: true}
		return
	}
	op.reversed = true
	p := op.payment
	if p == nil {
		return
	}
	b.history = append(b.history, &operation{record: record{At: r.At, Key: r.Key, Reversal: true, Verb: op.Verb,
		Order: op.Order, Result: op.Result}, payment: p, reversed: true})
	switch kind := op.kind(); kind {
	case acquirer.KindHold:
		p.released = true
	case acquirer.KindRelease:
		p.released = false
	case acquirer.KindRefund, kindRecall:
		p.refunded -= op.Result.Amount
	default:
		p.refunded = p.captured
	}
}

const (
	kindPayout = "payout"
	kindRecall = "recall"
	kindNone   = "none"
)

// kind is what an operation does to a card or a bank account.
func (op *operation) kind() string {
	switch {
	case op.payment == nil:
		return kindNone
	case op.Verb == acquirer.VerbAuthorize && op.Order.Capture:
		return acquirer.KindSale
	}
	return map[acquirer.Verb]string{
		acquirer.VerbAuthorize: acquirer.KindHold, acquirer.VerbCapture: acquirer.KindCapture,
		acquirer.VerbVoid: acquirer.KindRelease, acquirer.VerbRefund: acquirer.KindRefund,
		acquirer.VerbPayOut: kindPayout, acquirer.VerbRecall: kindRecall,
	}[op.Verb]
}

// undoes is the kind of movement that undoes another.
var undoes = map[string]string{
	acquirer.KindHold: acquirer.KindRelease, acquirer.KindRelease: acquirer.KindHold,
	acquirer.KindSale: acquirer.KindRefund, acquirer.KindCapture: acquirer.KindRefund,
	acquirer.KindRefund: acquirer.KindCapture, kindPayout: kindRecall, kindRecall: kindPayout,
}

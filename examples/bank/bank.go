//go:build unix

// Package bank is a second adapter of the acquirer port, to be read by somebody who
// writes their own. It is a whole bank in one file of JSON lines, shared by all processes
// that open it.
//
// What it shows is what each adapter owes the engine:
//
//   - It remembers its keys in the same write that moves the money (file.go:append). A
//     bank that remembers them afterwards charges a card twice when it crashes between.
//   - It says what it knows. An order that was never written is phase.NotSent. An order
//     that may have been written is any other error, and never a decline.
//   - It decides before it writes (decide.go), and writes before it answers.
//   - It honors all three modes of a permit (Bank.do).
//
// A card whose name ends in "_declined" is declined, and every other one is approved.
package bank

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

var _ acquirer.Adapter = (*Bank)(nil)

// Authorize implements acquirer.Acquirer, as the next eight do.
func (b *Bank) Authorize(ctx context.Context, p phase.Permit, o acquirer.Order) (acquirer.Result, error) {
	return b.do(ctx, p, acquirer.VerbAuthorize, o)
}

// Capture moves authorized money to the merchant, once per key. An answer that is lost leaves the operation unknown:
// the engine asks again with the same key.
func (b *Bank) Capture(ctx context.Context, p phase.Permit, o acquirer.Order) (acquirer.Result, error) {
	return b.do(ctx, p, acquirer.VerbCapture, o)
}

// Void releases what is left of an authorization, once per key.
func (b *Bank) Void(ctx context.Context, p phase.Permit, o acquirer.Order) (acquirer.Result, error) {
	return b.do(ctx, p, acquirer.VerbVoid, o)
}

// Refund returns captured money to the card, once per key. More than was captured is declined.
func (b *Bank) Refund(ctx context.Context, p phase.Permit, o acquirer.Order) (acquirer.Result, error) {
	return b.do(ctx, p, acquirer.VerbRefund, o)
}

// Verify checks a card without moving money.
func (b *Bank) Verify(ctx context.Context, p phase.Permit, o acquirer.Order) (acquirer.Result, error) {
	return b.do(ctx, p, acquirer.VerbVerify, o)
}

// PayOut sends an amount to the merchant, once per key.
func (b *Bank) PayOut(ctx context.Context, p phase.Permit, o acquirer.Order) (acquirer.Result, error) {
	return b.do(ctx, p, acquirer.VerbPayOut, o)
}

// Recall takes back a whole payout. A second recall is refused.
func (b *Bank) Recall(ctx context.Context, p phase.Permit, o acquirer.Order) (acquirer.Result, error) {
	return b.do(ctx, p, acquirer.VerbRecall, o)
}

// SubmitEvidence is refused as an unknown dispute: no cardholder of this bank complains.
func (b *Bank) SubmitEvidence(ctx context.Context, p phase.Permit, o acquirer.Order) (acquirer.Result, error) {
	return b.do(ctx, p, acquirer.VerbSubmitEvidence, o)
}

// AcceptDispute is refused, as SubmitEvidence is.
func (b *Bank) AcceptDispute(ctx context.Context, p phase.Permit, o acquirer.Order) (acquirer.Result, error) {
	return b.do(ctx, p, acquirer.VerbAcceptDispute, o)
}

var errKeyReused = errors.New("the key was used for another order")

// do is every verb: it looks the key up and decides by the permit's mode.
func (b *Bank) do(ctx context.Context, permit phase.Permit, verb acquirer.Verb, order acquirer.Order) (
	answer acquirer.Result, err error) {
	key := permit.Key()
	if key == "" {
		return answer, phase.NotSent(errors.New("the permit has no key"))
	}
	if ctx.Err() != nil {
		return answer, phase.NotSent(context.Cause(ctx))
	}
	err = b.locked(func() error {
		op := b.operations[key]
		switch {
		case permit.Mode() == phase.Reverse:
			return b.reverse(key, op)
		case op == nil && permit.Mode() == phase.Lookup:
			return phase.ErrNotExecuted
		case op == nil:
			answer = b.decide(verb, order)
			return b.append(record{At: time.Now(), Key: key, Verb: verb, Order: order, Result: answer})
		case op.reversed:
			return phase.ErrReversed
		case op.Verb != verb || !op.Order.Same(order):
			return fmt.Errorf("%w: %s", errKeyReused, key) // proves nothing about this order
		}
		answer = op.Result
		answer.Replayed = true
		return nil
	})
	if err != nil {
		return acquirer.Result{}, err
	}
	return answer, nil
}

// reverse undoes what was done under a key. The record of it is also the tombstone
// that refuses an order which arrives later.
func (b *Bank) reverse(key string, op *operation) error {
	if op == nil || !op.reversed {
		if op != nil && op.Result.Approved && !b.reversible(op) {
			return fmt.Errorf("later operations are built on %s", op.Result.Reference)
		}
		if err := b.append(record{At: time.Now(), Key: key, Reversal: true}); err != nil {
			return err
		}
	}
	return phase.ErrReversed
}

// BreakerOpen implements acquirer.Adapter. A file needs no circuit breaker.
func (b *Bank) BreakerOpen() bool { return false }

package acquirertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/phase/phasetest"
)

// Subject is an adapter under test, and what the suite has to know of the acquirer
// behind it: a sandbox, for a real one. All fields are needed.
type Subject struct {
	Adapter acquirer.Adapter
	// Unreachable is an adapter of the same kind whose acquirer does not answer.
	Unreachable acquirer.Adapter

	Merchant string // an account that the acquirer settles with
	Card     string // the vault's name of a card that is approved
	Declined string // and of one that is declined
	Account  string // a bank account that a payout reaches

	// LoseOrder makes the order of each call under the context disappear before the
	// acquirer has acted, LoseAnswer the answer after it has acted.
	LoseOrder, LoseAnswer func(context.Context) context.Context

	// Notify has the acquirer post its notifications to a URL, signed with a secret,
	// until the test ends.
	Notify func(t *testing.T, url, secret string)
	// Settle has the acquirer pay what it owes now.
	Settle func(t *testing.T)
}

// Conformance states what every adapter of the acquirer port must do. Its keys are new
// each time, so a sandbox may have a past.
func Conformance(t *testing.T, s Subject) {
	c := &conformance{Subject: s, prefix: fmt.Sprintf("conformance-%d-", time.Now().UnixNano())}
	t.Run("a key moves the card once", c.aKeyMovesTheCardOnce)
	t.Run("a decline is an answer", c.aDeclineIsAnAnswer)
	t.Run("a missing answer is unknown", c.aMissingAnswerIsUnknown)
	t.Run("no more is moved than there is", c.noMoreIsMovedThanThereIs)
	t.Run("a lookup says what happened", c.aLookupSaysWhatHappened)
	t.Run("a reversal undoes its key for good", c.aReversalUndoesItsKey)
	t.Run("the acquirer's records say what happened", c.theRecordsSayWhatHappened)
	t.Run("notifications arrive", c.notificationsArrive)
}

type conformance struct {
	Subject
	prefix string
	keys   atomic.Int64
}

// key is one that was never used.
func (c *conformance) key() string { return fmt.Sprint(c.prefix, c.keys.Add(1)) }

// verb is a method of an adapter.
type verb = func(acquirer.Acquirer, context.Context, phase.Permit, acquirer.Order) (acquirer.Result, error)

var (
	authorize = acquirer.Acquirer.Authorize
	capture   = acquirer.Acquirer.Capture
	void      = acquirer.Acquirer.Void
	refund    = acquirer.Acquirer.Refund
	payOut    = acquirer.Acquirer.PayOut
	recall    = acquirer.Acquirer.Recall
)

func (c *conformance) call(t *testing.T, key string, mode phase.Mode, do verb, o acquirer.Order) (
	acquirer.Result, error) {
	t.Helper()
	return do(c.Adapter, t.Context(), phasetest.Permit(t, key, mode), o)
}

// answer sends an order under a key and fails without an answer.
func (c *conformance) answer(t *testing.T, key string, do verb, o acquirer.Order) acquirer.Result {
	t.Helper()
	answer, err := c.call(t, key, phase.Send, do, o)
	if err != nil {
		t.Fatalf("send under %s: %v", key, err)
	}
	return answer
}

// approved sends an order under a new key and fails unless it is approved.
func (c *conformance) approved(t *testing.T, do verb, o acquirer.Order) acquirer.Result {
	t.Helper()
	answer := c.answer(t, c.key(), do, o)
	if !answer.Approved {
		t.Fatalf("the order %+v was refused: %+v", o, answer)
	}
	return answer
}

// refused sends an order under a new key and fails if it is approved or moves anything.
func (c *conformance) refused(t *testing.T, code string, do verb, o acquirer.Order) {
	t.Helper()
	key := c.key()
	answer := c.answer(t, key, do, o)
	if answer.Approved || answer.Code != code {
		t.Errorf("the order %+v was answered with %+v, want a refusal with the code %s", o, answer, code)
	}
	c.wantMoved(t, key, 0)
}

// wantMoved compares how often anything was moved under a key.
func (c *conformance) wantMoved(t *testing.T, key string, want int) {
	t.Helper()
	movements, err := c.Adapter.Statement(t.Context(), key)
	if err != nil {
		t.Fatalf("read the statement of %s: %v", key, err)
	}
	moved := 0
	for _, m := range movements {
		if m.Kind != "none" {
			moved++
		}
	}
	if moved != want {
		t.Errorf("%d movements under %s, want %d: %+v", moved, key, want, movements)
	}
}

func wantOutcome(t *testing.T, err error, want ...string) {
	t.Helper()
	got := phase.CallOutcome(err)
	for _, w := range want {
		if got == w {
			return
		}
	}
	t.Errorf("the error %v says %s, want %v", err, got, want)
}

// same says whether two answers are the same but for the mark of a replay.
func same(a, b acquirer.Result) bool {
	a.Replayed = b.Replayed
	return a == b
}

func (c *conformance) hold(amount int64) acquirer.Order {
	return acquirer.Order{Merchant: c.Merchant, Card: c.Card, Amount: amount, Currency: "usd"}
}

func (c *conformance) sale(amount int64) acquirer.Order {
	order := c.hold(amount)
	order.Capture = true
	return order
}

// of is an order about an authorization.
func of(authorization acquirer.Result, amount int64) acquirer.Order {
	return acquirer.Order{Authorization: authorization.Reference, Amount: amount, Currency: "usd"}
}

func (c *conformance) aKeyMovesTheCardOnce(t *testing.T) {
	t.Run("the same key with the same order gets the same answer", func(t *testing.T) {
		key := c.key()
		first := c.answer(t, key, authorize, c.sale(1000))
		again := c.answer(t, key, authorize, c.sale(1000))
		if !first.Approved || first.Reference == "" || first.Amount != 1000 || first.Currency != "usd" ||
			first.CapturedAmount != 1000 {
			t.Errorf("a sale of 1000 usd was answered with %+v", first)
		}
		if !same(first, again) {
			t.Errorf("answered %+v, and then %+v", first, again)
		}
		if !again.Replayed {
			t.Error("the second answer does not say that the key had been used before")
		}
		c.wantMoved(t, key, 1)
	})

	t.Run("a retry may name another object of ours", func(t *testing.T) {
		key, order := c.key(), c.sale(1000)
		order.Object = "ch_first"
		first := c.answer(t, key, authorize, order)
		order.Object = "ch_second"
		if again := c.answer(t, key, authorize, order); !same(first, again) {
			t.Errorf("answered %+v, and then %+v", first, again)
		}
		c.wantMoved(t, key, 1)
	})

	c.aKeyIsBoundToItsOrder(t)
}

func (c *conformance) aKeyIsBoundToItsOrder(t *testing.T) {
	t.Run("the same key with another order is refused, which proves nothing", func(t *testing.T) {
		key := c.key()
		c.answer(t, key, authorize, c.sale(1000))
		for name, other := range map[string]acquirer.Order{
			"amount": c.sale(1001), "hold": c.hold(1000), "card": {Merchant: c.Merchant, Card: c.Declined, Amount: 1000,
				Currency: "usd", Capture: true},
		} {
			answer, err := c.call(t, key, phase.Send, authorize, other)
			if answer != (acquirer.Result{}) {
				t.Errorf("another %s was answered with %+v", name, answer)
			}
			wantOutcome(t, err, "unknown")
		}
		c.wantMoved(t, key, 1)
	})

	t.Run("the same key with another method is refused, which proves nothing", func(t *testing.T) {
		sold, key := c.approved(t, authorize, c.sale(1000)), c.key()
		c.answer(t, key, refund, of(sold, 400))
		_, err := c.call(t, key, phase.Send, void, of(sold, 400))
		wantOutcome(t, err, "unknown")
		c.wantMoved(t, key, 1)
	})

	t.Run("concurrent calls of one key get the same answer", func(t *testing.T) {
		key := c.key()
		answers, errs := c.concurrently(t, 8, func(int) string { return key }, authorize, c.sale(1000))
		for i, answer := range answers {
			if errs[i] != nil {
				t.Errorf("a concurrent call: %v", errs[i])
			} else if !same(answer, answers[0]) {
				t.Errorf("answered %+v and %+v", answers[0], answer)
			}
		}
		c.wantMoved(t, key, 1)
	})

	t.Run("a permit without a key is not sent", func(t *testing.T) {
		_, err := c.call(t, "", phase.Send, authorize, c.sale(1000))
		wantOutcome(t, err, "not_sent")
	})
}

// concurrently sends an order n times at once.
func (c *conformance) concurrently(t *testing.T, n int, key func(i int) string, do verb, o acquirer.Order) (
	answers []acquirer.Result, errs []error) {
	t.Helper()
	answers, errs = make([]acquirer.Result, n), make([]error, n)
	var calls sync.WaitGroup
	for i := range n {
		permit := phasetest.Permit(t, key(i), phase.Send)
		calls.Go(func() { answers[i], errs[i] = do(c.Adapter, t.Context(), permit, o) })
	}
	calls.Wait()
	return answers, errs
}

func (c *conformance) aDeclineIsAnAnswer(t *testing.T) {
	order := c.sale(1000)
	order.Card = c.Declined

	t.Run("it is not an error, it has a code, and it moves nothing", func(t *testing.T) {
		key := c.key()
		answer := c.answer(t, key, authorize, order)
		if answer.Approved || answer.Code == "" || answer.Amount != 1000 || answer.CapturedAmount != 0 {
			t.Errorf("a card that is declined was answered with %+v", answer)
		}
		c.wantMoved(t, key, 0)
	})

	t.Run("the same key is declined again, with the same answer", func(t *testing.T) {
		key := c.key()
		first := c.answer(t, key, authorize, order)
		if again := c.answer(t, key, authorize, order); !same(first, again) {
			t.Errorf("answered %+v, and then %+v", first, again)
		}
	})

	t.Run("a card can be verified and moves nothing", func(t *testing.T) {
		key := c.key()
		answer := c.answer(t, key, acquirer.Acquirer.Verify, acquirer.Order{Card: c.Card, Currency: "usd"})
		if !answer.Approved || answer.Amount != 0 {
			t.Errorf("answered %+v", answer)
		}
		c.wantMoved(t, key, 0)
	})
}

func (c *conformance) aMissingAnswerIsUnknown(t *testing.T) {
	t.Run("an acquirer that cannot be reached has declined and reversed nothing", func(t *testing.T) {
		for _, mode := range []phase.Mode{phase.Send, phase.Lookup, phase.Reverse} {
			permit := phasetest.Permit(t, c.key(), mode)
			answer, err := c.Unreachable.Authorize(t.Context(), permit, c.sale(1000))
			if answer != (acquirer.Result{}) {
				t.Errorf("%s: answered with %+v", mode, answer)
			}
			wantOutcome(t, err, "not_sent", "unknown")
		}
	})

	t.Run("a lost answer is unknown, and a retry gets it without moving the card again", func(t *testing.T) {
		key := c.key()
		permit := phasetest.Permit(t, key, phase.Send)
		answer, err := c.Adapter.Authorize(c.LoseAnswer(t.Context()), permit, c.sale(1000))
		if answer != (acquirer.Result{}) {
			t.Errorf("answered with %+v", answer)
		}
		wantOutcome(t, err, "unknown")
		if found := c.answer(t, key, authorize, c.sale(1000)); !found.Approved || !found.Replayed {
			t.Errorf("the retry was answered with %+v", found)
		}
		c.wantMoved(t, key, 1)
	})

	t.Run("a lost order is unknown, and a retry executes it", func(t *testing.T) {
		key := c.key()
		permit := phasetest.Permit(t, key, phase.Send)
		_, err := c.Adapter.Authorize(c.LoseOrder(t.Context()), permit, c.sale(1000))
		wantOutcome(t, err, "unknown")
		c.wantMoved(t, key, 0)
		if found := c.answer(t, key, authorize, c.sale(1000)); !found.Approved {
			t.Errorf("the retry was answered with %+v", found)
		}
		c.wantMoved(t, key, 1)
	})

	c.anUnansweredCallIsRepeated(t)
}

func (c *conformance) anUnansweredCallIsRepeated(t *testing.T) {
	t.Run("a lost answer to a reversal is unknown, and a retry finds it reversed", func(t *testing.T) {
		key := c.key()
		c.answer(t, key, authorize, c.sale(1000))
		permit := phasetest.Permit(t, key, phase.Reverse)
		_, err := c.Adapter.Authorize(c.LoseAnswer(t.Context()), permit, c.sale(1000))
		wantOutcome(t, err, "unknown")
		_, err = c.call(t, key, phase.Reverse, authorize, c.sale(1000))
		wantOutcome(t, err, "reversed")
	})

	t.Run("a canceled context is no decline, and its key still works", func(t *testing.T) {
		key := c.key()
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		answer, err := c.Adapter.Authorize(canceled, phasetest.Permit(t, key, phase.Send), c.sale(1000))
		if answer != (acquirer.Result{}) {
			t.Errorf("answered with %+v", answer)
		}
		wantOutcome(t, err, "not_sent", "unknown")
		if found := c.answer(t, key, authorize, c.sale(1000)); !found.Approved {
			t.Errorf("the retry was answered with %+v", found)
		}
		c.wantMoved(t, key, 1)
	})
}

func (c *conformance) noMoreIsMovedThanThereIs(t *testing.T) {
	t.Run("a capture takes at most what was authorized, and once", func(t *testing.T) {
		held := c.approved(t, authorize, c.hold(1000))
		if held.CapturedAmount != 0 {
			t.Errorf("a hold was answered with %+v", held)
		}
		c.refused(t, acquirer.CodeAmountTooLarge, capture, of(held, 1001))
		if taken := c.approved(t, capture, of(held, 700)); taken.CapturedAmount != 700 || taken.Amount != 700 {
			t.Errorf("a capture of 700 was answered with %+v", taken)
		}
		c.refused(t, acquirer.CodeAlreadyCaptured, capture, of(held, 300))
	})

	t.Run("refunds return at most what was captured, also together", func(t *testing.T) {
		held := c.approved(t, authorize, c.hold(1000))
		c.refused(t, acquirer.CodeNothingCaptured, refund, of(held, 100))
		c.approved(t, capture, of(held, 700))
		c.refused(t, acquirer.CodeAmountTooLarge, refund, of(held, 701))
		if back := c.approved(t, refund, of(held, 300)); back.Amount != 300 || back.RefundStatus == "" {
			t.Errorf("a refund of 300 was answered with %+v", back)
		}
		c.refused(t, acquirer.CodeAmountTooLarge, refund, of(held, 401))
		c.approved(t, refund, of(held, 400))
		c.refused(t, acquirer.CodeAmountTooLarge, refund, of(held, 1))
	})

	t.Run("concurrent refunds return at most what was captured", func(t *testing.T) {
		sold := c.approved(t, authorize, c.sale(1000))
		answers, errs := c.concurrently(t, 5, func(int) string { return c.key() }, refund, of(sold, 400))
		approved := 0
		for i, answer := range answers {
			if errs[i] != nil {
				t.Errorf("a concurrent refund: %v", errs[i])
			}
			if answer.Approved {
				approved++
			}
		}
		if approved != 2 {
			t.Errorf("%d refunds of 400 from 1000 were approved, want 2", approved)
		}
	})

	c.nothingIsUndoneTwice(t)
}

func (c *conformance) nothingIsUndoneTwice(t *testing.T) {
	t.Run("a hold is voided or captured, and not both", func(t *testing.T) {
		held := c.approved(t, authorize, c.hold(1000))
		if released := c.approved(t, void, of(held, 0)); released.Amount != 1000 {
			t.Errorf("a void of 1000 was answered with %+v", released)
		}
		c.refused(t, acquirer.CodeAlreadyVoided, capture, of(held, 1000))
		sold := c.approved(t, authorize, c.sale(1000))
		c.refused(t, acquirer.CodeAlreadyCaptured, void, of(sold, 1000))
	})

	t.Run("another currency or an authorization that does not exist is refused", func(t *testing.T) {
		held := c.approved(t, authorize, c.hold(1000))
		euros := of(held, 1000)
		euros.Currency = "eur"
		c.refused(t, acquirer.CodeCurrencyMismatch, capture, euros)
		c.refused(t, acquirer.CodeUnknownAuthorization, capture, of(acquirer.Result{Reference: "auth_none"}, 1000))
	})

	t.Run("a payout is recalled once, and in whole", func(t *testing.T) {
		sent := c.approved(t, payOut, acquirer.Order{Destination: c.Account, Amount: 900, Currency: "usd"})
		c.refused(t, acquirer.CodeAmountMismatch, recall, of(sent, 500))
		c.approved(t, recall, of(sent, 900))
		c.refused(t, acquirer.CodeAlreadyVoided, recall, of(sent, 900))
	})

	t.Run("a dispute that does not exist is neither answered nor accepted", func(t *testing.T) {
		order := acquirer.Order{Dispute: "dp_none", Amount: 900, Currency: "usd", Evidence: `{}`}
		c.refused(t, acquirer.CodeUnknownDispute, acquirer.Acquirer.SubmitEvidence, order)
		order.Evidence = ""
		c.refused(t, acquirer.CodeUnknownDispute, acquirer.Acquirer.AcceptDispute, order)
	})
}

func (c *conformance) aLookupSaysWhatHappened(t *testing.T) {
	declined := c.sale(1000)
	declined.Card = c.Declined

	t.Run("a key that never arrived was not executed, and can still be used", func(t *testing.T) {
		key := c.key()
		_, err := c.call(t, key, phase.Lookup, authorize, c.sale(1000))
		wantOutcome(t, err, "not_executed")
		c.wantMoved(t, key, 0)
		if sold := c.answer(t, key, authorize, c.sale(1000)); !sold.Approved {
			t.Errorf("answered with %+v", sold)
		}
		c.wantMoved(t, key, 1)
	})

	for name, order := range map[string]acquirer.Order{"an approval": c.sale(1000), "a decline": declined} {
		t.Run(name+" is found as it was answered", func(t *testing.T) {
			key := c.key()
			first := c.answer(t, key, authorize, order)
			found, err := c.call(t, key, phase.Lookup, authorize, order)
			if err != nil || !same(found, first) {
				t.Errorf("answered %+v, and looked up %+v, %v", first, found, err)
			}
		})
	}

	t.Run("a lost order was not executed, and a lost answer was", func(t *testing.T) {
		lost, done := c.key(), c.key()
		_, _ = c.Adapter.Authorize(c.LoseOrder(t.Context()), phasetest.Permit(t, lost, phase.Send), c.sale(1000))
		_, _ = c.Adapter.Authorize(c.LoseAnswer(t.Context()), phasetest.Permit(t, done, phase.Send), c.sale(1000))
		_, err := c.call(t, lost, phase.Lookup, authorize, c.sale(1000))
		wantOutcome(t, err, "not_executed")
		found, err := c.call(t, done, phase.Lookup, authorize, c.sale(1000))
		if err != nil || !found.Approved {
			t.Errorf("looked up %+v, %v", found, err)
		}
	})
}

func (c *conformance) aReversalUndoesItsKey(t *testing.T) {
	t.Run("what was done is undone, once", func(t *testing.T) {
		key := c.key()
		sold := c.answer(t, key, authorize, c.sale(1000))
		for range 2 {
			_, err := c.call(t, key, phase.Reverse, authorize, c.sale(1000))
			wantOutcome(t, err, "reversed")
		}
		c.wantMoved(t, key, 2) // the sale, and its reversal
		answer := c.answer(t, c.key(), refund, of(sold, 1000))
		if answer.Approved {
			t.Errorf("a sale that was reversed was refunded: %+v", answer)
		}
	})

	t.Run("nothing can be done under the key any more", func(t *testing.T) {
		key := c.key()
		c.answer(t, key, authorize, c.sale(1000))
		_, _ = c.call(t, key, phase.Reverse, authorize, c.sale(1000))
		for _, mode := range []phase.Mode{phase.Send, phase.Lookup} {
			_, err := c.call(t, key, mode, authorize, c.sale(1000))
			wantOutcome(t, err, "reversed")
		}
	})

	t.Run("an order that arrives after its reversal is refused", func(t *testing.T) {
		key := c.key()
		_, err := c.call(t, key, phase.Reverse, authorize, c.sale(1000))
		wantOutcome(t, err, "reversed")
		_, err = c.call(t, key, phase.Send, authorize, c.sale(1000))
		wantOutcome(t, err, "reversed")
		c.wantMoved(t, key, 0)
	})

	c.aReversalMeetsOtherOrders(t)
}

func (c *conformance) aReversalMeetsOtherOrders(t *testing.T) {
	t.Run("what a later operation is built on is not undone", func(t *testing.T) {
		key := c.key()
		held := c.answer(t, key, authorize, c.hold(1000))
		c.approved(t, capture, of(held, 1000))
		_, err := c.call(t, key, phase.Reverse, authorize, c.hold(1000))
		wantOutcome(t, err, "unknown")
		c.wantMoved(t, key, 1)
	})

	t.Run("an order that races its reversal leaves nothing on the card", func(t *testing.T) {
		for range 5 {
			key := c.key()
			sending, reversing := phasetest.Permit(t, key, phase.Send), phasetest.Permit(t, key, phase.Reverse)
			var sent, reversed error
			var both sync.WaitGroup
			both.Go(func() { _, sent = c.Adapter.Authorize(t.Context(), sending, c.sale(1000)) })
			both.Go(func() { _, reversed = c.Adapter.Authorize(t.Context(), reversing, c.sale(1000)) })
			both.Wait()
			wantOutcome(t, reversed, "reversed")
			movements := 0 // the reversal came first
			if sent == nil {
				movements = 2
			} else if !errors.Is(sent, phase.ErrReversed) {
				t.Errorf("the order: %v", sent)
			}
			c.wantMoved(t, key, movements)
		}
	})
}

package acquirer_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Every kind of fault that the simulator can make, as its client sees it, and
// what asking again under the same key makes of it.
func TestFault(t *testing.T) {
	t.Parallel()
	sim := acquirertest.Start(t, pgtest.New(t).URL)
	client := sim.Client()

	for _, tc := range []struct {
		fault    string
		first    knowledge // with the fault
		lookedUp knowledge // afterwards, without a fault
		again    knowledge
		moved    int // how often the card was charged in the end
	}{
		{"slow:20", answered, answered, answered, 1},
		{"drop_before_acting", unknown, neverHappened, answered, 1},
		{"drop_after_acting", unknown, answered, answered, 1},
		{"fail_before_acting", unknown, neverHappened, answered, 1},
		{"fail_after_acting", unknown, answered, answered, 1},
		{"wrong_amount", unknown, answered, answered, 1},
		{"retire_key", unused, unused, unused, 0},
		{"slow:20,drop_after_acting", unknown, answered, answered, 1},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			t.Parallel()
			key := "fault/" + tc.fault // a slash, because a derived key may have one
			_, err := client.Do(acquirer.WithFault(t.Context(), tc.fault), key, phase.Send, sale)
			if got := knownFrom(err); got != tc.first {
				t.Errorf("with a fault: %s (%v), want %s", got, err, tc.first)
			}
			_, err = client.Do(t.Context(), key, phase.Lookup, sale)
			if got := knownFrom(err); got != tc.lookedUp {
				t.Errorf("looked up: %s (%v), want %s", got, err, tc.lookedUp)
			}
			_, err = client.Do(t.Context(), key, phase.Send, sale)
			if got := knownFrom(err); got != tc.again {
				t.Errorf("asked again: %s (%v), want %s", got, err, tc.again)
			}
			if got := charges(t, sim, key); got != tc.moved {
				t.Errorf("card charged %d times, want %d", got, tc.moved)
			}
		})
	}

	t.Run("an acquirer that forgets keys charges twice, and its journal says so", func(t *testing.T) {
		t.Parallel()
		ctx := acquirer.WithFault(t.Context(), "forget_keys")
		for range 2 {
			_, err := client.Do(ctx, "forgotten", phase.Send, sale)
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := charges(t, sim, "forgotten"); got != 2 {
			t.Errorf("card charged %d times, want 2", got)
		}
	})

	t.Run("faults strike lookups and reversals too", func(t *testing.T) {
		t.Parallel()
		ctx := acquirer.WithFault(t.Context(), "drop_after_acting")
		_, err := client.Do(ctx, "reversed", phase.Lookup, sale)
		if knownFrom(err) != unknown {
			t.Errorf("looked up: %v", err)
		}
		_, err = client.Do(ctx, "reversed", phase.Reverse, sale)
		if knownFrom(err) != unknown {
			t.Errorf("reversed: %v", err)
		}
		_, err = client.Do(t.Context(), "reversed", phase.Send, sale)
		if knownFrom(err) != reversed {
			t.Errorf("asked after a reversal whose answer was lost: %v", err)
		}
	})
}

func TestFaultForEveryone(t *testing.T) {
	t.Parallel()
	sim := acquirertest.Start(t, pgtest.New(t).URL)
	client := acquirer.NewClient(acquirer.Config{URL: sim.URL(), Secret: sim.Secret(), BreakerLimit: -1})
	t.Cleanup(client.Close)

	t.Run("asking until there is an answer charges once, however many answers were lost", func(t *testing.T) {
		sim.Fault(t, "drop_after_acting=0.3,fail_after_acting=0.3,drop_before_acting=0.2")
		for i := range 20 {
			key := fmt.Sprint("k", i)
			err := errors.New("not asked yet")
			for attempt := 0; err != nil && attempt < 200; attempt++ {
				_, err = client.Do(t.Context(), key, phase.Send, sale)
			}
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
		}
		if got := sim.Holds(); got != 20 {
			t.Errorf("cards charged %d times for 20 keys", got)
		}
	})

	t.Run("it ends when it is taken back", func(t *testing.T) {
		sim.Fault(t, "")
		_, err := client.Do(t.Context(), "after", phase.Send, sale)
		if err != nil {
			t.Error(err)
		}
	})
}

func TestClientMovesMoney(t *testing.T) {
	t.Parallel()
	sim := acquirertest.Start(t, pgtest.New(t).URL)
	client := sim.Client()
	do := func(t *testing.T, key string, verb acquirer.Verb, order acquirer.Order) acquirer.Result {
		t.Helper()
		answer, err := client.Do(t.Context(), key, phase.Send, acquirer.Request{Verb: verb, Order: order})
		if err != nil || !answer.Approved {
			t.Fatalf("%s: %+v, %v", verb, answer, err)
		}
		return answer
	}
	visa := acquirer.Order{Card: "visa", Amount: 1000, Currency: "usd"}

	t.Run("hold, capture a part, refund a part", func(t *testing.T) {
		t.Parallel()
		held := do(t, "hold", acquirer.VerbAuthorize, visa)
		captured := do(t, "capture", acquirer.VerbCapture,
			acquirer.Order{Authorization: held.Reference, Amount: 700, Currency: "usd"})
		refunded := do(t, "refund", acquirer.VerbRefund,
			acquirer.Order{Authorization: held.Reference, Amount: 200, Currency: "usd"})
		if held.CapturedAmount != 0 || captured.CapturedAmount != 700 || refunded.Amount != 200 ||
			refunded.RefundStatus != "succeeded" {
			t.Errorf("held %+v\ncaptured %+v\nrefunded %+v", held, captured, refunded)
		}
	})

	t.Run("a void names no amount and answers what it released", func(t *testing.T) {
		t.Parallel()
		held := do(t, "to be voided", acquirer.VerbAuthorize, visa)
		voided := do(t, "void", acquirer.VerbVoid, acquirer.Order{Authorization: held.Reference, Currency: "usd"})
		if voided.Amount != 1000 {
			t.Errorf("voided %+v", voided)
		}
	})

	t.Run("a decline is an answer", func(t *testing.T) {
		t.Parallel()
		order := acquirer.Order{Card: "visa_chargeDeclinedStolenCard", Amount: 1000, Currency: "usd"}
		answer, err := client.Do(t.Context(), "declined", phase.Send,
			acquirer.Request{Verb: acquirer.VerbAuthorize, Order: order})
		if err != nil || answer.Approved || answer.DeclineCode != "stolen_card" {
			t.Errorf("answered %+v, %v", answer, err)
		}
	})

	t.Run("a charge that arrives after our time-out is found by looking it up", func(t *testing.T) {
		t.Parallel()
		hasty := acquirer.NewClient(acquirer.Config{
			URL:     sim.URL(),
			Secret:  sim.Secret(),
			Timeout: 500 * time.Millisecond,
		})
		t.Cleanup(hasty.Close)
		_, err := hasty.Do(acquirer.WithFault(t.Context(), "slow:1500"), "late", phase.Send, sale)
		if knownFrom(err) != unknown {
			t.Fatalf("error %v, want unknown", err)
		}
		for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			_, err = client.Do(t.Context(), "late", phase.Lookup, sale)
			if err == nil {
				return
			}
		}
		t.Errorf("never found: %v", err)
	})
}

// charges counts how often a key charged its card.
func charges(t *testing.T, sim *acquirertest.Sim, key string) (n int) {
	t.Helper()
	for _, m := range sim.Movements(t) {
		if m.Key == key && m.Moved() {
			n++
		}
	}
	return n
}

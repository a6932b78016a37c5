package developers

import (
	"slices"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/inspect"
)

func TestANameOfThreeLinesIsInsideTheDrawing(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"charge_recorded": 0, "checkout_session_created": traceLine} {
		r := &inspect.Request{
			RecoveryPoints: []inspect.RecoveryPoint{{Name: name, Kind: "atomic"}},
			Attempts:       []inspect.Attempt{{Epoch: 1, From: time.Now(), End: inspect.Executing}},
		}
		if got := draw(r).Above; got != want {
			t.Errorf("%s reaches %d above the drawing, want %d", name, got, want)
		}
	}
}

func TestTheFenceIsDrawnWhereItRefusedACommit(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for end, want := range map[inspect.End]bool{inspect.Died: false, inspect.Stalled: true} {
		first := inspect.Attempt{Epoch: 1, From: now, Until: &now, End: end}
		if want {
			first.Refused = &now
		}
		p := draw(&inspect.Request{Attempts: []inspect.Attempt{first, {Epoch: 2, From: now, End: inspect.Executing}}})
		if l := p.Lanes[0]; (l.FenceX > l.To) != want || (p.Down.Lanes[0].FenceY > p.Down.Lanes[0].To) != want {
			t.Errorf("%s: the lane ends at %d and the fence is at %d", end, l.To, l.FenceX)
		}
		if p.Lanes[1].FenceX != 0 {
			t.Error("the fence is drawn at the second attempt, which it did not refuse")
		}
	}
}

func TestOneTextStandsWhereACallWasRepeatedWithNewKeys(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := &inspect.Request{
		RecoveryPoints: []inspect.RecoveryPoint{{Name: "charge_recorded", Kind: "atomic", Epoch: 1, ReachedAt: &now},
			{Name: "acquirer_answered", Kind: "foreign", Epoch: 1, ReachedAt: &now}},
		Attempts: []inspect.Attempt{{Epoch: 1, From: now, End: inspect.Executing}},
		Calls: []inspect.Call{{RequestCall: idempotency.RequestCall{Phase: "acquirer_answered"}},
			{RequestCall: idempotency.RequestCall{Phase: "acquirer_answered", Generation: 1}}},
	}
	var texts []string
	for _, c := range draw(r).Calls {
		texts = append(texts, c.Text)
	}
	if !slices.Equal(texts, []string{"", "no effect"}) {
		t.Errorf("the calls have the texts %q", texts)
	}
}

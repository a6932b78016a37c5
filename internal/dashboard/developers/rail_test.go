package developers

import (
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/inspect"
)

func TestANameOfThreeLinesIsInsideTheDrawing(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"charge_recorded": 0, "checkout_session_created": railLine} {
		r := &inspect.Request{
			Stations: []inspect.Station{{Name: name, Kind: "atomic"}},
			Attempts: []inspect.Attempt{{Epoch: 1, From: time.Now(), End: inspect.Driving}},
		}
		if got := draw(r).Above; got != want {
			t.Errorf("%s reaches %d above the drawing, want %d", name, got, want)
		}
	}
}

package developers

import (
	"slices"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/supervisor"
)

func TestOnlyADemoKills(t *testing.T) {
	t.Parallel()
	for _, demo := range []bool{true, false} {
		d := &ui.Env{}
		if demo {
			d.Supervisor = &supervisor.Client{}
		}
		var patterns []string
		note := func(pattern string, _ ui.Handler) { patterns = append(patterns, pattern) }
		Pages{Env: d}.Routes(note, note)
		if got := slices.Contains(patterns, "POST /dashboard/kill"); got != demo {
			t.Errorf("demo %v: there is a route that kills: %v", demo, got)
		}
	}
}

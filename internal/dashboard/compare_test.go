package dashboard

import (
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
)

func TestComparingPeriods(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct{ now, before, want int64 }{
		"more":             {150_00, 100_00, 50},
		"less":             {75_00, 100_00, -25},
		"the same":         {100_00, 100_00, 0},
		"rounded up":       {100_50, 100_00, 1},
		"rounded down":     {99_60, 100_00, 0},
		"nothing now":      {0, 100_00, -100},
		"nothing before":   {100_00, 0, 0},
		"nothing at all":   {0, 0, 0},
		"far more than it": {1_000_000_00, 1_00, 99_999_900},
	} {
		t.Run(name, func(t *testing.T) {
			shown := chart{Period: ui.Period{Days: 7, First: day(8)}, Currency: "usd"}
			shown.compare([]volume{{Day: day(3), Currency: "usd", Amount: c.before},
				{Day: day(3), Currency: "eur", Amount: 5000}})
			shown.draw([]volume{{Day: day(8), Currency: "usd", Amount: c.now, Count: 1}})
			if shown.Before != c.before || shown.Total != c.now || shown.Change() != c.want {
				t.Errorf("%d after %d changes by %d%%, want %d%%", shown.Total, shown.Before, shown.Change(), c.want)
			}
		})
	}
}

package dashboard

import (
	"context"
	"fmt"
	"time"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// chart is the last days' payments as bars, drawn by the server.
type chart struct {
	Bars     []bar
	Total    int64 // captured
	Tried    int64 // charges that were answered
	Approved int64
	Width    int
}

// Rate is how many of a hundred charges were approved.
func (c chart) Rate() int64 { return (100*c.Approved + c.Tried/2) / max(c.Tried, 1) }

// bar is a day. Sizes are pixels of the drawing.
type bar struct {
	Day        string
	Count      int64
	Sums       string   // for readers and listeners: "3 payments"
	Taken      []string // by currency
	Tried      int64
	X, Y, W, H int
}

const (
	chartDays, chartHeight = 14, 72
	barWidth, barStep      = 22, 30
)

func (s *Server) chart(ctx context.Context, of scope) (chart, error) {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	first := today.AddDate(0, 0, 1-chartDays)
	found, err := read[volume](ctx, s, selectVolume, of.args(postgres.Args{"first": "ch_" + id.EncodeTime(first)}))
	if err != nil {
		return chart{}, err
	}
	counts, tried, taken := map[string]int64{}, map[string]int64{}, map[string][]string{}
	most, c := int64(1), chart{Width: chartDays * barStep}
	for _, v := range found {
		day := v.Day.Format(time.DateOnly)
		counts[day] += v.Count
		tried[day] += v.Tried
		c.Total, c.Tried, c.Approved = c.Total+v.Count, c.Tried+v.Tried, c.Approved+v.Approved
		if v.Amount > 0 {
			taken[day] = append(taken[day], money.Format(v.Amount, v.Currency))
		}
		most = max(most, counts[day])
	}
	for i := range chartDays {
		day, shown := first.AddDate(0, 0, i).Format(time.DateOnly), first.AddDate(0, 0, i).Format("Jan 2")
		n := counts[day]
		height := int(n * chartHeight / most)
		if n > 0 {
			height = max(height, 3)
		}
		c.Bars = append(c.Bars, bar{Day: shown, Count: n, Sums: fmt.Sprintf("%s: %d payments", shown, n), Taken: taken[day], Tried: tried[day], X: i * barStep, Y: chartHeight - height, W: barWidth, H: height})
	}
	return c, nil
}

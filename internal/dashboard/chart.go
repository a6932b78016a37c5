package dashboard

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/id"
)

// chart is the last days' payments as bars, drawn by the server.
type chart struct {
	Bars  []bar
	Total int64
	Width int
}

// bar is a day. Sizes are pixels of the drawing.
type bar struct {
	Day        string
	Count      int64
	Sums       string // for readers and listeners: "3 payments"
	X, Y, W, H int
}

const (
	chartDays, chartHeight = 14, 72
	barWidth, barStep      = 22, 30
)

func (s *Server) chart(ctx context.Context, of scope) (chart, error) {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	first := today.AddDate(0, 0, 1-chartDays)
	found, err := read[volume](ctx, s, selectVolume, of.args(pgx.StrictNamedArgs{"first": "ch_" + id.EncodeTime(first)}))
	if err != nil {
		return chart{}, err
	}
	counts := map[string]int64{}
	most, c := int64(1), chart{Width: chartDays * barStep}
	for _, v := range found {
		day := v.Day.Format(time.DateOnly)
		counts[day] += v.Count
		c.Total += v.Count
		most = max(most, counts[day])
	}
	for i := range chartDays {
		day := first.AddDate(0, 0, i).Format(time.DateOnly)
		n := counts[day]
		height := int(n * chartHeight / most)
		if n > 0 {
			height = max(height, 3)
		}
		c.Bars = append(c.Bars, bar{Day: day, Count: n, Sums: fmt.Sprintf("%s: %d payments", day, n), X: i * barStep, Y: chartHeight - height, W: barWidth, H: height})
	}
	return c, nil
}

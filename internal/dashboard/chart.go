package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/desk"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// chart is a bar for each day, drawn by the server: the gross volume in one currency.
// The drawing is stretched to the page's width, so its labels are no part of it.
type chart struct {
	Days       int
	Periods    []desk.Chip
	Currencies []desk.Chip // empty if there is no choice
	Currency   string
	Bars       []bar
	Top        int64 // the amount of a bar of full height
	Total      int64
	Before     int64 // the total of as many days before these
	Tried      int64 // charges in all currencies that were answered
	Approved   int64
	Width      int
}

// Rate is how many of a hundred charges were approved.
func (c chart) Rate() int64 { return (100*c.Approved + c.Tried/2) / max(c.Tried, 1) }

// Change is how much more that is than in as many days before, in percent. It is 0 where Before is.
func (c chart) Change() int64 {
	if c.Before == 0 {
		return 0
	}
	more := 100 * (c.Total - c.Before)
	if more < 0 {
		return (more - c.Before/2) / c.Before
	}
	return (more + c.Before/2) / c.Before
}

// Drop is how much less it is, in percent.
func (c chart) Drop() int64 { return -c.Change() }

// Half is the value of the middle line.
func (c chart) Half() int64 { return c.Top / 2 }

// Middle is the bar in the middle, whose day is on the axis.
func (c chart) Middle() bar { return c.Bars[len(c.Bars)/2] }

// Last is the bar of today.
func (c chart) Last() bar { return c.Bars[len(c.Bars)-1] }

// Default tells whether the chart has its default period: only that is read again
// whenever something is paid.
func (c chart) Default() bool { return c.Days == periods[0] }

// bar is a day. Sizes are units of the drawing.
type bar struct {
	Day     string
	Count   int64
	Amount  int64
	X, Y, H int
}

const chartHeight, barWidth, barStep = 100, 8, 10

// periods are the choices, in days. The first is the default.
var periods = []int{7, 30, 90}

func (s *Server) chart(r *http.Request, of desk.Scope) (chart, error) {
	c := chart{Days: periods[0]}
	asked, err := strconv.Atoi(r.FormValue("days"))
	if err == nil && slices.Contains(periods, asked) {
		c.Days = asked
	}
	for _, days := range periods {
		c.Periods = append(c.Periods,
			desk.Chip{Word: fmt.Sprintf("%d days", days), Href: desk.With(r.URL, "days", strconv.Itoa(days)),
				Current: days == c.Days})
	}
	first := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-c.Days)
	found, err := desk.Read[volume](r.Context(), s.Pool, selectVolume,
		of.Args(postgres.Args{"first": "ch_" + id.EncodeTime(first.AddDate(0, 0, -c.Days))}))
	if err != nil {
		return chart{}, err
	}
	before := slices.IndexFunc(found, func(v volume) bool { return !v.Day.Before(first) }) // they are in order
	if before < 0 {
		before = len(found)
	}
	c.choose(r, found[before:])
	c.compare(found[:before])
	c.draw(first, found[before:])
	return c, nil
}

// choose takes the currency that was asked for, or else the one with most payments.
func (c *chart) choose(r *http.Request, found []volume) {
	counts := map[string]int64{}
	for _, v := range found {
		counts[v.Currency] += v.Count
		c.Tried, c.Approved = c.Tried+v.Tried, c.Approved+v.Approved
	}
	all := desk.Sorted(counts)
	c.Currency = r.FormValue("currency")
	if _, known := counts[c.Currency]; !known {
		c.Currency = "usd" // of a period without payments
		if len(all) > 0 {
			c.Currency = slices.MaxFunc(all, func(a, b string) int { return cmp.Compare(counts[a], counts[b]) })
		}
	}
	for _, code := range all {
		if len(all) > 1 {
			c.Currencies = append(c.Currencies,
				desk.Chip{Word: strings.ToUpper(code), Href: desk.With(r.URL, "currency", code),
					Current: code == c.Currency})
		}
	}
}

// compare adds up the days before the first.
func (c *chart) compare(before []volume) {
	for _, v := range before {
		if v.Currency == c.Currency {
			c.Before += v.Amount
		}
	}
}

// draw makes the bars of the days since the first.
func (c *chart) draw(first time.Time, found []volume) {
	amounts, counts, most := map[string]int64{}, map[string]int64{}, int64(0)
	for _, v := range found {
		if v.Currency != c.Currency {
			continue
		}
		day := v.Day.Format(time.DateOnly)
		amounts[day], counts[day] = v.Amount, v.Count
		c.Total += v.Amount
		most = max(most, v.Amount)
	}
	c.Top, c.Width = roundUp(most, money.Exponent(c.Currency)), c.Days*barStep
	for i := range c.Days {
		at := first.AddDate(0, 0, i)
		amount := amounts[at.Format(time.DateOnly)]
		height := int(amount * chartHeight / c.Top)
		if amount > 0 {
			height = max(height, 1)
		}
		c.Bars = append(c.Bars, bar{Day: at.Format("Jan 2"), Count: counts[at.Format(time.DateOnly)], Amount: amount,
			X: i*barStep + (barStep-barWidth)/2, Y: chartHeight - height, H: height})
	}
}

// roundUp is the next of 2, 4, 10, 20, 40, 100, … whole units of a currency with so many
// digits behind the point: its half is round, too.
func roundUp(amount int64, exponent int) int64 {
	unit := int64(1)
	for range exponent {
		unit *= 10
	}
	for {
		for _, step := range []int64{2, 4, 10} {
			if step*unit >= amount {
				return step * unit
			}
		}
		unit *= 10
	}
}

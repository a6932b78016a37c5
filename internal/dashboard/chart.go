package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// chart is the gross volume in one currency.
type chart struct {
	ui.Period
	Currencies []ui.Chip // empty if there is no choice
	Currency   string
	Bars       []ui.Bar
	Top        int64 // the amount of a bar of full height
	Total      int64
	Before     int64 // the total of as many days before these
	Tried      int64 // charges in all currencies that were answered
	Approved   int64
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

// compared says how the total compares with the days before.
func (c chart) compared() string {
	if c.Before == 0 {
		return ""
	}
	how := "about as much as"
	switch change := c.Change(); {
	case change > 0:
		how = fmt.Sprintf("up %d%% from", change)
	case change < 0:
		how = fmt.Sprintf("down %d%% from", -change)
	}
	return fmt.Sprintf(" · %s %s in the %d days before", how, money.Format(c.Before, c.Currency), c.Days)
}

// shown is the chart as a page draws it.
func (c chart) shown() ui.Chart {
	write := func(amount int64) string { return money.Format(amount, c.Currency) }
	drawn := ui.Chart{
		ID:    "volume",
		Title: "Gross volume",
		Chips: [][]ui.Chip{c.Chips, c.Currencies},
		Value: write(c.Total),
		About: fmt.Sprintf("in %d days, UTC%s", c.Days, c.compared()),
		Label: fmt.Sprintf("Gross volume by day, %s: %s in %d days.", strings.ToUpper(c.Currency), write(c.Total),
			c.Days),
		Axis:    [3]string{write(c.Top), write(c.Top / 2), write(0)},
		Columns: []string{"Payments", "Volume"},
		Bars:    c.Bars,
	}
	if c.Tried > 0 {
		drawn.Note = fmt.Sprintf("%d%% of charges approved (%d of %d), in all currencies.", c.Rate(), c.Approved,
			c.Tried)
	}
	return drawn
}

func (s *Server) chart(r *http.Request, of ui.Scope) (chart, error) {
	c := chart{Period: ui.PeriodOf(r)}
	found, err := readCounted[volume](r.Context(), s.Pool, selectVolume, of, func(m mark) postgres.Args {
		return postgres.Args{"first": c.Period.Before(), "charges_from": m.ChargesBefore}
	})
	if err != nil {
		return chart{}, err
	}
	before := slices.IndexFunc(found, func(v volume) bool { return !v.Day.Before(c.First) }) // they are in order
	if before < 0 {
		before = len(found)
	}
	c.choose(r, found[before:])
	c.compare(found[:before])
	c.draw(found[before:])
	return c, nil
}

// choose takes the currency that was asked for, or else the one with most payments.
func (c *chart) choose(r *http.Request, found []volume) {
	counts := map[string]int64{}
	for _, v := range found {
		counts[v.Currency] += v.Count
		c.Tried, c.Approved = c.Tried+v.Tried, c.Approved+v.Approved
	}
	all := ui.Sorted(counts)
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
				ui.Chip{Word: strings.ToUpper(code), Href: ui.With(r.URL, "currency", code),
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

// draw makes the bars.
func (c *chart) draw(found []volume) {
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
	unit := int64(1)
	for range money.Exponent(c.Currency) {
		unit *= 10
	}
	c.Top = ui.RoundUp(most, unit)
	for i := range c.Days {
		day := c.Day(i)
		amount, count := amounts[day.Format(time.DateOnly)], counts[day.Format(time.DateOnly)]
		b := ui.NewBar(i, day, amount, c.Top)
		noun := "payments"
		if count == 1 {
			noun = "payment"
		}
		b.Tip = fmt.Sprintf("%s: %s, %d %s", b.Day, money.Format(amount, c.Currency), count, noun)
		if count > 0 {
			b.Cells = []string{strconv.FormatInt(count, 10), money.Format(amount, c.Currency)}
		}
		c.Bars = append(c.Bars, b)
	}
}

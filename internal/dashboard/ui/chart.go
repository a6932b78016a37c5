package ui

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Chart is a bar for each day, drawn by the server, with its values in a table below. The
// drawing is stretched to the page's width, so its labels are no part of it.
type Chart struct {
	ID, Title string
	Chips     [][]Chip // what the reader chooses: a period, a currency
	Value     string   // the figure of the whole period
	About     string   // what it is, and how it compares with the period before
	Note      string
	Label     string    // what a screen reader says of the drawing
	Axis      [3]string // at the top, in the middle and at the bottom
	Columns   []string  // of the table, after the day
	Bars      []Bar
}

// Bar is a day. X, Y and H are units of the drawing, which is ChartHeight high. A day
// without a value has no height and no cells.
type Bar struct {
	Day     string
	Tip     string
	Cells   []string
	X, Y, H int
	Above   int // where a second, larger value ends; 0 for none
	AboveH  int // the height between both
}

// ChartHeight is the height of every drawing, and BarWidth a bar's in its BarStep.
const (
	ChartHeight = 100
	BarWidth    = 8
	BarStep     = 10
)

// Width is the width of the drawing.
func (c Chart) Width() int { return len(c.Bars) * BarStep }

// First is the bar of the oldest day. The axis names its day, and those of Middle and Last.
func (c Chart) First() Bar { return c.Bars[0] }

// Middle is the bar between First and Last.
func (c Chart) Middle() Bar { return c.Bars[len(c.Bars)/2] }

// Last is the bar of the newest day.
func (c Chart) Last() Bar { return c.Bars[len(c.Bars)-1] }

// NewBar draws value as a part of top, for the i-th day.
func NewBar(i int, day time.Time, value, top int64) Bar {
	height := int(value * ChartHeight / max(top, 1))
	if value > 0 {
		height = max(height, 1)
	}
	return Bar{Day: day.Format("Jan 2"), X: i*BarStep + (BarStep-BarWidth)/2, Y: ChartHeight - height, H: height}
}

// Raise draws a second value on top of the bar's.
func (b *Bar) Raise(value, top int64) {
	height := int(value * ChartHeight / max(top, 1))
	if height > b.H {
		b.Above, b.AboveH = ChartHeight-height, height-b.H
	}
}

// Period is so many whole days in UTC, the last of them today, and as many before them.
type Period struct {
	Days  int
	First time.Time // of the days that are shown
	Chips []Chip
}

var periods = []int{7, 30, 90}

// PeriodOf is the period that the address asks for, a week unless it asks for another.
func PeriodOf(r *http.Request) Period {
	p := Period{Days: periods[0]}
	if asked, err := strconv.Atoi(r.FormValue("days")); err == nil && slices.Contains(periods, asked) {
		p.Days = asked
	}
	for _, days := range periods {
		p.Chips = append(p.Chips, Chip{Word: fmt.Sprintf("%d days", days),
			Href: With(r.URL, "days", strconv.Itoa(days)), Current: days == p.Days})
	}
	p.First = time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-p.Days)
	return p
}

// Default tells whether the period is the first. Only then does a chart follow what
// changes.
func (p Period) Default() bool { return p.Days == periods[0] }

// Before is when the days begin that the period is compared with.
func (p Period) Before() time.Time { return p.First.AddDate(0, 0, -p.Days) }

// Day is the i-th day that is shown.
func (p Period) Day(i int) time.Time { return p.First.AddDate(0, 0, i) }

// RoundUp is the next of 2, 4, 10, 20, 40, 100, … units: its half is round, too.
func RoundUp(amount, unit int64) int64 {
	for {
		for _, step := range []int64{2, 4, 10} {
			if step*unit >= amount {
				return step * unit
			}
		}
		unit *= 10
	}
}

package web

import (
	"fmt"
	"math"
	"time"
)

// ago says how long ago something was, or how soon it will be. static/time.js
// says the same in the browser, so that nothing moves when that takes over.
func ago(at, now time.Time) string {
	away := at.Sub(now).Seconds()
	amount, form := away, "in %d%s"
	if away < 0 {
		amount, form = -away, "%d%s ago"
	}
	if amount < 5 {
		return "now"
	}
	for _, step := range []struct {
		size float64
		unit string
	}{{60, "s"}, {60, "m"}, {24, "h"}} {
		if amount < step.size {
			return fmt.Sprintf(form, int(amount), step.unit)
		}
		amount /= step.size
	}
	if away > 0 { // in 47 hours is not in one day
		amount = math.Round(amount)
	}
	return fmt.Sprintf(form, int(amount), "d")
}

// date is a time as lists and facts show it, beside how long ago that was. The
// year is left out while it is the current one. All pages are in UTC.
func date(at, now time.Time) string {
	at = at.UTC()
	if at.Year() == now.UTC().Year() {
		return at.Format("Jan 2, 15:04")
	}
	return at.Format("Jan 2, 2006, 15:04")
}

// moment is a time to the second.
func moment(at time.Time) string { return at.UTC().Format("Jan 2, 2006, 15:04:05") }

package web

import (
	"fmt"
	"time"
)

// ago says how long ago something was, or how soon it will be. It is what
// static/time.js says a moment later, so that nothing moves when that takes over;
// only what is further away than a week is then told in the reader's own zone.
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
	}{{60, "s"}, {60, "m"}, {24, "h"}, {7, "d"}} {
		if amount < step.size {
			return fmt.Sprintf(form, int(amount), step.unit)
		}
		amount /= step.size
	}
	return at.UTC().Format("2006-01-02 15:04")
}

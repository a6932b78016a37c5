package ui

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Dates are the days, in UTC, that the address of a list asks for.
type Dates struct {
	From, To string // as they were written
	Presets  []Chip
	Others   [][2]string // the other filters, which a form about dates keeps
	since    time.Time   // zero: no limit
	until    time.Time
}

// DatesOf reads them. A day that cannot be read limits nothing.
func DatesOf(r *http.Request) Dates {
	d := Dates{From: strings.TrimSpace(r.FormValue("from")), To: strings.TrimSpace(r.FormValue("to"))}
	if day, err := time.Parse(time.DateOnly, d.From); err == nil {
		d.since = day
	}
	if day, err := time.Parse(time.DateOnly, d.To); err == nil {
		d.until = day.AddDate(0, 0, 1)
	}
	today := time.Now().UTC()
	for _, preset := range []struct {
		word string
		from string
	}{
		{"All time", ""},
		{"Today", today.Format(time.DateOnly)},
		{"7 days", today.AddDate(0, 0, -6).Format(time.DateOnly)},
		{"30 days", today.AddDate(0, 0, -29).Format(time.DateOnly)},
		{"This month", today.Format("2006-01") + "-01"},
	} {
		current := d.From == preset.from && d.To == "" &&
			!slices.ContainsFunc(d.Presets, func(c Chip) bool { return c.Current }) // on the first, two are the same
		d.Presets = append(d.Presets,
			Chip{preset.word, With(r.URL, "from", preset.from, "to", "before", "after"), current})
	}
	query := r.URL.Query()
	for _, name := range Sorted(query) {
		if !slices.Contains([]string{"from", "to", "before", "after"}, name) && query.Get(name) != "" {
			d.Others = append(d.Others, [2]string{name, query.Get(name)})
		}
	}
	return d
}

// Limits reports whether the address limits the days.
func (d Dates) Limits() bool { return d.From != "" || d.To != "" }

// Custom tells whether the days are other than those of a preset.
func (d Dates) Custom() bool {
	return !slices.ContainsFunc(d.Presets, func(c Chip) bool { return c.Current })
}

// Wrong says what cannot be read.
func (d Dates) Wrong() string {
	for _, day := range []string{d.From, d.To} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			return fmt.Sprintf("“%s” isn’t a date. Enter a date like 2026-11-30.", day)
		}
	}
	return ""
}

// timeOf is the part of an ID that encodes when its object was made.
func timeOf(name string) string {
	name = name[strings.LastIndexByte(name, '_')+1:]
	return name[:min(len(name), len(id.EncodeTime(time.Time{}.AddDate(2000, 0, 0))))]
}

// idAt is the first ID that an object of that time can have.
func (l Lister[T]) idAt(at time.Time, args postgres.Args) string {
	mode := "test"
	if args["livemode"] == true {
		mode = "live"
	}
	return strings.Replace(l.Prefix, "{mode}", mode, 1) + id.EncodeTime(at)
}

// within narrows a page's place in the list to the days. The ID of a row begins with its time,
// so the days are a part of the list, and no row outside of them is read.
func (l Lister[T]) within(d Dates, k Keyset, args postgres.Args) Keyset {
	if l.Prefix == "" {
		return k
	}
	if !d.until.IsZero() && !k.Backwards() && (k.Before == "" || timeOf(k.Before) > id.EncodeTime(d.until)) {
		k.Before = l.idAt(d.until, args)
	}
	if !d.since.IsZero() && k.Backwards() && timeOf(k.After) < id.EncodeTime(d.since) {
		k.After = l.idAt(d.since, args)
	}
	return k
}

// cut drops the rows outside of the days: those at the end, where reading left them.
func (l Lister[T]) cut(d Dates, rows []T) []T {
	first := slices.IndexFunc(rows, func(row T) bool { return l.outside(d, l.ID(row)) })
	if first >= 0 {
		return rows[:first]
	}
	return rows
}

// outside tells whether an ID has a time before or after the days.
func (l Lister[T]) outside(d Dates, name string) bool {
	if l.Prefix == "" {
		return false
	}
	at := timeOf(name)
	return !d.since.IsZero() && at < id.EncodeTime(d.since) || !d.until.IsZero() && at >= id.EncodeTime(d.until)
}

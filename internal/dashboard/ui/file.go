package ui

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Column is a column of a file: its name, and a row's cell.
type Column[T any] struct {
	Name string
	Cell func(T) string
}

const (
	filePage    = 250              // rows that are read at once: even from a slow disk well within a statement's time
	filePageMax = 30 * time.Second // for a browser to take them
)

// File sends all rows of a list as a CSV file. It reads one page after the other, so that neither the server nor a
// statement holds more than a page, however long the list is. Rows that arrive meanwhile are not part of it.
func (l Lister[T]) File(
	d *Env, r *http.Request, name string, columns []Column[T], args postgres.Args,
) (*Page, error) {
	dates, searched, bounded := DatesOf(r), true, false
	args["limit"] = filePage
	read := func(before string) (rows []T, next string, err error) {
		from := l.within(dates, Keyset{Before: before}, args)
		args["before"] = from.Before
		if searched { // as far as the edge: the next one is looked for
			if bounded, err = l.bound(d, r, from, args, firstID); err != nil {
				return nil, "", err
			}
		}
		rows, err = Read[T](r.Context(), d.Pool, l.Down, args)
		searched = len(rows) < filePage
		switch {
		case !searched:
			next = l.ID(rows[filePage-1])
		case bounded:
			next = args["edge"].(string)
		}
		if next != "" && l.outside(dates, next) {
			next = ""
		}
		return l.cut(dates, rows), next, err
	}
	rows, next, err := read("")
	if err != nil {
		return nil, err
	}
	return &Page{Send: func(w http.ResponseWriter) error {
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.csv"`)
		out, control := csv.NewWriter(w), http.NewResponseController(w)
		row := make([]string, len(columns))
		for i, c := range columns {
			row[i] = c.Name
		}
		_ = out.Write(row) // Flush reports the error
		for {
			_ = control.SetWriteDeadline(time.Now().Add(filePageMax))
			for _, one := range rows {
				for i, c := range columns {
					row[i] = harmless(c.Cell(one))
				}
				_ = out.Write(row)
			}
			out.Flush()
			if out.Error() != nil || next == "" {
				return out.Error()
			}
			if rows, next, err = read(next); err != nil {
				return fmt.Errorf("write %s.csv: %w", name, err)
			}
		}
	}}, nil
}

// FileOf is the address of a list's file, with the filters of the list.
func FileOf(r *http.Request) string {
	address := *r.URL
	address.Path += ".csv"
	return With(&address, "before", "", "after")
}

// InText is a text that may be missing.
func InText(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// InTime is a time that spreadsheets read.
func InTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// InCount is a number without a currency.
func InCount(n int64) string { return strconv.FormatInt(n, 10) }

// Money are the columns of an amount: in major units, the currency, and in minor units. Without a currency there is no
// amount, and they are empty.
func Money[T any](name string, of func(T) (amount int64, currency string)) []Column[T] {
	return []Column[T]{
		{name, func(row T) string {
			amount, currency := of(row)
			if currency == "" {
				return ""
			}
			return Decimal(amount, currency)
		}},
		{"currency", func(row T) string { _, currency := of(row); return currency }},
		{name + " in minor units", func(row T) string {
			amount, currency := of(row)
			if currency == "" {
				return ""
			}
			return InCount(amount)
		}},
	}
}

package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
)

// atNight are damages that only a full run notices, though others that the same rule notices are found at once.
var atNight = map[string]string{
	"a refund is chained in no book": "no time of a link in the chain is known, and its account is that of its book",
	"the events of prices are lost":  "an object that its request does not name is found by its event",
}

// requireNoticedSince proves the same damage by a run since before everything, if such a run checks the rule.
func requireNoticedSince(t *testing.T, tx pgx.Tx, d damage) {
	t.Helper()
	if atNight[d.what] != "" {
		return
	}
	r, is := ruleNamed(d.rule)
	if !is || !r.since.checked {
		return
	}
	since := time.Now().Add(-time.Hour)
	if testing.Short() {
		p, err := readPart(t.Context(), tx, since)
		if err != nil {
			t.Fatal(err)
		}
		requireViolated(t, tx, r, p)
		return
	}
	report, err := Config{Since: since}.prove(t.Context(), tx, unknownSide())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if c.Unchecked != "" {
			t.Errorf("%q could not be checked since an hour ago: %s", c.Rule, c.Unchecked)
		}
	}
	if !slices.Contains(broken(report), d.rule) {
		t.Errorf("%q did not notice since an hour ago; what did: %q", d.rule, broken(report))
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	run := func(t *testing.T, since time.Time) Report {
		t.Helper()
		report, err := Run(t.Context(), Config{Pool: b.ours, AuditKeys: chainKey, Since: since})
		if err != nil {
			t.Fatal(err)
		}
		return report
	}

	t.Run("nothing is wrong since any request, though others belong to the same payments", func(t *testing.T) {
		times, err := read[struct{ FinishedAt time.Time }](t.Context(), begin(t, b.ours),
			"SELECT DISTINCT finished_at FROM answers ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		for n, at := range times {
			if n%5 > 0 {
				continue // a run since every answer takes long and finds nothing more
			}
			report := run(t, at.FinishedAt)
			if report.ExitCode() != OK {
				var text strings.Builder
				_ = report.Print(&text)
				t.Fatalf("since answer %d of %d:\n%s", n, len(times), text.String())
			}
		}
	})

	t.Run("it checks only what is new", func(t *testing.T) {
		b.post(t, "/v1/refunds", "amount=100&charge="+b.charge)
		var before time.Time
		if err := b.ours.QueryRow(t.Context(), "SELECT max(finished_at) FROM answers").Scan(&before); err != nil {
			t.Fatal(err)
		}
		report := run(t, before)
		for rule, want := range map[string]int64{
			refunds: 3, // all of the charge, whose totals they are
			totals:  1,
			effects: 1,
		} {
			if got := countOf(report, rule); got != want {
				t.Errorf("%q counts %d, want %d", rule, got, want)
			}
		}
		if all := countOf(run(t, time.Now().Add(-time.Hour)), audited); all < 50 {
			t.Errorf("since an hour ago there are %d audit rows", all)
		}
	})

	t.Run("an old row that was damaged is not looked at, and a new one is", func(t *testing.T) {
		tx := begin(t, b.ours)
		var before time.Time
		if err := tx.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&before); err != nil {
			t.Fatal(err)
		}
		fresh := b.post(t, "/v1/charges", "amount=2100&currency=usd&source=tok_visa")
		tx = begin(t, b.ours)
		if _, err := tx.Exec(t.Context(), triggersOff); err != nil {
			t.Fatal(err)
		}
		wrong := func(charge string) []string {
			t.Helper()
			exec(t, tx, fmt.Sprintf("UPDATE charges SET amount_refunded = amount_refunded + 7 WHERE id = '%s'", charge))
			report, err := Config{Since: before}.prove(t.Context(), tx, unknownSide())
			if err != nil {
				t.Fatal(err)
			}
			return slices.DeleteFunc(broken(report), func(rule string) bool { return rule == secondRule })
		}
		if got := wrong(b.charge); len(got) > 0 {
			t.Errorf("the old one: %q", got)
		}
		if got := wrong(fresh); !slices.Contains(got, totals) {
			t.Errorf("the new one: %q", got)
		}
	})

	t.Run("it begins later if more requests were answered than it may check", func(t *testing.T) {
		before := time.Now().Add(-time.Hour)
		for _, most := range []int{5, 1_000_000} {
			report, err := Config{Since: before, AtMost: most}.prove(t.Context(), begin(t, b.ours), unknownSide())
			if err != nil {
				t.Fatal(err)
			}
			var newer int
			count := b.ours.QueryRow(t.Context(), "SELECT count(*) FROM answers WHERE finished_at > $1", *report.Since)
			err = count.Scan(&newer)
			if err != nil {
				t.Fatal(err)
			}
			if limited := most == 5; report.Since.After(before) != limited || limited && newer > most {
				t.Errorf("at most %d: it begins at %s with %d newer answers", most, report.Since, newer)
			}
		}
	})

	t.Run("it names every rule that it leaves out, and every one that it checks in full", func(t *testing.T) {
		report := run(t, time.Now().Add(-time.Minute))
		var text strings.Builder
		if err := report.Print(&text); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			"– " + balanced + ": not checked by an incremental run\n",
			"– " + chainRule + ": not checked by an incremental run\n",
			"– " + acquirers + ": not checked by an incremental run\n",
			"guards, checked in full)\n",
			"Checked what can have changed since ",
		} {
			if !strings.Contains(text.String(), line) {
				t.Errorf("does not say %q:\n%s", line, text.String())
			}
		}
		full, err := Run(t.Context(),
			Config{Pool: b.ours, Acquirer: simulator.Records{DB: b.theirs}, AuditKeys: chainKey})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := len(report.Checks), len(full.Checks)-1; got != want { // but whether there is anything at all
			t.Errorf("it lists %d rules, a full run %d", got, want)
		}
	})
}

func countOf(r Report, rule string) int64 {
	for _, c := range r.Checks {
		if c.Rule == rule {
			return c.Count
		}
	}
	return -1
}

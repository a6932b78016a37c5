package migrations_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ratchet-pay/ratchet/migrations"
)

// baseline is the number of chapters that are read as a book: each object is written
// once, in its final form. A later chapter may alter what they create.
const baseline = 15

// cycles are the constraints that a table cannot have from the start, because the two
// tables of each refer to one another.
var cycles = []string{"setup_intents_latest_attempt_exists", "orders_paid_by_their_own_event"}

var (
	comment = regexp.MustCompile(`(?m)--.*$`)
	object  = regexp.MustCompile(`\bCREATE (?:UNIQUE |UNLOGGED |OR REPLACE )?` +
		`((?:TABLE|VIEW|TYPE|SCHEMA|INDEX|FUNCTION|TRIGGER) [a-z0-9_.]+(?:\([^)]*\))?)`)
	altered = regexp.MustCompile(`(?s)\bALTER (\w+) [^;]+;`)
	allowed = regexp.MustCompile(`(?s)^ALTER TABLE [a-z_.]+(?:\s+ENABLE ALWAYS TRIGGER [a-z_]+,?)+;$`)
	dropped = regexp.MustCompile(`\bDROP |\bOR REPLACE\b`)
	// dynamic is what a function does later, with the partitions of the audit trail.
	dynamic = regexp.MustCompile(`(?s)\bEXECUTE format\(.*?;\n`)
	onTable = regexp.MustCompile(`^[^;]*? ON ([a-z_.]+)`)
)

func TestChapters(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrations.FS, "*")
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, name := range names {
		sql, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		text[name] = string(sql)
	}

	t.Run("are numbered without gaps, and only lead forward", func(t *testing.T) {
		t.Parallel()
		for i, name := range names { // sorted
			if !strings.HasPrefix(name, fmt.Sprintf("%06d_", i+1)) || !strings.HasSuffix(name, ".up.sql") {
				t.Errorf("chapter %d is %s", i+1, name)
			}
			if title := fmt.Sprintf("-- %06d: ", i+1); !strings.HasPrefix(text[name], title) {
				t.Errorf("%s does not begin with %q", name, title)
			}
		}
	})

	t.Run("have lines of at most 120 characters", func(t *testing.T) {
		t.Parallel()
		for _, name := range names {
			for i, line := range strings.Split(text[name], "\n") {
				if n := utf8.RuneCountInString(line); n > 120 {
					t.Errorf("%s:%d has %d characters", name, i+1, n)
				}
			}
		}
	})

	t.Run("of the baseline write each object once, in its final form", func(t *testing.T) {
		t.Parallel()
		seen := map[string]string{}
		for _, name := range names[:min(baseline, len(names))] {
			sql := dynamic.ReplaceAllString(comment.ReplaceAllString(text[name], ""), "")
			for _, at := range object.FindAllStringSubmatchIndex(sql, -1) {
				created := sql[at[2]:at[3]]
				if strings.HasPrefix(created, "TRIGGER ") { // its name belongs to its table
					created += " on " + onTable.FindStringSubmatch(sql[at[3]:])[1]
				}
				if before, again := seen[created]; again {
					t.Errorf("%s creates %s, and so does %s", name, created, before)
				}
				seen[created] = name
			}
			for _, statement := range altered.FindAllString(sql, -1) {
				inCycle := slices.ContainsFunc(cycles, func(c string) bool {
					return strings.Contains(statement, " ADD CONSTRAINT "+c+"\n")
				})
				if !inCycle && !allowed.MatchString(statement) &&
					!strings.HasPrefix(statement, "ALTER DEFAULT PRIVILEGES ") {
					t.Errorf("%s alters what the baseline creates: %s", name, statement)
				}
			}
			if found := dropped.FindString(sql); found != "" {
				t.Errorf("%s contains %q", name, found)
			}
		}
		if len(seen) < 200 {
			t.Errorf("found only %d objects: the search is broken", len(seen))
		}
	})
}

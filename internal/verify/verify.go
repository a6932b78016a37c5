// Package verify proves the books: by SQL that shares nothing with the code
// that writes, over one snapshot, and against the acquirer's own journal.
//
// An empty database proves nothing, and is reported as not checked.
package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/secret"
)

// Config says what to prove, and against what.
type Config struct {
	Pool       *pgxpool.Pool // of a login that may read everything
	Acquirer   Journal       // if nil, it is reported as unchecked
	AuditKeys  secret.Keys   // of the audit trail's chain, which cannot be checked without it
	Head       string        // of the chain, as it was printed or logged before; "" where none was kept
	AllowEmpty bool          // an installation without any request is in order

	// Since limits the run to what can have changed since then; the zero time: everything is checked.
	Since time.Time
	// AtMost moves Since ahead if more requests than this were answered since then; 0: it does not.
	AtMost int
	// Politely runs without parallel workers and pauses after each rule for as long as it took, so that requests
	// keep most of the database.
	Politely bool
	// Connections of the pool share the rules, over one snapshot; 0: one does it all.
	Connections int
	// AsWorker leaves out the rules about tables that the worker's role may not read.
	AsWorker bool
	// OnlyOne returns ErrRunning if another run with OnlyOne is under way on the same database.
	OnlyOne bool

	// Progress is called after each check, with how many of them are done; nil: it is not. Calls do not overlap.
	Progress func(done, of int)
}

// ErrRunning says that another run is under way.
var ErrRunning = errors.New("verify is already running")

// tryLock is held until the transaction of the run ends.
const tryLock = `SELECT pg_try_advisory_xact_lock(hashtext('verify'))`

// Violation is one thing that does not hold.
type Violation struct {
	Object string `json:"object"`
	Wrong  string `json:"wrong"`
}

// Check is one rule and what came of it.
type Check struct {
	Rule       string      `json:"rule"`
	Counted    string      `json:"counted"`
	Count      int64       `json:"count"`
	Violations []Violation `json:"violations,omitempty"`
	Unchecked  string      `json:"unchecked,omitempty"` // why it could not be checked
	Head       string      `json:"head,omitempty"`      // of the audit trail's chain
	// Reach says how much an incremental run looked at: "since", "in full" or "not checked".
	Reach string        `json:"reach,omitempty"`
	Took  time.Duration `json:"took_ns"`
}

// Report is what a run found.
type Report struct {
	Checks []Check       `json:"checks"`
	Since  *time.Time    `json:"since,omitempty"` // of an incremental run
	Until  time.Time     `json:"until"`           // when the snapshot was taken
	Took   time.Duration `json:"took_ns"`
}

// The exit codes of the command.
const (
	OK         = 0
	Violated   = 1
	NotChecked = 2
)

// ExitCode is OK only if everything could be checked and nothing was wrong.
func (r Report) ExitCode() int {
	code := OK
	for _, c := range r.Checks {
		switch {
		case len(c.Violations) > 0:
			return Violated
		case c.Unchecked != "":
			code = NotChecked
		}
	}
	return code
}

// shownAtMost bounds how many violations of one rule a report lists.
const shownAtMost = 100

// Run checks every rule over one snapshot of the database. Violations are in the report; an error means that a rule
// could not be checked.
func Run(ctx context.Context, c Config) (Report, error) {
	started := time.Now()
	theirs := unknownSide()
	if c.Acquirer != nil && c.Since.IsZero() {
		theirs = readBefore(ctx, c.Acquirer) // it is read twice, and may change in between
	}
	tx, err := beginProof(ctx, c.Pool, "")
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	report, err := c.prove(ctx, tx, theirs)
	if err != nil {
		return Report{}, err
	}
	report.Took = time.Since(started)
	return report, nil
}

// forProofs are the settings of a proof's session. Compiling the rules' long statements takes longer than it saves.
// Hash tables of many rows stay in memory.
const forProofs = `
	SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true),
	       set_config('idle_in_transaction_session_timeout', '0', true), set_config('jit', 'off', true),
	       set_config('work_mem', greatest(pg_size_bytes(current_setting('work_mem')) / 1024, 65536)::text, true)`

// beginProof starts a transaction in which no statement times out, also not while it waits for a
// lock: a proof takes as long as the tables are large, and the sessions' own limits are for
// requests. Interrupting the command cancels it. With a snapshot that another transaction has
// exported, it reads what that one reads.
func beginProof(ctx context.Context, pool *pgxpool.Pool, snapshot string) (pgx.Tx, error) {
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if snapshot != "" { // before any other statement
		_, err = tx.Exec(ctx, "SET TRANSACTION SNAPSHOT '"+snapshot+"'")
	}
	if err == nil {
		_, err = tx.Exec(ctx, forProofs)
	}
	if err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("begin: %w", err)
	}
	return tx, nil
}

// prove checks every rule inside one transaction.
func (c Config) prove(ctx context.Context, tx pgx.Tx, theirs otherSide) (report Report, err error) {
	if c.OnlyOne {
		var alone bool
		if err := tx.QueryRow(ctx, tryLock).Scan(&alone); err != nil {
			return Report{}, fmt.Errorf("lock: %w", err)
		}
		if !alone {
			return Report{}, ErrRunning
		}
	}
	if c.Politely {
		if _, err := tx.Exec(ctx, "SET LOCAL max_parallel_workers_per_gather = 0"); err != nil {
			return Report{}, fmt.Errorf("begin: %w", err)
		}
	}
	if err := tx.QueryRow(ctx, "SELECT now()").Scan(&report.Until); err != nil {
		return Report{}, fmt.Errorf("begin: %w", err)
	}
	var p *part
	if !c.Since.IsZero() {
		since, err := c.begin(ctx, tx)
		if err != nil {
			return Report{}, err
		}
		report.Since = &since
		if p, err = readPart(ctx, tx, since); err != nil {
			return Report{}, err
		}
	}
	txs, err := c.share(ctx, tx)
	if err != nil {
		return Report{}, err
	}
	defer func() {
		for _, other := range txs[1:] {
			_ = other.Rollback(context.WithoutCancel(ctx))
		}
	}()
	report.Checks = c.runAll(ctx, txs, c.checks(p, theirs))
	if err := ctx.Err(); err != nil { // the checks that were under way say nothing about the data
		return Report{}, fmt.Errorf("interrupted: %w", err)
	}
	return report, nil
}

// share begins the transactions that share the rules with tx, which is the first of them. They read the same snapshot.
// Where another connection is refused, or reaches another server, tx is the only one.
func (c Config) share(ctx context.Context, tx pgx.Tx) ([]pgx.Tx, error) {
	txs := []pgx.Tx{tx}
	if c.Connections <= 1 {
		return txs, nil
	}
	var snapshot string
	if err := tx.QueryRow(ctx, "SELECT pg_export_snapshot()").Scan(&snapshot); err != nil {
		return nil, fmt.Errorf("share the snapshot: %w", err)
	}
	for range c.Connections - 1 {
		other, err := beginProof(ctx, c.Pool, snapshot)
		if err != nil {
			break
		}
		txs = append(txs, other)
	}
	return txs, nil
}

// runAll runs the checks and returns what came of them, in their order. The first transaction begins with the first
// check, and the others with the last: the audit trail's chain and the acquirer's journal take longest, and come last.
func (c Config) runAll(ctx context.Context, txs []pgx.Tx, checks []check) []Check {
	found := make([]Check, len(checks))
	var working sync.WaitGroup
	var lock sync.Mutex
	first, last, done := 0, len(checks)-1, 0
	next := func(forward bool) (n int, there bool) {
		lock.Lock()
		defer lock.Unlock()
		if there = first <= last; forward {
			n, first = first, first+1
		} else {
			n, last = last, last-1
		}
		return n, there
	}
	for i, tx := range txs {
		working.Go(func() {
			for n, there := next(i == 0); there; n, there = next(i == 0) {
				began := time.Now()
				found[n] = apart(ctx, tx, checks[n])
				found[n].Took = time.Since(began)
				lock.Lock()
				if done++; c.Progress != nil {
					c.Progress(done, len(checks))
				}
				lock.Unlock()
				if c.Politely {
					rest(ctx, found[n].Took)
				}
			}
		})
	}
	working.Wait()
	return found
}

const selectBegin = `
	SELECT coalesce((SELECT finished_at FROM answers WHERE finished_at >= @since
	    ORDER BY finished_at DESC OFFSET @at_most LIMIT 1), @since)`

// begin says since when an incremental run checks.
func (c Config) begin(ctx context.Context, tx pgx.Tx) (since time.Time, err error) {
	if c.AtMost == 0 {
		return c.Since, nil
	}
	err = tx.QueryRow(ctx, selectBegin, pgx.StrictNamedArgs{"since": c.Since, "at_most": c.AtMost}).Scan(&since)
	if err != nil {
		return time.Time{}, fmt.Errorf("find the newest requests: %w", err)
	}
	return since, nil
}

// checks are all checks of a run, in order. An incremental run names those that it leaves out, too.
func (c Config) checks(p *part, theirs otherSide) (checks []check) {
	audit := trail{c.AuditKeys, c.Head}
	if p == nil {
		checks = append(checks, notEmpty(c.AllowEmpty))
	}
	for _, r := range allRules() {
		if r.hidden && c.AsWorker {
			checks = append(checks, leftOut(r.name, r.counted))
			continue
		}
		checks = append(checks, r.over(p))
	}
	if p != nil {
		return append(checks, leftOut(chainRuleName, "blocks"), inFullOf(secondLine),
			constraintsCarryTheAccount.over(p), leftOut(acquirerRuleName, "lines of the journal"))
	}
	return append(checks, audit.chain, secondLine, constraintsCarryTheAccount.over(p), theirs.check)
}

// allRules are the rules that are SQL over our tables.
func allRules() []rule {
	return slices.Concat(rules, payoutRules, termRules, evidenceRules, peopleRules)
}

func leftOut(name, counted string) check {
	return func(context.Context, reader) Check { return Check{Rule: name, Counted: counted, Reach: reachSkipped} }
}

func inFullOf(whole check) check {
	return func(ctx context.Context, db reader) Check {
		c := whole(ctx, db)
		c.Reach = reachFull
		return c
	}
}

// rest waits for as long as work took, or until ctx ends.
func rest(ctx context.Context, took time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(took):
	}
}

// check is one rule at work.
type check func(ctx context.Context, db reader) Check

// apart runs a check behind a savepoint: one that fails does not take the
// snapshot away from the others.
func apart(ctx context.Context, tx pgx.Tx, check check) Check {
	behind, err := tx.Begin(ctx)
	if err != nil {
		return Check{Rule: "the database answers", Unchecked: err.Error()}
	}
	defer func() { _ = behind.Rollback(ctx) }()
	return check(ctx, behind)
}

// reader is a transaction, as far as a check needs one.
type reader interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func notEmpty(allowed bool) check {
	return func(ctx context.Context, db reader) Check {
		c := Check{Rule: "there is something to prove", Counted: "requests"}
		err := db.QueryRow(ctx, "SELECT count(*) FROM requests").Scan(&c.Count)
		switch {
		case err != nil:
			c.Unchecked = err.Error()
		case c.Count == 0 && !allowed:
			c.Unchecked = "no request has ever been made here"
		}
		return c
	}
}

func (r rule) check(ctx context.Context, db reader) Check { return r.over(nil)(ctx, db) }

// over is the rule's check over a part of the data; over everything if p is nil.
func (r rule) over(p *part) check {
	reach := p.reach(r.since)
	if reach == reachSkipped {
		return leftOut(r.name, r.counted)
	}
	args := pgx.NamedArgs{}
	if p != nil {
		args = maps.Clone(p.args)
	}
	args["shown_at_most"] = shownAtMost
	find := p.behind(r.since,
		"SELECT object, wrong FROM ("+r.sql+") AS found (object, wrong) ORDER BY object LIMIT @shown_at_most")
	return func(ctx context.Context, db reader) Check {
		c := Check{Rule: r.name, Counted: r.counted, Reach: reach}
		if err := db.QueryRow(ctx, p.behind(r.since, r.count), args).Scan(&c.Count); err != nil {
			c.Unchecked = err.Error()
			return c
		}
		rows, err := db.Query(ctx, find, args)
		if err == nil {
			c.Violations, err = pgx.CollectRows(rows, pgx.RowToStructByName[Violation])
		}
		if err != nil {
			c.Unchecked = err.Error()
		}
		return c
	}
}

// Print writes the report as text: a line for each rule, with its violations below.
func (r Report) Print(w io.Writer) error {
	var failed error
	say := func(format string, args ...any) {
		if _, err := fmt.Fprintf(w, format, args...); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	for _, c := range r.Checks {
		switch {
		case len(c.Violations) > 0:
			say("✗ %s (%d %s)\n", c.Rule, c.Count, c.Counted)
		case c.Unchecked != "":
			say("? %s: not checked: %s\n", c.Rule, c.Unchecked)
		case c.Reach == reachSkipped:
			say("– %s: not checked by an incremental run\n", c.Rule)
		case c.Reach == reachFull:
			say("✓ %s (%d %s, checked in full)\n", c.Rule, c.Count, c.Counted)
		default:
			say("✓ %s (%d %s)\n", c.Rule, c.Count, c.Counted)
		}
		for _, v := range c.Violations {
			say("    %s  %s\n", v.Object, v.Wrong)
		}
		if len(c.Violations) == shownAtMost {
			say("    … and perhaps more\n")
		}
	}
	for _, c := range r.Checks {
		if c.Head != "" {
			say("The head of the audit trail is %s\n", c.Head)
		}
	}
	if r.Since != nil {
		say("Checked what can have changed since %s. Run verify without --since to check everything.\n",
			r.Since.UTC().Format(time.RFC3339))
	}
	say("%s in %s\n",
		[...]string{"Everything holds", "Something does not hold", "Not everything could be checked"}[r.ExitCode()],
		r.Took.Round(time.Millisecond))
	return failed
}

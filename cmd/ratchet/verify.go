package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/verify"
)

// exitCode ends the program with a report's own exit code.
type exitCode struct{ code int }

// Error is what the exit code says, in words.
func (v *exitCode) Error() string {
	return [...]string{"", "verification failed", "not everything could be checked"}[v.code]
}

func verifyCommand() *cobra.Command {
	var v verification
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove the books, against themselves and against the acquirer's journal",
		Long: `Prove the books, against themselves and against the acquirer's journal.

Every rule is SQL that shares no code with the writers. It reads one snapshot and
writes nothing, so it can run at any time. No rule times out. Two connections share
the rules. A long run reports on standard error how many rules it has checked. The
report as JSON has the time of each rule.

  RATCHET_DATABASE_URL           a login that may read everything
  RATCHET_ACQUIRER_DATABASE_URL  the acquirer's database; without it the journal is
                                 not checked
  RATCHET_SECRET                 the key of the audit trail's chain; without it the
                                 chain is not checked

or a running demo. Exit code 0: everything is correct. 1: a rule failed; failures
are listed. 2: something could not be checked; an empty database proves nothing.

With --since it checks what can have changed since a time, or since the worker's last
run without a violation, and lists the rules that need a full run. A worker does that
every minute, and a full run every night, without the acquirer's journal.

The head of the audit trail's chain is printed, and a worker logs each new one. Store
a head where the database's owner cannot write, and pass it to --head later: that
proves that nothing sealed before it has changed.`,
		Example: "  ratchet verify && echo the books are in order\n  ratchet verify --head 1042:9f86d0…\n" +
			"  ratchet verify --since last\n  ratchet verify --since 2026-11-25T14:00:00Z",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return v.run(cmd) },
	}
	cmd.Flags().BoolVar(&v.asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&v.allowEmpty, "allow-empty", false, "an unused installation is correct")
	cmd.Flags().StringVar(&v.head, "head", "",
		"the audit trail must hold this block, as it was printed or logged before: NUMBER:DIGEST")
	cmd.Flags().StringVar(&v.since, "since", "",
		"check only what can have changed since a time (RFC 3339), or since the worker's \"last\" clean run")
	return cmd
}

// verification is the flags of ratchet verify.
type verification struct {
	asJSON, allowEmpty bool
	head, since        string
}

// connections share the rules. Each session of PostgreSQL uses one CPU for most of the rules.
const connections = 2

// run proves the books and prints the report. Its error is an exitCode, whose code the program exits with, unless the
// proof could not be made at all.
func (v verification) run(cmd *cobra.Command) error {
	s, err := operators()
	if err != nil {
		return err
	}
	url, err := s.databaseURL()
	if err != nil {
		return err
	}
	pool, err := postgres.Open(cmd.Context(),
		postgres.Config{URL: url, MaxConns: connections, ApplicationName: "ratchet verify"})
	if err != nil {
		return err
	}
	defer pool.Close()
	journal, end, err := acquirersJournal(cmd, s)
	if err != nil {
		return err
	}
	defer end()
	keys, err := auditKeys(cmd.Context(), pool, s)
	if err != nil {
		return err
	}
	from, err := sinceTime(cmd.Context(), pool, v.since)
	if err != nil {
		return err
	}
	if v.head != "" && !from.IsZero() {
		return usagef("--head needs a full run: leave out --since")
	}
	report, err := verify.Run(cmd.Context(),
		verify.Config{Pool: pool, Acquirer: journal, AuditKeys: keys, Head: v.head, AllowEmpty: v.allowEmpty,
			Since: from, Connections: connections, Progress: progress(cmd.ErrOrStderr(), time.Second)})
	if err != nil {
		return err
	}
	if err := printReport(cmd, report, v.asJSON); err != nil {
		return err
	}
	if code := report.ExitCode(); code != verify.OK {
		return &exitCode{code}
	}
	return nil
}

// sinceTime reads --since. The zero time means a full run.
func sinceTime(ctx context.Context, pool *pgxpool.Pool, text string) (time.Time, error) {
	switch text {
	case "":
		return time.Time{}, nil
	case "last":
		at, err := verify.LastClean(ctx, pool)
		if err == nil && at.IsZero() {
			return time.Time{}, usagef("no worker has verified anything yet: name a time, or leave out --since")
		}
		return at, err
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usagef("--since takes a time such as 2026-11-25T14:00:00Z, or last")
	}
	return at, nil
}

// progress says every so often how many rules have been checked. A proof that is done
// sooner says nothing.
func progress(w io.Writer, every time.Duration) func(done, of int) {
	began := time.Now()
	last := began
	return func(done, of int) {
		if now := time.Now(); now.Sub(last) >= every {
			last = now
			_, _ = fmt.Fprintf(w, "checked %d of %d rules in %s\n", done, of, now.Sub(began).Round(time.Second))
		}
	}
}

// auditKeys are the keys of the audit trail's chain, or none where the secret is not known.
func auditKeys(ctx context.Context, pool *pgxpool.Pool, s settings) (none secret.Keys, err error) {
	text, err := s.lookup(secretVariable)
	if err != nil || text == "" {
		return none, err
	}
	newest, older, err := s.roots()
	if err != nil {
		return none, err
	}
	roots, err := process.ReadSecrets(ctx, pool, append(older, newest)...)
	if err != nil {
		return none, fmt.Errorf("%s: %w", secretVariable, err)
	}
	if roots == nil { // no process has started yet
		roots = secret.Only(newest)
	}
	return roots.Keys(secret.AuditChain), nil
}

// acquirersJournal opens the simulated acquirer's database, or returns nil if it is not
// configured. A real acquirer has no database that we may read: see ratchet reconcile.
func acquirersJournal(cmd *cobra.Command, s settings) (journal verify.Journal, end func(), err error) {
	url, err := s.lookup(acquirerDatabaseVariable)
	if err != nil || url == "" || demonstration.journal == nil {
		return nil, func() {}, err
	}
	noLimit := map[string]string{"statement_timeout": "0"} // the journal may be long
	pool, err := postgres.Open(cmd.Context(),
		postgres.Config{URL: url, MaxConns: 1, ApplicationName: "ratchet verify", Session: noLimit})
	if err != nil {
		return nil, nil, err
	}
	return demonstration.journal(pool), pool.Close, nil
}

func printReport(cmd *cobra.Command, report verify.Report, asJSON bool) error {
	if !asJSON {
		return report.Print(cmd.OutOrStdout())
	}
	encoded, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), string(encoded))
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/adoption"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/payout"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/verify"
)

func reconcileCommand() *cobra.Command {
	var acquirerURL, date, since string
	var adopt bool
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Compare the acquirer with the books, and adopt what a restored backup has lost",
		Long: `Compare the acquirer with the books, and adopt what a restored backup has lost.

Without --since it compares the acquirer's settlement file of a day. It lists each
difference and stores it in the table settlement_differences. It can be run again at
any time. The worker does it every hour for the previous day.

With --since it lists the charges, captures and refunds that the acquirer has executed
since then and that nothing here knows. It changes nothing, unless --adopt is given.

With --adopt it books them, each in one transaction with its postings, its events and
its row in the audit trail. Then it asks the acquirer to send its notifications since
then again. It may run beside the API and the worker, and again after a crash.

  RATCHET_DATABASE_URL     a login that may read everything and write differences
  RATCHET_ACQUIRER_SECRET  the credential for the acquirer
  RATCHET_SECRET           the installation's secret, for --adopt

or a running demo. Exit code 0: the two agree. 1: they differ; the differences are
listed. After --adopt: everything is adopted, or what is left is listed.`,
		Example: `  ratchet reconcile --date 2026-11-20
  ratchet reconcile --since 2026-11-20T04:00:00Z
  ratchet reconcile --since 2026-11-20T04:00:00Z --adopt`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if adopt && since == "" {
				return usagef("--adopt needs --since: when was the backup made?")
			}
			if date != "" && since != "" {
				return usagef("--date and --since exclude each other")
			}
			c, err := reconciliationConfig(cmd, acquirerURL)
			if err != nil {
				return err
			}
			if since != "" {
				return reconcileSince(cmd.Context(), cmd.OutOrStdout(), c, since, adopt)
			}
			return reconcileDay(cmd.Context(), cmd.OutOrStdout(), c, date)
		},
	}
	acquirerFlag(cmd, &acquirerURL)
	cmd.Flags().StringVar(&date, "date", "", "the day in UTC, such as 2026-11-20; the default is yesterday")
	cmd.Flags().StringVar(&since, "since", "",
		"list what was lost since this time, such as 2026-11-20 or 2026-11-20T04:00:00Z")
	cmd.Flags().BoolVar(&adopt, "adopt", false, "with --since: book what was lost")
	return cmd
}

// reconciliationConfig reads what the command needs of the environment or of a demo.
// The secret is missing unless it is set.
func reconciliationConfig(cmd *cobra.Command, acquirerURL string) (c process.Config, err error) {
	s, err := operators()
	if err != nil {
		return c, err
	}
	if c.DatabaseURL, err = s.databaseURL(); err != nil {
		return c, err
	}
	if c.AcquirerSecret, err = s.require(acquirerSecretVariable); err != nil {
		return c, err
	}
	c.AcquirerURL = acquirerURL
	there, err := s.lookup("RATCHET_ACQUIRER_URL")
	if there != "" && !cmd.Flags().Changed("acquirer-url") {
		c.AcquirerURL = there
	}
	if err != nil {
		return c, err
	}
	text, err := s.lookup(secretVariable)
	if err != nil || text == "" {
		return c, err
	}
	c.Secret, c.OldSecrets, err = s.roots()
	return c, err
}

func reconcileDay(ctx context.Context, out io.Writer, c process.Config, date string) error {
	day := time.Now().UTC().AddDate(0, 0, -1)
	if date != "" {
		var err error
		if day, err = time.Parse(time.DateOnly, date); err != nil {
			return usagef("--date %s is not a date like 2026-11-20", date)
		}
	}
	pool, adapter, end, err := connectReconciliation(ctx, c)
	if err != nil {
		return err
	}
	defer end()
	found, err := payout.Reconcile(ctx, pool, adapter, day)
	if err != nil {
		return err
	}
	for _, d := range found {
		fmt.Fprintf(out, "✗ %s  %s  %s\n", d.Reference, d.AccountID, d.Wrong)
	}
	if len(found) > 0 {
		return &exitCode{verify.Violated}
	}
	fmt.Fprintf(out, "✓ %s: the acquirer's settlement file and the books agree\n", day.Format(time.DateOnly))
	return nil
}

func connectReconciliation(ctx context.Context, c process.Config) (*pgxpool.Pool, acquirer.Adapter, func(), error) {
	pool, err := postgres.Open(ctx,
		postgres.Config{URL: c.DatabaseURL, MaxConns: 1, ApplicationName: "ratchet reconcile"})
	if err != nil {
		return nil, nil, nil, err
	}
	adapter, err := process.OpenAcquirer(c)
	if err != nil {
		pool.Close()
		return nil, nil, nil, err
	}
	return pool, adapter, func() { adapter.Close(); pool.Close() }, nil
}

// reconcileSince lists what was lost since a time, and with adopt books it.
func reconcileSince(ctx context.Context, out io.Writer, c process.Config, since string, adopt bool) error {
	from, err := parseSince(since)
	if err != nil {
		return err
	}
	pool, adapter, end, err := connectReconciliation(ctx, c)
	if err != nil {
		return err
	}
	defer end()
	lost, err := adoption.Find(ctx, pool, adapter, from)
	if err != nil {
		return err
	}
	if adopt {
		return adoptLost(ctx, out, c, from, lost)
	}
	for _, l := range lost {
		printLost(out, "✗", l, l.Why)
	}
	if len(lost) > 0 {
		fmt.Fprintf(out, "%d lost since %s; --adopt books them\n", len(lost), from.Format(time.RFC3339))
		return &exitCode{verify.Violated}
	}
	fmt.Fprintf(out, "✓ nothing was lost since %s\n", from.Format(time.RFC3339))
	return nil
}

func parseSince(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{},
		usagef("--since %s is neither a date like 2026-11-20 nor a time like 2026-11-20T04:00:00Z", text)
}

// adoptLost books each movement and asks for the notifications since then.
func adoptLost(ctx context.Context, out io.Writer, c process.Config, since time.Time, lost []adoption.Lost) error {
	if c.Secret == nil {
		return usagef("%s is not set: %s=%s", secretVariable, secretVariable, hints[secretVariable])
	}
	c.MaxConns = 4
	c.Log = slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	p, err := process.NewOperator(ctx, c)
	if err != nil {
		return err
	}
	defer p.Close()
	left := 0
	for _, l := range lost {
		object, err := "", error(nil)
		if l.Why == "" {
			object, err = l.Adopt(ctx, p.Engine, operator())
		}
		var refused *adoption.Refused
		switch {
		case errors.As(err, &refused):
			l.Why = refused.Why
		case err != nil:
			return err
		}
		if l.Why != "" {
			left++
			printLost(out, "✗", l, l.Why)
			continue
		}
		printLost(out, "✓", l, "adopted as "+object)
	}
	if err := p.Acquirer.Resend(ctx, since); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d adopted, %d left; the acquirer sends its notifications since %s again\n",
		len(lost)-left, left, since.Format(time.RFC3339))
	if left > 0 {
		return &exitCode{verify.Violated}
	}
	return nil
}

func printLost(out io.Writer, mark string, l adoption.Lost, what string) {
	fmt.Fprintf(out, "%s %s  %s  %s %s %s of %s", mark, l.At.UTC().Format(time.RFC3339), l.Merchant, l.Kind,
		money.Format(l.Amount, l.Currency), l.Reference, l.ID)
	if l.Object != "" {
		fmt.Fprintf(out, " (%s)", l.Object)
	}
	if what != "" {
		fmt.Fprintf(out, ": %s", what)
	}
	fmt.Fprintln(out)
}

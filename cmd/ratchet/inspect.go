package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/internal/process"
)

func inspectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "inspect NAME",
		Short: "Print the history of an ID, an idempotency key or a customer's email",
		Long: `Print the history of an ID, an idempotency key, a derived key or a customer's email:
requests, recovery points, crashes and takeovers, the acquirer's journal, ledger
entries and events. The dashboard's inspector shows the same.

It needs RATCHET_DATABASE_URL, or a running demo; and for the acquirer's journal
RATCHET_ACQUIRER_URL and RATCHET_ACQUIRER_SECRET.`,
		Example: "  ratchet inspect ch_0VbTq1s3Zk…\n  ratchet inspect my-idempotency-key",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			pool, s, err := operate(ctx, workerRole)
			if err != nil {
				return err
			}
			defer pool.Close()
			books, err := theirBooks(s)
			if err != nil {
				return err
			}
			found, err := inspect.Find(ctx, pool, args[0])
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return fmt.Errorf("not found: %q", args[0])
			}
			for i, subject := range found {
				if i > 0 {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				story, err := inspect.History(ctx, pool, books, subject)
				if err != nil {
					return err
				}
				err = printHistory(cmd.OutOrStdout(), subject, story)
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// theirBooks reads the acquirer's journal, or is nil if it is not configured.
func theirBooks(s settings) (inspect.Books, error) {
	secret, err := s.lookup(acquirerSecretVariable)
	if err != nil {
		return nil, err
	}
	url, err := s.lookup("RATCHET_ACQUIRER_URL")
	if err != nil || url == "" || secret == "" {
		return nil, err
	}
	return process.OpenAcquirer(process.Config{AcquirerURL: url, AcquirerSecret: secret})
}

func printHistory(out io.Writer, of inspect.Subject, story []*inspect.Request) error {
	fmt.Fprintf(out, "%s %s, account %s\n", of.Kind, of.ID, of.AccountID)
	for _, r := range story {
		fmt.Fprintf(out, "%s  %s %s  %s: %s\n", r.ID, r.Method, r.Path, r.State, why(r.Summary))
	}
	fmt.Fprintln(out)
	table := newTable(out)
	for _, line := range inspect.Timeline(story...) {
		ref := line.Ref
		if ref == line.Request {
			ref = ""
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", moment(&line.At), line.Kind, line.Text, line.Detail, ref)
	}
	return table.Flush()
}

package main

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/inbox"
)

func inboxCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List messages from outside that were not applied, and retry them",
		Long: `List messages from outside that were not applied, and retry them.

A message is applied, waiting (its object does not exist here yet) or set aside (it
cannot be applied and needs an operator). A message that contradicts an earlier
one with the same ID is stored and never applied; verify reports it until an
operator acknowledges it. These commands need RATCHET_DATABASE_URL, or a running
demo.`,
		Example: "  ratchet inbox list",
		Args:    cobra.NoArgs,
		RunE:    help,
	}
	cmd.AddCommand(inboxListCommand(), inboxRetryCommand(), inboxAcknowledgeCommand())
	return cmd
}

func inboxListCommand() *cobra.Command {
	var all bool
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List messages that are waiting, set aside or contradicted, oldest first",
		Example: "  ratchet inbox list\n  ratchet inbox list --all --limit 20",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pool, _, err := operate(cmd.Context(), workerRole)
			if err != nil {
				return err
			}
			defer pool.Close()
			found, err := inbox.List(cmd.Context(), pool, all, limit)
			if err != nil {
				return err
			}
			return printMessages(cmd, found)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "include applied messages")
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of messages")
	return cmd
}

func printMessages(cmd *cobra.Command, found []inbox.Kept) error {
	if len(found) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "none")
		return nil
	}
	table := newTable(cmd.OutOrStdout())
	fmt.Fprintln(table, "MESSAGE\tSOURCE\tKIND\tSTATE\tAGE\tTRIES\tREQUEST\tWHY")
	for _, m := range found {
		why := orDash(m.Reason)
		if m.Contradictions > 0 {
			why = fmt.Sprintf("contradicted by %d others; %s", m.Contradictions, why)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", m.EventID, m.Source, m.Kind, m.State,
			age(m.Now.Sub(m.ReceivedAt)), m.Attempts, orDash(m.RequestID), why)
	}
	return table.Flush()
}

func inboxRetryCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "retry MESSAGE",
		Short: "Retry a message that is waiting or set aside",
		Long: `Retry a message that is waiting or set aside. This is always safe: a message is
applied once, however often it is retried. A worker does it.`,
		Example: "  ratchet inbox retry note_0VbTq1s3Zk…",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			pool, _, err := operate(ctx, workerRole)
			if err != nil {
				return err
			}
			defer pool.Close()
			err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
				if err := inbox.Retry(ctx, tx, args[0]); err != nil {
					return err
				}
				return audit.RecordOperator(ctx, tx, audit.OperatorAct{
					User:      operator(),
					Operation: "inbox.retry",
					ObjectID:  args[0],
					Details:   map[string]any{"message": args[0]},
				})
			})
			if errors.Is(err, inbox.ErrNothingToRetry) {
				return fmt.Errorf("message %q not found among those that are waiting or set aside", args[0])
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is due now; a worker will retry it\n", args[0])
			return nil
		},
	}
}

func inboxAcknowledgeCommand() *cobra.Command {
	var because string
	cmd := &cobra.Command{
		Use:   "acknowledge MESSAGE",
		Short: "Record that you have looked at what contradicts a message, and why it is in order",
		Long: `Record that you have looked at what contradicts a message, and why it is in order.

The reason goes into the audit trail with your name. Nothing else changes: the first
message stays applied, and the other is kept and never applied. If a third one comes
under the same id, verify names it again.`,
		Example: `  ratchet inbox acknowledge note_0VbTq1s3Zk… --because "acquirer's incident 4711: sent by mistake"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if because == "" {
				return usagef("--because is missing: why is it in order?")
			}
			ctx := cmd.Context()
			pool, _, err := operate(ctx, workerRole)
			if err != nil {
				return err
			}
			defer pool.Close()
			var digests []string
			err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
				digests, err = inbox.Acknowledge(ctx, tx, args[0], operator(), because)
				if err != nil {
					return err
				}
				return audit.RecordOperator(ctx, tx, audit.OperatorAct{
					User:      operator(),
					Operation: "inbox.acknowledge",
					ObjectID:  args[0],
					Details:   map[string]any{"message": args[0], "digests": digests, "because": because},
				})
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d acknowledged\n", len(digests))
			return nil
		},
	}
	cmd.Flags().StringVar(&because, "because", "", "the reason, for the audit trail")
	return cmd
}

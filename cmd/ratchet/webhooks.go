package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/webhook"
)

func webhooksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhooks",
		Short: "Roll signing secrets, show deliveries, resend events",
		Long: `Roll signing secrets, show deliveries, resend events.

Use the API to create and update endpoints (/v1/webhook_endpoints). These commands
do what Stripe offers in its Dashboard. They need RATCHET_DATABASE_URL, or a running
demo.`,
		Example: "  ratchet webhooks show evt_0VbTq1s3Zk…",
		Args:    cobra.NoArgs,
		RunE:    help,
	}
	cmd.AddCommand(webhooksShowCommand(), webhooksResendCommand(), webhooksRollCommand())
	return cmd
}

func webhooksShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show EVENT",
		Short:   "Print an event's deliveries and their attempts",
		Example: "  ratchet webhooks show evt_0VbTq1s3Zk…",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pool, _, err := operate(cmd.Context(), workerRole)
			if err != nil {
				return err
			}
			defer pool.Close()
			attempts, err := webhook.Attempts(cmd.Context(), pool, args[0])
			if errors.Is(err, webhook.ErrUnknown) {
				return fmt.Errorf("event %q not found", args[0])
			}
			if err != nil {
				return err
			}
			return printAttempts(cmd, attempts)
		},
	}
}

func printAttempts(cmd *cobra.Command, attempts []webhook.Attempt) error {
	if len(attempts) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "none: no endpoint subscribes to it")
		return nil
	}
	table := newTable(cmd.OutOrStdout())
	fmt.Fprintln(table, "ENDPOINT\tURL\tDELIVERY\tDUE\tATTEMPT\tSTARTED\tTOOK\tANSWER")
	for _, a := range attempts {
		number, took := "-", "-"
		if a.Attempt != nil {
			number = fmt.Sprint(*a.Attempt)
		}
		if a.DurationMs != nil {
			took = fmt.Sprintf("%d ms", *a.DurationMs)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.EndpointID, a.URL, a.State, moment(a.DueAt), number,
			moment(a.StartedAt), took, answered(a))
	}
	return table.Flush()
}

// answered is how an attempt ended, in a word or two.
func answered(a webhook.Attempt) string {
	switch {
	case a.Attempt == nil:
		return "no attempt yet"
	case a.EndedAt == nil:
		return "unknown: in progress, or its worker crashed"
	case a.Status == nil:
		return orDash(a.Error)
	case a.Error != nil:
		return fmt.Sprintf("%d, %s", *a.Status, *a.Error)
	}
	return fmt.Sprint(*a.Status)
}

func webhooksResendCommand() *cobra.Command {
	var endpoint string
	cmd := &cobra.Command{
		Use:   "resend EVENT",
		Short: "Resend an event to its endpoints, or to one endpoint",
		Example: "  ratchet webhooks resend evt_0VbTq1s3Zk…\n  ratchet webhooks resend evt_0VbTq1s3Zk… --endpoint " +
			"we_0VbTq1s3Zk…",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pool, _, err := operate(cmd.Context(), workerRole)
			if err != nil {
				return err
			}
			defer pool.Close()
			to, err := webhook.Resend(cmd.Context(), pool, operator(), args[0], endpoint)
			if errors.Is(err, webhook.ErrUnknown) {
				return fmt.Errorf("event %q not found", args[0])
			}
			if err != nil {
				return err
			}
			if len(to) == 0 {
				return errors.New("no enabled endpoint has received it; use --endpoint to send it to another one")
			}
			for _, e := range to {
				fmt.Fprintf(cmd.OutOrStdout(), "%s will be sent to %s again\n", args[0], e.EndpointID)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "only to this endpoint, even if it never received the event")
	return cmd
}

func webhooksRollCommand() *cobra.Command {
	overlap := webhook.LongestOverlap
	cmd := &cobra.Command{
		Use:   "roll ENDPOINT",
		Short: "Create a new signing secret for an endpoint and print it once",
		Long: `Create a new signing secret for an endpoint and print it. It cannot be shown again.

During the overlap, deliveries carry a signature with each secret, so you can deploy
the new one without losing an event. 0 expires the old secret immediately. Also
needs RATCHET_SECRET.`,
		Example: "  ratchet webhooks roll we_0VbTq1s3Zk… --overlap 1h",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if overlap < 0 || overlap > webhook.LongestOverlap {
				return usagef("--overlap must be between 0 and %s", webhook.LongestOverlap)
			}
			pool, s, err := operate(cmd.Context(), workerRole)
			if err != nil {
				return err
			}
			defer pool.Close()
			roots, err := s.rootsOf(cmd.Context(), pool)
			if err != nil {
				return err
			}
			rolled, err := webhook.Roll(cmd.Context(), pool, roots.Keys(secret.Webhooks), operator(), args[0], overlap)
			if errors.Is(err, webhook.ErrUnknown) {
				return fmt.Errorf("webhook endpoint %q not found", args[0])
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(),
				"%s; the secret will not be shown again, and the old one stays valid for %s:\n", args[0], overlap)
			fmt.Fprintln(cmd.OutOrStdout(), rolled)
			return nil
		},
	}
	cmd.Flags().DurationVar(&overlap, "overlap", overlap, "how long the old secret stays valid, at most 24h")
	return cmd
}

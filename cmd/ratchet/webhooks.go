package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/webhook"
)

func webhooksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhooks",
		Short: "Roll signing secrets, see what became of deliveries, send events again",
		Long: `Roll signing secrets, see what became of deliveries, send events again.

Endpoints are made and changed with the API (/v1/webhook_endpoints). These commands
do what Stripe's Dashboard does beside it. They need RATCHET_DATABASE_URL, or a demo
that is running.`,
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
		Short:   "Print an event's deliveries and every attempt to make them",
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
				return fmt.Errorf("there is no event %q", args[0])
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
		fmt.Fprintln(cmd.ErrOrStderr(), "none: no endpoint wanted to hear of it")
		return nil
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ENDPOINT\tURL\tDELIVERY\tDUE\tATTEMPT\tSTARTED\tTOOK\tANSWER")
	for _, a := range attempts {
		number, took := "-", "-"
		if a.Attempt != nil {
			number = fmt.Sprint(*a.Attempt)
		}
		if a.DurationMs != nil {
			took = fmt.Sprintf("%d ms", *a.DurationMs)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.EndpointID, a.URL, a.State, moment(a.DueAt), number, moment(a.StartedAt), took, answered(a))
	}
	return table.Flush()
}

// answered is how an attempt ended, in a word or two.
func answered(a webhook.Attempt) string {
	switch {
	case a.Attempt == nil:
		return "not tried yet"
	case a.EndedAt == nil:
		return "unknown: under way, or its worker died"
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
		Use:     "resend EVENT",
		Short:   "Send an event again, to the endpoints it was sent to or to one of them",
		Example: "  ratchet webhooks resend evt_0VbTq1s3Zk…\n  ratchet webhooks resend evt_0VbTq1s3Zk… --endpoint we_0VbTq1s3Zk…",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pool, _, err := operate(cmd.Context(), workerRole)
			if err != nil {
				return err
			}
			defer pool.Close()
			to, err := webhook.Resend(cmd.Context(), pool, operator(), args[0], endpoint)
			if errors.Is(err, webhook.ErrUnknown) {
				return fmt.Errorf("there is no event %q", args[0])
			}
			if err != nil {
				return err
			}
			if len(to) == 0 {
				return errors.New("no enabled endpoint to send it to; --endpoint names one that did not get it before")
			}
			for _, e := range to {
				fmt.Fprintf(cmd.OutOrStdout(), "%s is sent to %s again\n", args[0], e.EndpointID)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "only to this one, whether it got the event before or not")
	return cmd
}

func webhooksRollCommand() *cobra.Command {
	overlap := webhook.LongestOverlap
	cmd := &cobra.Command{
		Use:   "roll ENDPOINT",
		Short: "Give an endpoint a new signing secret and print it",
		Long: `Give an endpoint a new signing secret and print it: the only time it is shown.

Until the overlap has passed, deliveries carry a signature of each secret, so the
endpoint's server can be given the new one without losing an event. 0 ends the old
secret at once. Needs RATCHET_SECRET, too.`,
		Example: "  ratchet webhooks roll we_0VbTq1s3Zk… --overlap 1h",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if overlap < 0 || overlap > webhook.LongestOverlap {
				return usagef("--overlap is between 0 and %s", webhook.LongestOverlap)
			}
			pool, s, err := operate(cmd.Context(), workerRole)
			if err != nil {
				return err
			}
			defer pool.Close()
			root, err := s.root()
			if err != nil {
				return err
			}
			rolled, err := webhook.Roll(cmd.Context(), pool, root.For(secret.Webhooks), operator(), args[0], overlap)
			if errors.Is(err, webhook.ErrUnknown) {
				return fmt.Errorf("there is no webhook endpoint %q", args[0])
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s; the secret will not be shown again, and the old one signs for %s more:\n", args[0], overlap)
			fmt.Fprintln(cmd.OutOrStdout(), rolled)
			return nil
		},
	}
	cmd.Flags().DurationVar(&overlap, "overlap", overlap, "how long the old secret signs, too: 24h at most")
	return cmd
}

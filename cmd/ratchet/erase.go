package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/erase"
)

func eraseCommand() *cobra.Command {
	var because string
	var yes bool
	cmd := &cobra.Command{
		Use:   "erase ID",
		Short: "Forget a person: take out what is known of one from all that is kept of an object",
		Long: `Forget a person: take out what is known of one from all that is kept of an object.

The object is a customer, and everything about it is emptied too: its payments,
refunds, disputes, checkout sessions, cards, payment methods, tokens. Or it is one
of those, or a request, for somebody who paid without being a customer.

Names, emails, phones, addresses, descriptions, metadata and all evidence are taken
out of the objects, out of parameters and answers of requests, out of events, and out of the
audit trail, whose chain still holds. Ids, amounts, states and times stay, and of
cards what may be shown: the books need them. A client that sends such a request
again is told that its answer is erased, and which object it made.

A customer has to be deleted through the API first, and requests have to be
finished. It needs RATCHET_DATABASE_URL, logging in as the schema's owner, or a
demo that is running. It reads all requests of the account, so it can take a
while, and it cannot be undone.`,
		Example: `  ratchet erase cus_0VbTq1s3Zk… --because "letter of 20 November" --yes`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(because) == "" {
				return usagef("--because is missing: on what grounds?")
			}
			if !yes {
				return usagef("this cannot be undone; say --yes if that is what you want")
			}
			return eraseObject(cmd, erase.Order{Subject: args[0], User: operator(), Because: because})
		},
	}
	cmd.Flags().StringVar(&because, "because", "", "on what grounds, for the audit trail; do not name the person")
	cmd.Flags().BoolVar(&yes, "yes", false, "it may be gone for good")
	return cmd
}

func eraseObject(cmd *cobra.Command, order erase.Order) error {
	ctx := cmd.Context()
	pool, _, err := operate(ctx, "")
	if err != nil {
		return err
	}
	defer pool.Close()
	var counts []erase.Count
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
		counts, err = erase.Erase(ctx, tx, order)
		return err
	})
	if errors.Is(err, erase.ErrUnknown) {
		return fmt.Errorf("nothing here has the id %q", order.Subject)
	}
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TABLE\tROWS")
	for _, c := range counts {
		fmt.Fprintf(table, "%s\t%d\n", c.Table, c.Rows)
	}
	return table.Flush()
}

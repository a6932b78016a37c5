package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/privacy"
)

func eraseCommand() *cobra.Command {
	var because string
	var yes bool
	cmd := &cobra.Command{
		Use:   "erase ID",
		Short: "Erase a person's data from an object and everything that belongs to it",
		Long: `Erase a person's data from an object and everything that belongs to it.

ID names a customer, with its payments, refunds, disputes, checkout sessions, cards,
payment methods and tokens. Or it names one of those, or a request, for a person who
paid without being a customer.

The command erases names, emails, phones, addresses, descriptions, metadata and
evidence from the objects, from the parameters and responses of requests, from
events, and from the audit trail, whose chain stays valid. IDs, amounts, states,
times and the card details that may be shown stay, because the books need them. If a
client repeats such a request, the error says that its response was erased, and
names the object it created.

Delete a customer through the API first, and wait until its requests are finished.
The command needs RATCHET_DATABASE_URL with the schema owner's login, or a running
demo. It reads all requests of the account, so it can take a while. It cannot be
undone.`,
		Example: `  ratchet erase cus_0VbTq1s3Zk… --because "letter of 20 November" --yes`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(because) == "" {
				return usagef("--because is required: the reason, for the audit trail")
			}
			if !yes {
				return usagef("this cannot be undone: pass --yes to confirm")
			}
			return eraseObject(cmd, privacy.Order{Subject: args[0], User: operator(), Because: because})
		},
	}
	cmd.Flags().StringVar(&because, "because", "", "the reason, for the audit trail; do not name the person")
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm that the data is erased permanently")
	return cmd
}

func eraseObject(cmd *cobra.Command, order privacy.Order) error {
	ctx := cmd.Context()
	pool, _, err := operate(ctx, "")
	if err != nil {
		return err
	}
	defer pool.Close()
	var counts []privacy.Count
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
		counts, err = privacy.Erase(ctx, tx, order)
		return err
	})
	if errors.Is(err, privacy.ErrUnknown) {
		return fmt.Errorf("object %q not found", order.Subject)
	}
	if err != nil {
		return err
	}
	table := newTable(cmd.OutOrStdout())
	fmt.Fprintln(table, "TABLE\tROWS")
	for _, c := range counts {
		fmt.Fprintf(table, "%s\t%d\n", c.Table, c.Rows)
	}
	return table.Flush()
}

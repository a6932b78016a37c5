package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/account"
	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/id"
)

func accountsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "accounts",
		Short: "Open and list accounts: the merchants of this installation",
		Long: `Open and list accounts: the merchants of this installation.

Any number of them share one. None sees anything of another, and each has a test
mode and a live mode that see nothing of each other. These need
RATCHET_DATABASE_URL, logging in as the schema's owner; or a demo that is running.`,
		Example: `  ratchet accounts create --name "My shop"`,
		Args:    cobra.NoArgs,
		RunE:    help,
	}
	cmd.AddCommand(accountsCreateCommand(), accountsListCommand(), accountsVersionCommand())
	return cmd
}

func accountsCreateCommand() *cobra.Command {
	var opening account.NewAccount
	var delay int
	cmd := &cobra.Command{
		Use:     "create",
		Short:   "Open an account and print its id",
		Example: `  ratchet accounts create --id acct_shop --name "My shop" --country DE --currency eur`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opening.Name == "" {
				return usagef("--name is missing: whose account is it?")
			}
			if opening.ID == "" {
				opening.ID = id.New("acct", time.Now())
			}
			if cmd.Flags().Changed("payout-delay") {
				opening.PayoutDelayDays = &delay
			}
			pool, _, err := operate(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer pool.Close()
			err = pgx.BeginFunc(cmd.Context(), pool, func(tx pgx.Tx) error {
				opened, err := openAccount(cmd.Context(), tx, opening)
				if err == nil && !opened {
					err = fmt.Errorf("there is an account %s already", opening.ID)
				}
				return err
			})
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), opening.ID)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&opening.ID, "id", "", "acct_ and a word; made up if not given")
	f.StringVar(&opening.Name, "name", "", "what the merchant is called")
	f.StringVar(&opening.Country, "country", "", "two letters (US)")
	f.StringVar(&opening.Currency, "currency", "", "its default currency (usd)")
	f.StringVar(&opening.StatementDescriptor, "statement-descriptor", "", "what cards' statements show (RATCHET)")
	f.IntVar(&delay, "payout-delay", 2, "days until a charge's money stops being pending")
	f.StringVar(&opening.APIVersion, "api-version", "", "of requests that name none ("+string(apiversion.Current)+")")
	return cmd
}

func accountsVersionCommand() *cobra.Command {
	var accountID, name string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Choose the API version of an account",
		Long: `Choose the API version of an account.

Requests without a Stripe-Version header are answered in it, and events that
happen from now on have it. It can be any version that Stripe has had. Servers
that are running use it within two seconds.`,
		Example: "  ratchet accounts version --account acct_shop --api-version 2020-08-27",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			version, known := apiversion.Parse(name)
			if accountID == "" || !known {
				return usagef("accounts version needs --account, and --api-version with a version that Stripe has had")
			}
			pool, _, err := operate(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer pool.Close()
			return pgx.BeginFunc(cmd.Context(), pool, func(tx pgx.Tx) error {
				set, err := account.SetAPIVersion(cmd.Context(), tx, accountID, version)
				if err != nil {
					return err
				}
				if !set {
					return fmt.Errorf("there is no account %s", accountID)
				}
				return audit.RecordOperator(cmd.Context(), tx, audit.OperatorAct{User: operator(), Operation: "account.api_version",
					AccountID: accountID, ObjectID: accountID, Details: map[string]string{"api_version": string(version)}})
			})
		},
	}
	cmd.Flags().StringVar(&accountID, "account", "", "id of the account")
	cmd.Flags().StringVar(&name, "api-version", "", "such as 2020-08-27 or 2025-03-31.basil")
	return cmd
}

// openAccount opens an account, and audits it, unless there is one of that id.
func openAccount(ctx context.Context, tx pgx.Tx, opening account.NewAccount) (opened bool, err error) {
	opened, err = account.OpenAccount(ctx, tx, opening)
	if err != nil || !opened {
		return false, err
	}
	return true, audit.RecordOperator(ctx, tx, audit.OperatorAct{User: operator(), Operation: "account.create",
		AccountID: opening.ID, ObjectID: opening.ID, Details: opening})
}

func accountsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List all accounts, the oldest first",
		Example: "  ratchet accounts list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pool, _, err := operate(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer pool.Close()
			accounts, err := account.Accounts(cmd.Context(), pool)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "ID\tNAME\tCOUNTRY\tCURRENCY\tVERSION\tCREATED")
			for _, a := range accounts {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", a.ID, a.Name, a.Country, a.DefaultCurrency, a.APIVersion, moment(&a.CreatedAt))
			}
			return table.Flush()
		},
	}
}

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

func keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Create, list, roll and revoke API keys",
		Long: `Create, list, roll and revoke API keys.

These commands need RATCHET_DATABASE_URL with the schema owner's login, and
RATCHET_SECRET to create a key; or a running demo. Each change and its audit row are
one transaction.`,
		Example: `  ratchet keys create --account acct_shop --create-account "My shop"`,
		Args:    cobra.NoArgs,
		RunE:    help,
	}
	cmd.AddCommand(keysCreateCommand(), keysListCommand(), keysRollCommand(), keysRevokeCommand())
	return cmd
}

// show prints a key whose making is committed.
func show(cmd *cobra.Command, keyID, key string) {
	fmt.Fprintf(cmd.ErrOrStderr(), "%s; it will not be shown again:\n", keyID)
	fmt.Fprintln(cmd.OutOrStdout(), key)
}

func keysListCommand() *cobra.Command {
	var account string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List API keys",
		Long:    "List API keys. LAST USED is accurate to about a minute.",
		Example: "  ratchet keys list --account acct_shop",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pool, _, err := operate(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer pool.Close()
			keys, err := apikey.List(cmd.Context(), pool, account)
			if err != nil {
				return err
			}
			table := newTable(cmd.OutOrStdout())
			fmt.Fprintln(table, "ID\tACCOUNT\tMODE\tKIND\tKEY\tCREATED\tEXPIRES\tLAST USED\t")
			for _, k := range keys {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.AccountID, mode(k.Livemode), k.Kind,
					k.Display,
					moment(&k.CreatedAt), moment(k.ExpiresAt), moment(k.LastUsedAt), note(k))
			}
			return table.Flush()
		},
	}
	cmd.Flags().StringVar(&account, "account", "", "only keys of this account")
	return cmd
}

func mode(live bool) string {
	if live {
		return "live"
	}
	return "test"
}

// note is what else there is to know of a key.
func note(k apikey.Key) string {
	if k.Demo {
		return "demo only"
	}
	return k.Permissions.String()
}

func keysRollCommand() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use:     "roll KEY_ID",
		Short:   "Create a key with the same permissions, and expire the old one after --grace-period",
		Example: "  ratchet keys roll key_0VbTq1s3Zk… --grace-period 24h",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if grace < 0 {
				return usagef("--grace-period must not be negative")
			}
			pool, s, err := operate(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer pool.Close()
			roots, err := s.rootsOf(cmd.Context(), pool)
			if err != nil {
				return err
			}
			keyID, key, err := roll(cmd.Context(), pool, roots.Keys(secret.APIKeys), args[0], grace)
			if err != nil {
				return err
			}
			show(cmd, keyID, key)
			return nil
		},
	}
	cmd.Flags().DurationVar(&grace, "grace-period", time.Hour, "how long the old key keeps working")
	return cmd
}

func roll(
	ctx context.Context, pool *pgxpool.Pool, hashKeys secret.Keys, oldID string, grace time.Duration,
) (newID, key string, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
		_, newID, key, err = apikey.Roll(ctx, tx, hashKeys, oldID, grace)
		return err
	})
	return newID, key, err
}

func keysRevokeCommand() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use:     "revoke KEY_ID",
		Short:   "Revoke a key",
		Example: "  ratchet keys revoke key_0VbTq1s3Zk…",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if grace < 0 {
				return usagef("--grace-period must not be negative")
			}
			pool, _, err := operate(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer pool.Close()
			err = pgx.BeginFunc(cmd.Context(), pool, func(tx pgx.Tx) error {
				_, err := apikey.Revoke(cmd.Context(), tx, args[0], grace)
				return err
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s expires at %s; all servers reject it at most two seconds later\n",
				args[0], time.Now().Add(grace).UTC().Format(time.DateTime))
			return nil
		},
	}
	cmd.Flags().DurationVar(&grace, "grace-period", 0, "how long it keeps working")
	return cmd
}

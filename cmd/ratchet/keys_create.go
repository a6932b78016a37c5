package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/account"
	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// wanted is the requested key.
type wanted struct {
	account     string
	open        string // the name to open the account under if there is none
	publishable bool
	live        bool
	restricted  bool
	allow       map[string]string
	permissions apikey.Permissions
}

func keysCreateCommand() *cobra.Command {
	var w wanted
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a key and print it once",
		Long: `Create a key and print it. It cannot be shown again.

A restricted key can do what --allow says: none, read or write for each resource;
write includes read. A resource is the first segment of a path: charges,
customers, payment_intents. GET needs read, everything else write; expanding an
object counts as reading it.

Two resources reach further than their names. events=read shows every object that
changed, client secrets of intents included. With webhook_endpoints=write a key can
have events sent to any address.`,
		Example: `  ratchet keys create --account acct_shop --create-account "My shop"
  ratchet keys create --account acct_shop --restricted --allow charges=write,customers=read`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := w.check(); err != nil {
				return err
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
			keyID, key, err := w.create(cmd.Context(), pool, roots.Keys(secret.APIKeys))
			if err != nil {
				return err
			}
			show(cmd, keyID, key)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&w.account, "account", "", "ID of the key's account")
	f.StringVar(&w.open, "create-account", "", "create the account with this name if it does not exist")
	f.BoolVar(&w.publishable, "publishable", false, "a publishable key")
	f.BoolVar(&w.restricted, "restricted", false, "a restricted key, with the permissions of --allow")
	f.StringToStringVar(&w.allow, "allow", nil, "permissions of a restricted key: charges=write,customers=read")
	f.BoolVar(&w.live, "live", false, "a live mode key; the default is test mode")
	return cmd
}

func (w *wanted) check() (err error) {
	switch {
	case w.account == "":
		return usagef("--account is required")
	case w.restricted && w.publishable:
		return usagef("--restricted and --publishable exclude each other")
	case w.restricted && len(w.allow) == 0:
		return usagef("--allow is required for a restricted key")
	case !w.restricted && len(w.allow) > 0:
		return usagef("--allow requires --restricted")
	case !w.restricted:
		return nil
	}
	w.permissions, err = apikey.ParsePermissions(w.allow, api.Resources())
	if err != nil {
		return usagef("--allow: %v", err)
	}
	return nil
}

func (w *wanted) kind() string {
	switch {
	case w.restricted:
		return apikey.Restricted
	case w.publishable:
		return apikey.Publishable
	}
	return apikey.Secret
}

// create makes the key, its account if need be, and what the audit trail says of
// them: all of it or nothing.
func (w *wanted) create(ctx context.Context, pool *pgxpool.Pool, hashKeys secret.Keys) (keyID, key string, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		err := needAccount(ctx, tx, w.account, w.open)
		if err != nil {
			return err
		}
		kind := w.kind()
		if kind == apikey.Restricted {
			keyID, key, err = apikey.CreateRestricted(ctx, tx, hashKeys, w.account, w.permissions, w.live)
		} else {
			keyID, key, err = apikey.Create(ctx, tx, hashKeys, w.account, kind, w.live)
		}
		return err
	})
	return keyID, key, err
}

// needAccount makes sure that there is an account, opening it if a name was given.
func needAccount(ctx context.Context, tx pgx.Tx, id, name string) error {
	if name != "" {
		_, err := openAccount(ctx, tx, account.NewAccount{ID: id, Name: name})
		return err
	}
	exists, err := account.AccountExists(ctx, tx, id)
	if err != nil {
		return err
	}
	if !exists {
		return fmt.Errorf("account %s not found; --create-account NAME creates it", id)
	}
	return nil
}

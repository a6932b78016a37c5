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

// wanted is the key that somebody asks for.
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
		Short: "Make a key and print it: the only time it can be read",
		Long: `Make a key and print it: the only time it can be read.

A restricted key can do what --allow says: for each resource none, read or write,
which includes to read. A resource is the first word of an address: charges,
customers, payment_intents. Two of them reach further than their names: events=read
shows every object that changed, client secrets of intents included, and with
webhook_endpoints=write a key can have them sent to an address of its choice. GET needs read, everything else write; to expand an
object is to read it.`,
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
			root, err := s.root()
			if err != nil {
				return err
			}
			keyID, key, err := w.create(cmd.Context(), pool, root.For(secret.APIKeys))
			if err != nil {
				return err
			}
			show(cmd, keyID, key)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&w.account, "account", "", "id of the account the key opens")
	f.StringVar(&w.open, "create-account", "", "open the account under this name if there is none yet")
	f.BoolVar(&w.publishable, "publishable", false, "a key that can only make tokens")
	f.BoolVar(&w.restricted, "restricted", false, "a key that can do what --allow says")
	f.StringToStringVar(&w.allow, "allow", nil, "what a restricted key can do: charges=write,customers=read")
	f.BoolVar(&w.live, "live", false, "a key for live mode; otherwise test mode")
	return cmd
}

func (w *wanted) check() (err error) {
	switch {
	case w.account == "":
		return usagef("--account is missing: whose key is it?")
	case w.restricted && w.publishable:
		return usagef("a key is --restricted or --publishable, not both")
	case w.restricted && len(w.allow) == 0:
		return usagef("--allow is missing: what can the key do?")
	case !w.restricted && len(w.allow) > 0:
		return usagef("--allow is for a key that is --restricted")
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
func (w *wanted) create(ctx context.Context, pool *pgxpool.Pool, hashKey []byte) (keyID, key string, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		err := needAccount(ctx, tx, w.account, w.open)
		if err != nil {
			return err
		}
		kind := w.kind()
		if kind == apikey.Restricted {
			keyID, key, err = apikey.CreateRestricted(ctx, tx, hashKey, w.account, w.permissions, w.live)
		} else {
			keyID, key, err = apikey.Create(ctx, tx, hashKey, w.account, kind, w.live)
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
		return fmt.Errorf("there is no account %s; --create-account NAME opens it", id)
	}
	return nil
}

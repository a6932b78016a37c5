package demo

import (
	"context"
	"fmt"

	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// merchant is an account of the demo. Its keys are the same on every machine, so
// that every example can be copied; they are marked in the database, and only a
// server that was started by a demo accepts them.
type merchant struct {
	account, name       string
	secret, publishable string
}

// Two, because half of what can go wrong with keys is one account reaching into another.
var merchants = []merchant{
	{"acct_demo", "Demo Shop", "sk_test_ratchet_demo", "pk_test_ratchet_demo"},
	{"acct_other", "Other Shop", "sk_test_ratchet_other", "pk_test_ratchet_other"},
}

const insertMerchant = `INSERT INTO accounts (id, name) VALUES (@id, @name) ON CONFLICT (id) DO NOTHING`

// seed opens the demo's accounts and keys. Existing ones do not change.
func seed(ctx context.Context, url, installationSecret string) error {
	root, err := secret.New(installationSecret)
	if err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, postgres.Config{URL: url, ApplicationName: "ratchet demo", MaxConns: 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	for _, m := range merchants {
		_, err := pool.Exec(ctx, insertMerchant, postgres.Args{"id": m.account, "name": m.name})
		if err != nil {
			return fmt.Errorf("create account %s: %w", m.account, err)
		}
		for kind, key := range map[string]string{apikey.Secret: m.secret, apikey.Publishable: m.publishable} {
			_, err := apikey.Put(ctx, pool, root.Keys(secret.APIKeys), m.account, kind, false, key, true)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

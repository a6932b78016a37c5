package main

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/demo/shop"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// The shop's settings are its own, as if it stood elsewhere.
const (
	shopDatabaseVariable = "RATCHET_SHOP_DATABASE_URL"
	shopSecretVariable   = "RATCHET_SHOP_SECRET"
	shopKeyVariable      = "RATCHET_SHOP_KEY"
	shopPublicVariable   = "RATCHET_SHOP_PUBLISHABLE_KEY"
)

func shopCommand() *cobra.Command {
	var addr, api string
	cmd := &cobra.Command{
		Use:   "shop",
		Short: "Run the demo's shop, which sells mugs through the API",
		Long: `Run the demo's shop, which sells mugs through the API and trusts only signed
webhooks. Only "ratchet demo" starts it; visitors find it under /shop at the API's
address.

  RATCHET_SHOP_DATABASE_URL     PostgreSQL; it uses the schema shop
  RATCHET_SHOP_SECRET           32 characters or more: signs carts, encrypts secrets
  RATCHET_SHOP_KEY              its secret API key
  RATCHET_SHOP_PUBLISHABLE_KEY  its publishable API key`,
		Example: "  ratchet demo",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !demonstrating() {
				return usagef("the shop runs only in the demo: start it with %s demo", program())
			}
			config, err := shopConfig(api)
			if err != nil {
				return err
			}
			l, err := net.Listen("tcp", addr)
			if err != nil {
				return fmt.Errorf("listen: %w", err)
			}
			defer l.Close()
			config.WebhookURL = "http://" + l.Addr().String() + shop.WebhookPath
			server, err := shop.New(cmd.Context(), config)
			if err != nil {
				return err
			}
			defer server.Close()
			config.Log.Info("the shop is open", "addr", l.Addr().String())
			return server.Serve(cmd.Context(), l)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", env("RATCHET_SHOP_ADDR", "127.0.0.1:8070"),
		"address to listen on (RATCHET_SHOP_ADDR)")
	cmd.Flags().StringVar(&api, "url", env("RATCHET_URL", "http://127.0.0.1:8080"), "URL of the API (RATCHET_URL)")
	return cmd
}

func shopConfig(api string) (c shop.Config, err error) {
	c = shop.Config{API: api, Log: logger()}
	if c.DatabaseURL, err = given().require(shopDatabaseVariable); err != nil {
		return c, err
	}
	text, err := given().require(shopSecretVariable)
	if err != nil {
		return c, err
	}
	if c.Secret, err = secret.New(text); err != nil {
		return c, fmt.Errorf("%s: %w", shopSecretVariable, err)
	}
	if c.Key, err = given().require(shopKeyVariable); err != nil {
		return c, err
	}
	c.Publishable, err = given().require(shopPublicVariable)
	return c, err
}

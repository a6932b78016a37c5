package main

import (
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
	"github.com/ratchet-pay/ratchet/internal/demo"
	"github.com/ratchet-pay/ratchet/internal/verify"
)

// This file connects what only the demo needs: its commands, its shop and its simulated
// acquirer. A fork deletes it together with them (docs/fork.md).
func init() {
	demonstration.commands = map[string][]func() *cobra.Command{
		"start": {demoCommand, labCommand, samplesCommand},
		"parts": {acquirerCommand, shopCommand},
	}
	demonstration.environ = demo.Environ
	demonstration.misused = func(err error) bool {
		var refusal *demo.Refusal
		return errors.As(err, &refusal)
	}
	demonstration.journal = func(pool *pgxpool.Pool) verify.Journal { return simulator.Records{DB: pool} }
	hints[shopDatabaseVariable] = "postgres://user:password@host:5432/ratchet"
	hints[shopSecretVariable] = "$(openssl rand -hex 32)"
	hints[shopKeyVariable] = "sk_test_…"
}

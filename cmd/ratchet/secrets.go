package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/process"
)

func secretsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secrets",
		Short: "Replace a root secret that is lost or has leaked",
		Long: `Replace a root secret that is lost or has leaked.

An installation runs under the secret of its first start. Processes and commands
that are given another one in RATCHET_SECRET refuse to work.`,
		Example: `  ratchet secrets replace --reason "a laptop was stolen"`,
		Args:    cobra.NoArgs,
		RunE:    help,
	}
	cmd.AddCommand(secretsReplaceCommand())
	return cmd
}

func secretsReplaceCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "replace",
		Short: "Make RATCHET_SECRET the installation's secret, while no process runs",
		Long: `Make RATCHET_SECRET the installation's secret. Stop all processes first.

What was derived from the old secret is lost: API keys, the signing secrets of webhook
endpoints, second factors and sessions of users, and secrets in stored responses. Card
fingerprints change. Retries of earlier requests are refused. ratchet verify cannot
check blocks of the audit trail's chain that were made before.

Calls to the acquirer that are under way keep their keys, so a request that is
unfinished charges no card twice. A request that was itself lost in a failover gets
another key when its client retries it: wait until clients have stopped to retry.

This command needs RATCHET_DATABASE_URL with the schema owner's login. The change and
its audit row are one transaction.`,
		Example: `  RATCHET_SECRET=$(openssl rand -hex 32) ratchet secrets replace --reason "a laptop was stolen"`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if reason == "" {
				return usagef("--reason is missing: it goes into the audit trail")
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
			if err := process.ReplaceSecret(cmd.Context(), pool, root, operator(), reason); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "replaced; start the processes with this secret, then create API keys"+
				" and roll the secrets of webhook endpoints")
			return nil
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit trail")
	return cmd
}

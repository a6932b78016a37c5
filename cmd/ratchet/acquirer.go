package main

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
	"github.com/ratchet-pay/ratchet/internal/process"
)

func acquirerCommand() *cobra.Command {
	var addr, metricsAddr string
	var c simulator.Config
	cmd := &cobra.Command{
		Use:   "acquirer",
		Short: "Run the simulated acquirer, which accepts test cards",
		Long: `Run the simulated acquirer, which accepts test cards. It represents another company
and has a separate database.

  RATCHET_ACQUIRER_DATABASE_URL  its PostgreSQL; it creates its schema
  RATCHET_ACQUIRER_SECRET        the secret that its clients send
  RATCHET_NOTIFICATION_SECRET    signs its notifications

It posts disputes, failed refunds and settlements to --notify-url until they are
acknowledged: some of them twice, and not always in order.

--fault is a list of faults, each with =probability or *times:
slow:<ms>, drop_before_acting, drop_after_acting, fail_before_acting,
fail_after_acting, forget_keys, wrong_amount, retire_key, late_notifications.`,
		Example: "  RATCHET_ACQUIRER_DATABASE_URL=postgres://… RATCHET_ACQUIRER_SECRET=… ratchet acquirer --fault " +
			"slow:200,drop_after_acting=0.1",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runAcquirer(cmd.Context(), c, addr, metricsAddr) },
	}
	cmd.Flags().StringVar(&addr, "addr", env("RATCHET_ACQUIRER_ADDR", "127.0.0.1:8090"),
		"address to listen on (RATCHET_ACQUIRER_ADDR)")
	metricsFlag(cmd, &metricsAddr)
	cmd.Flags().StringVar(&c.Fault, "fault", env("RATCHET_ACQUIRER_FAULT", ""),
		"faults to inject into every request (RATCHET_ACQUIRER_FAULT)")
	cmd.Flags().StringVar(&c.NotifyURL, "notify-url", env("RATCHET_ACQUIRER_NOTIFY_URL", ""),
		"URL for notifications; if empty, they are not sent (RATCHET_ACQUIRER_NOTIFY_URL)")
	cmd.Flags().DurationVar(&c.NotifyDelay, "notify-delay", envDuration("RATCHET_ACQUIRER_NOTIFY_DELAY", time.Second),
		"delay between a change and its notification (RATCHET_ACQUIRER_NOTIFY_DELAY)")
	cmd.Flags().DurationVar(&c.SettleEvery, "settle-every", envDuration("RATCHET_ACQUIRER_SETTLE_EVERY", 2*time.Second),
		"settlement interval, if --notify-url is set; 0: never (RATCHET_ACQUIRER_SETTLE_EVERY)")
	cmd.Flags().StringVar(&c.Certificate, "tls-certificate", env("RATCHET_ACQUIRER_TLS_CERTIFICATE", ""),
		"file with its TLS certificate; if empty, it speaks plain HTTP (RATCHET_ACQUIRER_TLS_CERTIFICATE)")
	cmd.Flags().StringVar(&c.Key, "tls-key", env("RATCHET_ACQUIRER_TLS_KEY", ""),
		"file with the key of --tls-certificate (RATCHET_ACQUIRER_TLS_KEY)")
	cmd.AddCommand(acquirerJournalCommand())
	return cmd
}

// runAcquirer runs the simulator until ctx ends. The secrets and the database's address come from the environment.
func runAcquirer(ctx context.Context, c simulator.Config, addr, metricsAddr string) error {
	var err error
	if c.DatabaseURL, err = given().require(acquirerDatabaseVariable); err != nil {
		return err
	}
	if c.Secret, err = given().require(acquirerSecretVariable); err != nil {
		return err
	}
	if c.NotifySecret, err = given().lookup(notificationSecretVariable); err != nil {
		return err
	}
	c.AllowFault, c.Log = demonstrating(), logger()
	metrics, err := metricsListener(metricsAddr)
	if err != nil {
		return err
	}
	if metrics != nil {
		defer process.ServeRuntime(metrics, c.Log)()
	}
	sim, err := simulator.New(ctx, c)
	if err != nil {
		return err
	}
	defer sim.Close()
	return sim.Run(ctx, addr)
}

func acquirerJournalCommand() *cobra.Command {
	var card, key string
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "Print what the acquirer did to each card, oldest first",
		Long: `Print what the acquirer did to each card, oldest first.

This is the acquirer's record, independent of Ratchet's tables. It needs
RATCHET_ACQUIRER_DATABASE_URL, or a running demo.`,
		Example: "  ratchet acquirer journal --card visa",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := operators()
			if err != nil {
				return err
			}
			url, err := s.require(acquirerDatabaseVariable)
			if err != nil {
				return err
			}
			conn, err := pgx.Connect(cmd.Context(), url)
			if err != nil {
				return err
			}
			defer conn.Close(cmd.Context())
			movements, err := simulator.Journal(cmd.Context(), conn)
			if err != nil {
				return err
			}
			wanted := slices.DeleteFunc(movements, func(m simulator.Movement) bool {
				return key != "" && m.Key != key || card != "" && m.Card != card
			})
			return simulator.PrintJournal(cmd.OutOrStdout(), wanted)
		},
	}
	cmd.Flags().StringVar(&card, "card", "", "only this card, by its name in the journal")
	cmd.Flags().StringVar(&key, "key", "", "only calls under this derived key (see: ratchet requests show)")
	return cmd
}

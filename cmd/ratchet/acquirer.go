package main

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
	"github.com/ratchet-pay/ratchet/internal/process"
)

func acquirerCommand() *cobra.Command {
	var addr, metricsAddr, trouble, notifyURL string
	var notifyDelay, settleEvery time.Duration
	cmd := &cobra.Command{
		Use:   "acquirer",
		Short: "Be the outside world: an acquirer with a database of its own, for test cards",
		Long: `Be the outside world: an acquirer with a database of its own, for test cards.

  RATCHET_ACQUIRER_DATABASE_URL  its own PostgreSQL; it makes its schema itself
  RATCHET_ACQUIRER_SECRET        what its clients have to present
  RATCHET_NOTIFICATION_SECRET    what it signs its notifications with

Disputes, failed refunds and settlements are posted to --notify-url until they are
acknowledged: some of them twice, and not always in order.

Trouble is a list of what goes wrong, each with =probability or *times:
slow:<ms>, drop_before_acting, drop_after_acting, fail_before_acting,
fail_after_acting, forget_keys, wrong_amount, spent_key.`,
		Example: "  RATCHET_ACQUIRER_DATABASE_URL=postgres://… RATCHET_ACQUIRER_SECRET=… ratchet acquirer --trouble slow:200,drop_after_acting=0.1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := given().require(acquirerDatabaseVariable)
			if err != nil {
				return err
			}
			secret, err := given().require(acquirerSecretVariable)
			if err != nil {
				return err
			}
			notifySecret, err := given().lookup(notificationSecretVariable)
			if err != nil {
				return err
			}
			log := logger()
			metrics, err := metricsListener(metricsAddr)
			if err != nil {
				return err
			}
			if metrics != nil {
				defer process.ServeRuntime(metrics, log)()
			}
			sim, err := simulator.New(cmd.Context(), simulator.Config{
				DatabaseURL: url, Secret: secret, AllowTrouble: demonstrating(), Trouble: trouble, NotifyURL: notifyURL, NotifySecret: notifySecret,
				NotifyDelay: notifyDelay, SettleEvery: settleEvery, Log: log})
			if err != nil {
				return err
			}
			defer sim.Close()
			return sim.Run(cmd.Context(), addr)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", env("RATCHET_ACQUIRER_ADDR", "127.0.0.1:8090"), "address to listen on (RATCHET_ACQUIRER_ADDR)")
	metricsFlag(cmd, &metricsAddr)
	cmd.Flags().StringVar(&trouble, "trouble", env("RATCHET_ACQUIRER_TROUBLE", ""), "what goes wrong with every request (RATCHET_ACQUIRER_TROUBLE)")
	cmd.Flags().StringVar(&notifyURL, "notify-url", env("RATCHET_ACQUIRER_NOTIFY_URL", ""), "where notifications are posted; empty keeps them (RATCHET_ACQUIRER_NOTIFY_URL)")
	cmd.Flags().DurationVar(&notifyDelay, "notify-delay", envDuration("RATCHET_ACQUIRER_NOTIFY_DELAY", time.Second), "how long after it happened a thing is told (RATCHET_ACQUIRER_NOTIFY_DELAY)")
	cmd.Flags().DurationVar(&settleEvery, "settle-every", envDuration("RATCHET_ACQUIRER_SETTLE_EVERY", 2*time.Second), "how often what is owed is paid, where there is a --notify-url to tell it to; 0 is never (RATCHET_ACQUIRER_SETTLE_EVERY)")
	cmd.AddCommand(acquirerJournalCommand())
	return cmd
}

func acquirerJournalCommand() *cobra.Command {
	var card, key string
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "Print what the acquirer did to which card, oldest first",
		Long: `Print what the acquirer did to which card, oldest first.

This is the other side's own record: our tables play no part in it. It needs
RATCHET_ACQUIRER_DATABASE_URL, or a demo that is running.`,
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
	cmd.Flags().StringVar(&card, "card", "", "only this card, as the journal names it")
	cmd.Flags().StringVar(&key, "key", "", "only what was asked under this derived key (see: ratchet requests show)")
	return cmd
}

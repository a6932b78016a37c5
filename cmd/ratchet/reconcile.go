package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/payout"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/verify"
)

func reconcileCommand() *cobra.Command {
	var acquirerURL, date string
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Compare the acquirer's settlement file of a day with the books",
		Long: `Compare the acquirer's settlement file of a day with the books.

Lists each difference and stores it in the table settlement_differences. It can be
run again at any time. The worker does it every hour for the previous day.

  RATCHET_DATABASE_URL     a login that may read everything and write differences
  RATCHET_ACQUIRER_SECRET  the credential for the acquirer

or a running demo. Exit code 0: the two agree. 1: they differ; the differences are
listed.`,
		Example: "  ratchet reconcile --date 2026-11-20",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			day := time.Now().UTC().AddDate(0, 0, -1)
			if date != "" {
				var err error
				if day, err = time.Parse(time.DateOnly, date); err != nil {
					return usagef("--date %s is not a date like 2026-11-20", date)
				}
			}
			s, err := operators()
			if err != nil {
				return err
			}
			url, err := s.databaseURL()
			if err != nil {
				return err
			}
			secret, err := s.require(acquirerSecretVariable)
			if err != nil {
				return err
			}
			there, err := s.lookup("RATCHET_ACQUIRER_URL")
			if err != nil {
				return err
			}
			if there != "" && !cmd.Flags().Changed("acquirer-url") {
				acquirerURL = there
			}
			pool, err := postgres.Open(cmd.Context(), postgres.Config{URL: url, MaxConns: 1, ApplicationName: "ratchet reconcile"})
			if err != nil {
				return err
			}
			defer pool.Close()
			client := acquirer.NewClient(acquirer.Config{URL: acquirerURL, Secret: secret})
			defer client.Close()
			found, err := payout.Reconcile(cmd.Context(), pool, client, day)
			if err != nil {
				return err
			}
			for _, d := range found {
				fmt.Fprintf(cmd.OutOrStdout(), "✗ %s  %s  %s\n", d.Reference, d.AccountID, d.Wrong)
			}
			if len(found) > 0 {
				return &verdict{verify.Violated}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "✓ %s: the acquirer's settlement file and the books agree\n", day.Format(time.DateOnly))
			return nil
		},
	}
	acquirerFlag(cmd, &acquirerURL)
	cmd.Flags().StringVar(&date, "date", "", "the day in UTC, such as 2026-11-20; the default is yesterday")
	return cmd
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/payout"
)

func payoutsCommand() *cobra.Command {
	var account, schedule, days string
	cmd := &cobra.Command{
		Use:   "payouts",
		Short: "Set an account's payout schedule",
		Long: `Set an account's payout schedule, in test mode and in live mode.

With "daily", "weekly" and "monthly" the worker pays out the available balance in every
currency: once a day, on some days of the week, or on some days of the month. In a shorter
month, the 29th to 31st are its last day. With "manual" the merchant creates payouts. A
merchant can change one mode's schedule in the dashboard, or with the API.`,
		Example: `  ratchet payouts --account acct_shop --schedule daily
  ratchet payouts --account acct_shop --schedule weekly --days monday,thursday
  ratchet payouts --account acct_shop --schedule monthly --days 1,15`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if account == "" || schedule == "" {
				return usagef("--account and --schedule are required")
			}
			parsed, err := payout.ParseSchedule(schedule, days)
			if err != nil {
				return usagef("%s", err)
			}
			pool, _, err := operate(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer pool.Close()
			return payout.SetSchedule(cmd.Context(), pool, operator(), account, parsed)
		},
	}
	cmd.Flags().StringVar(&account, "account", "", "ID of the account")
	cmd.Flags().StringVar(&schedule, "schedule", "", "manual, daily, weekly or monthly")
	cmd.Flags().StringVar(&days, "days", "", "weekly: names of days, monthly: days of the month, separated by commas")
	return cmd
}

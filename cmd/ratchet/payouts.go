package main

import (
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

const setSchedule = `UPDATE accounts SET payout_schedule = @schedule WHERE id = @id`

func payoutsCommand() *cobra.Command {
	var account, schedule string
	cmd := &cobra.Command{
		Use:   "payouts",
		Short: "Set an account's payout schedule",
		Long: `Set an account's payout schedule.

With "daily" the worker pays out the available balance once a day, in every currency
and mode. With "manual" the merchant creates payouts.`,
		Example: "  ratchet payouts --account acct_shop --schedule daily",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if account == "" || schedule != "daily" && schedule != "manual" {
				return usagef("--account and --schedule (daily or manual) are required")
			}
			pool, _, err := operate(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer pool.Close()
			return pgx.BeginFunc(cmd.Context(), pool, func(tx pgx.Tx) error {
				tag, err := tx.Exec(cmd.Context(), setSchedule, postgres.Args{"id": account, "schedule": schedule})
				if err != nil {
					return fmt.Errorf("set the schedule: %w", err)
				}
				if tag.RowsAffected() == 0 {
					return fmt.Errorf("account %s not found", account)
				}
				return audit.RecordOperator(cmd.Context(), tx, audit.OperatorAct{
					User:      operator(),
					Operation: "payouts.schedule",
					AccountID: account,
					ObjectID:  account,
					Details:   map[string]string{"schedule": schedule},
				})
			})
		},
	}
	cmd.Flags().StringVar(&account, "account", "", "ID of the account")
	cmd.Flags().StringVar(&schedule, "schedule", "", "daily or manual")
	return cmd
}

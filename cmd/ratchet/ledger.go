package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/money"
)

func ledgerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Correct the books with a reversal or an adjustment",
		Long: `Correct the books with a reversal or an adjustment.

The ledger is append-only: a mistake is corrected by another posting, and both stay.
No money moves, neither on a card nor at a bank. The posting and its row in the audit
trail are one transaction. These commands need RATCHET_DATABASE_URL, or a running demo.`,
		Example: "  ratchet ledger reverse txn_0VbTq1s3Zk… --reason \"booked for the wrong merchant\"",
		Args:    cobra.NoArgs,
		RunE:    help,
	}
	cmd.AddCommand(ledgerReverseCommand(), ledgerAdjustCommand())
	return cmd
}

func ledgerReverseCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "reverse POSTING",
		Short: "Book the mirror image of a posting, once",
		Long: `Book the mirror image of a posting, once. The balances are as if it had not been booked.

It counts at once, like a refund, also if the posting is still pending. The charge,
refund or payout that the posting belongs to does not change, and no money moves: to
return a payment, refund it. A reversal cannot be reversed.`,
		Example: "  ratchet ledger reverse txn_0VbTq1s3Zk… --reason \"booked for the wrong merchant\"",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason == "" {
				return usagef("--reason is missing: why is the posting wrong?")
			}
			details := map[string]any{"reverses": args[0], "reason": reason}
			booked, err := correct(cmd, "ledger.reverse", details, func(
				tx pgx.Tx, act string,
			) (ledger.Correction, error) {
				return ledger.Reverse(cmd.Context(), tx, args[0], act)
			})
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%s reverses %s\n", booked.ID, args[0])
			}
			return err
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit trail")
	return cmd
}

func ledgerAdjustCommand() *cobra.Command {
	var a ledger.Adjustment
	var debit, credit, reason string
	names := accountNames()
	cmd := &cobra.Command{
		Use:   "adjust",
		Short: "Move an amount from one account of a merchant's book to another, once",
		Long: `Move an amount from one account of a merchant's book to another, once. It counts at once.

To credit the merchant, credit merchant_balance; to charge them, debit it. --reference
is your name for the adjustment, such as a ticket. A second one with the same
reference is refused, so the command can be repeated after a crash.

The accounts are ` + strings.Join(names, ", ") + `.`,
		Example: `  ratchet ledger adjust --account acct_shop --currency usd --amount 1500 --debit suspense \
    --credit merchant_balance --reference incident-4711 --reason "lost in the migration"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.Debit, a.Credit = ledger.Account(debit), ledger.Account(credit)
			if err := checkAdjustment(a, reason); err != nil {
				return err
			}
			details := map[string]any{"reference": a.Reference, "debit": debit, "credit": credit, "amount": a.Amount,
				"currency": a.Currency, "reason": reason}
			booked, err := correct(cmd, "ledger.adjust", details, func(
				tx pgx.Tx, act string,
			) (ledger.Correction, error) {
				return ledger.Adjust(cmd.Context(), tx, a, act)
			})
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%s moves %s from %s to %s\n", booked.ID,
					money.Format(a.Amount, a.Currency), credit, debit)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.AccountID, "account", "", "ID of the merchant's account")
	f.BoolVar(&a.Livemode, "live", false, "the book of live mode; the default is test mode")
	f.StringVar(&a.Currency, "currency", "", "such as usd")
	f.Int64Var(&a.Amount, "amount", 0, "in minor units: 1500 is 15.00 usd")
	f.StringVar(&debit, "debit", "", "the account that is debited")
	f.StringVar(&credit, "credit", "", "the account that is credited")
	f.StringVar(&a.Reference, "reference", "", "your name for it, such as a ticket")
	f.StringVar(&reason, "reason", "", "why, for the audit trail")
	return cmd
}

func accountNames() (names []string) {
	for _, account := range ledger.Accounts {
		names = append(names, string(account))
	}
	return names
}

// referenceShape keeps a reference apart from the IDs of objects, which are sources, too.
var referenceShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$`)

func checkAdjustment(a ledger.Adjustment, reason string) error {
	for _, account := range []ledger.Account{a.Debit, a.Credit} {
		if !slices.Contains(ledger.Accounts, account) {
			return usagef("--debit and --credit must each be one of %s, not %q", strings.Join(accountNames(), ", "),
				account)
		}
	}
	switch {
	case a.Debit == a.Credit:
		return usagef("--debit and --credit must be two accounts, not %s twice", a.Debit)
	case a.AccountID == "":
		return usagef("--account is missing")
	case a.Currency == "":
		return usagef("--currency is missing")
	case a.Amount <= 0:
		return usagef("--amount must be positive, in minor units: exchange --debit and --credit instead")
	case !referenceShape.MatchString(a.Reference):
		return usagef("--reference must be 1 to 100 letters, digits, dots and hyphens, not %q", a.Reference)
	case reason == "":
		return usagef("--reason is missing: why is it needed?")
	}
	return nil
}

// correct books a posting and its audit row in one transaction. The audit row vouches for
// the posting: verify looks for it.
func correct(cmd *cobra.Command, operation string, details map[string]any,
	book func(tx pgx.Tx, act string) (ledger.Correction, error)) (booked ledger.Correction, err error) {
	ctx := cmd.Context()
	pool, _, err := operate(ctx, workerRole)
	if err != nil {
		return booked, err
	}
	defer pool.Close()
	act := id.New("op", time.Now())
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
		booked, err = book(tx, act)
		if err != nil {
			return err
		}
		return audit.RecordOperator(ctx, tx, audit.OperatorAct{
			User:      operator(),
			Operation: operation,
			AccountID: booked.AccountID,
			Livemode:  booked.Livemode,
			RequestID: act,
			ObjectID:  booked.ID,
			Details:   details,
		})
	})
	return booked, err
}

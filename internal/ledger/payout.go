package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

const takeOut = `
	SELECT ledger_try_pay_out(b.id, @id, @source, @amount, @request_id)
	FROM ledger_books b
	WHERE b.account_id = @account_id AND b.livemode = @livemode AND b.currency = @currency`

// DebitAvailable moves amount from what is available to what is on its way to the bank,
// under the lock of the book, and says whether there was enough. id is the
// posting's, source the payout's. Unlike Post it acts at once: the answer is
// true until the transaction ends.
func DebitAvailable(
	ctx context.Context, tx *phase.Tx, id, source, currency string, amount int64,
) (enough bool, err error) {
	args := takeArgs(tx, id, source, currency)
	args["amount"] = amount
	rows, err := tx.Query(ctx, takeOut, args)
	if err != nil {
		return false, fmt.Errorf("debit %d %s: %w", amount, currency, err)
	}
	enough, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil // no book, so no money
	}
	return enough, err
}

const sweep = `
	SELECT coalesce(ledger_sweep(b.id, @id, @source, @request_id), 0)
	FROM ledger_books b
	WHERE b.account_id = @account_id AND b.livemode = @livemode AND b.currency = @currency`

// Sweep takes out all that is available, as TakeOut does, notes what it consists
// of, and returns how much it is: 0 where there is nothing, and then nothing is
// posted.
func Sweep(ctx context.Context, tx *phase.Tx, id, source, currency string) (amount int64, err error) {
	rows, err := tx.Query(ctx, sweep, takeArgs(tx, id, source, currency))
	if err != nil {
		return 0, fmt.Errorf("sweep %s: %w", currency, err)
	}
	amount, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return amount, err
}

func takeArgs(tx *phase.Tx, id, source, currency string) postgres.Args {
	return postgres.Args{
		"account_id": tx.AccountID,
		"livemode":   tx.Livemode,
		"currency":   currency,
		"id":         id,
		"source":     source,
		"request_id": tx.RequestID,
	}
}

// PayoutPaid books that what was on its way has left our bank.
func PayoutPaid(id, source, currency string, amount int64, now time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: "payout_paid", AvailableOn: now, Legs: []Leg{
		{Gross, PayoutsInTransit, BankCash, amount},
	}}
}

// PayoutReturn books that what was on its way comes back to the merchant, available at
// once. kind is "payout_failure" or "payout_cancel".
func PayoutReturn(id, source, kind, currency string, amount int64, now time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: kind, AvailableOn: now, Legs: []Leg{
		{Gross, PayoutsInTransit, MerchantBalance, amount},
	}}
}

// PayoutReversal books that a payout is fetched back from the merchant's bank: available
// when it has arrived.
func PayoutReversal(id, source, currency string, amount int64, availableOn time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: "payout", AvailableOn: availableOn, Legs: []Leg{
		{Gross, PayoutsInTransit, MerchantBalance, amount},
	}}
}

// PayoutReversalPaid books that what was fetched back has reached our bank.
func PayoutReversalPaid(id, source, currency string, amount int64, now time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: "payout_paid", AvailableOn: now, Legs: []Leg{
		{Gross, BankCash, PayoutsInTransit, amount},
	}}
}

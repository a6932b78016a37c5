package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Why an operator's posting is not booked.
var (
	ErrPostingNotFound = errors.New("posting not found")
	ErrReversed        = errors.New("already reversed")
	ErrIsReversal      = errors.New("is a reversal: post an adjustment instead")
	ErrBookNotFound    = errors.New("book not found")
	ErrAdjusted        = errors.New("adjustment already exists")
)

// Correction is a posting that an operator makes to correct another one.
type Correction struct {
	ID        string // txn_…
	AccountID string
	Livemode  bool
	Currency  string
}

// A posting is looked for in each book by its primary key: there is no index of IDs
// alone. Without OFFSET 0 PostgreSQL may read that of all books instead.
const selectPosting = `
	SELECT p.book_id, p.kind, b.account_id, b.livemode, b.currency,
	       EXISTS (SELECT FROM ledger_postings r WHERE r.book_id = p.book_id AND r.reverses = p.id) AS reversed
	FROM ledger_books b
	CROSS JOIN LATERAL (SELECT * FROM ledger_postings WHERE book_id = b.id AND id = @id OFFSET 0) p`

type reversible struct {
	BookID    int64
	Kind      string
	AccountID string
	Livemode  bool
	Currency  string
	Reversed  bool
}

const insertReversal = `
	INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, available_on,
		created_at, reverses, request_id, description)
	SELECT book_id, @new_id, id, 'reversal', purposes, credits, debits, amounts, now(), now(), id, @act, @description
	FROM ledger_postings WHERE book_id = @book_id AND id = @id`

// Reverse books the mirror image of a posting. Like a refund, it counts at once. act
// is the ID of the operator's audit row, which belongs into the same transaction.
//
// Two reversals at once do not both commit: the second one violates a constraint.
func Reverse(ctx context.Context, tx pgx.Tx, posting, act string) (Correction, error) {
	rows, err := tx.Query(ctx, selectPosting, postgres.Args{"id": posting})
	if err != nil {
		return Correction{}, fmt.Errorf("read posting %s: %w", posting, err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[reversible])
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = ErrPostingNotFound
	case err != nil:
	case found.Reversed:
		err = ErrReversed
	case found.Kind == "reversal":
		err = ErrIsReversal
	}
	if err != nil {
		return Correction{}, fmt.Errorf("posting %s: %w", posting, err)
	}
	c := Correction{id.New("txn", time.Now()), found.AccountID, found.Livemode, found.Currency}
	_, err = tx.Exec(ctx, insertReversal, postgres.Args{"book_id": found.BookID, "id": posting, "new_id": c.ID,
		"act": act, "description": "Reversal of " + posting})
	// Its source is the posting, too: either constraint may be the one that refuses.
	if postgres.IsUniqueViolation(err, "ledger_postings_one_reversal_per_posting") ||
		postgres.IsUniqueViolation(err, "ledger_postings_source_is_posted_once") {
		err = ErrReversed
	}
	if err != nil {
		return Correction{}, fmt.Errorf("reverse posting %s: %w", posting, err)
	}
	return c, nil
}

// Adjustment moves an amount from one account of a book to another.
type Adjustment struct {
	AccountID     string
	Livemode      bool
	Currency      string
	Reference     string // the operator's name for it: it is booked once
	Debit, Credit Account
	Amount        int64 // minor units, positive
}

const insertAdjustment = `
	INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, available_on,
		created_at, request_id, description)
	SELECT id, @id, @source, 'adjustment', '{gross}', ARRAY[@debit::ledger_account], ARRAY[@credit::ledger_account],
	       ARRAY[@amount::bigint], now(), now(), @act, @description
	FROM ledger_books WHERE account_id = @account_id AND livemode = @livemode AND currency = @currency`

// Adjust books an adjustment. It counts at once. act is the ID of the operator's audit
// row, which belongs into the same transaction.
func Adjust(ctx context.Context, tx pgx.Tx, a Adjustment, act string) (Correction, error) {
	c := Correction{id.New("txn", time.Now()), a.AccountID, a.Livemode, a.Currency}
	done, err := tx.Exec(ctx, insertAdjustment, postgres.Args{"id": c.ID, "source": a.Reference,
		"debit": string(a.Debit), "credit": string(a.Credit), "amount": a.Amount, "act": act,
		"description": "Adjustment " + a.Reference,
		"account_id":  a.AccountID, "livemode": a.Livemode, "currency": a.Currency})
	switch {
	case postgres.IsUniqueViolation(err, "ledger_postings_source_is_posted_once"):
		err = ErrAdjusted
	case err == nil && done.RowsAffected() == 0:
		err = ErrBookNotFound
	}
	if err != nil {
		return Correction{}, fmt.Errorf("adjustment %q of %s in %s: %w", a.Reference, a.AccountID, a.Currency, err)
	}
	return c, nil
}

// Accounts is the chart of accounts.
var Accounts = []Account{MerchantBalance, PayoutsInTransit, FeeRevenue, DisputeFeeRevenue, "rounding",
	ProcessorReceivable, BankCash, "suspense"}

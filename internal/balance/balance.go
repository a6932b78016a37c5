// Package balance shows the ledger to its merchant: the balance, and a balance
// transaction for each posting.
package balance

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/account"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{Object: "balance"}, resource.Kind{
		Object: "balance_transaction",
		Prefix: "txn",
		Load:   resource.LoadWith[BalanceTransaction](balanceTransactionsByID),
		Fields: map[string][]string{"source": {"charge", "dispute", "payout", "refund"}},
	})
}

// BalanceTransaction is how a posting looks to the merchant.
type BalanceTransaction struct {
	ID          string
	Currency    string
	Source      string
	Kind        string
	Description *string
	AvailableOn time.Time
	CreatedAt   time.Time
	Amount      int64
	Fee         int64
	Available   bool
}

// BalanceTransactionObject is a balance transaction on the wire.
type BalanceTransactionObject struct {
	ID                string      `json:"id"`
	Object            string      `json:"object"`
	Amount            int64       `json:"amount"`
	AvailableOn       int64       `json:"available_on"`
	BalanceType       string      `json:"balance_type"`
	Created           int64       `json:"created"`
	Currency          string      `json:"currency"`
	Description       *string     `json:"description"`
	ExchangeRate      *float64    `json:"exchange_rate"`
	Fee               int64       `json:"fee"`
	FeeDetails        []feeDetail `json:"fee_details"`
	Net               int64       `json:"net"`
	ReportingCategory string      `json:"reporting_category"`
	Source            string      `json:"source"`
	Status            string      `json:"status"`
	Type              string      `json:"type"`
}

type feeDetail struct {
	Amount      int64   `json:"amount"`
	Application *string `json:"application"`
	Currency    string  `json:"currency"`
	Description string  `json:"description"`
	Type        string  `json:"type"`
}

// Render is the balance transaction as the API's JSON object. Amounts are in the currency's smallest unit.
func (b *BalanceTransaction) Render() any {
	o := BalanceTransactionObject{
		ID:                b.ID,
		Object:            "balance_transaction",
		Amount:            b.Amount,
		AvailableOn:       resource.Unix(b.AvailableOn),
		BalanceType:       "payments",
		Created:           resource.Unix(b.CreatedAt),
		Currency:          b.Currency,
		Description:       b.Description,
		Fee:               b.Fee,
		FeeDetails:        []feeDetail{},
		Net:               b.Amount - b.Fee,
		ReportingCategory: reportingCategory(b.Kind),
		Source:            b.Source,
		Status:            "pending",
		Type:              b.Kind,
	}
	feeFor := "Stripe processing fees"
	switch b.Kind {
	case "reversal":
		o.Type = "adjustment"
	case "dispute", "dispute_reversal":
		o.Type, feeFor = "adjustment", "Dispute fee"
	}
	if b.Fee != 0 {
		o.FeeDetails = append(o.FeeDetails,
			feeDetail{Amount: b.Fee, Currency: b.Currency, Description: feeFor, Type: "stripe_fee"})
	}
	if b.Available {
		o.Status = "available"
	}
	return o
}

// reportingCategory is how accountants group a kind.
func reportingCategory(kind string) string {
	if kind == "payout_failure" || kind == "payout_cancel" {
		return "payout_reversal"
	}
	if kind == "adjustment" || kind == "reversal" {
		return "other_adjustment"
	}
	return kind
}

// BalanceTransactionOf is how a posting will look that tx has just queued.
func BalanceTransactionOf(tx *phase.Tx, p ledger.Posting) *BalanceTransaction {
	return &BalanceTransaction{
		ID:          p.ID,
		Currency:    p.Currency,
		Source:      p.Source,
		Kind:        p.Kind,
		Description: p.Description,
		AvailableOn: p.AvailableOn,
		CreatedAt:   tx.Now(),
		Amount:      p.Gross(),
		Fee:         p.Fee(),
		Available:   !p.AvailableOn.After(apirequest.AccountNow(tx)),
	}
}

const selectBalanceTransactions = `
	SELECT id, currency, source, kind, description, available_on, created_at, amount, fee,
	       available_on <= account_time(account_id, livemode) AS available
	FROM balance_transactions
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	balanceTransactionByID  = selectBalanceTransactions + ` AND id = @id`
	balanceTransactionsByID = selectBalanceTransactions + ` AND id = ANY (@ids::text[])`

	balanceTransactionFilters = `
		 AND (@type::text IS NULL
		     OR CASE WHEN kind IN ('dispute', 'dispute_reversal', 'reversal') THEN 'adjustment' ELSE kind
		     END = @type)
		AND (@source::text IS NULL OR source = @source) AND (@currency::text IS NULL OR currency = @currency)
		AND (@payout::text IS NULL OR EXISTS (
			SELECT FROM ledger_swept s
			WHERE s.payout = @payout AND s.book_id = k.id AND s.posting_id = balance_transactions.id))`
	// A page is taken of each book, whose index has its order, and then of those: a
	// view of all books at once is sorted whole before the first row is known.
	listBalanceTransactions = `SELECT t.* FROM ` + ofEachBook + selectBalanceTransactions + ` AND book_id = k.id` +
		balanceTransactionFilters + resource.NewestFirst +
		ofTheirAccount + ` ORDER BY id DESC LIMIT @limit`
	listBalanceTransactionsBackwards = `SELECT t.* FROM ` + ofEachBook +
		selectBalanceTransactions + ` AND book_id = k.id` + balanceTransactionFilters + resource.OldestFirst +
		ofTheirAccount + ` ORDER BY id LIMIT @limit`

	ofEachBook     = `ledger_books k CROSS JOIN LATERAL (`
	ofTheirAccount = `) AS t WHERE k.account_id = @account_id AND k.livemode = @livemode`
)

// RetrieveBalanceTransaction answers GET /v1/balance_transactions/{id}.
func RetrieveBalanceTransaction(
	ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve,
) (any, error) {
	found, err := resource.Get[BalanceTransaction](ctx, db, balanceTransactionByID, v, in.ID)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, apierror.NotFound("balance transaction", "id", in.ID)
	}
	return resource.Expand(ctx, db, v, in.Expand, found.Render())
}

// ListBalanceTransactionsParams are the parameters of GET /v1/balance_transactions.
type ListBalanceTransactionsParams struct {
	resource.List
	Type     *string `form:"type"`
	Source   *string `form:"source"`
	Currency *string `form:"currency"`
	Payout   *string `form:"payout"`
}

// filteredPayout is what the filter by payout has to know of it.
type filteredPayout struct{ Automatic bool }

const payoutOfFilter = `
	SELECT automatic_on IS NOT NULL AS automatic
	FROM payouts
	WHERE account_id = @account_id AND livemode = @livemode AND id = @id`

// ListBalanceTransactions answers GET /v1/balance_transactions. Only an automatic
// payout consists of certain movements; one that was asked for is just an amount.
func ListBalanceTransactions(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListBalanceTransactionsParams,
) (any, error) {
	if in.Payout != nil {
		payout, err := resource.Get[filteredPayout](ctx, db, payoutOfFilter, v, *in.Payout)
		switch {
		case err != nil:
			return nil, err
		case payout == nil:
			return nil, apierror.NoSuch("payout", "payout", *in.Payout)
		case !payout.Automatic:
			return nil,
				apierror.Invalid("payout",
					"Balance transaction history can only be filtered on automatic transfers, not manual.")
		}
	}
	return resource.ListPage[BalanceTransaction](ctx, db, v, in.List, resource.Listing{
		URL: "/v1/balance_transactions", Object: "balance transaction", ByID: balanceTransactionByID,
		Newest: listBalanceTransactions, Oldest: listBalanceTransactionsBackwards, Prefix: "txn",
		Filters: pgx.StrictNamedArgs{
			"type":     in.Type,
			"source":   in.Source,
			"currency": resource.LowerCase(in.Currency),
			"payout":   in.Payout,
		},
	})
}

// BalanceObject is the balance on the wire.
type BalanceObject struct {
	Object    string          `json:"object"`
	Available []balanceAmount `json:"available"`
	Livemode  bool            `json:"livemode"`
	Pending   []balanceAmount `json:"pending"`
}

type balanceAmount struct {
	Amount      int64       `json:"amount"`
	Currency    string      `json:"currency"`
	SourceTypes sourceTypes `json:"source_types"`
}

type sourceTypes struct {
	Card int64 `json:"card"`
}

// Pending and available are two halves of one sum, split by time: no job moves
// money from the one to the other.
const selectBalance = `
	WITH t AS MATERIALIZED (SELECT account_time(@account_id, @livemode) AS now) -- one look at the clock for all books
	SELECT b.currency, m.available, m.pending
	FROM ledger_books b CROSS JOIN t CROSS JOIN LATERAL ledger_balance(b.id, t.now) m
	WHERE b.account_id = @account_id AND b.livemode = @livemode
	ORDER BY b.currency`

// RetrieveBalanceParams are the parameters of GET /v1/balance.
type RetrieveBalanceParams struct {
	Expand form.Expand `form:"expand"`
}

// RetrieveBalance answers GET /v1/balance: what the merchant can have paid out
// now, and what is still pending, per currency.
func RetrieveBalance(
	ctx context.Context, db phase.Reader, v resource.Principal, in RetrieveBalanceParams,
) (any, error) {
	rows, err := db.Query(ctx, selectBalance, v.Args())
	if err != nil {
		return nil, fmt.Errorf("read balance: %w", err)
	}
	type sums struct {
		Currency           string
		Available, Pending int64
	}
	books, err := pgx.CollectRows(rows, pgx.RowToStructByName[sums])
	if err != nil {
		return nil, fmt.Errorf("read balance: %w", err)
	}
	if len(books) == 0 {
		account, err := resource.QueryOne[account.Account](ctx, db, account.AccountByID,
			pgx.StrictNamedArgs{"id": v.AccountID})
		if err != nil {
			return nil, err
		}
		books = append(books, sums{Currency: account.DefaultCurrency})
	}
	balance := BalanceObject{Object: "balance", Livemode: v.Livemode}
	for _, b := range books {
		balance.Available = append(balance.Available, balanceAmount{b.Available, b.Currency, sourceTypes{b.Available}})
		balance.Pending = append(balance.Pending, balanceAmount{b.Pending, b.Currency, sourceTypes{b.Pending}})
	}
	return resource.Expand(ctx, db, v, in.Expand, balance)
}

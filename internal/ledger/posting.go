// Package ledger books money: double entry, append-only, integers in minor
// units. It knows accounts, postings and entries and nothing of Stripe.
//
// It is the second line of defense. No matter what its callers ask for, the schema
// refuses to book the same source twice, to commit a posting that does not
// balance, to mix merchants or currencies, to refund more than was taken, and to
// change anything that has been booked. A mistake is corrected by a reversal.
package ledger

import (
	"strconv"
	"time"

	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Account is a place money can be in a book. The chart of accounts is a type of
// the database, so a typing error is refused there.
type Account string

// The chart of accounts, as far as it is used.
const (
	MerchantBalance     Account = "merchant_balance"     // what we owe the merchant
	ProcessorReceivable Account = "processor_receivable" // what the acquirer owes us
	FeeRevenue          Account = "fee_revenue"          // what we earned
	PayoutsInTransit    Account = "payouts_in_transit"   // what we owe the merchant and have sent to their bank
	DisputeFeeRevenue   Account = "dispute_fee_revenue"  // what disputes cost those who had them
	BankCash            Account = "bank_cash"            // what we have: the acquirer has paid it
)

// Purpose says what a leg is for.
type Purpose string

// The purposes a leg can have here.
const (
	Gross Purpose = "gross"
	Fee   Purpose = "stripe_fee"
)

// Leg is one movement: amount, in minor units and positive, is debited to one
// account and credited to the other. A leg balances by being one row.
type Leg struct {
	Purpose Purpose
	Debit   Account
	Credit  Account
	Amount  int64
}

// Posting is a set of legs that happen together or not at all. (Source, Kind) is
// booked once: a second attempt fails in the database, at any time and from
// any process.
type Posting struct {
	ID          string // txn_…
	Currency    string
	Source      string // id of what caused it
	Kind        string // "charge", "refund", …
	AvailableOn time.Time
	Description *string
	Legs        []Leg
}

// Sale books a payment: gross from the acquirer to the merchant, fee from the
// merchant to us, both in minor units. Gross and fee are pending until availableOn.
func Sale(id, source, currency string, gross, fee int64, availableOn time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: "charge", AvailableOn: availableOn, Legs: []Leg{
		{Gross, ProcessorReceivable, MerchantBalance, gross},
		{Fee, MerchantBalance, FeeRevenue, fee},
	}}
}

// Refund books a refund. It counts at once, may take the balance below zero,
// and the fee of the sale stays with us.
func Refund(id, source, currency string, amount int64, now time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: "refund", AvailableOn: now, Legs: []Leg{
		{Gross, MerchantBalance, ProcessorReceivable, amount},
	}}
}

// RefundFailure books that a refund failed after it was booked: the money is the
// merchant's again.
func RefundFailure(id, source, currency string, amount int64, now time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: "refund_failure", AvailableOn: now, Legs: []Leg{
		{Gross, ProcessorReceivable, MerchantBalance, amount},
	}}
}

// DisputeWithdrawal books that a cardholder took their money back, and the fee for it.
func DisputeWithdrawal(id, source, currency string, amount, fee int64, now time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: "dispute", AvailableOn: now, Legs: []Leg{
		{Gross, MerchantBalance, ProcessorReceivable, amount},
		{Fee, MerchantBalance, DisputeFeeRevenue, fee},
	}}
}

// DisputeReinstatement books the opposite of a Withdraw: the dispute was won.
func DisputeReinstatement(id, source, currency string, amount, fee int64, now time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: "dispute_reversal", AvailableOn: now, Legs: []Leg{
		{Gross, ProcessorReceivable, MerchantBalance, amount},
		{Fee, DisputeFeeRevenue, MerchantBalance, fee},
	}}
}

// Settlement books a part of a settlement batch: what the acquirer paid of what it
// owed, and what it deducted. Each is a separate leg, because their difference may
// be zero; at least one of them is positive.
func Settlement(id, source, currency string, paid, taken int64, now time.Time) Posting {
	p := Posting{ID: id, Currency: currency, Source: source, Kind: "settlement", AvailableOn: now}
	if paid > 0 {
		p.Legs = append(p.Legs, Leg{Gross, BankCash, ProcessorReceivable, paid})
	}
	if taken > 0 {
		p.Legs = append(p.Legs, Leg{Gross, ProcessorReceivable, BankCash, taken})
	}
	return p
}

// Gross is what the posting moves into the merchant's balance, before the fee;
// negative when it takes money out.
func (p Posting) Gross() int64 { return p.sum(Gross) }

// Fee is what the posting costs the merchant.
func (p Posting) Fee() int64 { return -p.sum(Fee) }

func (p Posting) sum(purpose Purpose) int64 {
	var sum int64
	for _, leg := range p.Legs {
		switch {
		case leg.Purpose != purpose:
		case leg.Credit == MerchantBalance:
			sum += leg.Amount
		case leg.Debit == MerchantBalance:
			sum -= leg.Amount
		}
	}
	return sum
}

// The first posting in a currency opens the book. Of two first ones at once, one
// finds neither the other's book nor opens its own: it fails, and runs again.
const insertPostings = `
	WITH booked AS (
		SELECT * FROM unnest(@account_id::text[], @livemode::boolean[], @currency::text[], @id::text[], @source::text[],
			@kind::text[], @purposes::text[], @debits::text[], @credits::text[], @amounts::text[],
			@available_on::timestamptz[], @created_at::timestamptz[], @request_id::text[], @description::text[])
			AS m (account_id, livemode, currency, id, source, kind, purposes, debits, credits, amounts, available_on,
			    created_at, request_id, description)
	), book AS (
		SELECT DISTINCT account_id, livemode, currency FROM booked
	), known AS (
		SELECT b.id, b.account_id, b.livemode, b.currency FROM book JOIN ledger_books b
		USING (account_id, livemode, currency)
	), opened AS (
		INSERT INTO ledger_books (account_id, livemode, currency)
		SELECT account_id, livemode, currency FROM book
		WHERE NOT EXISTS (SELECT FROM known
		    WHERE (known.account_id, known.livemode, known.currency) = (book.account_id, book.livemode, book.currency))
		ORDER BY account_id, livemode, currency
		ON CONFLICT DO NOTHING
		RETURNING id, account_id, livemode, currency
	), posting AS (
		INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, available_on,
			created_at, request_id, description)
		SELECT b.id, m.id, m.source, m.kind, m.purposes::ledger_purpose[], m.debits::ledger_account[],
		       m.credits::ledger_account[], m.amounts::bigint[], greatest(m.available_on, m.created_at), m.created_at,
		       m.request_id, m.description
		FROM booked m JOIN (SELECT * FROM known UNION ALL SELECT * FROM opened) AS b
		USING (account_id, livemode, currency)
		RETURNING 1
	)
	SELECT CASE count(*) WHEN cardinality(@id::text[]) THEN 1
	       ELSE assert_row_count(cardinality(@id::text[]), count(*), 'posting') END FROM posting`

type postingRow struct {
	AccountID   string    `db:"account_id"`
	Livemode    bool      `db:"livemode"`
	Currency    string    `db:"currency"`
	ID          string    `db:"id"`
	Source      string    `db:"source"`
	Kind        string    `db:"kind"`
	Purposes    string    `db:"purposes"`
	Debits      string    `db:"debits"`
	Credits     string    `db:"credits"`
	Amounts     string    `db:"amounts"`
	AvailableOn time.Time `db:"available_on"`
	CreatedAt   time.Time `db:"created_at"`
	RequestID   string    `db:"request_id"`
	Description *string   `db:"description"`
}

// Post queues a posting. It commits, or not, with everything else in tx.
func Post(tx *phase.Tx, p Posting) {
	n := len(p.Legs)
	purposes, debits, credits, amounts := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, leg := range p.Legs {
		purposes[i], debits[i], credits[i] = string(leg.Purpose), string(leg.Debit), string(leg.Credit)
		amounts[i] = strconv.FormatInt(leg.Amount, 10)
	}
	tx.Write(insertPostings, postgres.RowsOf(postingRow{
		AccountID:   tx.AccountID,
		Livemode:    tx.Livemode,
		Currency:    p.Currency,
		ID:          p.ID,
		Source:      p.Source,
		Kind:        p.Kind,
		Purposes:    postgres.TextArray(purposes),
		Debits:      postgres.TextArray(debits),
		Credits:     postgres.TextArray(credits),
		Amounts:     postgres.TextArray(amounts),
		AvailableOn: p.AvailableOn,
		CreatedAt:   tx.Now(),
		RequestID:   tx.RequestID,
		Description: p.Description,
	}))
}

const chainRefund = `
	WITH book AS (
		SELECT id FROM ledger_books WHERE account_id = @account_id AND livemode = @livemode AND currency = @currency
	), last AS (
		SELECT c.place, c.total FROM ledger_refund_chain c, book
		WHERE c.book_id = book.id AND c.charge = @charge
		ORDER BY c.place DESC LIMIT 1
	), chained AS (
		INSERT INTO ledger_refund_chain (book_id, charge, charge_amount, place, refund, prior, amount)
		SELECT book.id, @charge, @charge_amount, coalesce(last.place, 0) + 1, @refund, coalesce(last.total, 0), @amount
		FROM book LEFT JOIN last ON true
		RETURNING 1
	)
	SELECT CASE count(*) WHEN 1 THEN 1 ELSE assert_row_count(1, count(*), 'refund chain') END FROM chained`

// ChainRefund lays a refund behind the ones its charge has had, or with a
// negative amount takes one back that has failed. The caller holds the charge's
// row, so that two refunds do not meet at the same place; should they, or should
// the sum exceed what was captured, the database refuses.
func ChainRefund(tx *phase.Tx, charge string, captured int64, refund string, amount int64, currency string) {
	tx.Write(chainRefund, postgres.Args{
		"account_id": tx.AccountID, "livemode": tx.Livemode, "currency": currency,
		"charge": charge, "charge_amount": captured, "refund": refund, "amount": amount,
	})
}

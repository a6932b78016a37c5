// Package ledger books money: double entry, append-only, integers in minor
// units. It knows accounts, postings and entries and nothing of Stripe.
//
// It is the second line of defence. Whatever the code above believes, the schema
// refuses to book the same source twice, to commit a posting that does not
// balance, to mix merchants or currencies, to refund more than was taken, and to
// change anything that has been booked. A mistake is corrected by a reversal.
package ledger

import (
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
	PayoutsInTransit    Account = "payouts_in_transit"   // what we owe the merchant and has left for his bank
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
// merchant to us. The fee of pending money is pending too.
func Sale(id, source, currency string, gross, fee int64, availableOn time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: "charge", AvailableOn: availableOn, Legs: []Leg{
		{Gross, ProcessorReceivable, MerchantBalance, gross},
		{Fee, MerchantBalance, FeeRevenue, fee},
	}}
}

// GiveBack books a refund. It counts at once, may take the balance below zero,
// and the fee of the sale stays with us.
func GiveBack(id, source, currency string, amount int64, now time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: "refund", AvailableOn: now, Legs: []Leg{
		{Gross, MerchantBalance, ProcessorReceivable, amount},
	}}
}

// ComeBack books that a refund failed after it was booked: the money is the
// merchant's again.
func ComeBack(id, source, currency string, amount int64, now time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: "refund_failure", AvailableOn: now, Legs: []Leg{
		{Gross, ProcessorReceivable, MerchantBalance, amount},
	}}
}

// Withdraw books that a cardholder took their money back, and the fee for it.
func Withdraw(id, source, currency string, amount, fee int64, now time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: "dispute", AvailableOn: now, Legs: []Leg{
		{Gross, MerchantBalance, ProcessorReceivable, amount},
		{Fee, MerchantBalance, DisputeFeeRevenue, fee},
	}}
}

// Reinstate books the opposite of a Withdraw: the dispute was won.
func Reinstate(id, source, currency string, amount, fee int64, now time.Time) Posting {
	return Posting{ID: id, Currency: currency, Source: source, Kind: "dispute_reversal", AvailableOn: now, Legs: []Leg{
		{Gross, ProcessorReceivable, MerchantBalance, amount},
		{Fee, DisputeFeeRevenue, MerchantBalance, fee},
	}}
}

// Settle books that the acquirer paid what it owed; with a negative amount, that
// it took what it was owed.
func Settle(id, source, currency string, amount int64, now time.Time) Posting {
	leg := Leg{Gross, BankCash, ProcessorReceivable, amount}
	if amount < 0 {
		leg = Leg{Gross, ProcessorReceivable, BankCash, -amount}
	}
	return Posting{ID: id, Currency: currency, Source: source, Kind: "settlement", AvailableOn: now, Legs: []Leg{leg}}
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
const insertPosting = `
	WITH known AS (
		SELECT id FROM ledger_books WHERE account_id = @account_id AND livemode = @livemode AND currency = @currency
	), opened AS (
		INSERT INTO ledger_books (account_id, livemode, currency)
		SELECT @account_id, @livemode, @currency WHERE NOT EXISTS (SELECT FROM known)
		ON CONFLICT DO NOTHING
		RETURNING id
	), book AS (
		SELECT id FROM known UNION ALL SELECT id FROM opened
	), posting AS (
		INSERT INTO ledger_postings (book_id, id, source, kind, legs, available_on, created_at, request_id, description)
		SELECT book.id, @id, @source, @kind, cardinality(@amounts::bigint[]), greatest(@available_on::timestamptz, @now::timestamptz), @now, @request_id, @description FROM book
		RETURNING book_id, legs
	), booked AS (
		INSERT INTO ledger_legs (book_id, posting_id, leg, legs, purpose, debit, credit, amount)
		SELECT posting.book_id, @id, l.leg, posting.legs, l.purpose, l.debit, l.credit, l.amount
		FROM posting, unnest(@purposes::ledger_purpose[], @debits::ledger_account[], @credits::ledger_account[], @amounts::bigint[])
			WITH ORDINALITY AS l (purpose, debit, credit, amount, leg)
		RETURNING 1
	)
	SELECT CASE count(*) WHEN cardinality(@amounts::bigint[]) THEN 1 ELSE exactly(cardinality(@amounts::bigint[]), count(*), 'posting') END FROM booked`

// Post queues a posting. It commits, or not, with everything else in tx.
func Post(tx *phase.Tx, p Posting) {
	n := len(p.Legs)
	purposes, debits, credits, amounts := make([]string, n), make([]string, n), make([]string, n), make([]int64, n)
	for i, leg := range p.Legs {
		purposes[i], debits[i], credits[i], amounts[i] = string(leg.Purpose), string(leg.Debit), string(leg.Credit), leg.Amount
	}
	tx.Write(insertPosting, postgres.Args{
		"account_id": tx.AccountID, "livemode": tx.Livemode, "currency": p.Currency,
		"id": p.ID, "source": p.Source, "kind": p.Kind, "available_on": p.AvailableOn, "now": tx.Now(),
		"request_id": tx.RequestID, "description": p.Description,
		"purposes": purposes, "debits": debits, "credits": credits, "amounts": amounts,
	})
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
	SELECT CASE count(*) WHEN 1 THEN 1 ELSE exactly(1, count(*), 'refund chain') END FROM chained`

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

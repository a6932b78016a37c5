package simulator

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Movement is one line of the journal: what happened to which card.
type Movement struct {
	Number        int64     `json:"number" db:"number"`
	At            time.Time `json:"at" db:"at"`
	Key           string    `json:"key" db:"key"`
	Reference     string    `json:"reference" db:"reference"`         // the acquirer's id of the operation
	Authorization string    `json:"authorization" db:"authorization"` // "" if there never was one
	// authorize, capture, void, refund, pay_out, recall, reverse
	Verb     string `json:"verb" db:"verb"`
	Card     string `json:"card" db:"card"` // or the bank account
	Kind     string `json:"kind" db:"kind"` // hold, sale, capture, release, refund, payout, recall, none
	Amount   int64  `json:"amount" db:"amount"`
	Currency string `json:"currency" db:"currency"`
	Result   string `json:"result" db:"result"` // approved, reversed, or why nothing moved
}

// What a movement does to a card.
const (
	hold    = "hold"    // an amount is set aside
	sale    = "sale"    // an amount is taken without a hold before
	capture = "capture" // an authorized amount is taken, the rest is released
	release = "release" // an authorization is voided
	refund  = "refund"  // an amount is given back
	payout  = "payout"  // an amount is sent to a bank account
	recall  = "recall"  // a payout is fetched back
	none    = "none"    // asked for, and nothing happened

	// No call caused these: their key is the acquirer's own reference.
	refundFailed       = "refund_failed"       // a refund came back from the card's bank
	chargeback         = "chargeback"          // the cardholder has taken the money back
	chargebackReversal = "chargeback_reversal" // and had to return it
)

// Moved says whether anything happened to the card.
func (m Movement) Moved() bool { return m.Kind != none }

// Unasked says whether no call caused the movement, so that no key of
// the client's belongs to it.
func (m Movement) Unasked() bool {
	return m.Kind == refundFailed || m.Kind == chargeback || m.Kind == chargebackReversal
}

// Queryer is a pool, a connection or a transaction.
type Queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

const selectMovements = `
	SELECT number, at, key, reference, coalesce(authorization_id, '') AS authorization,
	       verb, card, kind, amount, currency, result
	FROM acquirer.movements
	WHERE (@key = '' OR key = @key) AND (@card = '' OR card = @card)
	ORDER BY number`

// Journal reads all that ever happened to any card, oldest first.
func Journal(ctx context.Context, db Queryer) ([]Movement, error) {
	return movements(ctx, db, "", "")
}

// movements reads the journal of one key, one card or, where they are empty, of all.
func movements(ctx context.Context, db Queryer, key, card string) ([]Movement, error) {
	rows, _ := db.Query(ctx, selectMovements, postgres.Args{"key": key, "card": card})
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[Movement])
	if err != nil {
		return nil, fmt.Errorf("read the acquirer's journal: %w", err)
	}
	return found, nil
}

const selectSummary = `
	SELECT coalesce(sum(n), 0)::bigint AS charges, count(*) FILTER (WHERE n > 1) AS twice
	FROM (SELECT count(*) AS n FROM acquirer.movements WHERE kind IN ('hold', 'sale') GROUP BY key) per_key`

func summarize(ctx context.Context, db Queryer) (acquirer.Summary, error) {
	rows, _ := db.Query(ctx, selectSummary)
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[acquirer.Summary])
	if err != nil {
		return acquirer.Summary{}, fmt.Errorf("sum up the acquirer's journal: %w", err)
	}
	return found, nil
}

// PrintJournal writes movements as a table for people. Amounts are in minor units.
func PrintJournal(w io.Writer, movements []Movement) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TIME\tCARD\tHAPPENED\tAMOUNT\tASKED\tRESULT\tKEY\tREFERENCE")
	for _, m := range movements {
		happened := m.Kind
		if !m.Moved() {
			happened = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d %s\t%s\t%s\t%s\t%s\n", m.At.UTC().Format("2006-01-02 15:04:05.000"),
			m.Card, happened, m.Amount, m.Currency, m.Verb, m.Result, m.Key, m.Reference)
	}
	return table.Flush()
}

//go:build unix

package crash_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// cardMoved is the outside world's word on an amount.
const cardMoved = `
	SELECT count(*) || ' × the card saw: ' || CASE kind WHEN 'none' THEN result ELSE kind END
	FROM acquirer.movements WHERE amount = @amount GROUP BY kind, result`

// booksOf is all that an account's tables say of it. Money is shown without its
// amount only where the amount is right.
const booksOf = `
	WITH money AS (
		SELECT 'charge ' || status || CASE WHEN captured THEN ' and captured' ELSE '' END AS what, amount FROM charges
		WHERE account_id = @account_id
		UNION ALL SELECT 'intent ' || status, amount FROM payment_intents WHERE account_id = @account_id
		UNION ALL SELECT 'setup ' || status, @amount FROM setup_intents WHERE account_id = @account_id
		UNION ALL SELECT 'attempt ' || status, @amount FROM setup_attempts WHERE account_id = @account_id
		UNION ALL SELECT 'session ' || status, amount_total FROM checkout_sessions WHERE account_id = @account_id
		UNION ALL SELECT 'customer' || CASE WHEN deleted_at IS NULL THEN '' ELSE ' deleted' END, @amount FROM customers
		WHERE account_id = @account_id
		UNION ALL SELECT 'card' || CASE WHEN deleted_at IS NULL THEN '' ELSE ' deleted' END, @amount FROM cards
		WHERE account_id = @account_id
		UNION ALL SELECT 'confirmation token' || CASE WHEN used_by IS NULL THEN '' ELSE ' used' END, @amount
		FROM confirmation_tokens WHERE account_id = @account_id
		UNION ALL SELECT 'token' || CASE WHEN used_by IS NULL THEN '' ELSE ' spent' END, @amount FROM tokens
		WHERE account_id = @account_id
		UNION ALL SELECT 'product' || CASE WHEN deleted_at IS NULL THEN '' ELSE ' deleted' END, @amount FROM products
		WHERE account_id = @account_id
		UNION ALL SELECT 'price' || CASE WHEN active THEN '' ELSE ' inactive' END, unit_amount FROM prices
		WHERE account_id = @account_id
		UNION ALL SELECT 'coupon redeemed ' || times_redeemed || ' and reserved ' || times_reserved
		    || CASE WHEN deleted_at IS NULL THEN '' ELSE ', deleted' END, @amount
		          FROM coupons WHERE account_id = @account_id
		UNION ALL SELECT 'promotion code redeemed ' || times_redeemed || ' and reserved ' || times_reserved
		    || CASE WHEN active THEN '' ELSE ' inactive' END, @amount
		          FROM promotion_codes WHERE account_id = @account_id
		UNION ALL SELECT 'shipping rate' || CASE WHEN active THEN '' ELSE ' inactive' END, @amount FROM shipping_rates
		WHERE account_id = @account_id
		UNION ALL SELECT 'payment link' || CASE WHEN active THEN '' ELSE ' inactive' END, @amount FROM payment_links
		WHERE account_id = @account_id
		UNION ALL SELECT 'endpoint ' || CASE WHEN deleted_at IS NULL THEN status ELSE 'deleted' END, @amount
		FROM webhook_endpoints WHERE account_id = @account_id
		UNION ALL SELECT 'clock ' || CASE WHEN deleted_at IS NULL THEN status ELSE 'deleted' END, @amount
		FROM test_clocks WHERE account_id = @account_id
		UNION ALL SELECT 'method attached', @amount FROM payment_methods
		WHERE account_id = @account_id AND customer_id IS NOT NULL
		UNION ALL SELECT 'refund ' || status, amount FROM refunds WHERE account_id = @account_id
		UNION ALL SELECT 'dispute ' || status, amount FROM disputes WHERE account_id = @account_id
		UNION ALL SELECT 'settled: ' || movement, amount FROM settlements WHERE account_id = @account_id
		UNION ALL SELECT 'delivery ' || state, @amount FROM webhook_deliveries WHERE account_id = @account_id
		UNION ALL SELECT 'payout ' || status, abs(amount) FROM payouts WHERE account_id = @account_id
		UNION ALL SELECT 'posted: ' || kind, abs(amount) FROM balance_transactions WHERE account_id = @account_id
		UNION ALL SELECT 'event ' || type, @amount FROM events WHERE account_id = @account_id
		UNION ALL SELECT 'audited: ' || operation, @amount FROM audit_events
		WHERE account_id = @account_id AND operation NOT LIKE 'key.%'
		UNION ALL SELECT 'request ' || state || CASE WHEN flow = 'balance.notify' THEN ': ' || flow ELSE '' END, @amount
		FROM request_status WHERE account_id = @account_id
		UNION ALL SELECT 'answer archived', @amount FROM archived_answers WHERE account_id = @account_id
		UNION ALL SELECT 'call ' || outcome, @amount FROM request_calls WHERE account_id = @account_id
	)
	SELECT count(*) || ' × ' || what || CASE WHEN amount = @amount THEN '' ELSE ' of ' || amount END FROM money
	GROUP BY what, amount`

func lines(ctx context.Context, db *pgxpool.Pool, sql string, args postgres.Args) ([]string, error) {
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// books are what is left of an account and an amount, inside and out, in order.
// That money has become available is shown only where it is wanted: workers tell it
// in the background.
func (i *installation) books(t testing.TB, m merchant, amount int64, want []string) []string {
	t.Helper()
	outside, err := lines(t.Context(), i.acquirer.journal, cardMoved, postgres.Args{"amount": amount})
	if err != nil {
		t.Fatal(err)
	}
	inside, err := lines(t.Context(), i.db, booksOf, postgres.Args{"account_id": m.account, "amount": amount})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(want, ofBalance) {
		inside = slices.DeleteFunc(inside, ofBalance)
	}
	return sorted(append(outside, inside...))
}

func ofBalance(line string) bool { return strings.Contains(line, "balance.") }

func (i *installation) wantBooks(t testing.TB, m merchant, amount int64, want ...string) {
	t.Helper()
	if got, want := i.books(t, m, amount, want), sorted(want); !slices.Equal(got, want) {
		t.Errorf("the books are\n%s\nand should be\n%s", list(got), list(want))
	}
}

func sorted(lines []string) []string { return slices.Sorted(slices.Values(lines)) }

func list(lines []string) (text string) {
	for _, line := range lines {
		text += fmt.Sprintln("\t" + line)
	}
	return text
}

// number runs a query for one number.
func number(t testing.TB, db *pgxpool.Pool, sql string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

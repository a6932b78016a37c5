package simulator_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

// owe writes down that an amount each was taken in some sales of a merchant, which
// are not settled yet.
const owe = `
	WITH authorized AS (
		INSERT INTO acquirer.authorizations (id, merchant, livemode, card, currency, held, captured, refunded, released,
			at)
		SELECT 'auth_' || $1 || n, $1, false, 'visa', $2, n, n, 0, false, now() FROM generate_series(1, $3::integer) n
	), moved AS (
		INSERT INTO acquirer.movements (key, reference, authorization_id, verb, card, kind, amount, currency, result,
			at)
		SELECT 'key_' || $1 || n, 'auth_' || $1 || n, 'auth_' || $1 || n, 'authorize', 'visa', 'sale', n, $2,
		       'approved', now()
		FROM generate_series(1, $3::integer) n
		RETURNING number
	)
	INSERT INTO acquirer.owed (movement) SELECT number FROM moved`

// parts reads the acquirer's settlement notifications.
func (d env) parts(t *testing.T, conn *pgx.Conn) (parts []acquirer.SettledPart) {
	t.Helper()
	rows, err := conn.Query(t.Context(), "SELECT body FROM acquirer.outbox WHERE kind = $1 ORDER BY number",
		acquirer.BatchSettled)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range bodies {
		var p acquirer.SettledPart
		if err := json.Unmarshal(body, &p); err != nil {
			t.Fatal(err)
		}
		if err := p.Check(); err != nil {
			t.Errorf("part %d of %s: %v", p.Part, p.Batch, err)
		}
		if longest := 256 << 10; len(body) > longest {
			t.Errorf("part %d of %s has %d bytes, and %d are accepted", p.Part, p.Batch, len(body), longest)
		}
		parts = append(parts, p)
	}
	return parts
}

func TestSettlement(t *testing.T) {
	t.Parallel()

	t.Run("a batch is of one merchant and currency, and comes in parts of a thousand", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		conn := d.connect(t)
		for _, owed := range []struct {
			merchant, currency string
			sales              int
		}{{"acct_large", "usd", 2300}, {"acct_small", "usd", 2}, {"acct_euro", "eur", 1}} {
			if _, err := conn.Exec(t.Context(), owe, owed.merchant, owed.currency, owed.sales); err != nil {
				t.Fatal(err)
			}
		}
		d.Settle(t)
		d.Settle(t) // nothing is owed any more

		got := map[string]bool{}
		for _, p := range d.parts(t, conn) {
			got[fmt.Sprintf("%s %s %d of %d: %d, %d paid, %d taken", p.Merchant, p.Currency, p.Part, p.Parts, p.Count,
				p.Paid, p.Taken)] = true
		}
		for _, want := range []string{
			"acct_euro eur 1 of 1: 1, 1 paid, 0 taken", "acct_small usd 1 of 1: 2, 3 paid, 0 taken",
			"acct_large usd 1 of 3: 1000, 500500 paid, 0 taken", "acct_large usd 2 of 3: 1000, 1500500 paid, 0 taken",
			"acct_large usd 3 of 3: 300, 645150 paid, 0 taken",
		} {
			if !got[want] {
				t.Errorf("no part %q; there are %v", want, got)
			}
		}
		if len(got) != 5 {
			t.Errorf("%d parts, want 5: %v", len(got), got)
		}
	})

	t.Run("money that goes both ways is settled in one batch, with a sum for each way", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		order := acquirer.Order{
			Merchant: "acct_1",
			Livemode: true,
			Card:     "visa",
			Amount:   2000,
			Currency: "usd",
			Capture:  true,
		}
		sold := d.must(t, "key_sale", acquirer.VerbAuthorize, order)
		d.must(t, "key_refund", acquirer.VerbRefund,
			acquirer.Order{Authorization: sold.Reference, Amount: 2000, Currency: "usd"})
		order.Capture = false
		d.must(t, "key_hold", acquirer.VerbAuthorize, order) // a hold moves no money
		order.Merchant, order.Capture = "", true
		d.must(t, "key_nobody", acquirer.VerbAuthorize, order) // taken without a merchant, so owed to none
		d.Settle(t)

		conn := d.connect(t)
		parts := d.parts(t, conn)
		if len(parts) != 1 {
			t.Fatalf("%d parts, want one", len(parts))
		}
		p := parts[0]
		if p.Merchant != "acct_1" || !p.Livemode || p.Count != 2 || p.Paid != 2000 || p.Taken != 2000 {
			t.Errorf("the part is %+v", p)
		}
		for _, m := range p.Movements {
			if m.Authorization != sold.Reference {
				t.Errorf("the %s is of %s, want %s", m.Kind, m.Authorization, sold.Reference)
			}
		}
	})

	t.Run("a resend repeats what was acknowledged since a time, however old it is", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		conn := d.connect(t)
		_, err := conn.Exec(t.Context(), `
			INSERT INTO acquirer.outbox (id, kind, body, at, due_at, repeats, acknowledged_at)
			SELECT id, 'batch.settled', '{}', at, at, 0, acknowledged_at
			FROM (VALUES ('old', now() - interval '2 hours', now() - interval '1 hour'),
				('late', now() - interval '2 hours', now()), ('new', now(), now())) n (id, at, acknowledged_at)`)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Client().Resend(t.Context(), time.Now().Add(-10*time.Minute)); err != nil {
			t.Fatal(err)
		}
		rows, _ := conn.Query(t.Context(), "SELECT id FROM acquirer.outbox WHERE acknowledged_at IS NULL ORDER BY id")
		again, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || !slices.Equal(again, []string{"late", "new"}) {
			t.Errorf("%v are sent again (%v)", again, err)
		}
	})
}

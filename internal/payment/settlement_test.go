package payment_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/operation"
	"github.com/ratchet-pay/ratchet/internal/payout"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// worker is an engine that acts as a worker does, for jobs that a test runs itself.
func (s *shop) worker(t *testing.T) *phase.Engine {
	t.Helper()
	pool, err := postgres.Open(t.Context(),
		postgres.Config{URL: s.config.DatabaseURL, Role: "ratchet_worker", MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	liveness, err := idempotency.NewLiveness(ctx, pool, "work")
	if err != nil {
		t.Fatal(err)
	}
	go liveness.Run(ctx)
	e := phase.NewEngine(phase.Config{
		Pool:   pool,
		Secret: s.config.Secret.For(secret.Idempotency),
		Roots:  secret.Only(s.config.Secret),
		Owner:  liveness.ID,
		Record: audit.Record,
		Log:    slog.New(slog.DiscardHandler),
	})
	phase.Connect[acquirer.Acquirer](e, acquirer.Port, s.sim.Client())
	if err := operation.Register(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	return e
}

// sell makes charges of an amount each and returns their movements.
func (s *shop) sell(t *testing.T, currency string, amounts ...int64) (sales []acquirer.SettledMovement) {
	t.Helper()
	for _, amount := range amounts {
		charge := s.post(t, "/v1/charges", fmt.Sprintf("amount=%d&currency=%s&source=tok_visa", amount, currency)).ID
		sales = append(sales, sale(s.text(t, "SELECT acquirer_reference FROM charges WHERE id = $1", charge), amount))
	}
	return sales
}

func sale(reference string, amount int64) acquirer.SettledMovement {
	return acquirer.SettledMovement{Kind: "sale", Authorization: reference, Reference: reference, Amount: amount}
}

// part is one part of a batch of acct_1, in dollars unless a test says otherwise.
func part(id, batch string, n, of int, movements ...acquirer.SettledMovement) acquirer.SettledPart {
	p := acquirer.SettledPart{ID: id, Kind: acquirer.BatchSettled, At: time.Now(), Merchant: "acct_1", Currency: "usd",
		Batch: batch, Part: n, Parts: of, Count: len(movements), Movements: movements}
	p.Paid, p.Taken = acquirer.Sums(movements)
	return p
}

// report delivers a part and returns the status of the answer.
func (s *shop) report(t *testing.T, p acquirer.SettledPart) int {
	t.Helper()
	body, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+acquirer.NotificationsPath,
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(acquirer.SignatureHeader, acquirer.Sign(s.sim.Secret(), body, time.Now()))
	response, err := s.server.Client().Do(request)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

// wantReported delivers parts that are all accepted.
func (s *shop) wantReported(t *testing.T, parts ...acquirer.SettledPart) {
	t.Helper()
	for _, p := range parts {
		if status := s.report(t, p); status != http.StatusOK {
			t.Fatalf("part %d of %s was answered %d", p.Part, p.Batch, status)
		}
	}
}

// wantBooked compares how many movements are booked, wait and are set aside, and
// adds the rows of each posting up.
func (s *shop) wantBooked(t *testing.T, booked, waiting, aside int64) {
	t.Helper()
	for table, want := range map[string]int64{
		"settlements":         booked,
		"movements_waiting":   waiting,
		"movements_set_aside": aside,
	} {
		if got := s.number(t, "SELECT count(*) FROM "+table); got != want {
			t.Errorf("%d rows in %s, want %d", got, table, want)
		}
	}
	if wrong := s.text(t, differentPostings); wrong != "" {
		t.Errorf("postings that are not the sum of their settlements: %s", wrong)
	}
}

const differentPostings = `
	SELECT coalesce(string_agg(coalesce(p.id, s.posting_id), ', '), '')
	FROM (SELECT posting_id, sum(amount) FILTER (WHERE movement NOT IN ('refund', 'chargeback')) AS paid,
	    sum(amount) FILTER (WHERE movement IN ('refund', 'chargeback')) AS taken
	      FROM settlements GROUP BY posting_id) s
	FULL JOIN (SELECT posting_id AS id, sum(amount) FILTER (WHERE debit = 'bank_cash') AS paid,
	    sum(amount) FILTER (WHERE credit = 'bank_cash') AS taken
	           FROM ledger_legs l JOIN ledger_postings q ON q.book_id = l.book_id AND q.id = l.posting_id
	               AND q.kind = 'settlement' GROUP BY posting_id) p ON p.id = s.posting_id
	WHERE (p.paid, p.taken) IS DISTINCT FROM (s.paid, s.taken)`

func TestSettlementBatches(t *testing.T) {
	t.Parallel()
	const receivable = `SELECT coalesce(sum(amount), 0) FROM ledger_entries WHERE account = 'processor_receivable'`
	const postings = `SELECT count(*) FROM ledger_postings WHERE kind = 'settlement'`

	t.Run("a batch whose refunds equal its sales has a leg for each", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		charge := s.post(t, "/v1/charges", "amount=2000&currency=usd&source=tok_visa").ID
		s.post(t, "/v1/refunds", "charge="+charge)
		s.sim.Settle(t)
		s.sim.WaitUntilNotified(t, s.server.URL)

		s.wantBooked(t, 2, 0, 0)
		legs := s.text(t, `
			SELECT string_agg(debit || ' ' || l.amount, ', ' ORDER BY l.leg) FROM ledger_legs l
			JOIN ledger_postings p ON p.id = l.posting_id WHERE p.kind = 'settlement'`)
		if legs != "bank_cash 2000, processor_receivable 2000" {
			t.Errorf("the legs are %q", legs)
		}
		if owed := s.number(t, receivable); owed != 0 {
			t.Errorf("the acquirer owes %d, want nothing", owed)
		}
		if kept := s.number(t, "SELECT movements * 10000 + paid - taken FROM settlement_parts"); kept != 20000 {
			t.Errorf("the part is kept as %d, want 2 movements and equal sums", kept)
		}
	})

	t.Run("movements whose charges are not here wait, and are booked when they are", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		e, sales := s.worker(t), s.sell(t, "usd", 1000, 1100, 1200)
		hide := func(hidden ...acquirer.SettledMovement) {
			for _, m := range hidden {
				s.exec(t, `
					UPDATE charges SET acquirer_reference = 'hidden ' || acquirer_reference
					WHERE acquirer_reference = $1`, m.Reference)
			}
		}
		hide(sales[1], sales[2])
		s.wantReported(t, part("note_1", "batch_1", 1, 2, sales[0], sales[1]),
			part("note_2", "batch_1", 2, 2, sales[2]))
		s.wantBooked(t, 1, 2, 0)
		if n := s.number(t, postings); n != 1 {
			t.Errorf("%d postings, want one: nothing of the second part can be booked", n)
		}
		if _, err := payout.BookWaiting(t.Context(), e, s.db.Pool); err != nil {
			t.Fatal(err)
		}
		s.wantBooked(t, 1, 2, 0)
		n := s.number(t, "SELECT count(*) FROM movements_waiting WHERE attempts = 1 AND due_at > received_at")
		if n != 2 {
			t.Errorf("%d movements were put off, want both", n)
		}

		s.exec(t, "UPDATE charges SET acquirer_reference = replace(acquirer_reference, 'hidden ', '')")
		s.exec(t, "UPDATE movements_waiting SET due_at = now()")
		for range 2 { // the second finds nothing
			if _, err := payout.BookWaiting(t.Context(), e, s.db.Pool); err != nil {
				t.Fatal(err)
			}
		}
		s.wantBooked(t, 3, 0, 0)
		if n, owed := s.number(t, postings), s.number(t, receivable); n != 3 || owed != 0 {
			t.Errorf("%d postings and %d owed, want 3 and nothing", n, owed)
		}
	})

	t.Run("a part that comes again, whole or cut differently, books nothing twice", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		sales := s.sell(t, "usd", 1000, 1100, 1200)
		whole := part("note_1", "batch_1", 1, 1, sales...)
		s.wantReported(t, whole, whole)
		again := part("note_2", "batch_1", 1, 1, sales...)
		s.wantReported(t, again, part("note_3", "batch_2", 1, 2, sales[1]),
			part("note_4", "batch_2", 2, 2, sales[0], sales[2]))
		s.wantBooked(t, 3, 0, 0)
		if n := s.number(t, postings); n != 1 {
			t.Errorf("%d postings, want one", n)
		}

		whole.Movements = slices.Clone(whole.Movements)
		whole.Movements[0].Amount++
		whole.Paid++
		if status := s.report(t, whole); status != http.StatusConflict {
			t.Errorf("another part under a known id was answered %d, want 409", status)
		}
		s.wantBooked(t, 3, 0, 0)
	})

	t.Run("a movement that contradicts is set aside, and the rest of its part is booked", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		sales := s.sell(t, "usd", 1000, 1100)
		euros := s.sell(t, "eur", 1200)
		s.wantReported(t, part("note_1", "batch_1", 1, 1, sales[0], sale("auth_unknown", 500)))

		other, early := sale(sales[0].Reference, 999), sale("auth_unknown", 501)
		gift := acquirer.SettledMovement{
			Kind:          "gift",
			Authorization: sales[1].Reference,
			Reference:     sales[1].Reference,
			Amount:        1,
		}
		s.wantReported(t,
			part("note_2", "batch_2", 1, 1, other, early, euros[0], gift, sale("auth_nothing", 0), sales[1]))
		s.wantBooked(t, 2, 1, 5)
		for reference, reason := range map[string]string{
			sales[0].Reference: "it was settled before in batch_1, as 1000 usd of " + sales[0].Reference,
			"auth_unknown":     "it waits since batch_1, as 500 usd of auth_unknown",
			sales[1].Reference: "nothing is known of settling a gift",
			"auth_nothing":     "it is of nothing",
		} {
			got := s.text(t, "SELECT reason FROM movements_set_aside WHERE acquirer_reference = $1", reference)
			if got != reason {
				t.Errorf("%s is set aside because %q, want %q", reference, got, reason)
			}
		}
		if got := s.text(t, "SELECT reason FROM movements_set_aside WHERE acquirer_reference = $1",
			euros[0].Reference); !strings.Contains(got, "is in eur, test mode") {
			t.Errorf("the sale in another currency is set aside because %q", got)
		}
		if n := s.number(t, `
			SELECT count(*) FROM audit_events WHERE operation = 'settlement.set_aside' AND actor = 'inbox'`); n != 1 {
			t.Errorf("%d alarms, want one for the part", n)
		}
	})

	t.Run("two currencies are two batches with a posting in each book", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.sell(t, "usd", 1000, 1100)
		s.sell(t, "eur", 1200)
		s.sim.Settle(t)
		s.sim.WaitUntilNotified(t, s.server.URL)
		s.wantBooked(t, 3, 0, 0)
		books := s.text(t, `
			SELECT string_agg(b.currency || ' ' || l.amount, ', ' ORDER BY b.currency) FROM ledger_legs l
			JOIN ledger_postings p ON p.book_id = l.book_id AND p.id = l.posting_id
			JOIN ledger_books b ON b.id = p.book_id WHERE p.kind = 'settlement'`)
		if books != "eur 1200, usd 2100" {
			t.Errorf("the books have %q", books)
		}
	})

	t.Run("a large batch comes in parts, and is whole when the last has come", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		s.sell(t, "usd", 100) // opens the book
		const many = 2300
		s.exec(t, `
			INSERT INTO charges (account_id, id, livemode, request_id, amount, amount_captured, currency, status,
				captured, card, acquirer_reference, balance_transaction, created_at)
			SELECT 'acct_1', 'ch_' || n, false, 'req_' || n, n, n, 'usd', 'succeeded', true, '{}', 'auth_' || n,
			       'txn_' || n, now() FROM generate_series(1, 2300) n`)
		var parts []acquirer.SettledPart
		for first := 1; first <= many; first += acquirer.MaxPartMovements {
			var movements []acquirer.SettledMovement
			for n := first; n < first+acquirer.MaxPartMovements && n <= many; n++ {
				movements = append(movements, sale(fmt.Sprintf("auth_%d", n), int64(n)))
			}
			parts = append(parts, part(fmt.Sprintf("note_%d", first), "batch_1", len(parts)+1, 3, movements...))
		}
		s.wantReported(t, parts[2], parts[0])
		s.wantBooked(t, 1300, 0, 0)
		s.wantReported(t, parts[1], parts[0])
		s.wantBooked(t, many, 0, 0)
		if n := s.number(t, postings); n != 3 {
			t.Errorf("%d postings, want one for each part", n)
		}
	})

	t.Run("parts that overlap and come at once settle each movement once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		sales := s.sell(t, "usd", 1000, 1100, 1200, 1300)
		backwards := slices.Clone(sales)
		slices.Reverse(backwards)
		deliveries := []acquirer.SettledPart{part("note_a", "batch_a", 1, 1, sales...),
			part("note_b", "batch_b", 1, 1, backwards...)}
		deliveries = append(deliveries, deliveries...)
		deliveries = append(deliveries, part("note_c", "batch_c", 1, 1, sales[2], sales[0]),
			part("note_d", "batch_d", 1, 1, sales[3], sales[1], sales[2]))
		var all sync.WaitGroup
		for _, p := range deliveries {
			all.Go(func() { s.untilAccepted(t, p) })
		}
		all.Wait()
		s.wantBooked(t, 4, 0, 0)
		if owed := s.number(t, receivable); owed != 0 {
			t.Errorf("the acquirer owes %d, want nothing", owed)
		}
	})

	t.Run("a part that does not add up is set aside whole", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		sales := s.sell(t, "usd", 1000, 1100)
		short, sum, twice := part("note_short", "batch_1", 1, 1, sales...), part("note_sum", "batch_1", 1, 1,
			sales...), part("note_twice", "batch_1", 1, 1, sales[0], sales[0])
		short.Count--
		sum.Paid++
		beyond := part("note_beyond", "batch_1", 2, 1, sales...)
		s.wantReported(t, short, sum, twice, beyond)
		s.wantBooked(t, 0, 0, 0)
		if n := s.number(t, "SELECT count(*) FROM inbox WHERE state = 'set_aside'"); n != 4 {
			t.Errorf("%d messages are set aside, want 4", n)
		}
		stranger := part("note_stranger", "batch_1", 1, 1, sales...)
		stranger.Merchant = "acct_nobody"
		s.wantReported(t, stranger)
		if state := s.text(t, "SELECT state FROM inbox WHERE event_id = 'note_stranger'"); state != "waiting" {
			t.Errorf("a part for an account that is not here is %s, want waiting", state)
		}
	})
}

// untilAccepted delivers a part until it is accepted, as the acquirer does.
func (s *shop) untilAccepted(t *testing.T, p acquirer.SettledPart) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		switch status := s.report(t, p); status {
		case http.StatusOK:
			return
		case http.StatusServiceUnavailable:
		default:
			t.Errorf("part %d of %s was answered %d", p.Part, p.Batch, status)
			return
		}
	}
	t.Errorf("%s was not accepted within five minutes", p.ID)
}

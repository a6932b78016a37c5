package simulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// env is an acquirer and the raw protocol to talk to it: what the client makes
// of it is tested in fault_test.go.
type env struct {
	*acquirertest.Sim
	databaseURL string
}

func setup(t *testing.T) env {
	t.Helper()
	url := pgtest.New(t).URL
	return env{Sim: acquirertest.Start(t, url), databaseURL: url}
}

// connect opens a connection to the acquirer's database, for as long as the test runs.
func (d env) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (d env) ask(t *testing.T, key string, verb acquirer.Verb, order acquirer.Order) (status int, body string) {
	t.Helper()
	request := acquirer.Request{Verb: verb, Order: order}
	return d.send(t, http.MethodPost, acquirer.OperationsPath+key, jsonOf(t, request))
}

func (d env) reverse(t *testing.T, key string) (status int, body string) {
	t.Helper()
	return d.send(t, http.MethodPost, acquirer.OperationsPath+key+acquirer.ReversePath, "")
}

func (d env) send(t *testing.T, method, path, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, d.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.Secret())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(text)
}

// must asks for something that has to be approved.
func (d env) must(t *testing.T, key string, verb acquirer.Verb, order acquirer.Order) acquirer.Result {
	t.Helper()
	answer := d.answer(t, key, verb, order)
	if !answer.Approved {
		t.Fatalf("%s %s: refused: %+v", verb, key, answer)
	}
	return answer
}

func (d env) answer(t *testing.T, key string, verb acquirer.Verb, order acquirer.Order) acquirer.Result {
	t.Helper()
	status, body := d.ask(t, key, verb, order)
	if status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", verb, key, status, body)
	}
	return parse[acquirer.Operation](t, body).Result
}

// cardMoney is what the journal says a card has paid and not got back.
func (d env) cardMoney(t *testing.T, card string) int64 {
	t.Helper()
	var sum int64
	for _, m := range d.Movements(t) {
		switch {
		case m.Card != card:
		case m.Kind == "sale" || m.Kind == "capture":
			sum += m.Amount
		case m.Kind == "refund":
			sum -= m.Amount
		}
	}
	return sum
}

func visa(amount int64) acquirer.Order {
	return acquirer.Order{Card: "visa", Amount: amount, Currency: "usd"}
}

func visaSale(amount int64) acquirer.Order {
	return acquirer.Order{Card: "visa", Amount: amount, Currency: "usd", Capture: true}
}

func of(authorization acquirer.Result, amount int64) acquirer.Order {
	return acquirer.Order{Authorization: authorization.Reference, Amount: amount, Currency: authorization.Currency}
}

// atOnce runs n calls at the same time and waits for them.
func atOnce(n int, call func(i int)) {
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { call(i) })
	}
	calls.Wait()
}

func TestAKeyMovesACardOnce(t *testing.T) {
	t.Parallel()

	t.Run("however many ask under it at once, and all get the same answer", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		bodies := make([]string, 50)
		atOnce(len(bodies), func(i int) { _, bodies[i] = d.ask(t, "k", acquirer.VerbAuthorize, visaSale(2000)) })
		for _, body := range bodies {
			if body != bodies[0] || !strings.Contains(body, `"approved":true`) {
				t.Fatalf("answers differ:\n%s\n%s", bodies[0], body)
			}
		}
		if got := d.Holds(); got != 1 {
			t.Errorf("card charged %d times, want once", got)
		}
	})

	t.Run("also when two processes share the database", func(t *testing.T) {
		t.Parallel()
		one := setup(t)
		other := env{Sim: acquirertest.Start(t, one.databaseURL)}
		var bodies [2][20]string
		atOnce(40, func(i int) {
			d := []env{one, other}[i%2]
			_, bodies[i%2][i/2] = d.ask(t, fmt.Sprint("k", i/2), acquirer.VerbAuthorize, visaSale(2000))
		})
		if bodies[0] != bodies[1] {
			t.Errorf("the processes answered differently:\n%v\n%v", bodies[0], bodies[1])
		}
		if got := one.Holds(); got != 20 {
			t.Errorf("cards charged %d times for 20 keys", got)
		}
	})

	t.Run("with other parameters it is refused", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.must(t, "k", acquirer.VerbAuthorize, visaSale(2000))
		status, body := d.ask(t, "k", acquirer.VerbAuthorize, visaSale(2001))
		if status != http.StatusConflict || !strings.Contains(body, acquirer.ReasonKeyReused) {
			t.Errorf("answered %d %s", status, body)
		}
		if got := d.cardMoney(t, "visa"); got != 2000 {
			t.Errorf("card paid %d, want 2000", got)
		}
	})

	t.Run("a decline is remembered and journaled too", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		order := acquirer.Order{Card: "visa_chargeDeclinedInsufficientFunds", Amount: 500, Currency: "usd"}
		_, first := d.ask(t, "k", acquirer.VerbAuthorize, order)
		_, again := d.ask(t, "k", acquirer.VerbAuthorize, order)
		if first != again || !strings.Contains(first, "insufficient_funds") {
			t.Errorf("answers differ or are no decline:\n%s\n%s", first, again)
		}
		journal := d.Movements(t)
		if len(journal) != 1 || journal[0].Moved() || journal[0].Result != "insufficient_funds" {
			t.Errorf("journal: %+v", journal)
		}
	})

	t.Run("what was answered survives a restart", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		_, before := d.ask(t, "k", acquirer.VerbAuthorize, visa(2000))
		restarted := env{Sim: acquirertest.Start(t, d.databaseURL)}
		_, after := restarted.ask(t, "k", acquirer.VerbAuthorize, visa(2000))
		if before != after {
			t.Errorf("answers differ:\n%s\n%s", before, after)
		}
	})
}

func TestReverse(t *testing.T) {
	t.Parallel()

	t.Run("a request that arrives after its reversal is refused", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		status, body := d.reverse(t, "k")
		if status != http.StatusOK {
			t.Fatalf("reversing an unseen key: %d %s", status, body)
		}
		status, body = d.ask(t, "k", acquirer.VerbAuthorize, visa(2000))
		if status != http.StatusGone || !strings.Contains(body, acquirer.ReasonReversed) {
			t.Errorf("the late request was answered %d %s", status, body)
		}
		if journal := d.Movements(t); len(journal) != 0 {
			t.Errorf("something happened to a card: %+v", journal)
		}
	})

	t.Run("every verb is taken back, and taken back once", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.must(t, "hold", acquirer.VerbAuthorize, visa(100))
		d.must(t, "sale", acquirer.VerbAuthorize, visaSale(200))
		captured := d.must(t, "a", acquirer.VerbAuthorize, visa(400))
		d.must(t, "capture", acquirer.VerbCapture, of(captured, 300))
		voided := d.must(t, "b", acquirer.VerbAuthorize, visa(500))
		d.must(t, "void", acquirer.VerbVoid, of(voided, 0))
		refunded := d.must(t, "c", acquirer.VerbAuthorize, visaSale(700))
		d.must(t, "refund", acquirer.VerbRefund, of(refunded, 600))

		for key, want := range map[string]string{
			"hold":    "release 100",
			"sale":    "refund 200",
			"capture": "refund 300",
			"void":    "hold 500",
			"refund":  "capture 600",
		} {
			for range 2 {
				status, body := d.reverse(t, key)
				if status != http.StatusOK {
					t.Errorf("reversing the %s: %d %s", key, status, body)
				}
			}
			var happened []string
			for _, m := range d.Movements(t) {
				if m.Key == key && m.Verb == "reverse" {
					happened = append(happened, fmt.Sprintf("%s %d", m.Kind, m.Amount))
				}
			}
			if len(happened) != 1 || happened[0] != want {
				t.Errorf("reversing the %s did %v, want %s", key, happened, want)
			}
		}
		if got := d.cardMoney(t, "visa"); got != 700 {
			t.Errorf("card paid %d after all reversals, want 700", got)
		}
	})

	t.Run("what was taken back cannot be captured or refunded any more", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		held := d.must(t, "hold", acquirer.VerbAuthorize, visa(100))
		sold := d.must(t, "sale", acquirer.VerbAuthorize, visaSale(200))
		d.reverse(t, "hold")
		d.reverse(t, "sale")
		answer := d.answer(t, "capture", acquirer.VerbCapture, of(held, 100))
		if answer.Code != acquirer.CodeAlreadyVoided {
			t.Errorf("capturing a reversed hold: %+v", answer)
		}
		answer = d.answer(t, "refund", acquirer.VerbRefund, of(sold, 1))
		if answer.Code != acquirer.CodeAmountTooLarge {
			t.Errorf("refunding a reversed sale: %+v", answer)
		}
	})

	t.Run("what later operations are built on stays", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		captured := d.must(t, "hold", acquirer.VerbAuthorize, visa(100))
		d.must(t, "capture", acquirer.VerbCapture, of(captured, 100))
		sold := d.must(t, "sale", acquirer.VerbAuthorize, visaSale(100))
		d.must(t, "refund", acquirer.VerbRefund, of(sold, 10))
		for _, key := range []string{"hold", "sale"} {
			status, body := d.reverse(t, key)
			if status != http.StatusConflict || !strings.Contains(body, acquirer.ReasonIrreversible) {
				t.Errorf("reversing the %s: %d %s", key, status, body)
			}
		}
		if got := d.cardMoney(t, "visa"); got != 190 {
			t.Errorf("card paid %d, want 190", got)
		}
	})

	t.Run("racing with its request, either nothing was done or it was undone", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		atOnce(40, func(i int) {
			key := fmt.Sprint("k", i/2)
			if i%2 == 0 {
				d.ask(t, key, acquirer.VerbAuthorize, visaSale(100))
				return
			}
			d.reverse(t, key)
		})
		if got := d.cardMoney(t, "visa"); got != 0 {
			t.Errorf("card paid %d although every key was reversed", got)
		}
	})
}

func TestAmountLimits(t *testing.T) {
	t.Parallel()

	t.Run("a hold is captured once, and never for more than it holds", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		auth := d.must(t, "a", acquirer.VerbAuthorize, visa(1000))
		answer := d.answer(t, "too-much", acquirer.VerbCapture, of(auth, 1001))
		if answer.Code != acquirer.CodeAmountTooLarge {
			t.Errorf("capturing too much: %+v", answer)
		}
		approved := d.race(t, 20, acquirer.VerbCapture, of(auth, 600))
		if approved != 1 || d.cardMoney(t, "visa") != 600 {
			t.Errorf("captured %d times, card paid %d; want once, 600", approved, d.cardMoney(t, "visa"))
		}
	})

	t.Run("refunds together never exceed what was captured", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		auth := d.must(t, "a", acquirer.VerbAuthorize, visaSale(1000))
		approved := d.race(t, 20, acquirer.VerbRefund, of(auth, 300))
		if approved != 3 || d.cardMoney(t, "visa") != 100 {
			t.Errorf("refunded %d times, card paid %d; want 3 times, 100", approved, d.cardMoney(t, "visa"))
		}
	})

	t.Run("refunds through two processes never exceed it either", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		other := env{Sim: acquirertest.Start(t, d.databaseURL)}
		auth := d.must(t, "a", acquirer.VerbAuthorize, visaSale(1000))
		atOnce(20, func(i int) {
			[]env{d, other}[i%2].ask(t, fmt.Sprint("r", i), acquirer.VerbRefund, of(auth, 300))
		})
		if got := d.cardMoney(t, "visa"); got != 100 {
			t.Errorf("card paid %d, want 100", got)
		}
	})

	t.Run("a hold is captured or voided, not both", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		auth := d.must(t, "a", acquirer.VerbAuthorize, visa(1000))
		atOnce(20, func(i int) {
			verb := []acquirer.Verb{acquirer.VerbCapture, acquirer.VerbVoid}[i%2]
			d.ask(t, fmt.Sprint("k", i), verb, of(auth, 1000))
		})
		count := d.CountByVerb(t)
		if count[acquirer.VerbCapture]+count[acquirer.VerbVoid] != 1 {
			t.Errorf("happened: %v", count)
		}
	})

	t.Run("each rule has its own code", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		held := d.must(t, "held", acquirer.VerbAuthorize, visa(100))
		sold := d.must(t, "sold", acquirer.VerbAuthorize, visaSale(100))
		voided := d.must(t, "voided", acquirer.VerbAuthorize, visa(100))
		d.must(t, "void", acquirer.VerbVoid, of(voided, 100))
		euros := of(held, 100)
		euros.Currency = "eur"
		for i, tc := range []struct {
			verb  acquirer.Verb
			order acquirer.Order
			want  string
		}{
			{acquirer.VerbCapture, acquirer.Order{Authorization: "auth_none", Amount: 1, Currency: "usd"},
				acquirer.CodeUnknownAuthorization},
			{acquirer.VerbCapture, euros, acquirer.CodeCurrencyMismatch},
			{acquirer.VerbCapture, of(sold, 100), acquirer.CodeAlreadyCaptured},
			{acquirer.VerbCapture, of(voided, 100), acquirer.CodeAlreadyVoided},
			{acquirer.VerbVoid, of(held, 99), acquirer.CodeAmountMismatch},
			{acquirer.VerbVoid, of(sold, 0), acquirer.CodeAlreadyCaptured},
			{acquirer.VerbVoid, of(voided, 0), acquirer.CodeAlreadyVoided},
			{acquirer.VerbRefund, of(held, 1), acquirer.CodeNothingCaptured},
			{acquirer.VerbRefund, of(sold, 101), acquirer.CodeAmountTooLarge},
		} {
			answer := d.answer(t, fmt.Sprint("k", i), tc.verb, tc.order)
			if answer.Approved || answer.Code != tc.want {
				t.Errorf("%s %+v: %+v, want %s", tc.verb, tc.order, answer, tc.want)
			}
		}
	})
}

// race asks for the same under n keys at once and says how many were approved.
func (d env) race(t *testing.T, n int, verb acquirer.Verb, order acquirer.Order) (approved int) {
	t.Helper()
	bodies := make([]string, n)
	atOnce(n, func(i int) { _, bodies[i] = d.ask(t, fmt.Sprint("race", i), verb, order) })
	for _, body := range bodies {
		if strings.Contains(body, `"approved":true`) {
			approved++
		}
	}
	return approved
}

func TestJournal(t *testing.T) {
	t.Parallel()

	t.Run("it cannot be rewritten", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.must(t, "k", acquirer.VerbAuthorize, visaSale(2000))
		db := connect(t, d.databaseURL)
		for _, sql := range []string{
			`UPDATE acquirer.movements SET amount = 0`,
			`DELETE FROM acquirer.movements`,
			`TRUNCATE acquirer.movements`,
		} {
			_, err := db.Exec(t.Context(), sql)
			var refused *pgconn.PgError
			if !errors.As(err, &refused) || !strings.Contains(refused.Message, "append-only") {
				t.Errorf("%s: %v", sql, err)
			}
		}
	})

	t.Run("it tells the story of a card", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		auth := d.must(t, "a", acquirer.VerbAuthorize, visa(1000))
		d.must(t, "b", acquirer.VerbCapture, of(auth, 700))
		d.must(t, "c", acquirer.VerbRefund, of(auth, 200))
		d.answer(t, "d", acquirer.VerbAuthorize, acquirer.Order{Card: "chargeDeclined", Amount: 5, Currency: "usd"})

		journal, err := simulator.Journal(t.Context(), connect(t, d.databaseURL))
		if err != nil {
			t.Fatal(err)
		}
		var table bytes.Buffer
		err = simulator.PrintJournal(&table, journal)
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for line := range strings.Lines(table.String()) {
			fields := strings.Fields(line)
			if fields[0] != "TIME" {
				rows = append(rows, strings.Join(fields[2:8], " "))
			}
		}
		got := strings.Join(rows, "\n")
		want := "visa hold 1000 usd authorize approved\n" +
			"visa capture 700 usd capture approved\n" +
			"visa refund 200 usd refund approved\n" +
			"chargeDeclined - 5 usd authorize generic_decline"
		if got != want {
			t.Errorf("printed:\n%s\nwant:\n%s", got, want)
		}
	})

	t.Run("it is served as JSON lines, all of it or of one card or key", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.must(t, "a", acquirer.VerbAuthorize, visa(1000))
		d.must(t, "b", acquirer.VerbAuthorize, acquirer.Order{Card: "amex", Amount: 1, Currency: "usd"})
		for query, want := range map[string]int{"": 2, "?card=amex": 1, "?key=a": 1, "?card=amex&key=a": 0} {
			status, body := d.send(t, http.MethodGet, "/journal"+query, "")
			if status != http.StatusOK || strings.Count(body, "\n") != want {
				t.Errorf("/journal%s: %d %s; want %d lines", query, status, body, want)
			}
		}
	})
}

func TestServerRejectsBadRequests(t *testing.T) {
	t.Parallel()
	d := setup(t)

	t.Run("nothing is done without the secret", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/journal", "/fault", "/operations/k"} {
			resp, err := http.Get(d.URL() + path)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s: %d", path, resp.StatusCode)
			}
		}
	})

	t.Run("a card number is not let in", func(t *testing.T) {
		t.Parallel()
		visa, _ := testcard.ByName("visa")
		number := visa.Number()
		for _, card := range []string{number, number[:4] + " " + number[4:8] + " " + number[8:12] + " " + number[12:],
			"visa_" + number} {
			status, _ := d.ask(t, "number", acquirer.VerbAuthorize,
				acquirer.Order{Card: card, Amount: 1, Currency: "usd"})
			if status != http.StatusBadRequest {
				t.Errorf("card %q: %d", card, status)
			}
		}
	})

	t.Run("nonsense is refused before it can spoil a batch", func(t *testing.T) {
		t.Parallel()
		for _, order := range []acquirer.Order{
			{Card: "vi\x00sa", Amount: 1, Currency: "usd"},
			{Card: "visa", Amount: 0, Currency: "usd"},
			{Card: "visa", Amount: -1, Currency: "usd"},
			{Card: "visa", Amount: 1, Currency: "USD"},
			{Card: strings.Repeat("v", 300), Amount: 1, Currency: "usd"},
			{Amount: 1, Currency: "usd"},
		} {
			status, body := d.ask(t, "nonsense", acquirer.VerbAuthorize, order)
			if status != http.StatusBadRequest {
				t.Errorf("%+v: %d %s", order, status, body)
			}
		}
		for _, path := range []string{"/operations/%00", "/operations/" + strings.Repeat("k", 300)} {
			status, body := d.send(t, http.MethodGet, path, "")
			if status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
	})
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(context.WithoutCancel(t.Context())) })
	return db
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parse[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	err := json.Unmarshal([]byte(text), &value)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

func TestSettle(t *testing.T) {
	t.Parallel()
	const sales = 600
	d := setup(t)
	sell := func(key string, amount int64) {
		order := visaSale(amount)
		order.Merchant = "acct_1"
		d.answer(t, key, acquirer.VerbAuthorize, order)
	}
	atOnce(sales, func(i int) { sell(fmt.Sprint("sale-", i), int64(100+i)) })
	d.answer(t, "hold", acquirer.VerbAuthorize, visa(50))

	conn := d.connect(t)
	one := func(sql string) (n int) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	t.Run("every sale is owed until it is settled, and a hold is not", func(t *testing.T) {
		if n := one(`
			SELECT count(*) FROM acquirer.owed o JOIN acquirer.movements m ON m.number = o.movement
			WHERE m.kind = 'sale'`); n != sales {
			t.Errorf("%d sales are owed, want %d", n, sales)
		}
		if n := one("SELECT count(*) FROM acquirer.owed"); n != sales {
			t.Errorf("%d movements are owed, want %d", n, sales)
		}
	})

	t.Run("a batch is one transaction, however many movements it has", func(t *testing.T) {
		d.Settle(t)
		if n := one("SELECT count(DISTINCT xmin::text) FROM acquirer.settled"); n != 1 {
			t.Errorf("%d transactions settled %d movements, want one", n, sales)
		}
	})

	t.Run("each is settled and told once, also by two processes at once", func(t *testing.T) {
		other := acquirertest.Start(t, d.databaseURL)
		atOnce(50, func(i int) { sell(fmt.Sprint("later-", i), int64(10_000+i)) })
		atOnce(4, func(i int) { []*acquirertest.Sim{d.Sim, other}[i%2].Settle(t) })
		if n := one("SELECT count(*) FROM acquirer.owed"); n != 0 {
			t.Errorf("%d movements are still owed", n)
		}
		const reported = `
			FROM acquirer.outbox, json_array_elements(convert_from(body, 'UTF8')::json->'movements') AS m (movement)`
		for _, sql := range []string{"SELECT count(*) FROM acquirer.settled",
			"SELECT count(DISTINCT movement->>'reference') " + reported, "SELECT count(*) " + reported} {
			if n := one(sql); n != sales+50 {
				t.Errorf("%s: %d, want %d", sql, n, sales+50)
			}
		}
	})
}

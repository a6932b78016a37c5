package phase_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

func TestKey(t *testing.T) {
	t.Parallel()

	t.Run("the first request runs the operation and leaves one of everything", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		answer := s.process().answers("k", http.StatusOK)
		if answer.Replayed || answer.Key != "k" || answer.ObjectID != "or_1" {
			t.Errorf("answered %+v", answer)
		}
		s.bank.wantMoved(t, 1)
		s.want("orders", 1, "SELECT count(*) FROM orders")
		s.want("deliveries", 1, "SELECT count(*) FROM deliveries")
		s.want("lines of the trail", 1, "SELECT count(*) FROM trail WHERE actor = 'the merchant' AND status = 200")
		s.want("points in the journal", 3, "SELECT count(*) FROM request_checkpoints")
		s.want("calls executed", 1, "SELECT count(*) FROM request_calls WHERE outcome = 'executed' AND attempts = 1")
	})

	t.Run("a replay is the first answer, byte for byte", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		first := s.process().answers("k", http.StatusOK)
		again := s.process().answers("k", http.StatusOK)
		if !bytes.Equal(first.Body, again.Body) {
			t.Errorf("first answered %q, then %q", first.Body, again.Body)
		}
		if !again.Replayed || again.OriginalRequest != first.OriginalRequest {
			t.Errorf("the replay says of itself: %+v", again)
		}
		if again.Headers["Stripe-Version"] != "2026-08-26.dahlia" {
			t.Errorf("the replay has headers %v", again.Headers)
		}
		s.bank.wantMoved(t, 1)
	})

	t.Run("what its own first attempt has done does not refuse a retry", func(t *testing.T) {
		t.Parallel()
		for name, refuse := range map[string]func(s *env, done func() error){
			"by the check": func(s *env, done func() error) { s.shop.check = done },
			"by the first transaction": func(s *env, done func() error) {
				s.shop.record = func(*phase.Tx, order) error { return done() }
			},
		} {
			s := setup(t)
			retry, original := s.process(), s.process()
			var first phase.Response
			began := false
			refuse(s, func() error {
				if began {
					return nil
				}
				began = true // the retry has found no row; now the first attempt comes to its end
				first = original.answers("k", http.StatusOK)
				return apierror.Invalid("", "This has been done already.")
			})
			again := retry.answers("k", http.StatusOK)
			if !again.Replayed || !bytes.Equal(again.Body, first.Body) {
				t.Errorf("refused %s: answered %s (a replay: %v), and the first attempt %s", name, again.Body,
					again.Replayed, first.Body)
			}
			s.bank.wantMoved(t, 1)
		}
	})

	t.Run("other parameters under the key are refused and change nothing", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		p.answers("k", http.StatusOK)
		answer, err := p.serveOrder("k", order{Amount: 2001})
		refusal := wantRefusal(t, answer, err, http.StatusBadRequest)
		if refusal.Type != apierror.TypeIdempotency || !strings.Contains(refusal.Message, "same parameters") ||
			!strings.Contains(refusal.Message, "'k'") {
			t.Errorf("refused with %v", refusal)
		}
		s.bank.wantMoved(t, 1)
	})

	t.Run("another endpoint under the key is refused and both are named", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		p.answers("k", http.StatusOK)
		elsewhere := call("k", order{Amount: 2000})
		elsewhere.Path = "/v1/gifts"
		answer, err := p.buy.Serve(t.Context(), p.engine, elsewhere, order{Amount: 2000})
		refusal := wantRefusal(t, answer, err, http.StatusBadRequest)
		if refusal.Type != apierror.TypeIdempotency ||
			!strings.Contains(refusal.Message, "'/v1/gifts' vs '/v1/orders'") {
			t.Errorf("refused with %v", refusal)
		}
	})

	t.Run("the same key of another account or mode is another key", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		s.exec("INSERT INTO accounts (id, name) VALUES ('acct_other', 'Other')")
		p.answers("k", http.StatusOK)
		for name, change := range map[string]func(*phase.Request){
			"account": func(c *phase.Request) { c.AccountID = "acct_other" },
			"mode":    func(c *phase.Request) { c.Livemode = true },
		} {
			other := call("k", order{Amount: 5})
			change(&other)
			answer, err := p.buy.Serve(t.Context(), p.engine, other, order{Amount: 5})
			if err != nil || answer.Replayed {
				t.Errorf("another %s: %+v, %v", name, answer, err)
			}
		}
		s.bank.wantMoved(t, 3)
	})

	t.Run("while the first request is under way the second one hears 409", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p, held := s.process(), newStall()
		s.bank.has(held.day)
		first := make(chan phase.Response, 1)
		go func() {
			answer, _ := p.serve("k")
			first <- answer
		}()
		<-held.began
		refusal := s.process().refuses("k", http.StatusConflict)
		if refusal.Code != "idempotency_key_in_use" || refusal.Retry != "true" {
			t.Errorf("refused with %+v", refusal)
		}
		close(held.release)
		if answer := <-first; answer.Status != http.StatusOK {
			t.Errorf("the first request answered %d", answer.Status)
		}
		s.bank.wantMoved(t, 1)
	})

	t.Run("a caller that is ready to wait gets the first request's answer", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p, held := s.process(), newStall()
		s.bank.has(held.day)
		first := make(chan phase.Response, 1)
		go func() {
			answer, _ := p.serve("k")
			first <- answer
		}()
		<-held.began
		second := make(chan phase.Response, 1)
		go func() {
			waiting := call("k", order{Amount: 2000})
			waiting.Wait = time.Minute
			answer, _ := p.buy.Serve(t.Context(), p.engine, waiting, order{Amount: 2000})
			second <- answer
		}()
		close(held.release)
		a, b := <-first, <-second
		if !b.Replayed || !bytes.Equal(a.Body, b.Body) {
			t.Errorf("first %q, second %q, replayed %v", a.Body, b.Body, b.Replayed)
		}
	})

	t.Run("a caller that hangs up while it waits is not waited for", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p, held := s.process(), newStall()
		s.bank.has(held.day)
		first := make(chan phase.Response, 1)
		go func() {
			answer, _ := p.serve("k")
			first <- answer
		}()
		<-held.began
		ctx, hangUp := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, hangUp)
		waiting, began := call("k", order{Amount: 2000}), time.Now()
		waiting.Wait = time.Minute
		answer, err := p.buy.Serve(ctx, p.engine, waiting, order{Amount: 2000})
		wantRefusal(t, answer, err, http.StatusConflict)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it was waited for %s", took)
		}
		close(held.release)
		if answer := <-first; answer.Status != http.StatusOK {
			t.Errorf("the first request answered %d", answer.Status)
		}
	})

	t.Run("of two first requests at once one runs", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		const rivals = 4
		var meet sync.WaitGroup // all rivals have found the key unused before one of them claims it
		var once sync.Map
		meet.Add(rivals)
		p := s.process()
		s.shop.check = func() error {
			if _, again := once.LoadOrStore(new(int), true); !again {
				meet.Done()
			}
			meet.Wait()
			return nil
		}
		var bodies sync.Map
		var asking sync.WaitGroup
		for range rivals {
			asking.Go(func() {
				waiting := call("k", order{Amount: 2000})
				waiting.Wait = time.Minute
				answer, err := p.buy.Serve(t.Context(), p.engine, waiting, order{Amount: 2000})
				if err != nil {
					t.Errorf("no answer: %v", err)
				}
				bodies.Store(string(answer.Body), true)
			})
		}
		asking.Wait()
		different := 0
		bodies.Range(func(any, any) bool { different++; return true })
		if different != 1 {
			t.Errorf("%d different answers", different)
		}
		s.bank.wantMoved(t, 1)
		s.want("orders", 1, "SELECT count(*) FROM orders")
		s.want("requests", 1, "SELECT count(*) FROM request_status")
	})

	t.Run("a client that hangs up does not stop what it began", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		ctx, hangUp := context.WithCancel(t.Context())
		s.bank.has(func(_ context.Context, honest func() (string, error)) (string, error) {
			hangUp()
			return honest()
		})
		in := order{Amount: 2000}
		answer, err := p.buy.Serve(ctx, p.engine, call("k", in), in)
		if err != nil || answer.Status != http.StatusOK {
			t.Errorf("answered %d, %v", answer.Status, err)
		}
		s.wantState("k", idempotency.Finished)
	})

	t.Run("an outcome that is an error is stored and replayed like any other", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.shop.deliver = func(context.Context, *phase.Tx) (bool, error) { return true, nil }
		p := s.process()
		first := p.answers("k", http.StatusPaymentRequired)
		s.shop.deliver = nil
		again := p.answers("k", http.StatusPaymentRequired)
		if !again.Replayed || !bytes.Equal(first.Body, again.Body) ||
			!strings.Contains(string(first.Body), "card_declined") {
			t.Errorf("first %q, then %q", first.Body, again.Body)
		}
		s.wantState("k", idempotency.Finished)
	})

	t.Run("what is refused before the claim stores nothing and leaves the key free", func(t *testing.T) {
		t.Parallel()
		for name, refuse := range map[string]func(*shop, error){
			"by the check": func(s *shop, err error) { s.check = func() error { return err } },
			"inside the first transaction": func(s *shop, err error) {
				s.record = func(*phase.Tx, order) error { return err }
			},
		} {
			s := setup(t)
			p := s.process()
			refuse(s.shop, apierror.Invalid("amount", "Too much."))
			if refusal := p.refuses("k", http.StatusBadRequest); refusal.Param != "amount" {
				t.Errorf("%s: refused with %v", name, refusal)
			}
			s.wantState("k", "no row")
			s.want("orders", 0, "SELECT count(*) FROM orders")
			refuse(s.shop, nil)
			if _, err := p.serveOrder("k", order{Amount: 1}); err != nil {
				t.Errorf("%s: the key cannot be used again: %v", name, err)
			}
		}
	})

	t.Run("a database that has no time before the claim is no fault of the request", func(t *testing.T) {
		t.Parallel()
		for _, met := range []struct {
			code   string
			status int
		}{
			{"55P03", http.StatusTooManyRequests},    // lock_timeout
			{"57014", http.StatusServiceUnavailable}, // statement_timeout, or pg_cancel_backend
			{"40P01", http.StatusServiceUnavailable}, // a deadlock at every try
		} {
			for name, fail := range map[string]func(*shop, error){
				"in the check": func(s *shop, err error) { s.check = func() error { return err } },
				"in the first transaction": func(s *shop, err error) {
					s.record = func(*phase.Tx, order) error { return err }
				},
			} {
				s := setup(t)
				p := s.process()
				fail(s.shop, fmt.Errorf("look it up: %w", &pgconn.PgError{Code: met.code}))
				if refusal := p.refuses("k", met.status); refusal.Retry != "true" {
					t.Errorf("%s %s: clients are not told to come back: %v", met.code, name, refusal)
				}
				s.wantState("k", "no row")
				fail(s.shop, nil)
				p.answers("k", http.StatusOK)
				s.bank.wantMoved(t, 1)
			}
		}
	})

	t.Run("a phase whose statement a migration has changed runs again", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		const notes = `SELECT note FROM notes`
		s.exec("CREATE TABLE notes AS SELECT 'fragile'::text AS note")
		s.shop.deliver = func(ctx context.Context, tx *phase.Tx) (bool, error) {
			rows, err := tx.Query(ctx, notes)
			if err != nil {
				return false, err
			}
			_, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
			return false, err
		}
		p.answers("first", http.StatusOK)
		s.exec("ALTER TABLE notes ALTER COLUMN note TYPE varchar")

		p.answers("second", http.StatusOK)

		s.bank.wantMoved(t, 2)
		s.want("takeovers", 0, "SELECT count(*) FROM request_status WHERE epoch > 1")
	})

	t.Run("a request without a key gets one of ours and leaves a row", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		one, two := p.answers("", http.StatusOK), p.answers("", http.StatusOK)
		if one.Key == "" || one.Key == two.Key {
			t.Errorf("keys %q and %q", one.Key, two.Key)
		}
		s.bank.wantMoved(t, 2)
		s.want("keyGenerated rows", 2, "SELECT count(*) FROM request_status WHERE key_generated AND state = 'finished'")
	})

	t.Run("a key whose answer is in the archive says what it made", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		p.answers("k", http.StatusOK)
		s.backdate("k", idempotency.AnswerRetention+time.Hour)
		if n, err := idempotency.Reap(t.Context(), s.pool, 10); n != 1 || err != nil {
			t.Fatalf("archived %d, %v", n, err)
		}
		refusal := p.refuses("k", http.StatusBadRequest)
		if refusal.Type != apierror.TypeIdempotency || !strings.Contains(refusal.Message, "or_1") {
			t.Errorf("refused with %v", refusal)
		}
		s.bank.wantMoved(t, 1)
	})

	t.Run("without its database it says that nothing is known, and that a retry helps", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		s.exec("ALTER TABLE requests RENAME TO requests_elsewhere")
		if refusal := p.refuses("k", http.StatusServiceUnavailable); refusal.Retry != "true" {
			t.Errorf("refused with %+v", refusal)
		}
		s.bank.wantMoved(t, 0)
	})
}

func TestPanic(t *testing.T) {
	t.Parallel()

	t.Run("in the first transaction it leaves nothing behind", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		s.shop.record = func(*phase.Tx, order) error { panic("a bug") }
		if _, err := p.serve("k"); err == nil || errors.As(err, new(*apierror.Error)) {
			t.Errorf("error %v, want one for the operator", err)
		}
		s.wantState("k", "no row")
	})

	t.Run("in a later one it parks the request, and the process lives", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		s.shop.deliver = func(context.Context, *phase.Tx) (bool, error) { panic("a bug") }
		p.refuses("k", http.StatusServiceUnavailable)
		s.wantState("k", idempotency.Parked)
		s.want("deliveries", 0, "SELECT count(*) FROM deliveries")
		s.shop.deliver = nil // the bug is fixed
		p.answers("k", http.StatusOK)
		s.bank.wantMoved(t, 1)
	})

	t.Run("in a foreign phase it is an unknown outcome", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		p := s.process()
		panics := func(_ context.Context, honest func() (string, error)) (string, error) {
			_, _ = honest()
			panic("a bug")
		}
		s.bank.has(panics, panics)
		p.refuses("k", http.StatusServiceUnavailable)
		s.wantState("k", idempotency.Parked)
		p.answers("k", http.StatusOK)
		s.bank.wantMoved(t, 1)
	})
}

package payment_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/testapp"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

type shop struct {
	db     *pgtest.DB
	sim    *acquirertest.Sim
	config process.Config
	server *httptest.Server
	key    string
}

func openShop(t *testing.T) *shop {
	t.Helper()
	app := testapp.New(t, testapp.Notified, func(c *process.Config) { c.MaxConns = 16 })
	return &shop{db: app.DB, sim: app.Sim, config: app.Config, server: app.Server, key: app.Open(t, "acct_1", "Shop")}
}

// answer is what came back, as far as a test is decided by it.
type answer struct {
	status   int
	ID       string
	Status   string
	Metadata map[string]string
	Error    struct{ Code, Message string }
}

func (s *shop) post(t *testing.T, path, form string) answer {
	t.Helper()
	return s.ask(t, path, form, rand.Text())
}

func (s *shop) ask(t *testing.T, path, form, key string) (a answer) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+path, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(s.key, "")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Idempotency-Key", key)
	response, err := s.server.Client().Do(request)
	if err != nil {
		t.Error(err)
		return a
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
		return a
	}
	if err := json.Unmarshal(body, &a); err != nil {
		t.Errorf("%s: %s", err, body)
	}
	a.status = response.StatusCode
	return a
}

// atOnce lets clients do the same thing at the same time, each under its own key. A client
// repeats its request while the object is locked or, on a slow machine, the outcome is not
// known yet.
func (s *shop) atOnce(t *testing.T, clients int, path, form string) (answers []answer) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			key := rand.Text()
			for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				a := s.ask(t, path, form, key)
				switch a.status {
				case http.StatusTooManyRequests, http.StatusConflict, http.StatusServiceUnavailable:
					continue
				}
				mu.Lock()
				answers = append(answers, a)
				mu.Unlock()
				return
			}
		})
	}
	all.Wait()
	return answers
}

func (s *shop) number(t *testing.T, sql string, args ...any) (n int64) {
	t.Helper()
	if err := s.db.Pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func count(answers []answer, status int) (n int) {
	for _, a := range answers {
		if a.status == status {
			n++
		}
	}
	return n
}

func TestRaces(t *testing.T) {
	t.Parallel()

	t.Run("fifty refunds at once give back what was taken and not a cent more", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		charge := s.post(t, "/v1/charges", "amount=2000&currency=usd&source=tok_visa").ID
		answers := s.atOnce(t, 50, "/v1/refunds", "amount=150&charge="+charge)

		if ok := count(answers, http.StatusOK); ok != 13 {
			t.Errorf("%d refunds of 150 out of 2000 succeeded, want 13", ok)
		}
		if refused := count(answers, http.StatusBadRequest); refused != 37 {
			t.Errorf("%d were refused, want 37", refused)
		}
		if got := s.number(t, "SELECT amount_refunded FROM charges WHERE id = $1", charge); got != 1950 {
			t.Errorf("the charge says %d are refunded, want 1950", got)
		}
		if got := s.number(t, "SELECT max(total) FROM ledger_refund_chain WHERE charge = $1", charge); got != 1950 {
			t.Errorf("the chain ends at %d, want 1950", got)
		}
		if got := s.sim.CountByVerb(t)["refund"]; got != 13 {
			t.Errorf("the acquirer refunded %d times, want 13", got)
		}
	})

	t.Run("of fifty captures at once one takes the money", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		charge := s.post(t, "/v1/charges", "amount=2000&currency=usd&source=tok_visa&capture=false").ID
		answers := s.atOnce(t, 50, "/v1/charges/"+charge+"/capture", "")

		if ok := count(answers, http.StatusOK); ok != 1 {
			t.Errorf("%d captures succeeded, want one", ok)
		}
		for _, a := range answers {
			if a.status != http.StatusOK && a.Error.Code != "charge_already_captured" {
				t.Errorf("refused with %d %+v", a.status, a.Error)
			}
		}
		if got := s.sim.CountByVerb(t)["capture"]; got != 1 {
			t.Errorf("the acquirer captured %d times, want once", got)
		}
		if got := s.number(t, "SELECT count(*) FROM ledger_postings WHERE source = $1", charge); got != 1 {
			t.Errorf("%d postings, want one", got)
		}
	})

	t.Run("a capture and a void at once do not both happen", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		for range 10 {
			charge := s.post(t, "/v1/charges", "amount=2000&currency=usd&source=tok_visa&capture=false").ID
			var both sync.WaitGroup
			both.Go(func() { s.atOnce(t, 1, "/v1/charges/"+charge+"/capture", "") })
			both.Go(func() { s.atOnce(t, 1, "/v1/refunds", "charge="+charge) })
			both.Wait()
			taken := s.number(t, "SELECT amount_captured FROM charges WHERE id = $1", charge)
			voided := s.number(t, `
				SELECT count(*) FROM refunds WHERE charge_id = $1 AND kind = 'void' AND status = 'succeeded'`, charge)
			if (taken > 0) == (voided > 0) {
				t.Errorf("captured %d and voided %d times", taken, voided)
			}
		}
	})

	t.Run("of fifty confirmations at once one takes the money", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		intent := s.post(t, "/v1/payment_intents",
			"amount=2000&currency=usd&payment_method_types[]=card&payment_method=pm_card_visa").ID
		answers := s.atOnce(t, 50, "/v1/payment_intents/"+intent+"/confirm", "")

		if ok := count(answers, http.StatusOK); ok != 1 {
			t.Errorf("%d confirmations succeeded, want one", ok)
		}
		for _, a := range answers {
			if a.status != http.StatusOK && a.Error.Code != "payment_intent_unexpected_state" {
				t.Errorf("refused with %d %+v", a.status, a.Error)
			}
		}
		if got := s.sim.Holds(); got != 1 {
			t.Errorf("the card was charged %d times, want once", got)
		}
		if got := s.number(t, "SELECT count(*) FROM charges WHERE payment_intent_id = $1", intent); got != 1 {
			t.Errorf("%d charges, want one", got)
		}
	})

	t.Run("of thirty tabs that press Pay at once one pays", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		session := s.session(t)
		answers := s.atOnce(t, 30, "/v1/payment_pages/"+session+"/confirm",
			"payment_method=pm_card_visa&email=jenny@example.com")

		if ok := count(answers, http.StatusOK); ok != 1 {
			t.Errorf("%d tabs have paid, want one", ok)
		}
		for _, a := range answers {
			if a.status != http.StatusOK && a.Error.Code != "checkout_session_unexpected_state" {
				t.Errorf("refused with %d %+v", a.status, a.Error)
			}
		}
		if got := s.sim.Holds(); got != 1 {
			t.Errorf("the card was charged %d times, want once", got)
		}
		if got := s.number(t, "SELECT count(*) FROM payment_intents WHERE checkout_session = $1", session); got != 1 {
			t.Errorf("the session has %d intents, want one", got)
		}
	})

	t.Run("a session is paid or expired, and never both", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		for range 10 {
			session := s.session(t)
			var both sync.WaitGroup
			var paid, expired []answer
			both.Go(func() {
				paid = s.atOnce(t, 1, "/v1/payment_pages/"+session+"/confirm",
					"payment_method=pm_card_visa&email=jenny@example.com")
			})
			both.Go(func() { expired = s.atOnce(t, 1, "/v1/checkout/sessions/"+session+"/expire", "") })
			both.Wait()
			if count(paid, http.StatusOK)+count(expired, http.StatusOK) != 1 {
				t.Errorf("paid %+v, expired %+v", paid, expired)
			}
			took := s.number(t, `
				SELECT count(*) FROM charges c JOIN payment_intents p ON p.id = c.payment_intent_id
				WHERE p.checkout_session = $1 AND c.captured`, session)
			if took != int64(count(paid, http.StatusOK)) {
				t.Errorf("%d charges, paid %+v", took, paid)
			}
		}
	})

	t.Run("an intent is captured or canceled, and never both", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		for range 10 {
			intent := s.post(t, "/v1/payment_intents",
				"amount=2000&currency=usd&payment_method_types[]=card&payment_method=pm_card_visa"+
					"&capture_method=manual&confirm=true").ID
			var both sync.WaitGroup
			var captured, canceled []answer
			both.Go(func() { captured = s.atOnce(t, 1, "/v1/payment_intents/"+intent+"/capture", "") })
			both.Go(func() { canceled = s.atOnce(t, 1, "/v1/payment_intents/"+intent+"/cancel", "") })
			both.Wait()
			if count(captured, http.StatusOK)+count(canceled, http.StatusOK) != 1 {
				t.Errorf("captured %+v, canceled %+v", captured, canceled)
			}
			moved := s.number(t, "SELECT amount_received FROM payment_intents WHERE id = $1", intent)
			posted := s.number(t, `
				SELECT count(*) FROM ledger_postings p JOIN charges c ON c.id = p.source
				WHERE c.payment_intent_id = $1`, intent)
			if (moved > 0) != (posted > 0) || (moved > 0) != (count(captured, http.StatusOK) == 1) {
				t.Errorf("the intent says %d, %d postings, captured %+v", moved, posted, captured)
			}
		}
	})

	t.Run("a token is spent once, however many show it at once", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		token := s.post(t, "/v1/tokens",
			fmt.Sprintf("card[number]=%s&card[exp_month]=12&card[exp_year]=2040&card[cvc]=123", visaNumber())).ID
		answers := s.atOnce(t, 20, "/v1/charges", "amount=2000&currency=usd&source="+token)
		if ok := count(answers, http.StatusOK); ok != 1 {
			t.Errorf("%d charges with one token, want one", ok)
		}
		if got := s.sim.Holds(); got != 1 {
			t.Errorf("the card was charged %d times, want once", got)
		}
	})
}

// session opens a checkout session.
func (s *shop) session(t *testing.T) string {
	t.Helper()
	return s.post(t, "/v1/checkout/sessions",
		"mode=payment&success_url=https://example.com&line_items[0][quantity]=1"+
			"&line_items[0][price_data][currency]=usd&line_items[0][price_data][unit_amount]=2000"+
			"&line_items[0][price_data][product_data][name]=Sledge").ID
}

func visaNumber() string {
	visa, _ := testcard.ByName("visa")
	return visa.Number()
}

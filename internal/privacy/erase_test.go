package privacy_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/privacy"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/testapp"
	"github.com/ratchet-pay/ratchet/internal/verify"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// shop is an API, and the database behind it.
type shop struct {
	pool, theirs *pgxpool.Pool
	sim          *acquirertest.Sim
	app          *testapp.App
	key          string
}

func open(t *testing.T) *shop {
	t.Helper()
	app := testapp.New(t, testapp.Notified)
	return &shop{pool: app.DB.Pool, theirs: app.AcquirerDB.Pool, sim: app.Sim, app: app,
		key: app.Open(t, "acct_1", "The shop")}
}

func (s *shop) ask(t *testing.T, method, path, form, key string) testapp.Answer {
	t.Helper()
	if key == "" {
		return s.app.Send(t, s.key, method, path, form)
	}
	return s.app.Send(t, s.key, method, path, form, "Idempotency-Key", key)
}

func (s *shop) post(t *testing.T, path, form string) string {
	t.Helper()
	a := s.ask(t, http.MethodPost, path, form, "")
	if a.ID == "" {
		t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	return a.ID
}

func (s *shop) erase(t *testing.T, subject string) ([]privacy.Count, error) {
	t.Helper()
	var counts []privacy.Count
	err := pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) (err error) {
		counts, err = privacy.Erase(t.Context(), tx, privacy.Order{Subject: subject, User: "me", Because: "a letter"})
		return err
	})
	return counts, err
}

// traces are the tables in which a text can still be found, in any column.
func (s *shop) traces(t *testing.T, text string) (tables []string) {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), `SELECT relname FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range all {
		columns := "r::text"
		if table == "answers" || table == "archived_answers" || table == "webhook_attempts" {
			columns += " || coalesce(convert_from(body, 'UTF8'), '')" // bytes print as numbers
		}
		var found bool
		err := s.pool.QueryRow(t.Context(),
			`SELECT EXISTS (SELECT FROM `+table+` r WHERE position($1 IN `+columns+`) > 0)`, text).Scan(&found)
		if err != nil {
			t.Fatal(err)
		}
		if found {
			tables = append(tables, table)
		}
	}
	return tables
}

// anybody is a person whose name is searched for afterwards, wherever it was typed.
const anybody = "Wilhelmina"

// lives leaves traces of a customer in every kind of object, and of a stranger.
func (s *shop) lives(t *testing.T) (customer string) {
	t.Helper()
	const (
		person = "name=" + anybody + "&email=" + anybody + "@example.com&phone=" + anybody + "&description=" +
			anybody + "&metadata[who]=" + anybody
		address  = "[address][line1]=" + anybody + "&"
		shipping = "shipping[name]=" + anybody + "&shipping" + address
	)
	s.post(t, "/v1/webhook_endpoints", "url=https://erase.example.com/&enabled_events[]=*")
	customer = s.post(t, "/v1/customers", person+"&address[line1]="+anybody+"&"+shipping+"source=tok_visa")
	s.post(t, "/v1/customers/"+customer, "description=More+of+"+anybody)
	charge := s.post(t, "/v1/charges",
		"amount=900&currency=usd&customer="+customer+"&description="+anybody+"&metadata["+anybody+"]=1&"+shipping+
			"receipt_email="+anybody+"@example.com")
	s.post(t, "/v1/refunds", "charge="+charge+"&amount=100&metadata[who]="+anybody)
	// refused, and stored as such
	s.ask(t, http.MethodPost, "/v1/refunds", "charge="+charge+"&amount=9000&metadata[who]="+anybody, "")
	method := s.post(t, "/v1/payment_methods", "type=card&card[token]=tok_visa&billing_details[name]="+anybody)
	s.post(t, "/v1/payment_methods/"+method+"/attach", "customer="+customer)
	const intent = "amount=3000&currency=usd&payment_method_types[]=card&confirm=true&description=" + anybody +
		"&customer="
	s.post(t, "/v1/payment_intents", intent+customer+"&payment_method="+method)
	s.ask(t, http.MethodPost, "/v1/payment_intents", intent+customer+"&payment_method=pm_card_chargeDeclined", "")
	// refused, and the intent stays
	s.ask(t, http.MethodPost, "/v1/payment_intents", intent+customer, "")
	// so is this, and her card does not become its method
	const nobodys = "amount=3000&currency=usd&payment_method_types[]=card&confirm=true&payment_method="
	s.ask(t, http.MethodPost, "/v1/payment_intents", nobodys+method, "")
	s.post(t, "/v1/setup_intents",
		"payment_method_types[]=card&confirm=true&metadata[who]="+anybody+"&payment_method="+method+"&customer="+
			customer)
	s.ask(t, http.MethodPost, "/v1/setup_intents", "payment_method_types[]=card&confirm=true&customer="+customer+
		"&payment_method_data[type]=card&payment_method_data[card][token]=tok_chargeDeclined"+
		"&payment_method_data[billing_details][name]="+anybody, "")
	s.checkOut(t, "&payment_intent_data[description]="+anybody+"&customer="+customer)
	s.dispute(t, "&customer="+customer)
	return customer
}

// checkOut buys something on the checkout page, and returns the session.
func (s *shop) checkOut(t *testing.T, more string) (session string) {
	t.Helper()
	session = s.post(t, "/v1/checkout/sessions",
		"mode=payment&success_url=https://erase.example.com/&metadata[who]="+anybody+more+
			"&line_items[0][quantity]=1&line_items[0][price_data][currency]=usd"+
			"&line_items[0][price_data][unit_amount]=900&line_items[0][price_data][product_data][name]=Sledge")
	method := s.post(t, "/v1/payment_methods",
		"type=card&card[token]=tok_visa&billing_details[name]="+anybody+"&billing_details[email]="+anybody+
			"@example.com")
	s.post(t, "/v1/payment_pages/"+session+"/confirm", "payment_method="+method)
	return session
}

// dispute pays with a card whose holder complains, and answers with evidence.
func (s *shop) dispute(t *testing.T, more string) (dispute string) {
	t.Helper()
	const intent = "amount=2000&currency=usd&payment_method_types[]=card&confirm=true" +
		"&payment_method=pm_card_createDispute"
	payment := s.post(t, "/v1/payment_intents", intent+more)
	s.sim.WaitUntilNotified(t, s.app.Server.URL)
	err := s.pool.QueryRow(t.Context(), `
		SELECT d.id FROM disputes d JOIN charges c ON c.account_id = d.account_id AND c.id = d.charge_id
		WHERE c.payment_intent_id = $1`, payment).Scan(&dispute)
	if err != nil {
		t.Fatal(err)
	}
	s.post(t, "/v1/disputes/"+dispute,
		"submit=false&metadata[who]="+anybody+"&evidence[customer_name]="+anybody+"&evidence[customer_email_address]="+
			anybody+
			"@example.com&evidence[billing_address]="+anybody+"&evidence[uncategorized_text]=It+was+"+anybody)
	return dispute
}

func TestErase(t *testing.T) {
	t.Parallel()

	t.Run("nothing is left of a person, the books still agree, and the chain holds", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		customer := s.lives(t)
		s.post(t, "/v1/customers", "name=Stranger&email=stranger@example.com")
		if _, err := s.pool.Exec(t.Context(), "UPDATE webhook_endpoints SET description = 'not a person'"); err != nil {
			t.Fatal(err)
		}
		s.sealAll(t)
		if a := s.ask(t, http.MethodDelete, "/v1/customers/"+customer, "", ""); a.Status != http.StatusOK {
			t.Fatal(a)
		}
		s.sealAll(t)
		counts, err := s.erase(t, customer)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"customers", "charges", "refunds", "payment_methods", "payment_intents",
			"setup_intents", "setup_attempts", "cards", "events", "requests", "answers", "audit_events",
			"ledger_postings", "disputes", "checkout_sessions"} {
			if !has(counts, want) {
				t.Errorf("nothing was erased from %s", want)
			}
		}
		if left := s.traces(t, anybody); len(left) > 0 {
			t.Errorf("still found in %v", left)
		}
		if left := s.traces(t, "Stranger"); len(left) < 4 {
			t.Errorf("somebody else is only found in %v", left)
		}
		s.sealAll(t)
		report, err := verify.Run(t.Context(),
			verify.Config{Pool: s.pool, Acquirer: simulator.Records{DB: s.theirs}, AuditKeys: chainKey})
		if err != nil {
			t.Fatal(err)
		}
		if report.ExitCode() != verify.OK {
			var text strings.Builder
			_ = report.Print(&text)
			t.Errorf("does not hold:\n%s", text.String())
		}
		if _, err := s.erase(t, customer); err != nil {
			t.Errorf("a second time: %v", err)
		}
	})

	t.Run("the erased answer is not replayed as if it were the first, nor is the work done again", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		const form = "amount=900&currency=usd&source=tok_visa&description=" + anybody
		first := s.ask(t, http.MethodPost, "/v1/charges", form, "order-1")
		if _, err := s.erase(t, first.ID); err != nil {
			t.Fatal(err)
		}
		again := s.ask(t, http.MethodPost, "/v1/charges", form, "order-1")
		if again.Status != http.StatusBadRequest || !strings.Contains(again.Body, "has been erased") ||
			!strings.Contains(again.Body, first.ID) {
			t.Errorf("answered %d %s", again.Status, again.Body)
		}
		now := s.ask(t, http.MethodGet, "/v1/charges/"+first.ID, "", "")
		if now.Status != http.StatusOK || strings.Contains(now.Body, anybody) ||
			!strings.Contains(now.Body, `"amount": 900`) {
			t.Errorf("the charge is %d %s", now.Status, now.Body)
		}
	})

	t.Run("the index of texts has nothing of what was erased, and still has the rest", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		const form = "amount=900&currency=usd&source=tok_visa&metadata[by]=stranger&description="
		erased := s.post(t, "/v1/charges", form+anybody)
		s.post(t, "/v1/charges", form+"stranger")
		if _, err := s.pool.Exec(t.Context(),
			"SELECT search_cut('acct_1', 'charges', '', max(id), true) FROM charges"); err != nil {
			t.Fatal(err)
		}
		has := func(text string) (found bool) {
			t.Helper()
			err := s.pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM search_blocks
				WHERE terms @> search_terms('acct_1', 'charges', ARRAY[$1::text], '{}', '{}'))`, text).Scan(&found)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		if !has(anybody) || !has("stranger") {
			t.Fatal("the charges are not in the index")
		}
		if _, err := s.erase(t, erased); err != nil {
			t.Fatal(err)
		}
		if has(anybody) || !has("stranger") {
			t.Errorf("the index has the person: %v; somebody else: %v", has(anybody), has("stranger"))
		}
	})

	t.Run("who paid without being a customer is forgotten by the session, or the dispute", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		session := s.checkOut(t, "&customer_email="+anybody+"@example.com")
		if _, err := s.erase(t, session); err != nil {
			t.Fatal(err)
		}
		if left := s.traces(t, anybody); len(left) > 0 {
			t.Errorf("after the session: still found in %v", left)
		}
		now := s.ask(t, http.MethodGet, "/v1/checkout/sessions/"+session, "", "")
		if now.Status != http.StatusOK || strings.Contains(now.Body, anybody) ||
			!strings.Contains(now.Body, `"amount_total": 900`) {
			t.Errorf("the session is %d %s", now.Status, now.Body)
		}
		dispute := s.dispute(t, "")
		if _, err := s.erase(t, dispute); err != nil {
			t.Fatal(err)
		}
		if left := s.traces(t, anybody); len(left) > 0 {
			t.Errorf("after the dispute: still found in %v", left)
		}
		now = s.ask(t, http.MethodGet, "/v1/disputes/"+dispute, "", "")
		if now.Status != http.StatusOK || strings.Contains(now.Body, anybody) ||
			!strings.Contains(now.Body, `"amount": 2000`) {
			t.Errorf("the dispute is %d %s", now.Status, now.Body)
		}
	})

	t.Run("the archive forgets, too", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		charge := s.post(t, "/v1/charges", "amount=900&currency=usd&source=tok_visa&description="+anybody)
		_, err := s.pool.Exec(t.Context(), `
			ALTER TABLE answers DISABLE TRIGGER answers_are_final;
			UPDATE answers SET expires_at = now() - interval '1 day';
			ALTER TABLE answers ENABLE ALWAYS TRIGGER answers_are_final`)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := idempotency.Reap(t.Context(), s.pool, 10); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if _, err := s.erase(t, charge); err != nil {
			t.Fatal(err)
		}
		if left := s.traces(t, anybody); len(left) > 0 {
			t.Errorf("still found in %v", left)
		}
	})

	t.Run("a customer that exists, a request that runs, and nothing at all are not erased", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		customer := s.post(t, "/v1/customers", "name="+anybody)
		if _, err := s.erase(t, customer); !errors.Is(err, privacy.ErrNotClosed) {
			t.Errorf("a customer: %v", err)
		}
		charge := s.post(t, "/v1/charges", "amount=900&currency=usd&source=tok_visa&description="+anybody)
		_, err := s.pool.Exec(t.Context(), `WITH asked AS (
				INSERT INTO requests (account_id, id, livemode, key, key_generated, method, path, fingerprint,
					fingerprint_version, params, context, flow, version, created_at)
				SELECT account_id, 'req_open', livemode, 'open', key_generated, method, path, fingerprint,
					fingerprint_version, json_build_object('Charge', object_id), context, flow, version, now()
					FROM request_status WHERE object_id = $1
				RETURNING account_id, id, flow, version)
			INSERT INTO runs (account_id, request_id, flow, version, state, recovery_points, reached_at, reached_epochs,
				state_data, due_at)
			SELECT account_id, id, flow, version, 'parked', '{charge_recorded}', ARRAY[now()], '{1}', '{}', now()
			FROM asked`, charge)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.erase(t, charge); !errors.Is(err, privacy.ErrUnended) {
			t.Errorf("a request: %v", err)
		}
		if _, err := s.erase(t, "cus_nobody"); !errors.Is(err, privacy.ErrUnknown) {
			t.Errorf("nothing: %v", err)
		}
	})
}

func has(counts []privacy.Count, table string) bool {
	for _, c := range counts {
		if c.Table == table && c.Rows > 0 {
			return true
		}
	}
	return false
}

var chainKey = secret.OneKey([]byte("the key of the chain"))

// sealAll waits until there is nothing left to seal: no transaction of the server,
// another test's neither, may be older than the rows.
func (s *shop) sealAll(t *testing.T) {
	t.Helper()
	const unsealed = `
		SELECT count(*) FROM audit_events WHERE xid >= coalesce((SELECT max(to_xid) FROM audit_blocks), 0)`
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := (audit.Sealer{Pool: s.pool, Keys: chainKey}).Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := s.pool.QueryRow(t.Context(), unsealed).Scan(&left); err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			return
		}
	}
	t.Fatal("not everything could be sealed for a minute")
}

package inspect_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/testapp"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// env is an API with two merchants, and the acquirer's books.
type env struct {
	db    *pgtest.DB
	books *acquirer.Client
	app   *testapp.App
	keys  map[string]string // by account
}

func newEnv(t *testing.T) *env {
	t.Helper()
	app := testapp.New(t, testapp.Demo)
	s := &env{db: app.DB, keys: map[string]string{}, app: app,
		books: acquirer.NewClient(acquirer.Config{URL: app.Sim.URL(), Secret: app.Sim.Secret()})}
	for _, account := range []string{"acct_1", "acct_2"} {
		s.keys[account] = app.Open(t, account, account)
	}
	return s
}

// post asks the API, and returns the object's id.
func (s *env) post(t *testing.T, account, path, key, form string) string {
	t.Helper()
	a := s.app.Send(t, s.keys[account], http.MethodPost, path, form, "Idempotency-Key", key)
	if a.Status >= http.StatusInternalServerError {
		t.Fatalf("%s was answered %d: %s", path, a.Status, a.Body)
	}
	return a.ID
}

func (s *env) find(t *testing.T, name string) []inspect.Subject {
	t.Helper()
	found, err := inspect.Find(t.Context(), s.db.Pool, name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (s *env) history(t *testing.T, of inspect.Subject) []*inspect.Request {
	t.Helper()
	history, err := inspect.History(t.Context(), s.db.Pool, s.books, of)
	if err != nil {
		t.Fatal(err)
	}
	return history
}

func (s *env) one(t *testing.T, sql string, args ...any) (text string) {
	t.Helper()
	if err := s.db.Pool.QueryRow(t.Context(), sql, args...).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

const sledge = "amount=2000&currency=usd&source=tok_visa"

func TestFind(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	charge := s.post(t, "acct_1", "/v1/charges", "sledge", sledge)
	refund := s.post(t, "acct_1", "/v1/refunds", "back", "amount=500&charge="+charge)
	customer := s.post(t, "acct_1", "/v1/customers", "jenny", "email=jenny@example.com&source=tok_visa")
	intent := s.post(t, "acct_1", "/v1/payment_intents", "intent",
		"amount=900&currency=usd&payment_method_types[]=card&confirm=true&payment_method=pm_card_visa")
	foreign := s.post(t, "acct_2", "/v1/charges", "sledge", sledge)

	t.Run("whatever has a name is found by it, with whose it is", func(t *testing.T) {
		request := s.one(t, `SELECT request_id FROM charges WHERE id = $1`, charge)
		for name, want := range map[string]inspect.Subject{
			charge:              {Kind: "charge", AccountID: "acct_1", ID: charge},
			foreign:             {Kind: "charge", AccountID: "acct_2", ID: foreign},
			refund:              {Kind: "refund", AccountID: "acct_1", ID: refund},
			intent:              {Kind: "payment_intent", AccountID: "acct_1", ID: intent},
			customer:            {Kind: "customer", AccountID: "acct_1", ID: customer},
			"jenny@example.com": {Kind: "customer", AccountID: "acct_1", ID: customer},
			request:             {Kind: "request", AccountID: "acct_1", ID: request},
			s.one(t, `
				SELECT derived_key FROM request_calls
				WHERE request_id = $1`, request): {Kind: "request", AccountID: "acct_1", ID: request},
		} {
			if found := s.find(t, name); !slices.Equal(found, []inspect.Subject{want}) {
				t.Errorf("%s is found as %v", name, found)
			}
		}
		for kind, sql := range map[string]string{"posting": `SELECT balance_transaction FROM charges WHERE id = $1`,
			"event": `SELECT max(id) FROM events WHERE object_id = $1`} {
			name := s.one(t, sql, charge)
			if found := s.find(t, name); len(found) != 1 || found[0].Kind != kind || found[0].AccountID != "acct_1" {
				t.Errorf("%s is found as %v", name, found)
			}
		}
	})

	t.Run("a key that two merchants use is two requests, each told by itself", func(t *testing.T) {
		found := s.find(t, "sledge")
		if len(found) != 2 || found[0].AccountID == found[1].AccountID {
			t.Fatalf("found %v", found)
		}
		for _, subject := range found {
			history := s.history(t, subject)
			if len(history) != 1 || history[0].AccountID != subject.AccountID {
				t.Fatalf("%d requests are about %v", len(history), subject)
			}
			if siblings := history[0].Siblings; len(siblings) != 1 || siblings[0].AccountID == subject.AccountID {
				t.Errorf("%v has the siblings %v", subject, siblings)
			}
			for _, line := range inspect.Timeline(history...) {
				other := map[string]string{"acct_1": foreign, "acct_2": charge}[subject.AccountID]
				if line.Ref == other {
					t.Errorf("the history of %v names %s", subject, other)
				}
			}
		}
	})

	t.Run("what nobody has is not found, whatever it looks like", func(t *testing.T) {
		for _, name := range []string{"ch_nobody", "", "%", "' OR true --", "nobody@example.com",
			strings.Repeat("x", 5000)} {
			if found := s.find(t, name); len(found) != 0 {
				t.Errorf("%.20q is found as %v", name, found)
			}
		}
	})

	t.Run("a key that is another's id does not lead to the other", func(t *testing.T) {
		s.post(t, "acct_2", "/v1/charges", charge, sledge)
		for _, subject := range s.find(t, charge) {
			for _, r := range s.history(t, subject) {
				if r.AccountID != subject.AccountID {
					t.Errorf("%v is told by a request of %s", subject, r.AccountID)
				}
			}
		}
	})
}

// follow fails unless lines that begin with these words come in this order.
func follow(t *testing.T, lines []inspect.Line, words ...string) {
	t.Helper()
	at := -1
	for _, want := range words {
		next := slices.IndexFunc(lines[at+1:], func(l inspect.Line) bool { return strings.HasPrefix(l.Text, want) })
		if next < 0 {
			t.Fatalf("%q does not follow in\n%v", want, texts(lines))
		}
		at += 1 + next
	}
}

func TestStory(t *testing.T) {
	t.Parallel()
	s := newEnv(t)

	t.Run("a charge's history has what was done to it later, in the order in which it happened", func(t *testing.T) {
		charge := s.post(t, "acct_1", "/v1/charges", "told", sledge)
		s.post(t, "acct_1", "/v1/refunds", "told back", "amount=500&charge="+charge)
		lines := inspect.Timeline(s.history(t, s.find(t, charge)[0])...)
		if !slices.IsSortedFunc(lines, func(a, b inspect.Line) int { return a.At.Compare(b.At) }) {
			t.Error("the history goes to and fro")
		}
		// The acquirer's clock is another one: its lines are held to ours only roughly.
		follow(t, lines, "POST /v1/charges", "gross: $20.00", "charge.succeeded", "response 200 stored",
			"POST /v1/refunds", "charge.refunded", "response 200 stored")
		follow(t, lines, "POST /v1/charges", "acquirer: authorize $20.00", "POST /v1/refunds", "acquirer: refund $5.00")
	})

	t.Run("an intent's history has every try, whichever of the payment's names is asked", func(t *testing.T) {
		intent := s.post(t, "acct_1", "/v1/payment_intents", "tried",
			"amount=900&currency=usd&payment_method_types[]=card")
		s.post(t, "acct_1", "/v1/payment_intents/"+intent+"/confirm", "first",
			"payment_method=pm_card_visa_chargeDeclined")
		s.post(t, "acct_1", "/v1/payment_intents/"+intent+"/confirm", "second", "payment_method=pm_card_visa")
		charge := s.one(t, `SELECT latest_charge FROM payment_intents WHERE id = $1`, intent)
		refund := s.post(t, "acct_1", "/v1/refunds", "again", "payment_intent="+intent)
		for _, name := range []string{intent, charge, refund} {
			var keys []string
			for _, r := range s.history(t, s.find(t, name)[0]) {
				keys = append(keys, r.Key)
			}
			if want := []string{"tried", "first", "second", "again"}; !slices.Equal(keys, want) {
				t.Errorf("%s is told by %v, want %v", name, keys, want)
			}
		}
	})

	t.Run("an answer that the acquirer's books do not confirm is not made up", func(t *testing.T) {
		charge := s.post(t, "acct_1", "/v1/charges", "alone", sledge)
		history, err := inspect.History(t.Context(), s.db.Pool, nil, s.find(t, charge)[0])
		if err != nil {
			t.Fatal(err)
		}
		if c := history[0].Calls[0]; len(c.Movements) != 0 || c.Unread == "" {
			t.Errorf("without anybody to ask, the call shows %v and says %q", c.Movements, c.Unread)
		}
	})

	t.Run("a self-chosen id is told as well", func(t *testing.T) {
		s.post(t, "acct_1", "/v1/products", "own", url.Values{"id": {"mug"}, "name": {"A mug"}}.Encode())
		found := s.find(t, "mug")
		if len(found) != 1 || found[0].Kind != "product" || len(s.history(t, found[0])) != 1 {
			t.Errorf("found %v", found)
		}
	})
}

func texts(lines []inspect.Line) (all []string) {
	for _, l := range lines {
		all = append(all, l.Text)
	}
	return all
}

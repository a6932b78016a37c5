package shop

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/web/webtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// api is as much of the API as the shop asks for: it answers the same to the same
// key, and keeps what it was asked.
type api struct {
	mu       sync.Mutex
	answered map[string]string     // by key
	asked    map[string]url.Values // by key
	lose     int                   // so many answers are lost on the way
	status   map[string]string     // of sessions; "" is open
}

const signingSecret = "whsec_of_this_test"

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if key != "" && a.answered[key] == "" {
		_ = r.ParseForm()
		a.asked[key] = r.PostForm
		a.answered[key] = a.answer(r, len(a.answered)+1)
	}
	if a.lose > 0 {
		a.lose--
		panic(http.ErrAbortHandler)
	}
	answer := a.answered[key]
	if key == "" {
		answer = a.answer(r, 0)
	}
	if strings.HasPrefix(answer, `{"error"`) {
		w.WriteHeader(http.StatusBadRequest)
	}
	_, _ = io.WriteString(w, answer)
}

func (a *api) answer(r *http.Request, n int) string {
	if strings.HasPrefix(r.URL.Path, "/v1/webhook_endpoints") {
		return fmt.Sprintf(`{"id": "we_1", "object": "webhook_endpoint", "status": "enabled",
			"url": "http://127.0.0.1:1/shop/webhook", "secret": %q}`, signingSecret)
	}
	if name, expire := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v1/checkout/sessions/"), "/expire"); n == 0 {
		if expire && a.status[name] == "" {
			a.status[name] = "expired"
		} else if expire {
			return `{"error": {"message": "this session is not open"}}`
		}
		status := cmp.Or(a.status[name], "open")
		secret := map[string]string{"open": "cs_secret_of_" + name}[status]
		return fmt.Sprintf(`{"id": %q, "status": %q, "client_secret": %q}`, name, status, secret)
	}
	return fmt.Sprintf(`{"id": "cs_%d", "object": "checkout.session", "url": "http://pay.example/c/pay/cs_%d"}`, n, n)
}

// env is a shop with its own database, and a customer's browser.
type env struct {
	t       *testing.T
	api     *api
	shop    *Server
	base    string
	browser *http.Client
	pool    *pgxpool.Pool // the owner's
}

func open(t *testing.T) *env {
	t.Helper()
	db := pgtest.New(t)
	s := &env{t: t, api: &api{answered: map[string]string{}, asked: map[string]url.Values{},
		status: map[string]string{}}, pool: db.Pool}
	there := httptest.NewServer(s.api)
	t.Cleanup(there.Close)
	root, err := secret.New(strings.Repeat("s", 32))
	if err != nil {
		t.Fatal(err)
	}
	s.shop, err = New(t.Context(), Config{
		DatabaseURL: db.URL,
		Secret:      root,
		API:         there.URL,
		Key:         "sk_test_shop",
		Publishable: "pk_test_shop",
		WebhookURL:  "http://127.0.0.1:1" + WebhookPath,
		Log:         slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.shop.Close)
	if err := s.shop.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	here := httptest.NewServer(s.shop)
	t.Cleanup(here.Close)
	s.base = here.URL
	jar, _ := cookiejar.New(nil)
	s.browser = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return s
}

func (s *env) post(path string, form url.Values) *http.Response {
	s.t.Helper()
	response, err := s.browser.PostForm(s.base+path, form)
	if err != nil {
		s.t.Fatal(err)
	}
	response.Body.Close()
	return response
}

// get follows redirects, and returns the page.
func (s *env) get(path string) string {
	s.t.Helper()
	response, err := (&http.Client{Jar: s.browser.Jar}).Get(s.base + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := webtest.Read(response)
	if err != nil {
		s.t.Fatal(err)
	}
	return page
}

// order presses Pay with a mug in the cart, and returns the order that came of it.
func (s *env) order() *order {
	s.t.Helper()
	s.post("/shop/cart", url.Values{"product": {"mug"}})
	if r := s.post("/shop/pay", nil); r.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("Pay answers %d", r.StatusCode)
	}
	return s.only()
}

// only is the one order there is.
func (s *env) only() *order {
	s.t.Helper()
	var id string
	err := s.pool.QueryRow(s.t.Context(), `SELECT id FROM shop.orders ORDER BY number DESC LIMIT 1`).Scan(&id)
	if err != nil {
		s.t.Fatal(err)
	}
	o, err := s.shop.orderByID(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

// event tells that an order's session is complete, changed by change.
func event(o *order, id string, change func(session map[string]any)) []byte {
	session := map[string]any{
		"id":                  *o.SessionID,
		"object":              "checkout.session",
		"client_reference_id": o.ID,
		"payment_status":      "paid",
		"amount_total":        o.Amount,
		"currency":            o.Currency,
		"payment_intent":      "pi_1",
	}
	if change != nil {
		change(session)
	}
	body, _ := json.Marshal(map[string]any{
		"id":          id,
		"object":      "event",
		"type":        "checkout.session.completed",
		"api_version": stripe.APIVersion,
		"created":     1,
		"data":        map[string]any{"object": session},
		"request":     map[string]any{"id": "req_1", "idempotency_key": "k"},
	})
	return body
}

// tell delivers a body, signed with a secret at a time.
func (s *env) tell(body []byte, with string, at time.Time) (status int, said string) {
	s.t.Helper()
	signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: with, Timestamp: at})
	return s.send(signed.Payload, signed.Header)
}

func (s *env) send(body []byte, signature string) (status int, said string) {
	request, err := http.NewRequest(http.MethodPost, s.base+WebhookPath, bytes.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return 0, ""
	}
	request.Header.Set("Stripe-Signature", signature)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(text))
}

// stands compares what is in the tables: the latest order's state, how many events
// were processed, and how many deliveries were counted.
func (s *env) stands(state string, events, deliveries int) {
	s.t.Helper()
	var e, d int
	err := s.pool.QueryRow(s.t.Context(), `
		SELECT (SELECT count(*) FROM shop.events), (SELECT count(*) FROM shop.deliveries)`).Scan(&e, &d)
	if err != nil {
		s.t.Fatal(err)
	}
	if o := s.only(); o.State != state || e != events || d != deliveries {
		s.t.Errorf("the order is %s, with %d events and %d deliveries; want %s, %d, %d", o.State, e, d, state, events,
			deliveries)
	}
}

func TestAnOrderIsPaidByASignedEventOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	o := s.order()
	body := event(o, "evt_1", nil)
	for n := 1; n <= 3; n++ {
		if status, said := s.tell(body, signingSecret, time.Now()); status != http.StatusOK {
			t.Fatalf("delivery %d: %d %s", n, status, said)
		}
		s.stands(paid, 1, n)
	}
}

func TestTheSameEventAtOnceIsProcessedOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := event(s.order(), "evt_1", nil)
	const many = 12
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			for { // as the API does: until it is acknowledged
				if status, _ := s.tell(body, signingSecret, time.Now()); status == http.StatusOK {
					return
				}
			}
		})
	}
	all.Wait()
	s.stands(paid, 1, many)
	var processed int
	err := s.pool.QueryRow(t.Context(), `SELECT count(*) FROM shop.deliveries WHERE processed`).Scan(&processed)
	if err != nil || processed != 1 {
		t.Errorf("it was processed %d times (%v)", processed, err)
	}
}

func TestUnsignedEventsAreRejected(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := event(s.order(), "evt_1", nil)
	for what, send := range map[string]func() (int, string){
		"with another secret": func() (int, string) { return s.tell(body, "whsec_of_somebody_else", time.Now()) },
		"ten minutes ago": func() (int, string) {
			return s.tell(body, signingSecret, time.Now().Add(-10*time.Minute))
		},
		"without a signature": func() (int, string) { return s.send(body, "") },
		"of another body": func() (int, string) {
			signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: signingSecret})
			return s.send(bytes.Replace(body, []byte(`"pi_1"`), []byte(`"pi_2"`), 1), signed.Header)
		},
		"larger than any event is": func() (int, string) {
			return s.tell(bytes.Repeat([]byte("x"), largestEvent+1), signingSecret, time.Now())
		},
	} {
		if status, said := send(); status != http.StatusBadRequest {
			t.Errorf("signed %s: %d %s", what, status, said)
		}
	}
	s.stands(waiting, 0, 0)
}

func TestWhatDoesNotFitTheOrderDoesNotPayIt(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(map[string]any){
		"another amount":   func(session map[string]any) { session["amount_total"] = 1 },
		"another currency": func(session map[string]any) { session["currency"] = "eur" },
		"another session":  func(session map[string]any) { session["id"] = "cs_other" },
		"not paid":         func(session map[string]any) { session["payment_status"] = "unpaid" },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := s.order()
			status, said := s.tell(event(o, "evt_1", change), signingSecret, time.Now())
			if status != http.StatusOK || !strings.Contains(said, "nothing") {
				t.Errorf("%d %s", status, said)
			}
			s.stands(waiting, 1, 1)
			if status, said := s.tell(event(o, "evt_2", nil), signingSecret, time.Now()); status != http.StatusOK {
				t.Errorf("the right one: %d %s", status, said)
			}
			s.stands(paid, 2, 2)
		})
	}
	t.Run("an order the shop does not know", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		body := event(s.order(), "evt_1", func(session map[string]any) {
			session["client_reference_id"] = "order_of_another_shop"
		})
		status, said := s.tell(body, signingSecret, time.Now())
		if status != http.StatusOK || said != "no order of this shop" {
			t.Errorf("%d %s", status, said)
		}
		s.stands(waiting, 0, 0)
	})
	t.Run("an order that another event has paid", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		o := s.order()
		s.tell(event(o, "evt_1", nil), signingSecret, time.Now())
		_, said := s.tell(event(o, "evt_2", nil), signingSecret, time.Now())
		if !strings.Contains(said, "paid already") {
			t.Error(said)
		}
		if paidBy := *s.only().PaidBy; paidBy != "evt_1" {
			t.Errorf("it is paid by %s now", paidBy)
		}
	})
}

func TestPayPressedAgainIsTheSameOrderUnderTheSameKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.api.lose = 2 // the API dies over its first two answers
	o := s.order()
	first := s.post("/shop/pay", nil).Header.Get("Location")
	// as if we had died before it was stored
	_, err := s.pool.Exec(t.Context(), `UPDATE shop.orders SET session_id = NULL, session_url = NULL`)
	if err != nil {
		t.Fatal(err)
	}
	if again := s.post("/shop/pay", nil).Header.Get("Location"); again != first || first == "" {
		t.Errorf("Pay leads to %q, and again to %q", first, again)
	}
	asked := s.api.asked[o.ID]
	if asked.Get("line_items[0][price_data][unit_amount]") != "1800" || asked.Get("client_reference_id") != o.ID {
		t.Errorf("under the order's id it has asked for %v", asked)
	}
	if len(s.api.answered) != 2 { // with the endpoint's
		t.Errorf("it has asked under %d keys", len(s.api.answered))
	}
}

// onPage presses Pay for one of the two pages, and returns where that leads.
func (s *env) onPage(uiMode string) string {
	s.t.Helper()
	return s.post("/shop/pay", url.Values{"ui_mode": {uiMode}}).Header.Get("Location")
}

func TestTheShopsOwnPageHasTheSecretOfAnOpenSession(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.post("/shop/cart", url.Values{"product": {"mug"}})
	leads := s.onPage(elements)
	o := s.only()
	if !strings.HasSuffix(leads, "/shop/orders/"+o.ID+"/pay") {
		t.Errorf("Pay leads to %q", leads)
	}
	asked := s.api.asked[o.ID]
	if asked.Get("ui_mode") != elements || asked.Has("success_url") || asked.Has("cancel_url") ||
		!strings.HasSuffix(asked.Get("return_url"), o.path()+"?session_id={CHECKOUT_SESSION_ID}") {
		t.Errorf("it has asked for %v", asked)
	}
	page := s.get(o.path() + "/pay")
	for _, part := range []string{"pk_test_shop", "cs_secret_of_" + *o.SessionID, "/dahlia/stripe.js"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %s", part)
		}
	}
	if strings.Contains(page, "sk_test_shop") {
		t.Error("the page has the secret key")
	}
	s.api.status[*o.SessionID] = "complete"
	if after := s.get(o.path() + "/pay"); strings.Contains(after, "cs_secret_of_") {
		t.Error("an order that is paid has a page to pay on")
	}
}

func TestTheOtherPageIsAnotherOrderAndTheFirstCannotBePaid(t *testing.T) {
	t.Parallel()
	s := open(t)
	first := s.order()
	s.api.lose = 1 // the answer to the request that expires the session
	s.onPage(elements)
	second := s.only()
	if second.ID == first.ID || second.UIMode != elements || second.Amount != first.Amount {
		t.Errorf("the second order is %+v", second)
	}
	if s.api.status[*first.SessionID] != expired {
		t.Errorf("the first session is %q", s.api.status[*first.SessionID])
	}
	if again := s.onPage(elements); !strings.Contains(again, second.ID) {
		t.Errorf("the same page again leads to %q", again)
	}

	// The customer has paid on one page, and asks for the other before the webhook is there.
	s.api.status[*second.SessionID] = "complete"
	if leads := s.onPage(hostedPage); leads != second.backPath() {
		t.Errorf("an order that is paid leads to %q", leads)
	}
	if last := s.only(); last.ID != second.ID || last.State != waiting {
		t.Errorf("there is another order: %+v", last)
	}
}

func TestTheEndpointIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	// as if we had died before it was stored
	_, err := s.pool.Exec(t.Context(), `UPDATE shop.endpoint SET id = NULL, secret = NULL`)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.shop.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	if made, err := s.shop.signingSecret(t.Context()); made != signingSecret || err != nil {
		t.Errorf("the secret is %q (%v)", made, err)
	}
	made := 0
	for key := range s.api.asked {
		if strings.HasPrefix(key, "shop-endpoint-") {
			made++
		}
	}
	if made != 1 {
		t.Errorf("it was asked for under %d keys", made)
	}
	var kept string
	err = s.pool.QueryRow(t.Context(), `SELECT secret FROM shop.endpoint`).Scan(&kept)
	if err != nil || strings.Contains(kept, "whsec") {
		t.Errorf("the table holds %q (%v)", kept, err)
	}
}

func TestAnExpiredOrderIsOrderedAgain(t *testing.T) {
	t.Parallel()
	s := open(t)
	o := s.order()
	body := bytes.Replace(event(o, "evt_1", nil), []byte("checkout.session.completed"),
		[]byte("checkout.session.expired"), 1)
	s.tell(body, signingSecret, time.Now())
	s.stands(expired, 1, 1)
	s.post("/shop/pay", nil)
	if again := s.only(); again.ID == o.ID || again.State != waiting || again.Amount != o.Amount {
		t.Errorf("the new order is %+v", again)
	}
}

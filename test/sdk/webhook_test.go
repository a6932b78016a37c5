//go:build unix

package sdk_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"
)

// servedVersion is what an account uses for responses and events by default.
const servedVersion = "2026-08-26.dahlia"

// delivery is what a merchant's server received.
type delivery struct {
	header http.Header
	body   []byte
}

func (d delivery) signature() string { return d.header.Get("Stripe-Signature") }

// listener is a merchant's server. It keeps what it receives.
type listener struct {
	t    *testing.T
	url  string
	over chan struct{} // closed when the test ends

	mu       sync.Mutex
	received []delivery
	answer   func(n int, w http.ResponseWriter, r *http.Request) // n counts from 1; nil: 200
}

func listen(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *listener {
	t.Helper()
	l := &listener{t: t, answer: answer, over: make(chan struct{})}
	server := httptest.NewServer(l)
	t.Cleanup(func() {
		close(l.over)
		server.Close()
	})
	l.url = server.URL + "/hook"
	return l
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it was killed on the way
	}
	l.mu.Lock()
	l.received = append(l.received, delivery{r.Header.Clone(), body})
	n := len(l.received)
	l.mu.Unlock()
	if l.answer != nil {
		l.answer(n, w, r)
	}
}

func (l *listener) all() []delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]delivery(nil), l.received...)
}

// await waits until so many deliveries have come.
func (l *listener) await(n int) []delivery {
	l.t.Helper()
	eventually(l.t, "the deliveries have come", func() bool { return len(l.all()) >= n })
	return l.all()
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened that %s", what)
		}
	}
}

// endpoint has the account's events of the types told to an address.
func (a *account) endpoint(url string, types ...string) *stripe.WebhookEndpoint {
	a.t.Helper()
	e, err := a.V1WebhookEndpoints.Create(a.t.Context(),
		&stripe.WebhookEndpointCreateParams{URL: &url, EnabledEvents: stripe.StringSlice(types)})
	noError(a.t, err)
	return e
}

// types are the types of the events that came, in order.
func (l *listener) types() (types []string) {
	for _, d := range l.all() {
		types = append(types, d.event(l.t).Type)
	}
	return types
}

type received struct {
	ID, Type   string
	APIVersion string `json:"api_version"`
}

func (d delivery) event(t *testing.T) (e received) {
	t.Helper()
	noError(t, json.Unmarshal(d.body, &e))
	return e
}

// operate runs an operator's command on the installation.
func (in *installation) operate(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Getenv(binaryVar), args...)
	cmd.Env = append(os.Environ(), in.env...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ratchet %s: %v: %s", strings.Join(args, " "), err, complaints.String())
	}
	return strings.TrimSpace(string(out))
}

// state is what became of an account's only delivery to an endpoint.
func (in *installation) state(t *testing.T, endpointID string) (state string, attempts int) {
	t.Helper()
	noError(t, in.db.QueryRow(t.Context(), `
		SELECT state, attempts FROM webhook_deliveries WHERE endpoint_id = $1`, endpointID).Scan(&state, &attempts))
	return state, attempts
}

// fail answers 500 to the first n deliveries.
func fail(n int) func(int, http.ResponseWriter, *http.Request) {
	return func(i int, w http.ResponseWriter, _ *http.Request) {
		if i <= n {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "not today") // the client may be gone
		}
	}
}

func TestWebhooks(t *testing.T) {
	inTurn(t)
	in := install(t)
	// A second and more between two attempts makes their times of signing differ.
	in.work(t, "RATCHET_WEBHOOK_SCHEDULE=1200ms,50ms")
	in.work(t, "RATCHET_WEBHOOK_SCHEDULE=1200ms,50ms")

	t.Run("a change is told to the endpoint, signed, in the words of a GET", func(t *testing.T) {
		inTurn(t)
		a, l := in.account(t), listen(t, nil)
		e := a.endpoint(l.url, "customer.created")
		c := a.customer(nil)
		got := l.await(1)[0]
		event, err := webhook.ConstructEvent(got.body, got.signature(), e.Secret)
		noError(t, err)
		equal(t, "event", []any{event.Type, event.GetObjectValue("id")}, []any{stripe.EventTypeCustomerCreated, c.ID})
		equal(t, "content type", got.header.Get("Content-Type"), "application/json; charset=utf-8")
		if agent := got.header.Get("User-Agent"); !strings.HasPrefix(agent, "Ratchet/1.0 (+https://") {
			t.Errorf("the user agent is %q", agent)
		}
		equal(t, "endpoints that had not acknowledged it when it was sent", event.PendingWebhooks, 1)
		var read *stripe.Event
		eventually(t, "nothing is waited for", func() bool {
			read, err = a.V1Events.Retrieve(t.Context(), event.ID, nil)
			noError(t, err)
			return read.PendingWebhooks == 0
		})
		equal(t, "body", string(got.body),
			strings.Replace(string(read.LastResponse.RawJSON), `"pending_webhooks": 0`, `"pending_webhooks": 1`, 1))
	})

	t.Run("an endpoint gets events in its own API version, beside one that has the account's", func(t *testing.T) {
		inTurn(t)
		a, plain := in.account(t), listen(t, nil)
		a.endpoint(plain.url, "customer.created")
		versions := map[string]*listener{
			"2020-08-27":        listen(t, nil),
			"2025-03-31.basil":  listen(t, nil),
			"2026-10-28.endive": listen(t, nil),
		}
		for version, l := range versions {
			e, err := a.V1WebhookEndpoints.Create(t.Context(), &stripe.WebhookEndpointCreateParams{URL: &l.url,
				EnabledEvents: stripe.StringSlice([]string{"customer.created"}), APIVersion: &version})
			noError(t, err)
			equal(t, "the endpoint's version", e.APIVersion, version)
		}
		a.customer(nil)
		equal(t, "the account's version", plain.await(1)[0].event(t).APIVersion, servedVersion)
		for version, l := range versions {
			equal(t, "the event's version", l.await(1)[0].event(t).APIVersion, version)
		}
		equal(t, "the version of the list", a.onlyEvent("customer.created").APIVersion, servedVersion)
	})

	t.Run("an event's object has the shape of the endpoint's version", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		shapes := map[string]*listener{"2020-08-27": listen(t, nil), servedVersion: listen(t, nil)}
		for version, l := range shapes {
			_, err := a.V1WebhookEndpoints.Create(t.Context(), &stripe.WebhookEndpointCreateParams{URL: &l.url,
				EnabledEvents: stripe.StringSlice([]string{"payment_intent.succeeded"}), APIVersion: &version})
			noError(t, err)
		}
		paid := a.pay("pm_card_visa", "automatic")
		for version, l := range shapes {
			var event struct {
				Data struct {
					Object struct {
						Charges *stripe.ChargeList `json:"charges"`
					} `json:"object"`
				} `json:"data"`
			}
			noError(t, json.Unmarshal(l.await(1)[0].body, &event))
			var charges []string
			if list := event.Data.Object.Charges; list != nil {
				charges = ids(list.Data, func(c *stripe.Charge) string { return c.ID })
			}
			equal(t, version, charges, map[string][]string{"2020-08-27": {paid.LatestCharge.ID}}[version])
		}
	})

	t.Run("an endpoint gets the events it subscribes to, and none while it is disabled", func(t *testing.T) {
		inTurn(t)
		a, some, all, others := in.account(t), listen(t, nil), listen(t, nil), listen(t, nil)
		in.account(t).endpoint(others.url, "*")
		picky := a.endpoint(some.url, "customer.updated", "customer.deleted")
		a.endpoint(all.url, "*")
		c := a.customer(nil)
		disabled, err := a.V1WebhookEndpoints.Update(t.Context(), picky.ID,
			&stripe.WebhookEndpointUpdateParams{Disabled: stripe.Bool(true)})
		noError(t, err)
		equal(t, "status", disabled.Status, "disabled")
		_, err = a.V1Customers.Update(t.Context(), c.ID, &stripe.CustomerUpdateParams{Name: stripe.String("Ada")})
		noError(t, err)
		_, err = a.V1WebhookEndpoints.Update(t.Context(), picky.ID,
			&stripe.WebhookEndpointUpdateParams{Disabled: stripe.Bool(false)})
		noError(t, err)
		_, err = a.V1Customers.Delete(t.Context(), c.ID, nil)
		noError(t, err)
		all.await(3)
		some.await(1)
		equal(t, "what the one heard", some.types(), []string{"customer.deleted"})
		equal(t, "what another account heard", len(others.all()), 0)
	})

	t.Run("what fails is tried again, with a new signature", func(t *testing.T) {
		inTurn(t)
		a, l := in.account(t), listen(t, fail(1))
		e := a.endpoint(l.url, "*")
		a.customer(nil)
		got := l.await(2)
		equal(t, "the second body", string(got[1].body), string(got[0].body))
		for _, d := range got {
			_, err := webhook.ConstructEvent(d.body, d.signature(), e.Secret)
			noError(t, err)
		}
		first, _, _ := strings.Cut(got[0].signature(), ",")
		second, _, _ := strings.Cut(got[1].signature(), ",")
		if second <= first {
			t.Errorf("signed at %s and then at %s", first, second)
		}
		eventually(t, "it has succeeded", func() bool { state, _ := in.state(t, e.ID); return state == "succeeded" })
		event := got[0].event(t)
		shown := in.operate(t, "webhooks", "show", event.ID)
		if !strings.Contains(shown, "500") || !strings.Contains(shown, "200") || !strings.Contains(shown, "succeeded") {
			t.Errorf("the attempts are not shown:\n%s", shown)
		}
		var body, kind string
		noError(t, in.db.QueryRow(t.Context(), `
			SELECT convert_from(body, 'UTF8'), headers->'Content-Type'->>0 FROM webhook_attempts
			WHERE endpoint_id = $1 AND attempt = 1`, e.ID).Scan(&body, &kind))
		equal(t, "the answer that was kept", []string{body, kind}, []string{"not today", "text/plain; charset=utf-8"})
	})

	t.Run("after the last attempt an event is given up, until somebody resends it", func(t *testing.T) {
		inTurn(t)
		a, l := in.account(t), listen(t, fail(3))
		e := a.endpoint(l.url, "*")
		a.customer(nil)
		event := l.await(3)[2].event(t)
		eventually(t, "it has failed", func() bool { state, _ := in.state(t, e.ID); return state == "failed" })
		count := func(success bool) int {
			return len(collect(t, a.V1Events.List(t.Context(), &stripe.EventListParams{DeliverySuccess: &success})))
		}
		equal(t, "delivered and not", []int{count(true), count(false)}, []int{0, 1})
		in.operate(t, "webhooks", "resend", event.ID)
		equal(t, "what is sent again", l.await(4)[3].event(t), event)
		eventually(t, "it has succeeded", func() bool { return count(true) == 1 && count(false) == 0 })
		var actor string
		noError(t, in.db.QueryRow(t.Context(), `
			SELECT actor FROM audit_events WHERE operation = 'event.resend' AND object_id = $1`, event.ID).Scan(&actor))
		if !strings.HasPrefix(actor, "operator:") {
			t.Errorf("the audit trail says %q did it", actor)
		}
		late := listen(t, nil)
		in.operate(t, "webhooks", "resend", event.ID, "--endpoint", a.endpoint(late.url, "charge.failed").ID)
		equal(t, "what an endpoint that came later is sent", late.await(1)[0].event(t), event)
	})

	t.Run("a merchant has an event sent again, under one key once, and nobody else's", func(t *testing.T) {
		inTurn(t)
		a, l := in.account(t), listen(t, nil)
		e := a.endpoint(l.url, "*")
		a.customer(nil)
		event := l.await(1)[0].event(t)
		eventually(t, "it has succeeded", func() bool { state, _ := in.state(t, e.ID); return state == "succeeded" })
		again := func(as *account, key string) error {
			params := &stripe.Params{IdempotencyKey: &key}
			return as.backend.Call(http.MethodPost, "/v1/events/"+event.ID+"/retry", as.key, params, &stripe.Event{})
		}
		noError(t, again(a, "again"))
		equal(t, "what is sent again", l.await(2)[1].event(t), event)
		noError(t, again(a, "again"))
		if err := again(in.account(t), "again"); err == nil {
			t.Error("a stranger had it sent again")
		}
		eventually(t, "it has succeeded again", func() bool {
			state, _ := in.state(t, e.ID)
			return state == "succeeded"
		})
		equal(t, "deliveries", len(l.all()), 2)
	})

	t.Run("what is asked for again while it is on its way comes once more", func(t *testing.T) {
		inTurn(t)
		asked := make(chan struct{})
		a := in.account(t)
		l := listen(t, func(n int, _ http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				<-asked
			}
		})
		e := a.endpoint(l.url, "*")
		a.customer(nil)
		event := l.await(1)[0].event(t)
		noError(t, a.backend.Call(http.MethodPost, "/v1/events/"+event.ID+"/retry", a.key, &stripe.Params{},
			&stripe.Event{}))
		close(asked)
		equal(t, "what comes behind it", l.await(2)[1].event(t), event)
		eventually(t, "it has succeeded", func() bool {
			state, attempts := in.state(t, e.ID)
			return state == "succeeded" && attempts == 2
		})
		equal(t, "deliveries", len(l.all()), 2)
	})

	t.Run("a redirect is a failure and is not followed", func(t *testing.T) {
		inTurn(t)
		a, elsewhere := in.account(t), listen(t, nil)
		l := listen(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.url, http.StatusTemporaryRedirect)
		})
		e := a.endpoint(l.url, "*")
		a.customer(nil)
		eventually(t, "it is given up", func() bool { state, _ := in.state(t, e.ID); return state == "failed" })
		equal(t, "attempts", len(l.all()), 3)
		equal(t, "requests to where it led", len(elsewhere.all()), 0)
	})

	t.Run("while a secret is rolled, each delivery has signatures with the old and the new one", func(t *testing.T) {
		inTurn(t)
		a, l := in.account(t), listen(t, nil)
		e := a.endpoint(l.url, "*")
		next := in.operate(t, "webhooks", "roll", e.ID)
		a.customer(nil)
		both := l.await(1)[0]
		equal(t, "signatures", strings.Count(both.signature(), ",v1="), 2)
		last := in.operate(t, "webhooks", "roll", e.ID, "--overlap", "0s")
		a.customer(nil)
		one := l.await(2)[1]
		for _, c := range []struct {
			secret         string
			before, behind bool // whether it verifies the first and the second delivery
		}{{e.Secret, true, false}, {next, true, false}, {last, false, true}} {
			_, first := webhook.ConstructEvent(both.body, both.signature(), c.secret)
			_, second := webhook.ConstructEvent(one.body, one.signature(), c.secret)
			equal(t, "what a secret verifies", []bool{first == nil, second == nil}, []bool{c.before, c.behind})
		}
	})

	t.Run("an endpoint that does not answer delays no other, and no payment", func(t *testing.T) {
		inTurn(t)
		a, quick := in.account(t), listen(t, nil)
		slow := listen(t, nil)
		slow.answer = func(int, http.ResponseWriter, *http.Request) { <-slow.over }
		a.endpoint(slow.url, "*")
		a.endpoint(quick.url, "*")
		const events = 40
		for range events {
			a.customer(nil)
		}
		quick.await(events)
		if n := len(slow.all()); n < 1 || n > 8 {
			t.Errorf("%d deliveries were under way to an endpoint that does not answer", n)
		}
	})

	t.Run("two workers send an event once, and so do two jobs for it", func(t *testing.T) {
		inTurn(t)
		a, l := in.account(t), listen(t, nil)
		e := a.endpoint(l.url, "customer.created")
		const events = 60
		var making sync.WaitGroup
		for range 6 {
			making.Go(func() {
				for range events / 6 {
					if _, err := a.V1Customers.Create(t.Context(), nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		making.Wait()
		_, err := in.db.Exec(t.Context(), `
			INSERT INTO river.river_job (kind, args, queue) SELECT kind, args, queue FROM river.river_job
			WHERE args->>'endpoint_id' = $1`, e.ID)
		noError(t, err)
		eventually(t, "all have succeeded", func() bool {
			var left int
			noError(t, in.db.QueryRow(t.Context(), `
				SELECT count(*) FROM webhook_deliveries
				WHERE endpoint_id = $1 AND state <> 'succeeded'`, e.ID).Scan(&left))
			return left == 0
		})
		seen := map[string]int{}
		for _, d := range l.all() {
			seen[d.event(t).ID]++
		}
		equal(t, "events and deliveries", []int{len(seen), len(l.all())}, []int{events, events})
	})
}

func TestWebhooksOutliveTheirWorker(t *testing.T) {
	inTurn(t)
	in := install(t)
	a := in.account(t)

	// No worker runs yet, and the jobs are lost: the rows alone have to do.
	lost := listen(t, nil)
	a.endpoint(lost.url, "customer.created")
	a.customer(nil)
	_, err := in.db.Exec(t.Context(), `DELETE FROM river.river_job`)
	noError(t, err)
	killed := listen(t, nil)
	killed.answer = func(n int, _ http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			<-killed.over
		}
	}
	e := a.endpoint(killed.url, "customer.deleted")
	worker := in.work(t)
	lost.await(1)

	_, err = a.V1Customers.Delete(t.Context(), a.customer(nil).ID, nil)
	noError(t, err)
	event := killed.await(1)[0].event(t)
	noError(t, worker.Kill())
	state, attempts := in.state(t, e.ID)
	equal(t, "the delivery that was under way", fmt.Sprint(state, attempts), "pending1")
	in.work(t)
	equal(t, "what is delivered again", killed.await(2)[1].event(t), event)
	eventually(t, "it has succeeded", func() bool {
		state, attempts := in.state(t, e.ID)
		return state == "succeeded" && attempts == 2
	})
	if shown := in.operate(t, "webhooks", "show", event.ID); !strings.Contains(shown, "its worker crashed") {
		t.Errorf("the attempt that was broken off is not told of:\n%s", shown)
	}
}

func TestEndpointsThatOnlyFailAreDisabled(t *testing.T) {
	inTurn(t)
	in := install(t)
	in.work(t, "RATCHET_WEBHOOK_SCHEDULE=50ms,50ms", "RATCHET_WEBHOOK_DISABLE_AFTER=1ms")
	var mended atomic.Bool // it may be given up after one failure or after two
	dead := listen(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if !mended.Load() {
			fail(n)(n, w, r)
		}
	})
	witness := listen(t, nil)
	a := in.account(t)
	e := a.endpoint(dead.url, "customer.created", "customer.deleted")
	a.endpoint(witness.url, "webhook_endpoint.disabled")
	c := a.customer(nil)
	received := witness.await(1)[0].event(t)
	event, err := a.V1Events.Retrieve(t.Context(), received.ID, nil)
	noError(t, err)
	equal(t, "event", []any{event.Type, event.GetObjectValue("id"), event.GetObjectValue("status"), event.Request.ID},
		[]any{stripe.EventType("webhook_endpoint.disabled"), e.ID, "disabled", ""})
	var actor string
	noError(t, in.db.QueryRow(t.Context(), `
		SELECT actor FROM audit_events
		WHERE operation = 'webhook_endpoint.disable' AND object_id = $1`, e.ID).Scan(&actor))
	equal(t, "who did it", actor, "operator:ratchet work")
	eventually(t, "what was due is written off", func() bool {
		state, _ := in.state(t, e.ID)
		return state == "canceled"
	})

	// It is enabled again, and receives what happens from then on.
	mended.Store(true)
	before := len(dead.all())
	_, err = a.V1WebhookEndpoints.Update(t.Context(), e.ID,
		&stripe.WebhookEndpointUpdateParams{Disabled: stripe.Bool(false)})
	noError(t, err)
	_, err = a.V1Customers.Delete(t.Context(), c.ID, nil)
	noError(t, err)
	equal(t, "what it hears then", dead.await(before + 1)[before].event(t).Type, "customer.deleted")
}

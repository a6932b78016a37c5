//go:build unix

package crash_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/crashpoint"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

const (
	rootSecret     = "the secret of installations that are made to crash"
	acquirerSecret = "the secret between an installation and the acquirer"
)

// acquirer is the outside world: a process, and the journal of what it did.
type acquirer struct {
	*process
	journal *pgxpool.Pool
}

func startAcquirer(t testing.TB, args ...string) *acquirer {
	t.Helper()
	db := pgtest.New(t)
	p := start(t,
		[]string{"RATCHET_ACQUIRER_SECRET=" + acquirerSecret, "RATCHET_ACQUIRER_DATABASE_URL=" + db.URL,
			"RATCHET_NOTIFICATION_SECRET=" + notificationSecret, "RATCHET_DEMO=1"},
		append([]string{"acquirer", "--addr", "127.0.0.1:0"}, args...)...)
	return &acquirer{p, db.Pool}
}

// modest keeps a process from taking the connections it would take by default: a
// dozen die and live here at a time, beside the tests of other packages.
const modest = "RATCHET_DATABASE_CONNECTIONS=4"

// installation is a database and any number of processes that work on it.
type installation struct {
	t        testing.TB
	db       *pgxpool.Pool
	acquirer *acquirer
	env      []string

	started, older *atomic.Int64 // processes of serve and work, and those of them that have an older version
}

func install(t testing.TB, databaseURL string, db *pgxpool.Pool, a *acquirer) *installation {
	env := []string{
		"RATCHET_SECRET=" + rootSecret, "RATCHET_ACQUIRER_SECRET=" + acquirerSecret, "RATCHET_DEMO=1",
		"RATCHET_NOTIFICATION_SECRET=" + notificationSecret, "RATCHET_DATABASE_URL=" + databaseURL,
		// every answer of a load is asked for once more, as fast as it goes
		"RATCHET_ACQUIRER_URL=http://" + a.addr, modest, "RATCHET_KEY_RATE=0",
	}
	return &installation{t, db, a, env, new(atomic.Int64), new(atomic.Int64)}
}

// start runs the program, or its older version in every other case where there is one.
func (i *installation) start(t testing.TB, args ...string) *process {
	t.Helper()
	older := os.Getenv(olderBinaryVar)
	if older != "" && i.started.Add(1)%2 == 0 {
		i.older.Add(1)
		return startProgram(t, older, i.env, args...)
	}
	return start(t, i.env, args...)
}

func installOnFastServer(t testing.TB, a *acquirer) *installation {
	t.Helper()
	db := pgtest.New(t)
	return install(t, db.URL, db.Pool, a)
}

// serve starts a process that answers the API.
func (i *installation) serve(t testing.TB) *process {
	t.Helper()
	p := i.start(t, "serve", "--addr", "127.0.0.1:0")
	p.outside = i.acquirer.journal
	return p
}

// work starts a process with a completer.
func (i *installation) work(t testing.TB) *process {
	t.Helper()
	return i.start(t, "work")
}

// victim starts a process that dies on request. It writes the boundaries it
// passes to a file, if one is named.
func (i *installation) victim(t testing.TB, record string) *process {
	t.Helper()
	env := append(i.env[:len(i.env):len(i.env)], crashpoint.Enable+"=1", crashpoint.Record+"="+record)
	return start(t, env, "serve", "--addr", "127.0.0.1:0")
}

// merchant is an account and the key that opens it.
type merchant struct{ account, apiKey string }

func (i *installation) merchant(t testing.TB) merchant {
	t.Helper()
	m := merchant{account: id.New("acct", time.Now())}
	_, err := i.db.Exec(t.Context(), "INSERT INTO accounts (id, name) VALUES ($1, 'Crash')", m.account)
	if err != nil {
		t.Fatal(err)
	}
	_, m.apiKey, err = apikey.Create(t.Context(), i.db, secret.Root(rootSecret).Keys(secret.APIKeys), m.account,
		apikey.Secret, false)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// amounts are never used twice, so that the acquirer's journal tells whose money
// moved without a word from our own tables.
var amounts atomic.Int64

func newAmount() int64 { return 10_000 + amounts.Add(1) }

// request is what a client sends, again and again if it must, under one key.
type request struct {
	merchant
	path string
	form url.Values
	key  string
	page bool // for a person: it has no API key, and its idempotency key is not sent

	method string // "" is POST
}

// replayed says whether the request can be sent again for the very same answer: a
// page shows how things stand, and what has been deleted is not found again.
func (r request) replayed() bool { return !r.page && r.method == "" }

// charge is the request for a charge with the card of a token.
func charge(m merchant, token string, amount int64) request {
	return request{
		merchant: m,
		path:     "/v1/charges",
		form:     url.Values{"amount": {strconv.FormatInt(amount, 10)}, "currency": {"usd"}, "source": {token}},
		key:      newKey(),
	}
}

// intent is the request for a confirmed payment intent.
func intent(m merchant, method, capture string, amount int64) request {
	return request{merchant: m, path: "/v1/payment_intents", key: newKey(), form: url.Values{
		"amount":                 {strconv.FormatInt(amount, 10)},
		"currency":               {"usd"},
		"payment_method_types[]": {"card"},
		"confirm":                {"true"},
		"capture_method":         {capture},
		"payment_method":         {method},
	}}
}

var keys atomic.Int64

func newKey() string { return fmt.Sprintf("key-%d", keys.Add(1)) }

// answer is what a client receives.
type answer struct {
	status   int
	body     string
	replayed bool
}

// same says whether two answers are the same to the byte.
func (a answer) same(b answer) bool { return a.status == b.status && a.body == b.body }

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, strings.TrimSpace(a.body)) }

// id is that of the object in the answer.
func (a answer) id() string {
	var object struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal([]byte(a.body), &object) // a missing response has no ID
	return object.ID
}

// final says whether an answer is one: not "busy", not "I do not know".
func (a answer) final() bool {
	return a.status < http.StatusInternalServerError && a.status != http.StatusConflict &&
		a.status != http.StatusTooManyRequests
}

// client opens a connection for each request: the count of boundaries ends with it.
var client = &http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true}}

// to sends the request once. headers come in pairs.
func (r request) to(p *process, headers ...string) (answer, error) {
	return r.by(client, p, headers...)
}

func (r request) by(client *http.Client, p *process, headers ...string) (answer, error) {
	q, err := http.NewRequest(cmp.Or(r.method, http.MethodPost), "http://"+p.addr+r.path,
		strings.NewReader(r.form.Encode()))
	if err != nil {
		return answer{}, err
	}
	q.Header.Set("Authorization", "Bearer "+r.apiKey)
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	q.Header.Set("Idempotency-Key", r.key)
	for n := 0; n < len(headers); n += 2 {
		q.Header.Set(headers[n], headers[n+1])
	}
	response, err := client.Do(q)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, string(body), response.Header.Get("Idempotent-Replayed") == "true"}, err
}

// until sends the request until its answer is final, as a client's retries do. With a shorter pause, the many clients
// of the matrix that wait until a death is noticed would keep the processors busy.
func (r request) until(p *process) (answer, error) {
	for deadline := time.Now().Add(timeout); ; time.Sleep(150 * time.Millisecond) {
		a, err := r.to(p)
		if err == nil && a.final() {
			return a, nil
		}
		if time.Now().After(deadline) {
			return a, fmt.Errorf("no final answer to %s: %v, %w", r.key, a, err)
		}
	}
}

// finally is until, for the test's own goroutine.
func (r request) finally(t testing.TB, p *process) answer {
	t.Helper()
	a, err := r.until(p)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// wantReplay asks once more and wants the very same answer.
func (r request) wantReplay(t testing.TB, p *process, first answer) {
	t.Helper()
	again := r.finally(t, p) // a busy process may ask for another try
	if !again.same(first) || !again.replayed {
		t.Errorf("the replay (marked %v) differs:\n\t%s\n\t%s", again.replayed, first, again)
	}
}

//go:build unix

package sdk_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/ratchet-pay/ratchet/internal/crashpoint"
	"github.com/ratchet-pay/ratchet/internal/people"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

const newSecret = "the secret that takes over from the one of the SDK's installations"

// Environments of processes during a rotation.
var (
	oldAlone = []string{"RATCHET_SECRET=" + rootSecret}
	both     = []string{"RATCHET_SECRET=" + newSecret, "RATCHET_SECRET_OLD=" + rootSecret}
	newAlone = []string{"RATCHET_SECRET=" + newSecret, "RATCHET_SECRET_OLD="}
)

// rotating is an installation of two API servers and a worker behind something like a load balancer.
type rotating struct {
	*installation
	t       *testing.T
	servers [2]*os.Process
	worker  *os.Process

	mu  sync.Mutex
	at  [2]string // "": the server takes no requests
	ask int
}

func newRotating(t *testing.T) *rotating {
	t.Helper()
	db, journal := pgtest.New(t), pgtest.New(t)
	acquirer := start(t, "acquirer", "RATCHET_ACQUIRER_SECRET="+acquirerSecret,
		"RATCHET_ACQUIRER_DATABASE_URL="+pgtest.Sparing(journal.URL))
	r := &rotating{t: t, installation: &installation{db: db.Pool, journal: journal.Pool, env: []string{modest,
		"RATCHET_DATABASE_URL=" + pgtest.Sparing(db.URL), "RATCHET_ACQUIRER_URL=http://" + acquirer,
		"RATCHET_ACQUIRER_SECRET=" + acquirerSecret, "RATCHET_ACQUIRER_DATABASE_URL=" + pgtest.Sparing(journal.URL),
		"RATCHET_WEBHOOK_ALLOW_LOOPBACK=1"}}}
	r.startAll(oldAlone)
	return r
}

func (r *rotating) with(env []string) []string { return slices.Concat(r.env, env) }

func (r *rotating) startAll(env []string) {
	r.t.Helper()
	for n := range r.servers {
		r.serve(n, env)
	}
	r.worker, _ = launch(r.t, []string{"work"}, r.with(env))
	r.url = r.at[0]
}

func (r *rotating) serve(n int, env []string) {
	r.t.Helper()
	p, addr := launch(r.t, []string{"serve", "--addr", "127.0.0.1:0"}, r.with(env))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.servers[n], r.at[n] = p, "http://"+addr
}

// restartAll restarts one process after the other under other secrets. A server gets no new requests before it ends.
func (r *rotating) restartAll(env []string) {
	r.t.Helper()
	for n, p := range r.servers {
		r.mu.Lock()
		r.at[n] = ""
		r.mu.Unlock()
		noError(r.t, p.Signal(syscall.SIGTERM))
		r.serve(n, env)
		r.gone(p)
	}
	noError(r.t, r.worker.Signal(syscall.SIGTERM))
	r.gone(r.worker)
	r.worker, _ = launch(r.t, []string{"work"}, r.with(env))
	r.url = r.at[0]
}

// gone waits until a process has ended and its row in workers counts for nothing.
func (r *rotating) gone(p *os.Process) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("process %d ends", p.Pid), func() bool {
		var alive bool
		noError(r.t, r.db.QueryRow(r.t.Context(), `SELECT EXISTS (
			SELECT FROM workers WHERE pid = $1 AND alive_until > clock_timestamp())`, p.Pid).Scan(&alive))
		return !alive
	})
}

// next is the address that the load balancer chooses.
func (r *rotating) next() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ask++
	if at := r.at[r.ask%len(r.at)]; at != "" {
		return at
	}
	return r.at[(r.ask+1)%len(r.at)]
}

// charge charges a card under an idempotency key. It sends the request to another server if the connection breaks, as
// clients do, and returns the response.
func charge(ctx context.Context, at func() string, apiKey, key string) (status int, body []byte, err error) {
	for deadline := time.Now().Add(timeout); ; {
		request, err := chargeRequest(ctx, at(), apiKey, key)
		if err != nil {
			return 0, nil, err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			body, err = io.ReadAll(response.Body)
			_ = response.Body.Close()
		}
		if err == nil {
			return response.StatusCode, body, nil
		}
		if time.Now().After(deadline) {
			return 0, nil, err
		}
	}
}

func chargeRequest(ctx context.Context, at, apiKey, key string) (*http.Request, error) {
	form := url.Values{"amount": {"700"}, "currency": {"usd"}, "source": {"tok_visa"}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at+"/v1/charges", strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(apiKey, "")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Idempotency-Key", key)
	return request, nil
}

// load are clients that charge cards until it ends, and send some requests twice.
type load struct {
	mu      sync.Mutex
	charged map[string][]byte // the first response, by idempotency key
	wrong   []string
	over    chan struct{}
	all     sync.WaitGroup
}

func (r *rotating) load(apiKey string) *load {
	l := &load{charged: map[string][]byte{}, over: make(chan struct{})}
	for n := range 3 {
		l.all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-l.over:
					return
				case <-time.After(20 * time.Millisecond):
				}
				l.try(r, apiKey, fmt.Sprintf("order-%d-%d", n, i))
				l.try(r, apiKey, fmt.Sprintf("order-%d-%d", n, i/2)) // a retry of one that was made a while ago
			}
		})
	}
	return l
}

func (l *load) try(r *rotating, apiKey, key string) {
	status, body, err := charge(r.t.Context(), r.next, apiKey, key)
	l.mu.Lock()
	defer l.mu.Unlock()
	first, again := l.charged[key]
	switch {
	case err != nil || status != http.StatusOK:
		l.wrong = append(l.wrong, fmt.Sprintf("%s: %d %v %s", key, status, err, body))
	case again && !bytes.Equal(first, body):
		l.wrong = append(l.wrong, key+": the retry got another response")
	default:
		l.charged[key] = body
	}
}

func (l *load) end() (charged int, wrong []string) {
	close(l.over)
	l.all.Wait()
	return len(l.charged), l.wrong
}

// TestRotation rotates the root secret of a running installation: no request fails, no card is charged twice, and what
// the older secret has made stays valid after it has been retired.
func TestRotation(t *testing.T) {
	inTurn(t)
	r := newRotating(t)
	a := r.account(t)
	l := listen(t, nil)
	e := a.endpoint(l.url, "customer.created")
	user := r.userWithSecondFactor(t)
	load := r.load(a.key)
	command := func(env []string, args ...string) (said string, err error) {
		in := installation{env: r.with(env)}
		return in.runs(t, args...)
	}
	must := func(said string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		return said
	}

	t.Run("it is refused while a process does not have the new secret", func(t *testing.T) {
		said, err := command(both, "secrets", "rotate", "--reason", "yearly")
		if err == nil || strings.Count(said, "serve on ") != 2 || strings.Count(said, "work on ") != 1 {
			t.Errorf("%v: %s", err, said)
		}
		r.restartAll(oldAlone) // and nothing has changed
	})

	r.restartAll(both)
	must(command(both, "secrets", "rotate", "--reason", "yearly"))

	t.Run("status says what the older secret has made", func(t *testing.T) {
		said := must(command(both, "secrets", "status"))
		for _, line := range []string{"older", "current", "Made under version 1:", "1 API keys",
			"1 signing secrets of webhook endpoints", "ratchet secrets retire 1"} {
			if !strings.Contains(said, line) {
				t.Errorf("status does not say %q:\n%s", line, said)
			}
		}
	})

	t.Run("a process without the older secret does not start, and one without the new one neither", func(t *testing.T) {
		for _, env := range [][]string{newAlone, oldAlone} {
			said, err := command(env, "keys", "create", "--account", a.id)
			if err == nil || !strings.Contains(said, "a secret of the installation is missing") {
				t.Errorf("%v: %s", err, said)
			}
		}
	})

	must(command(both, "secrets", "retire", "1", "--reason", "yearly"))
	r.restartAll(newAlone)
	charged, wrong := load.end()

	t.Run("no request failed", func(t *testing.T) {
		if len(wrong) > 0 || charged == 0 {
			t.Errorf("%d charges, and these are wrong:\n%s", charged, strings.Join(wrong, "\n"))
		}
	})

	t.Run("no card was charged twice", func(t *testing.T) {
		equal(t, "keys under which the acquirer did something twice", a.movedTwice(), []string{})
		var movements int
		noError(t, r.journal.QueryRow(t.Context(), `SELECT count(*) FROM acquirer.movements`).Scan(&movements))
		equal(t, "movements at the acquirer", movements, charged)
	})

	t.Run("API keys of before still work", func(t *testing.T) {
		client, _ := connect(t, r.url, a.key)
		_, err := client.V1Balance.Retrieve(t.Context(), &stripe.BalanceRetrieveParams{})
		noError(t, err)
	})

	t.Run("new API keys are of the new secret", func(t *testing.T) {
		must(command(newAlone, "keys", "create", "--account", a.id))
		var versions []int16
		noError(t, r.db.QueryRow(t.Context(), `SELECT array_agg(secret_version ORDER BY created_at) FROM api_keys
			WHERE account_id = $1`, a.id).Scan(&versions))
		equal(t, "versions", versions, []int16{1, 2})
	})

	a.Client, a.backend = connect(t, r.url, a.key)
	t.Run("an endpoint's signing secret stays, until it is rolled", func(t *testing.T) {
		a.customer(nil)
		old := l.await(1)[0]
		_, err := webhook.ConstructEvent(old.body, old.signature(), e.Secret)
		noError(t, err)
		rolled := strings.Fields(must(command(newAlone, "webhooks", "roll", e.ID)))
		a.customer(nil)
		signed := l.await(2)[1]
		_, err = webhook.ConstructEvent(signed.body, signed.signature(), rolled[slices.IndexFunc(rolled,
			func(word string) bool { return strings.HasPrefix(word, "whsec_") })])
		noError(t, err)
		_, err = webhook.ConstructEvent(signed.body, signed.signature(), e.Secret)
		noError(t, err) // of before, in the overlap
	})

	t.Run("second factors are sealed under the new secret", func(t *testing.T) {
		noError(t, people.UseCode(t.Context(), r.db, people.By{Actor: "test"},
			secret.NewRoots(secret.VersionOf(2, secret.Root(newSecret))).Keys(secret.TOTP), user.id, user.code(t)))
	})

	t.Run("verify finds nothing wrong, with the new secret alone", func(t *testing.T) {
		untilNoError(t, "verify", func() error {
			if said, err := command(newAlone, "verify"); err != nil {
				return fmt.Errorf("%w: %s", err, said)
			}
			return nil
		})
		var versions []int16
		noError(t, r.db.QueryRow(t.Context(), `SELECT array_agg(DISTINCT secret_version ORDER BY secret_version)
			FROM audit_blocks`).Scan(&versions))
		equal(t, "secrets of blocks", versions, []int16{1, 2})
	})

	t.Run("the audit trail says who rotated it, and why", func(t *testing.T) {
		var acts int
		noError(t, r.db.QueryRow(t.Context(), `SELECT count(*) FROM audit_events WHERE actor LIKE 'operator:%'
			AND operation IN ('secret.rotate', 'secret.retire') AND details LIKE '%yearly%'`).Scan(&acts))
		equal(t, "acts", acts, 2)
	})
}

// TestRotationDuringACharge rotates the secret between the first call to the acquirer and the retry. The process that
// made the call crashed before it stored the answer.
func TestRotationDuringACharge(t *testing.T) {
	inTurn(t)
	r := newRotating(t)
	a := r.account(t)
	crashing, addr := launch(t, []string{"serve", "--addr", "127.0.0.1:0"},
		r.with(append(slices.Clone(oldAlone), crashpoint.Enable+"=1")))
	noError(t, r.worker.Signal(syscall.SIGTERM)) // no worker finishes it before the rotation
	r.gone(r.worker)

	request, err := chargeRequest(t.Context(), "http://"+addr, a.key, "crashed")
	noError(t, err)
	request.Header.Set("Connection", "close")
	request.Header.Set(crashpoint.AtHeader, "acquirer: answer read")
	if response, err := http.DefaultClient.Do(request); err == nil {
		_ = response.Body.Close()
		t.Fatalf("the server lives: %d", response.StatusCode)
	}
	r.gone(crashing)
	charged := func() (n int) {
		noError(t, r.journal.QueryRow(t.Context(), `SELECT count(*) FROM acquirer.movements`).Scan(&n))
		return n
	}
	equal(t, "charges before the rotation", charged(), 1)

	for n, p := range r.servers {
		noError(t, p.Kill())
		r.gone(p)
		r.serve(n, both)
	}
	in := installation{env: r.with(both)}
	said, err := in.runs(t, "secrets", "rotate", "--reason", "during a charge")
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}

	t.Run("a request that was under way is finished under its key", func(t *testing.T) {
		status, body, err := charge(t.Context(), r.next, a.key, "crashed")
		if err != nil || status != http.StatusOK {
			t.Fatalf("%d %v: %s", status, err, body)
		}
		equal(t, "charges", charged(), 1)
		var receipt string
		noError(t, r.db.QueryRow(t.Context(), `SELECT receipt_url FROM charges`).Scan(&receipt))
		if !strings.Contains(string(body), `"receipt_url": "`+receipt+`"`) {
			t.Errorf("the receipt is at %s, and the response says otherwise: %s", receipt, body)
		}
	})
}

// TestRotationAfterALostRequest charges a card, loses the request with a failover, rotates the secret, and retries: the
// call has the same key, and the acquirer answers as before.
func TestRotationAfterALostRequest(t *testing.T) {
	inTurn(t)
	d := prepareForDisaster(t)
	a := d.account(t)
	d.end(t)
	backup := d.backUp(t)
	d.begin(t)
	here := func() string { return d.url }
	status, body, err := charge(t.Context(), here, a.key, "lost")
	if err != nil || status != http.StatusOK {
		t.Fatalf("%d %v: %s", status, err, body)
	}
	d.env = slices.Concat(both, slices.DeleteFunc(d.env,
		func(v string) bool { return strings.HasPrefix(v, "RATCHET_SECRET=") }))
	d.restore(t, backup, "_restored")
	untilNoError(t, "rotate", func() error { // the backup has rows of processes that may still count as alive
		if said, code := d.run("secrets", "rotate", "--reason", "after a failover"); code != 0 {
			return fmt.Errorf("exit code %d: %s", code, said)
		}
		return nil
	})
	d.end(t)
	d.begin(t) // what starts now has never used the older secret
	status, body, err = charge(t.Context(), here, a.key, "lost")
	if err != nil || status != http.StatusOK {
		t.Fatalf("%d %v: %s", status, err, body)
	}
	var movements int
	noError(t, d.journal.QueryRow(t.Context(), `SELECT count(*) FROM acquirer.movements`).Scan(&movements))
	equal(t, "charges at the acquirer", movements, 1)
}

// personWithCode is a user of the dashboard with an authenticator app.
type personWithCode struct{ id, shared string }

func (r *rotating) userWithSecondFactor(t *testing.T) personWithCode {
	t.Helper()
	by := people.By{Actor: "test"}
	u, _, err := people.Create(t.Context(), r.db, by, "ann@example.com", people.Administer)
	noError(t, err)
	p := personWithCode{u.ID, people.NewTOTPSecret()}
	code, err := people.TOTP(p.shared, time.Now().Add(-30*time.Second)) // the one of now is for later
	noError(t, err)
	_, err = people.Enroll(t.Context(), r.db, by, secret.Root(rootSecret).Keys(secret.TOTP), &people.Session{User: u},
		p.shared, code)
	noError(t, err)
	return p
}

func (p personWithCode) code(t *testing.T) string {
	t.Helper()
	code, err := people.TOTP(p.shared, time.Now())
	noError(t, err)
	return code
}

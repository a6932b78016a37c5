//go:build unix

package sdk_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stripe/stripe-go/v85"

	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/apitest"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

const (
	rootSecret     = "the secret of installations that the SDK talks to"
	acquirerSecret = "the secret between those and their acquirer"
)

// modest keeps a process from taking the connections it would take by default:
// all tests' installations live at the same time.
const modest = "RATCHET_DATABASE_CONNECTIONS=4"

// timeout is far beyond what a process needs to start, on any machine.
const timeout = 5 * time.Minute

// installation is a running Ratchet: an acquirer, an API, and their databases.
type installation struct {
	url     string
	db      *pgxpool.Pool
	journal *pgxpool.Pool // the acquirer's: what really happened to a card
	env     []string      // the environment of its processes
}

func install(t *testing.T) *installation {
	t.Helper()
	db, journal := pgtest.New(t), pgtest.New(t)
	acquirer := start(t, "acquirer", "RATCHET_ACQUIRER_SECRET="+acquirerSecret,
		"RATCHET_ACQUIRER_DATABASE_URL="+pgtest.Sparing(journal.URL))
	env := []string{"RATCHET_SECRET=" + rootSecret, "RATCHET_DATABASE_URL=" + pgtest.Sparing(db.URL),
		"RATCHET_ACQUIRER_URL=http://" + acquirer, "RATCHET_ACQUIRER_SECRET=" + acquirerSecret,
		"RATCHET_WEBHOOK_ALLOW_LOOPBACK=1", modest}
	return &installation{"http://" + start(t, "serve", env...), db.Pool, journal.Pool, env}
}

// work starts a worker, and returns its process.
func (in *installation) work(t *testing.T, env ...string) *os.Process {
	t.Helper()
	p, _ := launch(t, []string{"work"}, append(in.env[:len(in.env):len(in.env)], env...))
	return p
}

// listening is in the line with which a process says that it works, and where it answers.
var listening = regexp.MustCompile(`"msg":"working"|"addr(?:ess)?":"(127\.0\.0\.1:[1-9]\d*)"`)

// start runs a process of the program until the test ends, and returns where it answers.
func start(t *testing.T, command string, env ...string) (addr string) {
	t.Helper()
	_, addr = launch(t, []string{command, "--addr", "127.0.0.1:0"}, env)
	return addr
}

func launch(t *testing.T, args, env []string) (_ *os.Process, addr string) {
	t.Helper()
	command := args[0]
	process := exec.Command(os.Getenv(binaryVar), args...)
	process.Env = append(os.Environ(), env...)
	stderr, err := process.StderrPipe()
	noError(t, err)
	noError(t, process.Start())
	said := &log{listens: make(chan string, 1), ended: make(chan struct{})}
	go said.follow(stderr)
	t.Cleanup(func() {
		_ = process.Process.Kill() // it may be gone already
		<-said.ended
		_ = process.Wait() // it was killed
		if t.Failed() {
			t.Logf("%s said:\n%s", args[0], said)
		}
	})
	select {
	case addr = <-said.listens:
	case <-said.ended:
		t.Fatalf("%s ended before it listened", command)
	case <-time.After(timeout):
		t.Fatalf("%s does not listen", command)
	}
	return process.Process, addr
}

// log keeps the last lines of what a process says.
type log struct {
	listens chan string
	ended   chan struct{}

	mu    sync.Mutex
	lines []string
}

func (l *log) follow(r io.Reader) {
	defer close(l.ended)
	const keep = 20
	for scanner := bufio.NewScanner(r); scanner.Scan(); {
		l.mu.Lock()
		l.lines = append(l.lines[max(0, len(l.lines)-keep):], scanner.Text())
		l.mu.Unlock()
		if found := listening.FindStringSubmatch(scanner.Text()); found != nil {
			select {
			case l.listens <- found[1]:
			default: // it was said before
			}
		}
	}
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// account is a merchant with the SDK in hand. Each test has its own, so
// lists and balances hold what the test made and nothing else.
type account struct {
	*stripe.Client
	t       *testing.T
	in      *installation
	id, key string
	backend stripe.Backend // for the addresses that the SDK has dropped
}

func (in *installation) account(t *testing.T) *account {
	t.Helper()
	a := &account{t: t, in: in, id: id.New("acct", time.Now())}
	_, err := in.db.Exec(t.Context(), `INSERT INTO accounts (id, name) VALUES ($1, 'Toboggans')`, a.id)
	noError(t, err)
	a.key = a.newKey(apikey.Secret)
	a.Client, a.backend = connect(t, in.url, a.key)
	return a
}

func (a *account) newKey(kind string) string {
	a.t.Helper()
	_, key, err := apikey.Create(a.t.Context(), a.in.db, secret.Root(rootSecret).Keys(secret.APIKeys), a.id, kind,
		false)
	noError(a.t, err)
	return key
}

func (a *account) newRestrictedKey(allowed apikey.Permissions) string {
	a.t.Helper()
	_, key, err := apikey.CreateRestricted(a.t.Context(), a.in.db, secret.Root(rootSecret).Keys(secret.APIKeys), a.id,
		allowed, false)
	noError(a.t, err)
	return key
}

// connect is the SDK as a merchant configures it, but for the address. Every
// answer it gets is checked.
func connect(t *testing.T, url, key string) (*stripe.Client, stripe.Backend) {
	return connectWithRetries(t, url, key, 0)
}

func connectWithRetries(t *testing.T, url, key string, retries int64) (*stripe.Client, stripe.Backend) {
	backend := stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		URL:               stripe.String(url),
		HTTPClient:        &http.Client{Timeout: timeout, Transport: apitest.Checked(t, nil)},
		MaxNetworkRetries: stripe.Int64(retries),
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
	})
	return stripe.NewClient(key, stripe.WithBackends(&stripe.Backends{API: backend})), backend
}

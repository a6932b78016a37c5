//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
	"github.com/ratchet-pay/ratchet/internal/demo"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// timeout is only for a machine that has come to a standstill.
const timeout = 5 * time.Minute

// running is a demo that has printed its banner.
type running struct {
	cmd    *exec.Cmd
	out    *output
	dir    string
	base   string
	pid    map[string]int // of the parts, when the banner was printed
	exited chan struct{}
}

// output is what a process prints, while it prints it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// dataDir is t.TempDir for a server that may run as another user.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ratchet-demo-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

var (
	addressLine = regexp.MustCompile(`(?m)^ +API +(http://\S+)$`)
	partLine    = regexp.MustCompile(`(?m)^ +(\d+) +(serve|work|acquirer|postgres) `)
)

// startDemo returns when the banner is there.
func startDemo(t *testing.T, dir string, env []string, args ...string) *running {
	t.Helper()
	d := &running{out: &output{}, dir: dir, pid: map[string]int{}, exited: make(chan struct{})}
	d.cmd = playing(env, append([]string{"demo", "--empty", "--addr", "127.0.0.1:0", "--data-dir", dir}, args...)...)
	d.cmd.Stdout, d.cmd.Stderr = d.out, d.out
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = d.cmd.Wait(); close(d.exited) }()
	t.Cleanup(func() {
		_ = d.cmd.Process.Signal(os.Interrupt)
		<-d.exited
		if t.Failed() {
			t.Logf("the demo printed:\n%s", d.out)
		}
	})
	d.awaitOutput(t, "Ctrl-C stops everything")
	d.base = addressLine.FindStringSubmatch(d.out.String())[1]
	for _, part := range partLine.FindAllStringSubmatch(d.out.String(), -1) {
		d.pid[part[2]], _ = strconv.Atoi(part[1])
	}
	return d
}

func (d *running) awaitOutput(t *testing.T, want string) {
	t.Helper()
	await(t, fmt.Sprintf("the demo to print %q", want), func() bool {
		select {
		case <-d.exited:
			t.Fatalf("the demo ended:\n%s", d.out)
		default:
		}
		return strings.Contains(d.out.String(), want)
	})
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for %s", timeout, what)
		}
	}
}

// interrupt is Ctrl-C, and the end of it.
func (d *running) interrupt(t *testing.T) {
	t.Helper()
	_ = d.cmd.Process.Signal(os.Interrupt)
	select {
	case <-d.exited:
	case <-time.After(timeout):
		t.Fatal("the demo does not stop")
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, d.out)
	}
}

// alive says whether a process still runs. One that is dead but not collected yet does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func (d *running) awaitAllGone(t *testing.T) {
	t.Helper()
	for part, pid := range d.pid {
		await(t, part+" to be gone", func() bool { return !alive(pid) })
	}
}

// reply is what the API answered.
type reply struct {
	status   int
	replayed bool
	body     string
}

// charge charges a card; an error is a connection that broke.
func (d *running) charge(key, fault string) (reply, error) {
	form := url.Values{"amount": {"2000"}, "currency": {"usd"}, "source": {"tok_visa"}}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, d.base+"/v1/charges",
		strings.NewReader(form.Encode()))
	if err != nil {
		return reply{}, err
	}
	request.SetBasicAuth("sk_test_ratchet_demo", "")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Idempotency-Key", key)
	if fault != "" {
		request.Header.Set("Acquirer-Fault", fault)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header.Get("Idempotent-Replayed") == "true", string(body)}, err
}

// mustCharge asks until there is a final answer, as a client does.
func (d *running) mustCharge(t *testing.T, key string) (got reply) {
	t.Helper()
	await(t, "the charge", func() bool {
		var err error
		got, err = d.charge(key, "")
		return err == nil && got.status == http.StatusOK
	})
	return got
}

// sales is how often the acquirer took money.
func (d *running) sales(t *testing.T) (n int) {
	t.Helper()
	for _, m := range d.movements(t) {
		if m.Kind == "sale" {
			n++
		}
	}
	return n
}

func (d *running) movements(t *testing.T) []simulator.Movement {
	t.Helper()
	movements, err := simulator.Journal(t.Context(), d.connect(t, "RATCHET_ACQUIRER_DATABASE_URL"))
	if err != nil {
		t.Fatal(err)
	}
	return movements
}

func (d *running) connect(t *testing.T, setting string) *pgx.Conn {
	t.Helper()
	settings, err := demo.Environ(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), settings[setting])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestDemo(t *testing.T) {
	t.Parallel()

	t.Run("its data outlives it, until it is told to start over, and its processes do not", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		first := startDemo(t, dir, nil)
		if len(first.pid) != 4 {
			t.Errorf("the banner names %v", first.pid)
		}
		if said := first.out.String(); strings.Contains(said, "connection refused") {
			t.Errorf("a part asked for another that was not there yet:\n%s", said)
		}
		original := first.mustCharge(t, "kept")
		first.interrupt(t)
		first.awaitAllGone(t)
		if _, err := demo.Environ(dir); err == nil {
			t.Error("its settings are still there for an operator's command to find")
		}

		second := startDemo(t, dir, nil)
		again := second.mustCharge(t, "kept")
		if !again.replayed || again.body != original.body {
			t.Errorf("after a restart the key is answered with another charge: %+v", again)
		}
		second.interrupt(t)

		third := startDemo(t, dir, nil, "--fresh")
		anew := third.mustCharge(t, "kept")
		if anew.replayed || anew.body == original.body {
			t.Errorf("--fresh remembers: %+v", anew)
		}
		if n := third.sales(t); n != 1 {
			t.Errorf("after --fresh and one charge the acquirer took money %d times", n)
		}
	})

	t.Run("a server killed during a payment comes back, and the card is charged once", func(t *testing.T) {
		t.Parallel()
		d := startDemo(t, dataDir(t), nil)
		// The acquirer is stopped meanwhile, and reads what reaches it afterwards.
		if err := syscall.Kill(d.pid["acquirer"], syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		broken := make(chan error, 1)
		go func() { _, err := d.charge("killed", ""); broken <- err }()
		ours := d.connect(t, "RATCHET_DATABASE_URL")
		await(t, "the call to be announced", func() bool {
			var n int
			err := ours.QueryRow(t.Context(), "SELECT count(*) FROM request_calls").Scan(&n)
			return err == nil && n == 1
		})
		died := time.Now()
		if err := syscall.Kill(d.pid["serve"], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		d.awaitOutput(t, fmt.Sprintf("serve %d exited (signal: killed)", d.pid["serve"]))
		d.awaitOutput(t, "serve is back as ")
		t.Logf("back after %v", time.Since(died).Round(time.Millisecond))
		if err := <-broken; err == nil {
			t.Error("the killed server answered")
		}
		if err := syscall.Kill(d.pid["acquirer"], syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		charge := d.mustCharge(t, "killed")
		again := d.mustCharge(t, "killed")
		if !again.replayed || again.body != charge.body {
			t.Errorf("the key has two answers: %+v and %+v", charge, again)
		}
		// The first call may still be on its way to act: an acquirer that has to
		// stop finishes what it has read.
		if err := syscall.Kill(d.pid["acquirer"], syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		d.awaitOutput(t, "acquirer is back as ")
		if n := d.sales(t); n != 1 {
			t.Errorf("the card was charged %d times", n)
		}
	})

	t.Run("a killed database comes back at the same address with everything in it", func(t *testing.T) {
		t.Parallel()
		d := startDemo(t, dataDir(t), nil)
		original := d.mustCharge(t, "kept")
		if err := syscall.Kill(d.pid["postgres"], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		d.awaitOutput(t, "postgres is back as ")
		again := d.mustCharge(t, "kept")
		if !again.replayed || again.body != original.body {
			t.Errorf("the database forgot: %+v", again)
		}
	})

	t.Run("it begins with a sample, and killing the server changes nothing in it", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		d := startDemo(t, dir, nil, "--empty=false")
		if err := syscall.Kill(d.pid["serve"], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		complete := func() bool { _, err := os.Stat(filepath.Join(dir, "sample")); return err == nil }
		await(t, "the sample to be complete", complete)
		wantSample(t, d, 0)
		if stdout, stderr, code := ratchet(t, []string{"RATCHET_DATA_DIR=" + dir}, "verify"); code != 0 {
			t.Errorf("verify ends with %d: %s%s", code, stdout, stderr)
		}
		for _, request := range []string{"POST   /v1/customers", "POST   /v1/payment_intents"} {
			if said := d.out.String(); strings.Contains(said, request) {
				t.Errorf("the terminal shows requests of the sample:\n%s", said)
			}
		}
		d.interrupt(t)

		again := startDemo(t, dir, nil, "--empty=false")
		again.mustCharge(t, "own")
		wantSample(t, again, 1)
	})

	t.Run("a sample that was interrupted is completed by the next start, once", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		first := startDemo(t, dir, nil, "--empty=false")
		db := first.connect(t, "RATCHET_DATABASE_URL")
		await(t, "the sample's first crash", func() bool {
			var crashed bool
			if err := db.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM takeovers)`).Scan(&crashed); err != nil {
				t.Fatal(err)
			}
			return crashed
		})
		_ = first.cmd.Process.Kill()
		<-first.exited

		second := startDemo(t, dir, nil, "--empty=false")
		await(t, "the sample to be complete", func() bool {
			_, err := os.Stat(filepath.Join(dir, "sample"))
			return err == nil
		})
		wantSample(t, second, 0)
		if stdout, stderr, code := ratchet(t, []string{"RATCHET_DATA_DIR=" + dir}, "verify"); code != 0 {
			t.Errorf("verify ends with %d: %s%s", code, stdout, stderr)
		}
	})

	t.Run("its processes die with it even when it is killed", func(t *testing.T) {
		t.Parallel()
		d := startDemo(t, dataDir(t), nil)
		if err := d.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-d.exited
		d.awaitAllGone(t)
	})

	t.Run("a second one in the same directory is refused", func(t *testing.T) {
		t.Parallel()
		d := startDemo(t, dataDir(t), nil)
		_, stderr, code := ratchet(t, nil, "demo", "--addr", "127.0.0.1:0", "--data-dir", d.dir)
		want := fmt.Sprintf("another demo (pid %d) is running in %s", d.cmd.Process.Pid, d.dir)
		if code != exitFailed || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d, want %d and %q: %s", code, exitFailed, want, stderr)
		}
	})

	t.Run("a port that is taken is one sentence, and nothing is started", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		dir := dataDir(t)
		stdout, stderr, code := ratchet(t, nil, "demo", "--addr", l.Addr().String(), "--data-dir", dir)
		if code != exitFailed || !strings.Contains(stderr, "is already in use") || strings.Count(stderr, "\n") != 1 ||
			stdout != "" {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
		if _, err := os.Stat(dir + "/postgres"); err == nil {
			t.Error("a database was made")
		}
	})

	t.Run("a database that is given is used, and the acquirer gets one beside it", func(t *testing.T) {
		t.Parallel()
		given := pgtest.New(t)
		dir := dataDir(t)
		d := startDemo(t, dir, []string{"DATABASE_URL=" + given.URL})
		d.mustCharge(t, "kept")
		var charges int
		err := given.Pool.QueryRow(t.Context(), "SELECT count(*) FROM charges").Scan(&charges)
		if err != nil || charges != 1 {
			t.Errorf("%d charges are in the database, %v", charges, err)
		}
		beside := given.Pool.Config().ConnConfig.Database + "_acquirer"
		if got := d.connect(t, "RATCHET_ACQUIRER_DATABASE_URL").Config().Database; got != beside {
			t.Errorf("the acquirer keeps its books in %s, want %s", got, beside)
		}
		d.interrupt(t)
		d.awaitAllGone(t)
		if _, err := given.Pool.Exec(t.Context(), "DROP DATABASE "+beside+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(dir + "/postgres"); err == nil || d.pid["postgres"] != 0 {
			t.Error("a server was started although one was given")
		}
	})

	t.Run("a database that is not its own is not emptied", func(t *testing.T) {
		t.Parallel()
		_, stderr, code := ratchet(t, []string{"DATABASE_URL=postgres://127.0.0.1:1/x"}, "demo", "--fresh",
			"--data-dir", dataDir(t))
		if code != exitUsage || !strings.Contains(stderr, "--fresh is not allowed while DATABASE_URL is set") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	})

	t.Run("a database of an earlier development version is refused, and --fresh replaces it", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		old := startDemo(t, dir, nil)
		original := old.mustCharge(t, "kept")
		const asItWas = `ALTER TABLE schema_revision RENAME TO schema_migrations`
		if _, err := old.connect(t, "RATCHET_DATABASE_URL").Exec(t.Context(), asItWas); err != nil {
			t.Fatal(err)
		}
		old.interrupt(t)
		old.awaitAllGone(t)

		_, stderr, code := ratchet(t, nil, "demo", "--addr", "127.0.0.1:0", "--data-dir", dir)
		if code != exitFailed || strings.Count(stderr, "earlier development version") != 1 ||
			!strings.Contains(stderr, "start the demo with ratchet demo --fresh (make demo ARGS=--fresh)\n") {
			t.Errorf("exit code %d: %s", code, stderr)
		}

		anew := startDemo(t, dir, nil, "--fresh").mustCharge(t, "kept")
		if anew.replayed || anew.body == original.body {
			t.Errorf("--fresh kept the old database: %+v", anew)
		}
	})

	t.Run("a data directory that cannot be written is one sentence", func(t *testing.T) {
		t.Parallel()
		_, stderr, code := ratchet(t, nil, "demo", "--addr", "127.0.0.1:0", "--data-dir", "/proc/ratchet")
		if code != exitFailed || !strings.Contains(stderr, "choose another one with --data-dir") ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	})
}

// wantSample checks what the demo's shop consists of: the sample, and a number of other charges.
func wantSample(t *testing.T, d *running, own int) {
	t.Helper()
	db := d.connect(t, "RATCHET_DATABASE_URL")
	for what, c := range map[string]struct {
		query string
		want  int
	}{
		"successful charges":     {`charges WHERE status = 'succeeded'`, 79 + own},
		"declines":               {`charges WHERE status = 'failed'`, 9},
		"abandoned payments":     {`payment_intents WHERE status IN ('requires_payment_method', 'requires_action')`, 5},
		"open authorizations":    {`payment_intents WHERE status = 'requires_capture'`, 2},
		"refunds":                {`refunds`, 8},
		"payouts":                {`payouts`, 2},
		"disputes won":           {`disputes WHERE status = 'won'`, 1},
		"disputes lost":          {`disputes WHERE status = 'lost'`, 1},
		"disputes to answer":     {`disputes WHERE status = 'needs_response'`, 1},
		"endpoints that fail":    {`webhook_endpoints WHERE failing_since IS NOT NULL AND deleted_at IS NULL`, 0},
		"requests not recovered": {`runs WHERE state = 'needs_review'`, 0},
	} {
		var got int
		if err := db.QueryRow(t.Context(), `SELECT count(*) FROM `+c.query).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("there are %d %s, want %d", got, what, c.want)
		}
	}
	var recovered, acknowledged, refused int
	err := db.QueryRow(t.Context(), `
		SELECT (SELECT count(DISTINCT request_id) FROM takeovers WHERE was = 'running'),
		       (SELECT count(*) FROM webhook_attempts WHERE status = 200),
		       (SELECT count(*) FROM webhook_attempts WHERE status = 503)`).Scan(&recovered, &acknowledged, &refused)
	if err != nil {
		t.Fatal(err)
	}
	if recovered < 3 {
		t.Errorf("%d payments survived a crash, want at least the 3 of the sample", recovered)
	}
	if acknowledged == 0 || refused == 0 {
		t.Errorf("the stockroom acknowledged %d webhooks and refused %d, want some of both", acknowledged, refused)
	}
}

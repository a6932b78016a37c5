//go:build linux

package main

import (
	"net/http"
	"os"
	"os/user"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/demo"
)

// hold leaves a request held whose call did nothing: the connection to the
// acquirer broke before it acted, and the request needs an operator. The worker stops
// still meanwhile, or it would finish the request first.
func (d *running) hold(t *testing.T, key string) {
	t.Helper()
	if err := syscall.Kill(d.pid["work"], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	got, err := d.charge(key, "drop_before_acting")
	if err != nil || got.status != http.StatusServiceUnavailable {
		t.Fatalf("the charge was not laid aside: %+v, %v", got, err)
	}
	ours := d.connect(t, "RATCHET_DATABASE_URL")
	tag, err := ours.Exec(t.Context(), `
		UPDATE runs SET state = 'needs_review', reason = 'for the test', due_at = NULL
		WHERE request_id = (SELECT id FROM requests WHERE key = $1) AND state = 'parked'`, key)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("hold: %v, %v", tag, err)
	}
	if err := syscall.Kill(d.pid["work"], syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// audited is what the trail says was done by operators.
func (d *running) audited(t *testing.T, operation string) (actor, details string) {
	t.Helper()
	err := d.connect(t, "RATCHET_DATABASE_URL").QueryRow(t.Context(),
		`SELECT actor, details FROM audit_events WHERE operation = $1`, operation).Scan(&actor, &details)
	if err != nil {
		t.Fatalf("%s is not in the audit trail: %v", operation, err)
	}
	return actor, details
}

func TestOperating(t *testing.T) {
	t.Parallel()
	d := startDemo(t, dataDir(t), nil)
	atDemo := []string{"RATCHET_DATA_DIR=" + d.dir}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}

	t.Run("a held request that is resumed is finished, once", func(t *testing.T) {
		d.hold(t, "resumed")
		listed := mustDo(t, atDemo, "requests", "list", "--state", "needs_review")
		if !strings.Contains(listed, "for the test") {
			t.Errorf("it is not listed with its reason:\n%s", listed)
		}
		mustDo(t, atDemo, "requests", "resume", "resumed")
		await(t, "the charge to be finished", func() bool {
			return strings.Contains(mustDo(t, atDemo, "requests", "show", "resumed"), "finished: response 200 ch_")
		})
		if n := d.sales(t); n != 1 {
			t.Errorf("the card was charged %d times", n)
		}
		actor, details := d.audited(t, "request.resume")
		if actor != "operator:"+me.Username || !strings.Contains(details, "for the test") {
			t.Errorf("the audit trail says %s: %s", actor, details)
		}
	})

	t.Run("a held request that is released asks under a new key, and the card is charged once", func(t *testing.T) {
		before := d.sales(t)
		d.hold(t, "released")
		said := mustDo(t, atDemo, "requests", "release", "released", "--as", "not-executed", "--evidence",
			"they never saw it")
		if charge := d.mustCharge(t, "released"); charge.status != http.StatusOK {
			t.Errorf("answered %+v", charge)
		}
		movements := d.movements(t)
		last := movements[len(movements)-1]
		if n := d.sales(t) - before; n != 1 || !strings.Contains(said, "the next call uses "+last.Key) {
			t.Errorf("charged %d times, last under %s; said %s", n, last.Key, said)
		}
		shown := mustDo(t, atDemo, "requests", "show", "released")
		if !strings.Contains(shown, "not_executed") || !strings.Contains(shown, "they never saw it") ||
			!strings.Contains(shown, last.Key) {
			t.Errorf("the proof is not shown:\n%s", shown)
		}
		actor, details := d.audited(t, "request.release")
		if actor != "operator:"+me.Username || !strings.Contains(details, "they never saw it") {
			t.Errorf("the audit trail says %s: %s", actor, details)
		}
	})

	t.Run("a message nobody understands is listed, and tried again when somebody says so", func(t *testing.T) {
		d.notify(t, `{"id":"note_poison","kind":"moon.risen"}`)
		if listed := mustDo(t, atDemo, "inbox", "list"); !strings.Contains(listed, "note_poison") ||
			!strings.Contains(listed, "set_aside") {
			t.Errorf("the list is %s", listed)
		}
		mustDo(t, atDemo, "inbox", "retry", "note_poison")
		await(t, "it to be tried, and set aside again", func() bool {
			listed := mustDo(t, atDemo, "inbox", "list")
			return strings.Contains(listed, "set_aside") && strings.Contains(listed, "moon.risen")
		})
		if actor, _ := d.audited(t, "inbox.retry"); actor != "operator:"+me.Username {
			t.Errorf("the audit trail says %s", actor)
		}
		_, stderr, code := ratchet(t, atDemo, "inbox", "retry", "note_nobody")
		if code != exitFailed || !strings.Contains(stderr, "not found") {
			t.Errorf("it ended with %d and said %s", code, stderr)
		}
	})

	t.Run("a message that contradicts another is listed until an operator acknowledges it", func(t *testing.T) {
		d.notify(t, `{"id":"note_twice","kind":"moon.risen"}`)
		if status := d.tell(t, `{"id":"note_twice","kind":"sun.risen"}`); status != http.StatusConflict {
			t.Errorf("the contradiction is answered %d", status)
		}
		if listed := mustDo(t, atDemo, "inbox", "list"); !strings.Contains(listed, "contradicted by 1 others") {
			t.Errorf("the list is %s", listed)
		}
		if _, _, code := ratchet(t, atDemo, "inbox", "acknowledge", "note_twice"); code == 0 {
			t.Error("it is acknowledged without a reason")
		}
		mustDo(t, atDemo, "inbox", "acknowledge", "note_twice", "--because", "incident 4711")
		if listed := mustDo(t, atDemo, "inbox", "list"); strings.Contains(listed, "contradicted") {
			t.Errorf("the list is still %s", listed)
		}
		actor, details := d.audited(t, "inbox.acknowledge")
		if actor != "operator:"+me.Username || !strings.Contains(details, "incident 4711") {
			t.Errorf("the audit trail says %s: %s", actor, details)
		}
	})

	t.Run("a request whose keys were all refused goes on under the next one when it is resumed", func(t *testing.T) {
		before := d.sales(t)
		got, err := d.charge("refused", "retire_key")
		if err != nil || got.status != http.StatusInternalServerError {
			t.Fatalf("the charge was not held: %+v, %v", got, err)
		}
		said := mustDo(t, atDemo, "requests", "resume", "refused")
		if !strings.Contains(said, "proved unused") || !strings.Contains(said, "new key") {
			t.Errorf("said %s", said)
		}
		await(t, "the charge to be finished", func() bool {
			return strings.Contains(mustDo(t, atDemo, "requests", "show", "refused"), "finished: response 200 ch_")
		})
		if n := d.sales(t) - before; n != 1 {
			t.Errorf("the card was charged %d times", n)
		}
	})

	t.Run("what is erased is listed and audited, and its key is refused from then on", func(t *testing.T) {
		d.mustCharge(t, "forgotten")
		shown := mustDo(t, atDemo, "requests", "show", "forgotten")
		request := strings.Fields(shown)[1]
		said := mustDo(t, atDemo, "erase", request, "--because", "a letter", "--yes")
		if !strings.Contains(said, "charges") {
			t.Errorf("said %s", said)
		}
		if got, err := d.charge("forgotten", ""); err != nil || got.status != http.StatusBadRequest {
			t.Errorf("answered %+v, %v", got, err)
		}
		actor, details := d.audited(t, "data.erase")
		if actor != "operator:"+me.Username || !strings.Contains(details, "a letter") {
			t.Errorf("the audit trail says %s: %s", actor, details)
		}
		_, stderr, code := ratchet(t, atDemo, "erase", "cus_nobody", "--because", "a letter", "--yes")
		if code != exitFailed || !strings.Contains(stderr, "cus_nobody") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	})

	t.Run("what names nothing is told so", func(t *testing.T) {
		for _, args := range [][]string{{"webhooks", "show", "evt_nobody"}, {"webhooks", "resend", "evt_nobody"}} {
			_, stderr, code := ratchet(t, atDemo, args...)
			if code != exitFailed || !strings.Contains(stderr, `event "evt_nobody" not found`) {
				t.Errorf("%v: exit code %d: %s", args, code, stderr)
			}
		}
		_, stderr, code := ratchet(t, atDemo, "accounts", "create", "--name", "Seashells", "--currency", "sea")
		if code != exitFailed || !strings.HasPrefix(stderr, "ratchet: Invalid currency: sea.") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	})

	t.Run("the acquirer of the demo is asked for its settlement file", func(t *testing.T) {
		mustDo(t, atDemo, "reconcile", "--date", "2020-01-01")
	})

	t.Run("a finished request is nobody's to resume or release", func(t *testing.T) {
		d.mustCharge(t, "finished")
		for _, args := range [][]string{
			{"requests", "resume", "finished"},
			{"requests", "release", "finished", "--as", "not-executed", "--evidence", "none"},
		} {
			_, stderr, code := ratchet(t, atDemo, args...)
			if code != exitFailed || !strings.Contains(stderr, "is finished") {
				t.Errorf("%v: exit code %d: %s", args, code, stderr)
			}
		}
	})

	status := func(key, path string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth(key, "")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return response.StatusCode
	}

	t.Run("a key works from when it is made until it is revoked", func(t *testing.T) {
		status := func(key string) int { return status(key, "/v1/account") }
		_, stderr, code := ratchet(t, atDemo, "keys", "create", "--account", "acct_new")
		if code != exitFailed || !strings.Contains(stderr, "--create-account") {
			t.Errorf("a key for an account that does not exist: exit code %d: %s", code, stderr)
		}
		key := strings.TrimSpace(
			mustDo(t, atDemo, "keys", "create", "--account", "acct_new", "--create-account", "New Shop"))
		if got := status(key); got != http.StatusOK {
			t.Fatalf("a new key is answered %d", got)
		}
		id := strings.Fields(strings.Split(mustDo(t, atDemo, "keys", "list", "--account", "acct_new"), "\n")[1])[0]

		next := strings.TrimSpace(mustDo(t, atDemo, "keys", "roll", id, "--grace-period", "1h"))
		if status(key) != http.StatusOK || status(next) != http.StatusOK {
			t.Error("while the grace lasts a rolled key and its successor both work")
		}
		mustDo(t, atDemo, "keys", "revoke", id)
		await(t, "the revoked key to be refused", func() bool { return status(key) == http.StatusUnauthorized })
		if got := status(next); got != http.StatusOK {
			t.Errorf("the successor is answered %d", got)
		}
		_, stderr, code = ratchet(t, atDemo, "keys", "roll", id)
		if code != exitFailed || !strings.Contains(stderr, "has already expired") {
			t.Errorf("a revoked key is rolled: exit code %d: %s", code, stderr)
		}
		for _, operation := range []string{"account.create", "key.roll", "key.revoke"} {
			if actor, _ := d.audited(t, operation); actor != "operator:"+me.Username {
				t.Errorf("%s was done by %s", operation, actor)
			}
		}
	})

	t.Run("a restricted key does what it is allowed, and so does its successor", func(t *testing.T) {
		mustDo(t, atDemo, "accounts", "create", "--id", "acct_kites", "--name", "Kites", "--country", "DE",
			"--currency", "EUR")
		if listed := mustDo(t, atDemo, "accounts", "list"); !strings.Contains(listed, "acct_kites  Kites") ||
			!strings.Contains(listed, "eur") {
			t.Errorf("the account is not listed:\n%s", listed)
		}
		mustDo(t, atDemo, "accounts", "version", "--account", "acct_kites", "--api-version", "2020-08-27")
		if listed := mustDo(t, atDemo, "accounts", "list"); !strings.Contains(listed, "2020-08-27") {
			t.Errorf("the version was not set: %s", listed)
		}
		_, stderr, code := ratchet(t, atDemo, "accounts", "version", "--account", "acct_nobody", "--api-version",
			"2020-08-27")
		if code != exitFailed ||
			!strings.Contains(stderr, "account acct_nobody not found") {
			t.Errorf("an account that is not there: %d %s", code, stderr)
		}
		_, stderr, code = ratchet(t, atDemo, "accounts", "create", "--id", "acct_kites", "--name", "Again")
		if code != exitFailed || !strings.Contains(stderr, "already") {
			t.Errorf("an account is opened twice: exit code %d: %s", code, stderr)
		}
		key := strings.TrimSpace(
			mustDo(t, atDemo, "keys", "create", "--account", "acct_kites", "--restricted", "--allow",
				"charges=write,customers=read,refunds=none"))
		listed := strings.Split(mustDo(t, atDemo, "keys", "list", "--account", "acct_kites"), "\n")[1]
		if !strings.HasPrefix(key, "rk_test_") || !strings.Contains(listed, "charges=write,customers=read") ||
			strings.Contains(listed, key) {
			t.Errorf("the key %.8s… is listed as %s", key, listed)
		}
		next := strings.TrimSpace(mustDo(t, atDemo, "keys", "roll", strings.Fields(listed)[0]))
		for path, want := range map[string]int{
			"/v1/charges":   http.StatusOK,
			"/v1/customers": http.StatusOK,
			"/v1/refunds":   http.StatusForbidden,
		} {
			if got, after := status(key, path), status(next, path); got != want || after != want {
				t.Errorf("%s is answered %d, and %d to its successor; want %d", path, got, after, want)
			}
		}
	})

	t.Run("what the audit trail cannot say is not done to a key", func(t *testing.T) {
		ours := d.connect(t, "RATCHET_DATABASE_URL")
		listed := mustDo(t, atDemo, "keys", "list", "--account", "acct_kites")
		exec := func(sql string) {
			if _, err := ours.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		exec(`ALTER TABLE audit_events ADD CONSTRAINT speechless CHECK (operation NOT LIKE 'key.%') NOT VALID`)
		id := strings.Fields(strings.Split(listed, "\n")[2])[0]
		for _, args := range [][]string{{"create", "--account", "acct_kites"},
			{"create", "--account", "acct_mute", "--create-account", "Mute"}, {"roll", id}, {"revoke", id}} {
			stdout, stderr, code := ratchet(t, atDemo, append([]string{"keys"}, args...)...)
			if code != exitFailed || stdout != "" || !strings.Contains(stderr, "speechless") {
				t.Errorf("keys %v: exit code %d, %q, %s", args, code, stdout, stderr)
			}
		}
		exec(`ALTER TABLE audit_events DROP CONSTRAINT speechless`)
		now := mustDo(t, atDemo, "keys", "list", "--account", "acct_kites")
		if now != listed || strings.Contains(mustDo(t, atDemo, "accounts", "list"), "acct_mute") {
			t.Errorf("something was done all the same:\n%s\nbefore:\n%s", now, listed)
		}
	})

	t.Run("a server outside of a demo refuses the demo's keys", func(t *testing.T) {
		settings, err := os.ReadFile(d.dir + "/env")
		if err != nil {
			t.Fatal(err)
		}
		var env []string
		for line := range strings.Lines(string(settings)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			if name != "RATCHET_DEMO" && name != "RATCHET_ADDR" {
				env = append(env, name+"="+strings.Trim(value, "'"))
			}
		}
		plain := playing(env, "serve", "--addr", "127.0.0.1:0")
		out := &output{}
		plain.Stderr = out
		if err := plain.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = plain.Process.Kill(); _ = plain.Wait() }()
		var address string
		await(t, "the server to listen", func() bool {
			_, after, found := strings.Cut(out.String(), `"msg":"serving","addr":"`)
			address, _, _ = strings.Cut(after, `"`)
			return found
		})
		stranger := &running{base: "http://" + address}
		got, err := stranger.charge("stranger", "")
		if err != nil || got.status != http.StatusUnauthorized {
			t.Errorf("answered %+v, %v; want 401", got, err)
		}
	})
}

// notify posts a message as the demo's acquirer would.
func (d *running) notify(t *testing.T, body string) {
	t.Helper()
	if status := d.tell(t, body); status != http.StatusOK {
		t.Fatalf("answered %d", status)
	}
}

// tell sends a message as the acquirer signs it.
func (d *running) tell(t *testing.T, body string) (status int) {
	t.Helper()
	settings, err := demo.Environ(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.base+acquirer.NotificationsPath,
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(acquirer.SignatureHeader,
		acquirer.Sign(settings[notificationSecretVariable], []byte(body), time.Now()))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLogLinesForATerminal(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ line, want string }{
		"an answer": {`{"level":"INFO","msg":"request","request":"req_1","method":"POST","route":"/v1/charges",` +
			`"status":200,"ms":12.3,"key":"secret"}`,
			"POST   /v1/charges 200  req_1  12 ms"},
		"a replay": {`{"level":"INFO","msg":"request","request":"req_1","method":"POST","route":"/v1/charges",` +
			`"status":200,"replayed":true,"ms":1}`,
			"POST   /v1/charges 200  req_1  1 ms  replayed"},
		"a refusal, whose reason the caller has": {
			`{"level":"INFO","msg":"request","request":"req_1","method":"POST","route":"/v1/charges",` +
				`"status":400,"ms":1,"error":"no"}`,
			"POST   /v1/charges 400  req_1  1 ms"},
		"a failure, with its reason": {
			`{"level":"ERROR","msg":"request","request":"req_1","method":"GET","route":"/v1/charges",` +
				`"status":500,"ms":1,"error":"broken\n  pipe"}`,
			"GET    /v1/charges 500  req_1  1 ms  broken pipe"},
		"a takeover": {`{"level":"INFO","msg":"took over","request":"req_1","flow":"charge.create",` +
			`"point":"x","left":"finished"}`, "part took over req_1 (charge.create, at x): finished"},
		"what the shop receives": {`{"level":"INFO","msg":"webhook","event":"evt_1","said":"order 1001: paid"}`,
			"part received evt_1: order 1001: paid"},
		"a warning": {`{"level":"WARN","msg":"request is parked","request":"req_1","cause":"lost"}`,
			"part: request is parked req_1: lost"},
		"what the acquirer reports by itself": {`{"level":"INFO","msg":"request","request":"req_1","method":"POST",` +
			`"route":"/acquirer/notifications","status":200,"ms":8}`, ""},
		"a notification that is refused": {`{"level":"INFO","msg":"request","request":"req_1","method":"POST",` +
			`"route":"/acquirer/notifications","status":401,"ms":8}`,
			"POST   /acquirer/notifications 401  req_1  8 ms"},
		"a warning without a reason":       {`{"level":"WARN","msg":"beware"}`, "part: beware"},
		"what only a log needs":            {`{"level":"INFO","msg":"serving","addr":"x"}`, ""},
		"what is not of our logger at all": {`goroutine 1 [running]:`, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if got := forPeople("part", c.line, true); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestConsole(t *testing.T) {
	t.Parallel()

	t.Run("a part's lines are shown whole, in order, and a complaint only once", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "log")
		var shown strings.Builder
		c := newConsole(&shown)
		if err := c.follow("part", path); err != nil {
			t.Fatal(err)
		}
		log, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		for _, text := range []string{`{"level":"WARN","ms`, `g":"one"}` + "\n", `{"level":"WARN","msg":"one"}` + "\n",
			`{"level":"WARN","msg":"two"}` + "\n"} {
			if _, err := log.WriteString(text); err != nil {
				t.Fatal(err)
			}
			c.catchUp()
		}
		c.sayf("three")
		c.close()
		var lines []string
		for line := range strings.Lines(shown.String()) {
			_, line, _ = strings.Cut(strings.TrimSpace(line), "  ") // the time
			lines = append(lines, line)
		}
		if got := strings.Join(lines, "|"); got != "part: one|part: two|three" {
			t.Error(got)
		}
	})
}

func TestPauseAfter(t *testing.T) {
	t.Parallel()
	t.Run("one death is followed by a start at once, a row of them by longer and longer pauses", func(t *testing.T) {
		t.Parallel()
		if got := pauseAfter(0); got != 0 {
			t.Errorf("after one death: %v", got)
		}
		for deaths, before := 1, time.Duration(0); deaths < 1000; deaths++ {
			pause := pauseAfter(deaths)
			if pause < before || pause <= 0 || pause > longestPause {
				t.Fatalf("after %d deaths in a row %v, before %v", deaths, pause, before)
			}
			before = pause
		}
	})
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for addr, allowed := range map[string]bool{
		"127.0.0.1:1":    true,
		"127.9.9.9:1":    true,
		"[::1]:1":        true,
		"localhost:1":    true,
		":1":             false,
		"0.0.0.0:1":      false,
		"[::]:1":         false,
		"192.0.2.1:1":    false,
		"nonsense":       false,
		"127.0.0.1:port": false,
	} {
		t.Run(addr, func(t *testing.T) {
			t.Parallel()
			_, err := resolve(addr, false)
			if (err == nil) != allowed {
				t.Errorf("listening on %s: %v", addr, err)
			}
		})
	}
	t.Run("--lan allows what other machines reach", func(t *testing.T) {
		t.Parallel()
		if _, err := resolve("0.0.0.0:1", true); err != nil {
			t.Error(err)
		}
	})
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	t.Run("settings are read as they were written, whatever is in them", func(t *testing.T) {
		t.Parallel()
		d := &dataDir{path: t.TempDir()}
		if err := d.writeEnviron([]string{"PLAIN=1", "ODD=postgres://a:it's=b@c/d?e=f&g=$h"}); err != nil {
			t.Fatal(err)
		}
		got, err := Environ(d.path)
		if err != nil || got["PLAIN"] != "1" || got["ODD"] != "postgres://a:it's=b@c/d?e=f&g=$h" {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func TestWithDatabase(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"postgres://me:pw@host:1/ratchet?sslmode=disable": "postgres://me:pw@host:1/other?sslmode=disable",
		"postgres://host":          "postgres://host/other",
		"host=/run dbname=ratchet": "host=/run dbname=ratchet dbname=other",
	} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			if got := withDatabase(address, "other"); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestWebhookPorts(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"": "4711,4712", "3000,4242": "4711,4712,3000,4242", AnyPort: "any"} {
		d := &demo{Config: Config{WebhookPorts: given}, shopAddr: "127.0.0.1:4711", sampleAddr: "127.0.0.1:4712"}
		if got := d.webhookPorts(); got != want {
			t.Errorf("told %q, webhooks may go to %q, want %q", given, got, want)
		}
	}
}

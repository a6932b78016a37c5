//go:build unix

package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/crashpoint"
	"github.com/ratchet-pay/ratchet/internal/lab"
)

// TestAskedBank: the bank's charges are counted when it has made them, and it starts with
// the call. A process may need a while until then.
func TestAskedBank(t *testing.T) {
	t.Parallel()
	began := time.Now()
	first, second := began.Add(400*time.Millisecond), began.Add(1500*time.Millisecond)
	trace := filepath.Join(t.TempDir(), "trace")
	file, err := os.Create(trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []crashpoint.Passed{
		{At: began, Boundary: "database: before"},
		{At: first, Boundary: "acquirer: before writing"},
		{At: second, Boundary: "acquirer: before writing"},
		{At: second.Add(time.Second), Boundary: "acquirer: answer read", Failed: true},
		{At: second.Add(2 * time.Second), PID: 2, Boundary: "acquirer: before writing"},
		{At: second.Add(3 * time.Second), PID: 2, Boundary: "acquirer: answer read"},
	} {
		if err := json.NewEncoder(file).Encode(p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := file.WriteString(`{"at":"20`); err != nil { // the process was killed while it wrote
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		trace string
		queue bool
		want  time.Time
	}{
		"a server's first attempt has the slow call":      {trace, false, first},
		"every delivery has one, and an answer ends it":   {trace, true, second},
		"a process that made no call is not waited for":   {trace + "-none", false, began},
		"nor is a consumer that never got to the message": {trace + "-none", true, began},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &run{Case: lab.Case{Design: lab.Design{Queue: c.queue}}, trace: c.trace, began: began}
			if at, err := r.askedBank(); err != nil || !at.Equal(c.want) {
				t.Errorf("%v after the start, %v; want %v", at.Sub(began), err, c.want.Sub(began))
			}
		})
	}
}

// TestLogged: the fence's refusal is an event of the moment at which the process logged it, and not of its end.
func TestLogged(t *testing.T) {
	t.Parallel()
	p := &process{said: []string{
		`{"time":"2026-11-27T12:00:00.5Z","level":"INFO","msg":"serving"}`,
		`panic: the fence refused a commit`,
		`{"time":"2026-11-27T12:00:01.25Z","level":"WARN","msg":"overtaken: the fence refused a commit","epoch":1}`,
		`{"time":"2026-11-27T12:00:02Z","level":"INFO","msg":"ended"}`,
	}}
	want := time.Date(2026, 11, 27, 12, 0, 1, 250_000_000, time.UTC)
	if at, has := p.logged("the fence refused a commit"); !has || !at.Equal(want) {
		t.Errorf("%v, %v; want %v", at, has, want)
	}
	if at, has := p.logged("lease lost"); has {
		t.Errorf("a message that was not logged is of %v", at)
	}
}

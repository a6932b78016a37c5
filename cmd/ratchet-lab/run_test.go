package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/lab"
)

// closedPort is an address at which no server listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// TestMistakes: a command that cannot work says why before the lab is opened, which takes half a minute.
func TestMistakes(t *testing.T) {
	t.Setenv("NATS_URL", "nats://"+closedPort(t))
	t.Setenv("REDIS_URL", "redis://"+closedPort(t))
	for name, c := range map[string]struct{ command, want string }{
		"a broker that does not respond": {
			"run --at queue-poison --design queue-set", "NATS_URL is set but the server does not respond: "},
		"a broker that does not respond, and the whole matrix": {
			"matrix --design inbox", "NATS_URL is set but the server does not respond: "},
		"a key store that does not respond": {
			"run --at none --design redis-1s", "REDIS_URL is set but the server does not respond: "},
		"a fault that strikes none of the designs": {
			"run --at queue-poison --design naive", "fault queue-poison does not strike naive: see `ratchet lab list`"},
		"an unknown fault":      {"run --at nothing", `fault "nothing" not found: see ` + "`ratchet lab list`"},
		"an unknown design":     {"run --design mine", `design "mine" not found: see ` + "`ratchet lab list`"},
		"no run at once":        {"matrix --at-once 0", "--at-once is at least 1, not 0"},
		"an unknown subcommand": {"runs", `unknown command "runs" for "ratchet lab"`},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := root()
			cmd.SetArgs(strings.Fields(c.command))
			cmd.SetOut(io.Discard)
			began := time.Now()
			err := cmd.ExecuteContext(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it takes %v to say so", took)
			}
		})
	}
}

// TestHelp: a flag's value is named by its type, and the examples are the command that people type.
func TestHelp(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	cmd := root()
	cmd.SetArgs([]string{"run", "--help"})
	cmd.SetOut(&said)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"--retries string ", "ratchet lab run [flags]"} {
		if !strings.Contains(said.String(), part) {
			t.Errorf("%q is not in\n%s", part, said.String())
		}
	}
}

// TestSummarize: behind the stories of several runs is what each came to, in the order of the designs.
func TestSummarize(t *testing.T) {
	t.Parallel()
	cases, err := chosenCases("naive,ratchet", "slow-bank", "client", "", "")
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	err = summarize(&said, cases, lab.Matrix{
		{Design: "ratchet", Fault: "slow-bank", Charged: 1, Booked: 1, Answer: lab.Paid},
		{Design: "naive", Fault: "slow-bank", Charged: 2, Booked: 2, Answer: lab.Paid},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "" +
		"DESIGN   FAULT      CHARGED  BOOKED  VERDICT\n" +
		"naive    slow-bank  2        2       The customer has paid more than once.\n" +
		"ratchet  slow-bank  1        1       The card was charged once, and the client knows it.\n"
	if said.String() != want {
		t.Errorf("%s\nwant\n%s", said.String(), want)
	}
}

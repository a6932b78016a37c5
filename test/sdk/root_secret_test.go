//go:build unix

package sdk_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// TestRootSecret gives an installation another secret than the one of its first start.
func TestRootSecret(t *testing.T) {
	inTurn(t)
	in := install(t)
	another := strings.Repeat("another ", 8)
	a := in.account(t)

	for name, args := range map[string][]string{
		"a server":              {"serve", "--addr", "127.0.0.1:0"},
		"a worker":              {"work"},
		"the creation of a key": {"keys", "create", "--account", a.id},
		"a new signing secret":  {"webhooks", "roll", "we_any"},
		"the release of a held request": {"requests", "release", "req_any", "--as", "not-executed",
			"--evidence", "none"},
		"the proof of the audit trail": {"verify"},
	} {
		t.Run(name+" is refused under another secret", func(t *testing.T) {
			said, err := in.under(t, another, args...)
			if err == nil || !strings.Contains(said, "not the secret that the installation was made under") {
				t.Errorf("%v: %s", err, said)
			}
		})
	}

	t.Run("the secret is not replaced while a process runs", func(t *testing.T) {
		said, err := in.under(t, another, "secrets", "replace", "--reason", "lost")
		if err == nil || !strings.Contains(said, "stop all of them") {
			t.Errorf("%v: %s", err, said)
		}
		_, err = a.V1Balance.Retrieve(t.Context(), &stripe.BalanceRetrieveParams{})
		noError(t, err)
	})
}

// TestReplacedRootSecret stops an installation and gives it another secret.
func TestReplacedRootSecret(t *testing.T) {
	inTurn(t)
	db := pgtest.New(t)
	in := &installation{db: db.Pool, env: []string{modest, "RATCHET_SECRET=" + rootSecret,
		"RATCHET_DATABASE_URL=" + pgtest.Sparing(db.URL), "RATCHET_ACQUIRER_URL=http://127.0.0.1:1",
		"RATCHET_ACQUIRER_SECRET=" + acquirerSecret}}
	server, addr := launch(t, []string{"serve", "--addr", "127.0.0.1:0"}, in.env)
	in.url = "http://" + addr
	a := in.account(t)
	_, err := a.V1Balance.Retrieve(t.Context(), &stripe.BalanceRetrieveParams{})
	noError(t, err)
	noError(t, server.Signal(os.Interrupt))

	another := strings.Repeat("another ", 8)
	var said string
	for deadline := time.Now().Add(timeout); ; time.Sleep(100 * time.Millisecond) {
		if said, err = in.under(t, another, "secrets", "replace", "--reason", "a stolen laptop"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not replaced: %v: %s", err, said)
		}
	}

	t.Run("the old secret is refused", func(t *testing.T) {
		said, err := in.under(t, rootSecret, "keys", "create", "--account", a.id)
		if err == nil || !strings.Contains(said, "not the secret that the installation was made under") {
			t.Errorf("%v: %s", err, said)
		}
	})

	t.Run("a server starts under the new one, and no earlier key works", func(t *testing.T) {
		in.url = "http://" + start(t, "serve", slices.Concat(in.env, []string{"RATCHET_SECRET=" + another})...)
		client, _ := connect(t, in.url, a.key)
		_, err := client.V1Balance.Retrieve(t.Context(), &stripe.BalanceRetrieveParams{})
		var refused *stripe.Error
		if !errors.As(err, &refused) || refused.HTTPStatusCode != http.StatusUnauthorized {
			t.Errorf("answered %v", err)
		}
	})

	t.Run("the audit trail says who replaced it, and why", func(t *testing.T) {
		var actor, details string
		noError(t, in.db.QueryRow(t.Context(),
			"SELECT actor, details FROM audit_events WHERE operation = 'secret.replace'").Scan(&actor, &details))
		if !strings.HasPrefix(actor, "operator:") || !strings.Contains(details, "a stolen laptop") {
			t.Errorf("%s: %s", actor, details)
		}
	})
}

// under runs a command of the program under a root secret. A server that should not have started is killed.
func (in *installation) under(t *testing.T, secret string, args ...string) (said string, err error) {
	t.Helper()
	other := installation{env: slices.Concat(in.env, []string{"RATCHET_SECRET=" + secret})}
	return other.runs(t, args...)
}

// runs runs a command of the program, at most for timeout.
func (in *installation) runs(t *testing.T, args ...string) (said string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	command := exec.CommandContext(ctx, os.Getenv(binaryVar), args...)
	command.Env = slices.Concat(os.Environ(), in.env)
	out, err := command.CombinedOutput()
	return string(out), err
}

//go:build linux

package main

import (
	"net/http"
	"os/user"
	"strings"
	"sync"
	"testing"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	d := startDemo(t, dataDir(t), nil)
	atDemo := []string{"RATCHET_DATA_DIR=" + d.dir}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	ours := d.connect(t, "RATCHET_DATABASE_URL")
	balance := func(t *testing.T) (amount int64) {
		t.Helper()
		err := ours.QueryRow(t.Context(), `
			SELECT coalesce(sum(t.net), 0)::bigint FROM balance_transactions t
			WHERE (t.account_id, t.livemode, t.currency) = (
				SELECT account_id, livemode, currency FROM charges ORDER BY created_at DESC LIMIT 1)`).Scan(&amount)
		if err != nil {
			t.Fatal(err)
		}
		return amount
	}
	// charged is the account of a new charge, and its posting.
	charged := func(t *testing.T, key string) (account, posting string) {
		t.Helper()
		if got := d.mustCharge(t, key); got.status != http.StatusOK {
			t.Fatalf("answered %+v", got)
		}
		err := ours.QueryRow(t.Context(), `
			SELECT c.account_id, c.balance_transaction FROM charges c JOIN requests r ON r.id = c.request_id
			WHERE r.key = $1`, key).Scan(&account, &posting)
		if err != nil {
			t.Fatal(err)
		}
		return account, posting
	}
	refused := func(t *testing.T, code int, says string, args ...string) {
		t.Helper()
		_, stderr, got := ratchet(t, atDemo, append([]string{"ledger"}, args...)...)
		if got != code || !strings.Contains(stderr, says) {
			t.Errorf("ratchet ledger %s ended with %d and said %s", strings.Join(args, " "), got, stderr)
		}
	}

	t.Run("a posting is reversed once, and the trail says by whom and why", func(t *testing.T) {
		_, posting := charged(t, "reversed")
		before := balance(t)
		said := mustDo(t, atDemo, "ledger", "reverse", posting, "--reason", "booked twice")
		if !strings.Contains(said, "reverses "+posting) {
			t.Errorf("it said %s", said)
		}
		if now := balance(t); now != before-(2000-88) {
			t.Errorf("the balance was %d and is %d", before, now)
		}
		actor, details := d.audited(t, "ledger.reverse")
		if actor != "operator:"+me.Username || !strings.Contains(details, "booked twice") ||
			!strings.Contains(details, posting) {
			t.Errorf("the audit trail says %s: %s", actor, details)
		}
		refused(t, exitFailed, "already reversed", "reverse", posting, "--reason", "again")
		reversal, _, _ := strings.Cut(said, " ")
		refused(t, exitFailed, "is a reversal", "reverse", reversal, "--reason", "back")
	})

	t.Run("of several reversals at once, one is booked", func(t *testing.T) {
		_, posting := charged(t, "raced")
		var calls sync.WaitGroup
		var mu sync.Mutex
		booked := 0
		for range 4 {
			calls.Go(func() {
				_, stderr, code := ratchet(t, atDemo, "ledger", "reverse", posting, "--reason", "a race")
				mu.Lock()
				defer mu.Unlock()
				if code == 0 {
					booked++
				} else if !strings.Contains(stderr, "already reversed") {
					t.Errorf("it ended with %d and said %s", code, stderr)
				}
			})
		}
		calls.Wait()
		if booked != 1 {
			t.Errorf("%d reversals were booked", booked)
		}
	})

	t.Run("a reference adjusts a book once", func(t *testing.T) {
		account, _ := charged(t, "adjusted")
		before := balance(t)
		adjust := []string{"ledger", "adjust", "--account", account, "--currency", "usd", "--amount", "1500", "--debit",
			"suspense", "--credit", "merchant_balance", "--reference", "incident-4711", "--reason", "lost in a move"}
		mustDo(t, atDemo, adjust...)
		refused(t, exitFailed, "adjustment already exists", adjust[1:]...)
		if now := balance(t); now != before+1500 {
			t.Errorf("the balance was %d and is %d", before, now)
		}
		if _, details := d.audited(t, "ledger.adjust"); !strings.Contains(details, "lost in a move") ||
			!strings.Contains(details, "incident-4711") {
			t.Errorf("the audit trail says %s", details)
		}
	})

	t.Run("what is wrong is refused, and says why", func(t *testing.T) {
		account, posting := charged(t, "kept")
		before := balance(t)
		adjust := func(name, value string) []string {
			args := map[string]string{"account": account, "currency": "usd", "amount": "100", "debit": "suspense",
				"credit": "merchant_balance", "reference": "wrong", "reason": "a test"}
			args[name] = value
			all := []string{"adjust"}
			for name, value := range args {
				all = append(all, "--"+name, value)
			}
			return all
		}
		refused(t, exitUsage, "--reason is missing", "reverse", posting)
		refused(t, exitFailed, "posting txn_none: posting not found", "reverse", "txn_none", "--reason", "a test")
		refused(t, exitUsage, "--amount must be positive", adjust("amount", "-5")...)
		refused(t, exitUsage, "must each be one of", adjust("debit", "petty_cash")...)
		refused(t, exitUsage, "must be two accounts", adjust("debit", "merchant_balance")...)
		refused(t, exitUsage, "--reference must be", adjust("reference", "ch_1")...)
		refused(t, exitUsage, "--reason is missing", adjust("reason", "")...)
		refused(t, exitFailed, "book not found", adjust("currency", "jpy")...)
		refused(t, exitFailed, "book not found", adjust("account", "acct_none")...)
		if now := balance(t); now != before {
			t.Errorf("the balance was %d and is %d", before, now)
		}
	})

	t.Run("verify finds the books in order", func(t *testing.T) {
		await(t, "the books to be settled", func() bool {
			_, _, code := ratchet(t, atDemo, "verify")
			return code == 0
		})
	})
}

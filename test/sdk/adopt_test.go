//go:build unix

package sdk_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stripe/stripe-go/v85"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// disaster is an installation whose database can be backed up and restored while its
// acquirer goes on.
type disaster struct {
	*installation
	relay     *relay
	processes []*os.Process
	database  string
	name      string // of the database
}

func prepareForDisaster(t *testing.T) *disaster {
	t.Helper()
	db, journal, r := pgtest.New(t), pgtest.New(t), newRelay(t)
	d := &disaster{relay: r, database: db.URL, installation: &installation{journal: journal.Pool, db: db.Pool}}
	config, err := pgx.ParseConfig(db.URL)
	noError(t, err)
	d.name = config.Database
	acquirer := start(t, "acquirer", "RATCHET_ACQUIRER_SECRET="+acquirerSecret,
		"RATCHET_ACQUIRER_DATABASE_URL="+pgtest.Sparing(journal.URL), "RATCHET_NOTIFICATION_SECRET="+notificationSecret,
		"RATCHET_ACQUIRER_NOTIFY_URL="+r.server.URL, "RATCHET_ACQUIRER_NOTIFY_DELAY=20ms",
		"RATCHET_ACQUIRER_SETTLE_EVERY=200ms")
	d.env = []string{modest, "RATCHET_SECRET=" + rootSecret, "RATCHET_ACQUIRER_URL=http://" + acquirer,
		"RATCHET_ACQUIRER_SECRET=" + acquirerSecret, "RATCHET_NOTIFICATION_SECRET=" + notificationSecret,
		"RATCHET_ACQUIRER_DATABASE_URL=" + pgtest.Sparing(journal.URL),
		"RATCHET_DATABASE_URL=" + pgtest.Sparing(db.URL)}
	d.begin(t)
	return d
}

// begin starts an API and a worker.
func (d *disaster) begin(t *testing.T) {
	t.Helper()
	serve, addr := launch(t, []string{"serve", "--addr", "127.0.0.1:0"}, d.env)
	work, _ := launch(t, []string{"work"}, d.env)
	d.processes, d.url = []*os.Process{serve, work}, "http://"+addr
	d.relay.mu.Lock()
	defer d.relay.mu.Unlock()
	d.relay.to = d.url
}

// end kills the API and the worker.
func (d *disaster) end(t *testing.T) {
	t.Helper()
	for _, p := range d.processes {
		noError(t, p.Kill())
		_, _ = p.Wait() // the test's end waits, too
	}
	d.relay.mu.Lock()
	defer d.relay.mu.Unlock()
	d.relay.to = ""
}

// copyOf copies a database that nothing uses, and returns the address of the copy.
func (d *disaster) copyOf(t *testing.T, address, suffix string) string {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	noError(t, err)
	name := d.name + suffix
	copying := fmt.Sprintf(`CREATE DATABASE %s TEMPLATE %s`,
		pgx.Identifier{name}.Sanitize(), pgx.Identifier{config.Database}.Sanitize())
	untilNoError(t, "copy the database", func() error {
		_, err := d.journal.Exec(t.Context(),
			`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`, config.Database)
		if err == nil {
			_, err = d.journal.Exec(t.Context(), copying)
		}
		return err
	})
	_, err = d.journal.Exec(t.Context(), `REVOKE TEMPORARY ON DATABASE `+pgx.Identifier{name}.Sanitize()+` FROM PUBLIC`)
	noError(t, err)
	return strings.Replace(address, config.Database, name, 1)
}

// backUp copies the database, and returns the address of the copy. Nothing runs meanwhile.
func (d *disaster) backUp(t *testing.T) string {
	t.Helper()
	d.db.Reset()
	return d.copyOf(t, d.database, "_backup")
}

// restore ends the processes and goes on with a copy of a backup.
func (d *disaster) restore(t *testing.T, backup, suffix string) {
	t.Helper()
	d.end(t)
	restored := d.copyOf(t, backup, suffix)
	d.env[len(d.env)-1] = "RATCHET_DATABASE_URL=" + pgtest.Sparing(restored)
	pool, err := pgxpool.New(t.Context(), restored)
	noError(t, err)
	t.Cleanup(pool.Close)
	d.db = pool
	d.begin(t)
}

// run runs an operator's command, and returns what it says and its exit code.
func (d *disaster) run(args ...string) (said string, code int) {
	command := exec.Command(os.Getenv(binaryVar), args...)
	command.Env = append(os.Environ(), d.env...)
	out, _ := command.CombinedOutput() // the code says whether it failed
	return string(out), command.ProcessState.ExitCode()
}

// verified waits until verify finds nothing wrong: messages and settlements may be on their way.
func (d *disaster) verified(t *testing.T) {
	t.Helper()
	untilNoError(t, "verify", func() error {
		if said, code := d.run("verify"); code != 0 {
			return fmt.Errorf("exit code %d:\n%s", code, said)
		}
		return nil
	})
}

// untilNoError tries until there is no error.
func untilNoError(t *testing.T, what string, try func() error) {
	t.Helper()
	err := try()
	for deadline := time.Now().Add(timeout); err != nil; err = try() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// cards is how often the acquirer charged or held a card under each key, and refunded it.
func (d *disaster) cards(t *testing.T) (charged, refunded int) {
	t.Helper()
	noError(t, d.journal.QueryRow(t.Context(), `
		SELECT count(*) FILTER (WHERE kind IN ('hold', 'sale')), count(*) FILTER (WHERE kind = 'refund')
		FROM acquirer.movements`).Scan(&charged, &refunded))
	return charged, refunded
}

// lostWork is what the shop does between the backup and the loss. Done again with the
// same keys, it is the shop's retry.
type lostWork struct {
	sale, held, partly *stripe.Charge
	intent             *stripe.PaymentIntent
	part, whole        *stripe.Refund
}

func (a *account) doLostWork(before string) (w lostWork) {
	a.t.Helper()
	sale := order(4100, "tok_visa")
	sale.Description = stripe.String("Sledge")
	sale.AddMetadata("order", "6735")
	sale.TransferGroup = stripe.String("order_6735")
	sale.SetIdempotencyKey("sale")
	w.sale = a.charge(sale)
	held := order(4200, "tok_mastercard")
	held.Capture = stripe.Bool(false)
	held.SetIdempotencyKey("held")
	w.held = a.charge(held)
	partly := order(4300, "tok_visa")
	partly.SetIdempotencyKey("partly")
	w.partly = a.charge(partly)
	intent := &stripe.PaymentIntentCreateParams{
		Amount: stripe.Int64(4400), Currency: stripe.String("usd"), Confirm: stripe.Bool(true),
		PaymentMethod: stripe.String("pm_card_visa"), PaymentMethodTypes: stripe.StringSlice([]string{"card"})}
	intent.SetIdempotencyKey("intent")
	var err error
	w.intent, err = a.V1PaymentIntents.Create(a.t.Context(), intent)
	noError(a.t, err)
	part := &stripe.RefundCreateParams{Charge: &before, Amount: stripe.Int64(150)}
	part.SetIdempotencyKey("part")
	w.part = a.refund(part)
	whole := &stripe.RefundCreateParams{Charge: &w.partly.ID}
	whole.SetIdempotencyKey("whole")
	w.whole = a.refund(whole)
	return w
}

func TestAdoption(t *testing.T) {
	inTurn(t)
	d := prepareForDisaster(t)
	d.operate(t, "accounts", "create", "--id", "acct_sledges", "--name", "Sledges", "--currency", "usd")
	key := d.operate(t, "keys", "create", "--account", "acct_sledges")
	a := &account{t: t, in: d.installation, id: "acct_sledges", key: key}
	connectAgain := func() { a.Client, a.backend = connect(t, d.url, a.key) }
	connectAgain()

	before, held := a.sell(2000), a.hold(2500)
	d.end(t)
	since := time.Now().UTC().Format(time.RFC3339)
	backup := d.backUp(t)
	d.begin(t)
	connectAgain()

	was := a.doLostWork(before.ID)
	capture := &stripe.ChargeCaptureParams{Amount: stripe.Int64(1000)}
	capture.SetIdempotencyKey("capture")
	_, err := a.V1Charges.Capture(t.Context(), held.ID, capture)
	noError(t, err)
	d.verified(t)
	charged, refunded := d.cards(t)
	d.restore(t, backup, "_restored")
	connectAgain()

	t.Run("a dry run lists each movement and books none", func(t *testing.T) {
		said, code := d.run("reconcile", "--since", since)
		equal(t, "exit code", code, 1)
		for _, named := range []string{was.sale.ID, was.held.ID, was.partly.ID, was.intent.ID, was.part.ID,
			was.whole.ID,
			"capture $10.00", "7 lost"} {
			if !strings.Contains(said, named) {
				t.Errorf("%s is not named in:\n%s", named, said)
			}
		}
		if said, code := d.run("verify"); code != 1 {
			t.Errorf("verify ends with %d before anything is adopted:\n%s", code, said)
		}
	})

	t.Run("every movement is adopted, once", func(t *testing.T) {
		said, code := d.run("reconcile", "--since", since, "--adopt")
		if code != 0 || !strings.Contains(said, "7 adopted, 0 left") {
			t.Fatalf("exit code %d:\n%s", code, said)
		}
		said, code = d.run("reconcile", "--since", since, "--adopt")
		if code != 0 || !strings.Contains(said, "0 adopted, 0 left") {
			t.Errorf("the second run ends with %d:\n%s", code, said)
		}
		if said, code = d.run("reconcile", "--since", since); code != 0 {
			t.Errorf("the dry run ends with %d:\n%s", code, said)
		}
		d.verified(t)
	})

	t.Run("what is adopted has its old ID, its card and its event", func(t *testing.T) {
		charge := a.retrieveCharge(was.sale.ID)
		equal(t, "amount", charge.AmountCaptured, 4100)
		equal(t, "last four digits", charge.Source.Card.Last4, "4242")
		equal(t, "description", charge.Description, "")
		equal(t, "captured", a.retrieveCharge(was.held.ID).Captured, false)
		equal(t, "refunded", a.retrieveCharge(was.partly.ID).AmountRefunded, 4300)
		equal(t, "captured since the backup", a.retrieveCharge(held.ID).AmountCaptured, 1000)
		// The longer a movement has waited for its charge, the longer is the pause before its next try: up to a minute,
		// as long as this test waits.
		_, err := d.db.Exec(t.Context(), `UPDATE movements_waiting SET due_at = statement_timestamp()`)
		noError(t, err)
		untilNoError(t, "settle what is adopted", func() error {
			var settled int
			err := d.db.QueryRow(t.Context(), `SELECT count(*) FROM settlements WHERE charge_id = ANY ($1)`,
				[]string{was.sale.ID, was.partly.ID, before.ID, held.ID}).Scan(&settled)
			if err == nil && settled < 6 { // three sales, a capture and two refunds
				err = fmt.Errorf("%d movements are settled", settled)
			}
			return err
		})
		equal(t, "events", a.eventsOf(was.sale.ID), []string{"charge.succeeded"})
		var actor string
		noError(t, d.db.QueryRow(t.Context(),
			`
				SELECT actor FROM audit_events
				WHERE operation = 'charge.adopt' AND object_id = $1`, was.sale.ID).Scan(&actor))
		if !strings.HasPrefix(actor, "operator:") {
			t.Errorf("the audit trail names %s", actor)
		}
	})

	t.Run("a retry of a lost request is answered with what was adopted, and charges no card", func(t *testing.T) {
		is := a.doLostWork(before.ID)
		equal(t, "sale", is.sale.ID, was.sale.ID)
		equal(t, "description", is.sale.Description, "Sledge")
		equal(t, "metadata", is.sale.Metadata["order"], "6735")
		equal(t, "transfer group", is.sale.TransferGroup, "order_6735")
		equal(t, "held charge", is.held.ID, was.held.ID)
		equal(t, "refunded charge", is.partly.ID, was.partly.ID)
		equal(t, "refund of a part", is.part.ID, was.part.ID)
		equal(t, "refund of the whole", is.whole.ID, was.whole.ID)
		var refused *stripe.Error
		_, err := a.V1Charges.Capture(t.Context(), held.ID, capture)
		if !errors.As(err, &refused) || refused.Code != stripe.ErrorCodeChargeAlreadyCaptured {
			t.Errorf("the retry of a capture is answered %v", err)
		}
		equal(t, "intent", is.intent.Status, stripe.PaymentIntentStatusSucceeded)
		equal(t, "charge of the intent", a.retrieveCharge(is.intent.LatestCharge.ID).PaymentIntent.ID, is.intent.ID)
		againCharged, againRefunded := d.cards(t)
		equal(t, "cards charged", againCharged, charged)
		equal(t, "refunds", againRefunded, refunded)
		d.verified(t)
	})

	t.Run("retries and two commands at once adopt every movement once, and charge no card", func(t *testing.T) {
		d.restore(t, backup, "_again")
		connectAgain()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { d.run("reconcile", "--since", since, "--adopt") })
		}
		a.doLostWork(before.ID)
		both.Wait()
		untilNoError(t, "adopt the rest", func() error {
			if said, code := d.run("reconcile", "--since", since, "--adopt"); code != 0 {
				return fmt.Errorf("exit code %d:\n%s", code, said)
			}
			return nil
		})
		againCharged, againRefunded := d.cards(t)
		equal(t, "cards charged", againCharged, charged)
		equal(t, "refunds", againRefunded, refunded)
		d.verified(t)
	})
}

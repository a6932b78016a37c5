package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/acquirer/simulator"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/people"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/privacy"
	"github.com/ratchet-pay/ratchet/internal/process"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/testapp"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// books are an installation that has seen one of everything.
type books struct {
	ours, theirs *pgxpool.Pool
	charge       string // captured, and partly refunded
	app          *testapp.App
	key          string
}

func (b *books) post(t *testing.T, path, form string) string {
	t.Helper()
	return b.app.Send(t, b.key, http.MethodPost, path, form).ID
}

func newBooks(t *testing.T) *books {
	t.Helper()
	app := testapp.New(t, testapp.Notified)
	b := &books{ours: app.DB.Pool, theirs: app.AcquirerDB.Pool, app: app,
		key: app.Open(t, "acct_1", "Books")}
	keysOfAllKinds(t, app.DB.Pool)
	usersOfAllKinds(t, app.DB.Pool, app.Root)

	const charge = "amount=2000&currency=usd&source=tok_visa"
	b.post(t, "/v1/webhook_endpoints", "url=https://books.example.com/&enabled_events[]=*")
	b.charge = b.post(t, "/v1/charges", charge)
	b.post(t, "/v1/charges", "amount=2000&currency=usd&source=tok_chargeDeclined")
	b.post(t, "/v1/refunds", "amount=500&charge="+b.charge)
	b.post(t, "/v1/refunds", "amount=300&charge="+b.charge)
	b.post(t, "/v1/refunds", "amount=9000&charge="+b.charge) // refused, and stored as such
	held := b.post(t, "/v1/charges", charge+"&capture=false")
	b.post(t, "/v1/charges/"+held+"/capture", "amount=700")
	b.post(t, "/v1/refunds", "charge="+b.post(t, "/v1/charges", charge+"&capture=false")) // a void
	b.post(t, "/v1/charges", charge+"&capture=false")                                     // still held
	b.post(t, "/v1/charges", "amount=5000&currency=eur&source=tok_mastercard")
	customer := b.post(t, "/v1/customers", "name=Ann&source=tok_visa")
	b.post(t, "/v1/customers/"+customer, "description=A+regular")
	b.post(t, "/v1/charges", "amount=900&currency=usd&customer="+customer)
	const intent = "amount=3000&currency=usd&payment_method_types[]=card&confirm=true&payment_method="
	b.post(t, "/v1/payment_intents", intent+"pm_card_visa&capture_method=automatic")
	b.post(t, "/v1/payment_intents", intent+"pm_card_chargeDeclined")
	b.post(t, "/v1/payment_intents", "amount=3000&currency=usd") // waits for a method
	// so does this one: its confirmation is refused
	b.post(t, "/v1/payment_intents", "amount=3000&currency=usd&confirm=true")
	tried := b.post(t, "/v1/payment_intents", "amount=3000&currency=usd&payment_method_types[]=card")
	b.post(t, "/v1/payment_intents/"+tried+"/confirm", "payment_method=pm_card_chargeDeclined")
	b.post(t, "/v1/payment_intents/"+tried, "currency=eur") // what failed was in another currency
	b.post(t, "/v1/payment_intents/"+b.post(t, "/v1/payment_intents", intent+"pm_card_visa&capture_method=manual")+
		"/capture", "amount_to_capture=1000")
	b.post(t, "/v1/payment_intents/"+b.post(t, "/v1/payment_intents", intent+"pm_card_visa&capture_method=manual")+
		"/cancel", "")
	b.post(t, "/v1/setup_intents",
		"payment_method_types[]=card&confirm=true&payment_method=pm_card_visa&customer="+customer)
	b.post(t, "/v1/setup_intents", "payment_method_types[]=card&confirm=true&payment_method=pm_card_chargeDeclined")
	b.post(t, "/v1/setup_intents",
		"payment_method_types[]=card&confirm=true&payment_method=pm_card_authenticationRequired")
	b.post(t, "/v1/setup_intents", "confirm=true&payment_method=pm_card_visa") // refused: there is no way back
	b.visitCheckout(t)
	b.post(t, "/v1/charges", "amount=9000&currency=usd&source=tok_bypassPending")
	const payout = "amount=500&currency=usd"
	b.post(t, "/v1/payouts", payout) // still pending
	b.post(t, "/v1/payouts", payout+"&destination=ba_us_noAccount")
	b.post(t, "/v1/payouts", "amount=900000&currency=usd") // refused
	b.post(t, "/v1/payouts/"+b.post(t, "/v1/payouts", payout)+"/cancel", "")
	b.post(t, "/v1/payouts/"+b.post(t, "/v1/payouts", payout+"&method=instant")+"/reverse", "")
	b.post(t, "/v1/payouts", payout+"&method=instant")
	b.dispute(t, app.Sim)
	b.post(t, "/v1/refunds", "charge="+b.post(t, "/v1/charges", "amount=2000&currency=usd&source=tok_refundFail"))
	b.post(t, "/v1/refunds", "charge="+b.post(t, "/v1/charges", "amount=2000&currency=usd&source=tok_pendingRefund"))
	app.Sim.Settle(t)
	app.Sim.WaitUntilNotified(t, b.app.Server.URL)
	b.applyWaiting(t, app.API)
	b.forget(t, b.post(t, "/v1/charges", charge+"&description=For+Ann"))
	b.seal(t)
	b.correct(t, b.post(t, "/v1/charges", charge))
	b.seal(t)
	b.closePeriods(t)
	b.countDays(t)
	// Autovacuum does this within a minute. Without statistics, the planner joins each row with each.
	if _, err := b.ours.Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	return b
}

// correct has an operator reverse the posting of a charge and credit its merchant again.
func (b *books) correct(t *testing.T, charge string) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), b.ours, func(tx pgx.Tx) error {
		var posting string
		err := tx.QueryRow(t.Context(), "SELECT balance_transaction FROM charges WHERE id = $1", charge).Scan(&posting)
		if err != nil {
			return err
		}
		reversal, err := ledger.Reverse(t.Context(), tx, posting, "op_reversal")
		if err != nil {
			return err
		}
		adjustment, err := ledger.Adjust(t.Context(), tx, ledger.Adjustment{AccountID: "acct_1", Currency: "usd",
			Reference: "incident-4711", Debit: "suspense", Credit: ledger.MerchantBalance, Amount: 1500},
			"op_adjustment")
		if err != nil {
			return err
		}
		for _, act := range []audit.OperatorAct{
			{Operation: "ledger.reverse", RequestID: "op_reversal", ObjectID: reversal.ID},
			{Operation: "ledger.adjust", RequestID: "op_adjustment", ObjectID: adjustment.ID},
		} {
			act.User, act.AccountID = "me", "acct_1"
			if err := audit.RecordOperator(t.Context(), tx, act); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// keysOfAllKinds makes keys beside the one that is used, and ends one of them.
func keysOfAllKinds(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	hashKeys := secret.OneKey([]byte("another key of hashes"))
	id, _, err := apikey.CreateRestricted(t.Context(), pool, hashKeys, "acct_1",
		apikey.Permissions{"charges": apikey.Read}, false)
	if err != nil {
		t.Fatal(err)
	}
	err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, next, _, err := apikey.Roll(t.Context(), tx, hashKeys, id, time.Hour)
		if err != nil {
			return err
		}
		_, err = apikey.Revoke(t.Context(), tx, next, time.Minute)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// usersOfAllKinds makes users: one who logged in with a second factor, and one who is disabled.
func usersOfAllKinds(t *testing.T, pool *pgxpool.Pool, root secret.Root) {
	t.Helper()
	by := people.By{Actor: "tester", Address: "192.0.2.1"}
	ann, _, err := people.Create(t.Context(), pool, by, "ann@example.com", people.Operate)
	if err != nil {
		t.Fatal(err)
	}
	ben, _, err := people.Create(t.Context(), pool, by, "ben@example.com", people.View)
	if err != nil {
		t.Fatal(err)
	}
	if err := people.Disable(t.Context(), pool, by, ben.ID); err != nil {
		t.Fatal(err)
	}
	shared := people.NewTOTPSecret()
	code, err := people.TOTP(shared, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, err = people.Enroll(t.Context(), pool, by, root.Keys(secret.TOTP), &people.Session{User: ann}, shared, code)
	if err != nil {
		t.Fatal(err)
	}
	for _, complete := range []bool{false, true} {
		_, err := people.Begin(t.Context(), pool, []byte("key"), ann, complete, people.Visit{Address: "192.0.2.1"})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// countDays counts all there is, in steps of four.
func (b *books) countDays(t *testing.T) {
	t.Helper()
	for more := true; more; {
		const countSome = `
			SELECT coalesce(bool_or(count_charges(id, 'ch_z', 4) OR count_attempts(id, clock_timestamp(), 4)), false)
			FROM accounts`
		if err := b.ours.QueryRow(t.Context(), countSome).Scan(&more); err != nil {
			t.Fatal(err)
		}
	}
}

// closePeriods adds up all there is, in periods of four postings.
func (b *books) closePeriods(t *testing.T) {
	t.Helper()
	for full := true; full; {
		const closeOne = `
			SELECT coalesce(bool_or(ledger_close_period(id, clock_timestamp(), 4)), false) FROM ledger_books`
		if err := b.ours.QueryRow(t.Context(), closeOne).Scan(&full); err != nil {
			t.Fatal(err)
		}
	}
}

// dispute makes one dispute of every fate: open, won, lost, given up, escalated, an inquiry.
func (b *books) dispute(t *testing.T, sim *acquirertest.Sim) {
	t.Helper()
	for _, answer := range []string{"", "winning_evidence", "losing_evidence", "close"} {
		charge := b.post(t, "/v1/charges", "amount=2000&currency=usd&source=tok_createDispute")
		sim.WaitUntilNotified(t, b.app.Server.URL)
		switch answer {
		case "":
		case "close":
			b.post(t, "/v1/charges/"+charge+"/dispute/close", "")
		default:
			b.post(t, "/v1/charges/"+charge+"/dispute", "evidence[uncategorized_text]="+answer)
		}
	}
	for _, answer := range []string{"escalate_inquiry_evidence", "a+story"} {
		charge := b.post(t, "/v1/charges", "amount=2000&currency=usd&source=tok_createDisputeInquiry")
		sim.WaitUntilNotified(t, b.app.Server.URL)
		b.post(t, "/v1/charges/"+charge+"/dispute", "evidence[uncategorized_text]="+answer)
	}
}

// forget erases the person who made a payment.
func (b *books) forget(t *testing.T, subject string) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), b.ours, func(tx pgx.Tx) error {
		_, err := privacy.Erase(t.Context(), tx, privacy.Order{Subject: subject, User: "me", Because: "a letter"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// applyWaiting has the messages applied that came too early, as a worker does.
func (b *books) applyWaiting(t *testing.T, p *process.API) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var waiting int
		err := b.ours.QueryRow(t.Context(), "SELECT count(*) FROM inbox WHERE state <> 'applied'").Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
		if waiting == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d messages are not applied after a minute", waiting)
		}
		if _, err := p.Inbox().ApplyDue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// visitCheckout has sessions of every kind: paid, held and captured, declined, open, expired, and for a setup.
func (b *books) visitCheckout(t *testing.T) {
	t.Helper()
	const session = "mode=payment&success_url=https://example.com/thanks&line_items[0][quantity]=2" +
		"&line_items[0][price_data][currency]=usd&line_items[0][price_data][unit_amount]=1500" +
		"&line_items[0][price_data][product_data][name]=Sledge"
	open := func(more string) string { return b.post(t, "/v1/checkout/sessions", session+more) }
	pay := func(session, method string) {
		b.post(t, "/v1/payment_pages/"+session+"/confirm", "payment_method="+method+"&email=jenny@example.com")
	}
	open("")
	pay(open("&customer_creation=always"), "pm_card_visa")
	held := open("&payment_intent_data[capture_method]=manual")
	pay(held, "pm_card_visa")
	var intent string
	err := b.ours.QueryRow(t.Context(), "SELECT payment_intent_id FROM checkout_sessions WHERE id = $1", held).
		Scan(&intent)
	if err != nil {
		t.Fatal(err)
	}
	b.post(t, "/v1/payment_intents/"+intent+"/capture", "")
	declined := open("")
	pay(declined, "pm_card_chargeDeclined")
	b.post(t, "/v1/checkout/sessions/"+declined+"/expire", "")
	pay(b.post(t, "/v1/checkout/sessions", "mode=setup&success_url=https://example.com/thanks"), "pm_card_visa")
	coupon := b.post(t, "/v1/coupons", "percent_off=10&max_redemptions=2")
	const shipped = "&shipping_options[0][shipping_rate_data][display_name]=Standard" +
		"&shipping_options[0][shipping_rate_data][fixed_amount][amount]=500" +
		"&shipping_options[0][shipping_rate_data][fixed_amount][currency]=usd"
	pay(open(shipped+"&discounts[0][coupon]="+coupon), "pm_card_visa")
	pay(open(shipped+"&discounts[0][coupon]="+coupon), "pm_card_authenticationRequired") // and reserves it
	b.post(t, "/v1/coupons/"+coupon, "name=Spring")
	code := b.post(t, "/v1/promotion_codes", "promotion[type]=coupon&code=SPRING&max_redemptions=2&promotion[coupon]="+
		b.post(t, "/v1/coupons", "percent_off=10"))
	pay(open("&discounts[0][promotion_code]="+code), "pm_card_visa")
	pay(open("&discounts[0][promotion_code]="+code), "pm_card_authenticationRequired")
	b.post(t, "/v1/products", "name=Kite&default_price_data[currency]=usd&default_price_data[unit_amount]=900")
}

var (
	sealKey  = []byte("the key of the chain")
	chainKey = secret.OneKey(sealKey)
)

// allSealed is true when the blocks cover all rows of the trail.
const allSealed = `
	SELECT NOT EXISTS (SELECT FROM audit_events WHERE xid >= coalesce((SELECT max(to_xid) FROM audit_blocks), 0))`

// seal waits until everything is sealed: no transaction of the server, another
// test's neither, may be older than the rows.
func (b *books) seal(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		_, err := audit.Sealer{Pool: b.ours, Keys: chainKey}.Seal(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var all bool
		if err := b.ours.QueryRow(t.Context(), allSealed).Scan(&all); err != nil {
			t.Fatal(err)
		}
		if all {
			return
		}
	}
	t.Fatal("not everything could be sealed in five minutes")
}

// broken are the rules that do not hold, or could not be checked.
func broken(r Report) (names []string) {
	for _, c := range r.Checks {
		if len(c.Violations) > 0 || c.Unchecked != "" {
			names = append(names, c.Rule)
		}
	}
	return names
}

func TestBooksThatAreInOrder(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	report, err := Run(t.Context(),
		Config{Pool: b.ours, Acquirer: simulator.Records{DB: b.theirs}, AuditKeys: chainKey})
	if err != nil {
		t.Fatal(err)
	}
	if report.ExitCode() != OK {
		var text strings.Builder
		_ = report.Print(&text)
		t.Fatalf("does not hold:\n%s", text.String())
	}
	for _, c := range report.Checks {
		if c.Count == 0 {
			t.Errorf("%q was checked on nothing", c.Rule)
		}
	}

	t.Run("the role of a worker may read what a worker checks", func(t *testing.T) {
		pool := b.app.DB.PoolAs(t, "ratchet_worker")
		for name, since := range map[string]time.Time{"in full": {}, "what is new": time.Now().Add(-time.Hour)} {
			found, err := ForWorker(t.Context(), pool, chainKey, since)
			if err != nil {
				t.Fatal(err)
			}
			if found.Rules < 20 || len(found.Violations) > 0 || len(found.Unchecked) > 0 {
				t.Errorf("%s: %d rules hold; violated: %v; not checked: %v", name, found.Rules, found.Violations,
					found.Unchecked)
			}
		}
	})
}

// A rule reads whole tables. The time limit of a session is for requests.
func TestNoProofTimesOut(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool, err := postgres.Open(t.Context(), postgres.Config{URL: db.URL, MaxConns: 1,
		Session: map[string]string{"statement_timeout": "250ms"}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	const longer = "SELECT pg_sleep(0.6)"
	if _, err := pool.Exec(t.Context(), longer); err == nil {
		t.Fatal("the session has no limit, so this test shows nothing")
	}
	tx, err := beginProof(t.Context(), pool, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), longer); err != nil {
		t.Errorf("a proof timed out: %v", err)
	}
}

// A month's partition is detached under a lock that a rule may have to wait for.
func TestAProofWaitsForLocks(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	pool, err := postgres.Open(t.Context(), postgres.Config{URL: db.URL, MaxConns: 1,
		Session: map[string]string{"lock_timeout": "50ms"}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	locked, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locked.Exec(t.Context(), "LOCK TABLE refunds"); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(500*time.Millisecond, func() { _ = locked.Rollback(context.WithoutCancel(t.Context())) })
	report, err := Run(t.Context(), Config{Pool: pool, AllowEmpty: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if strings.Contains(c.Unchecked, "lock") {
			t.Errorf("%s: %s", c.Rule, c.Unchecked)
		}
	}
}

func TestAnInterruptedProofIsNoReport(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	report, err := Run(ctx, Config{Pool: pgtest.New(t).Pool, Progress: func(done, _ int) {
		if done == 3 {
			interrupt()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, and the report has %d checks", err, len(report.Checks))
	}
}

func TestProgressCountsTheChecks(t *testing.T) {
	t.Parallel()
	var seen []int
	all := 0
	report, err := Run(t.Context(), Config{Pool: pgtest.New(t).Pool, Progress: func(done, of int) {
		seen, all = append(seen, done), of
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != len(report.Checks) || all != len(seen) || seen[len(seen)-1] != all {
		t.Errorf("%d checks, and progress said %v of %d", len(report.Checks), seen, all)
	}
}

// What commits while the first rule is checked is in the snapshot of neither connection.
func TestConnectionsShareOneSnapshot(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	contradict := func(done, _ int) {
		if used := b.ours.Stat().AcquiredConns(); used < 2 {
			t.Errorf("%d connections are used after %d checks", used, done)
		}
		if done > 1 {
			return
		}
		_, err := b.ours.Exec(t.Context(), `INSERT INTO inbox_contradictions (source, event_id, digest, body)
			SELECT source, event_id, sha256('x'), 'x' FROM inbox LIMIT 1`)
		if err != nil {
			t.Error(err)
		}
	}
	for _, want := range [][]string{nil, {messages}} {
		report, err := Run(t.Context(), Config{Pool: b.ours, Acquirer: simulator.Records{DB: b.theirs},
			AuditKeys: chainKey, Connections: 2, Progress: contradict})
		if err != nil {
			t.Fatal(err)
		}
		if got := broken(report); !slices.Equal(got, want) {
			t.Errorf("broken: %q, want %q", got, want)
		}
		for _, c := range report.Checks {
			if c.Rule == "" || c.Took == 0 {
				t.Errorf("a check has the rule %q and took %s", c.Rule, c.Took)
			}
		}
		contradict = func(int, int) {}
	}
}

func TestEmptyInstallationIsNotVerified(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for allowed, want := range map[bool]int{false: NotChecked, true: OK} {
		theirs := pgtest.New(t)
		acquirertest.Start(t, theirs.URL)
		report, err := Run(t.Context(),
			Config{Pool: db.Pool, Acquirer: simulator.Records{DB: theirs.Pool}, AllowEmpty: allowed})
		if err != nil {
			t.Fatal(err)
		}
		if got := report.ExitCode(); got != want {
			t.Errorf("allowed to be empty: %t; verdict %d, want %d: %v", allowed, got, want, broken(report))
		}
	}
	report, err := Run(t.Context(), Config{Pool: db.Pool, AllowEmpty: true})
	if err != nil {
		t.Fatal(err)
	}
	if report.ExitCode() != NotChecked {
		t.Error("green without asking the other side")
	}
}

// verify names a contradiction until an operator acknowledges it, and then names the next one.
func TestAnAcknowledgedContradictionIsInOrder(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	contradict := func(body string) {
		t.Helper()
		_, err := b.ours.Exec(t.Context(), `INSERT INTO inbox_contradictions (source, event_id, digest, body)
			SELECT source, event_id, sha256($1), $1 FROM inbox
			WHERE event_id = (SELECT min(event_id) FROM inbox)`, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
	}
	wrong := func() []string {
		t.Helper()
		report, err := Run(t.Context(),
			Config{Pool: b.ours, Acquirer: simulator.Records{DB: b.theirs}, AuditKeys: chainKey})
		if err != nil {
			t.Fatal(err)
		}
		return broken(report)
	}
	var event string
	if err := b.ours.QueryRow(t.Context(), "SELECT min(event_id) FROM inbox").Scan(&event); err != nil {
		t.Fatal(err)
	}

	contradict("another amount")
	if got := wrong(); !slices.Equal(got, []string{messages}) {
		t.Errorf("before: %q", got)
	}
	if _, err := inbox.Acknowledge(t.Context(), b.ours, event, "me", "they sent it by mistake"); err != nil {
		t.Fatal(err)
	}
	if got := wrong(); len(got) > 0 {
		t.Errorf("once it is acknowledged: %q", got)
	}
	if _, err := inbox.Acknowledge(t.Context(), b.ours, event, "me", "again"); !errors.Is(err,
		inbox.ErrNoContradiction) {
		t.Errorf("a second time: %v", err)
	}
	contradict("a third amount")
	if got := wrong(); !slices.Equal(got, []string{messages}) {
		t.Errorf("the next one: %q", got)
	}
}

// TestAMonthThatIsAway takes the month with all requests but the last ones out of
// the trail, as an operator does seven years later.
func TestAMonthThatIsAway(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	run := func(sql string) {
		t.Helper()
		if _, err := b.ours.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%v in: %s", err, sql)
		}
	}
	run(`
		CREATE TABLE audit_events_2020_01 PARTITION OF audit_events FOR VALUES FROM ('2020-01-01 00:00+0') TO
		    ('2020-02-01 00:00+0');
		CREATE TRIGGER audit_events_are_not_emptied BEFORE TRUNCATE
		    ON audit_events_2020_01 FOR EACH STATEMENT EXECUTE FUNCTION reject_change('the audit trail is append-only');
		ALTER TABLE audit_events_2020_01 ENABLE ALWAYS TRIGGER audit_events_are_not_emptied`)
	const guards = `
		ALTER TABLE audit_events %[1]s TRIGGER audit_events_are_final;
		ALTER TABLE audit_events %[1]s TRIGGER audit_events_are_kept;
		ALTER TABLE audit_blocks %[1]s TRIGGER audit_blocks_are_final;
		ALTER TABLE answers %[1]s TRIGGER answers_are_final`
	run(fmt.Sprintf(guards, "DISABLE"))
	run(`DELETE FROM audit_blocks;
		UPDATE audit_events SET at = '2020-01-15'
		WHERE at < (SELECT max(at) FROM audit_events WHERE operation NOT LIKE 'ledger.%')
		  AND operation NOT LIKE 'ledger.%'; -- an operator's correction has the date of its posting
		UPDATE api_keys SET created_at = '2020-01-15';
		UPDATE users SET created_at = '2020-01-15';
		UPDATE user_sessions SET began_at = '2020-01-15', seen_at = '2020-01-15', expires_at = '2020-01-15 12:00+0';
		UPDATE answers SET finished_at = '2020-01-15',
		    redacted_at = CASE WHEN redacted_at IS NOT NULL THEN timestamptz '2020-01-15' END
		WHERE request_id IN (SELECT request_id FROM audit_events WHERE at = '2020-01-15')`)
	run(fmt.Sprintf(guards, "ENABLE ALWAYS"))
	b.seal(t)
	requireOK := func(when string) {
		t.Helper()
		report, err := Run(t.Context(),
			Config{Pool: b.ours, Acquirer: simulator.Records{DB: b.theirs}, AuditKeys: chainKey})
		if err != nil {
			t.Fatal(err)
		}
		if report.ExitCode() != OK {
			var text strings.Builder
			_ = report.Print(&text)
			t.Fatalf("does not hold %s:\n%s", when, text.String())
		}
	}
	requireOK("with the month")
	run(`SELECT detach_audit_month('2020-01-01')`)
	requireOK("without it")

	tx := begin(t, b.ours)
	if _, err := tx.Exec(t.Context(), triggersOff+"; DELETE FROM audit_events"); err != nil {
		t.Fatal(err)
	}
	theirs := readBefore(t.Context(), simulator.Records{DB: begin(t, b.theirs)})
	report, err := Config{AuditKeys: chainKey}.prove(t.Context(), tx, theirs)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(broken(report), audited) || !slices.Contains(broken(report), chainRule) {
		t.Errorf("what is lost beside the month is not noticed; what did: %q", broken(report))
	}
}

// damage is something a bug, a hurried hand or a thief could do to the books, and
// the rule that must notice. Ours is done as the owner with the triggers off.
type damage struct {
	what         string
	ours, theirs string
	rule         string
}

// insertAuditRow names the columns that the damages below copy from another row.
const insertAuditRow = `INSERT INTO audit_events (at, id, account_id, livemode, request_id, idempotency_key, actor,
	address, operation, object_id, status, error_code, commitment, salt, details, xid)`

const (
	balanced   = "the books balance, per currency and mode"
	legs       = "every posting has exactly its legs"
	ways       = "every leg has the accounts of its kind of posting"
	periods    = "every closed period matches its postings"
	days       = "the sums of every day agree with its charges and webhook attempts"
	captures   = "every capture is posted once, with its amount"
	refunds    = "every refund is posted once, with its amount"
	sources    = "every posting has a source"
	paidOut    = "every payout has exactly its postings"
	covered    = "no book has paid out more than ever became available"
	parts      = "every automatic payout agrees with the movements in it"
	intents    = "every payment intent agrees with its charges"
	setups     = "every setup intent agrees with its latest attempt"
	checkout   = "every checkout session is paid once, by its intent, for its total"
	totals     = "every charge's totals agree with its refunds"
	chained    = "refunds are chained end to end within what was captured"
	askedFor   = "every object was created by a request of its account and mode"
	effects    = "every finished request took effect once"
	points     = "every finished request has passed its recovery points"
	open       = "no request, call or lock is left open"
	stands     = "every request has either a run or an answer"
	shown      = "the views of requests match the tables"
	completed  = "every complete checkout session has one event that says so"
	redeemed   = "every coupon and promotion code is redeemed once per session that was paid with it"
	events     = "every change has its event, and every event has its change"
	deliveries = "every event has a delivery to each subscribed endpoint"
	forgotten  = "erased requests hold no personal data"
	audited    = "every finished request is in the audit trail, once"
	chainRule  = "the audit trail's chain is unbroken"
	secondRule = "the schema's guards are in place"
	disputes   = "every dispute has exactly its postings"
	settled    = "every settlement is posted once, with its amounts"
	settledAll = "every movement that the acquirer settled is booked, waiting or set aside"
	messages   = "every inbox message took effect once, and no two conflict"
	accounts   = "every unique constraint on money contains its account or book"
	fees       = "every fee follows the account's terms"
	available  = "money becomes available when the account's terms say"
	holds      = "every uncaptured authorization expires in time"
	vouched    = "every stored answer matches the audit trail"
	missing    = "audit details are missing only where an erasure names them"
	endpoints  = "every webhook endpoint has the URL that its merchant set"
	apiKeys    = "every API key matches the audit trail"
	users      = "every user matches the audit trail"
	logins     = "every session of the dashboard began with a login"
	ended      = "every delivery ends with an attempt, or with its endpoint"
	acquirers  = "our books agree with the acquirer's journal"
)

var damages = []damage{
	{"an amount is cut off", `
		ALTER TABLE ledger_postings DROP CONSTRAINT ledger_postings_legs_are_complete;
		UPDATE ledger_postings SET amounts = amounts[1:1] WHERE kind = 'charge'`, "", legs},
	{"a leg is deleted", `
		UPDATE ledger_postings SET purposes = purposes[1:1], debits = debits[1:1], credits = credits[1:1],
		    amounts = amounts[1:1] WHERE kind = 'charge'`, "", ways},
	{"a leg is added", `
		UPDATE ledger_postings SET purposes = purposes || purposes[1], debits = debits || debits[1],
		    credits = credits || credits[1], amounts = amounts || 1::bigint WHERE kind = 'charge'`, "", ways},
	{"a part of a leg is null", `
		ALTER TABLE ledger_postings DROP CONSTRAINT ledger_postings_legs_have_no_nulls;
		UPDATE ledger_postings SET purposes[1] = NULL WHERE kind = 'charge'`, "", legs},
	{"a leg pays the account it takes from", `
		ALTER TABLE ledger_postings DROP CONSTRAINT ledger_postings_debit_differs_from_credit;
		UPDATE ledger_postings SET debits = credits WHERE kind = 'settlement'`, "", legs},
	{"a leg moves less than nothing", `
		ALTER TABLE ledger_postings DROP CONSTRAINT ledger_postings_amounts_are_positive;
		UPDATE ledger_postings SET amounts[1] = -amounts[1] WHERE kind = 'settlement'`, "", legs},
	{"a posting is in no book", "UPDATE ledger_postings SET book_id = 99 WHERE kind = 'settlement'", "", legs},
	{"a refund is chained in no book", "UPDATE ledger_refund_chain SET book_id = 99", "", legs},
	{"a posting reverses what is not there", `
		UPDATE ledger_postings SET kind = 'reversal', reverses = 'txn_x'
		WHERE id = (SELECT min(id) FROM ledger_postings WHERE kind = 'settlement')`, "", legs},
	{"a reversal is less than what it reverses", `
		UPDATE ledger_postings SET amounts[1] = amounts[1] - 1 WHERE kind = 'reversal'`, "", ways},
	{"a reversal has no operator", "DELETE FROM audit_events WHERE operation = 'ledger.reverse'", "", sources},
	{"an adjustment names another act of an operator", `
		UPDATE ledger_postings SET request_id = 'op_reversal' WHERE kind = 'adjustment'`, "", sources},
	{"people are shown fewer entries than there are", `
		ALTER VIEW ledger_entries RENAME TO all_entries;
		CREATE VIEW ledger_entries AS SELECT * FROM all_entries WHERE leg = 1`, "", balanced},
	{"a leg's amount is raised", "UPDATE ledger_postings SET amounts[1] = amounts[1] + 1", "", captures},
	{"a refund's posting is raised", "UPDATE ledger_postings SET amounts[1] = amounts[1] + 1 WHERE kind = 'refund'",
		"", refunds},
	{"a posting is deleted", "DELETE FROM ledger_postings WHERE kind = 'charge'", "", captures},
	{"a charge is posted again", `
		ALTER TABLE ledger_postings DROP CONSTRAINT ledger_postings_source_is_posted_once;
		INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, available_on,
			created_at, request_id) SELECT book_id, id || '-x', source, kind, purposes, debits, credits, amounts,
			available_on, created_at, request_id FROM ledger_postings WHERE kind = 'charge' LIMIT 1`, "", captures},
	{"a posting of a charge nobody made", "UPDATE ledger_postings SET source = source || 'x' WHERE kind = 'charge'",
		"", sources},
	{"a posting of a refund nobody made", "UPDATE ledger_postings SET source = source || 'x' WHERE kind = 'refund'",
		"", sources},
	{"a posting moved to another book", "UPDATE ledger_postings SET book_id = 2 WHERE book_id = 1", "", captures},
	{"a charge says it captured more", `
		UPDATE charges SET amount_captured = amount_captured + 1, amount = amount + 1 WHERE captured`, "", captures},
	{"a charge names another posting", "UPDATE charges SET balance_transaction = 'txn_x' WHERE captured", "", captures},
	{"a charge changes its currency", "UPDATE charges SET currency = 'gbp' WHERE captured", "", captures},
	{"a charge forgets a refund", "UPDATE charges SET amount_refunded = 0", "", totals},
	{"a refund is in another currency", "UPDATE refunds SET currency = 'jpy'", "", totals},
	{"a refund that never happened", "UPDATE refunds SET amount = amount + 1", "", totals},
	{"a refund says it failed", `
		UPDATE refunds SET status = 'failed', failure_reason = 'unknown', balance_transaction = NULL
		WHERE kind = 'refund' AND status = 'succeeded'`, "", totals},
	{"the chain of refunds loses a link", "DELETE FROM ledger_refund_chain WHERE prior > 0", "", chained},
	{"the chain is for another amount", "UPDATE ledger_refund_chain SET charge_amount = charge_amount + 1", "",
		chained},
	{"a charge of no request", "UPDATE charges SET request_id = request_id || 'x'", "", askedFor},
	{"a charge of another account's request", "UPDATE charges SET account_id = 'acct_2'", "", askedFor},
	{"a finished request whose charge is gone", "DELETE FROM refunds; DELETE FROM charges", "", effects},
	{"a finished request whose charge is pending", `
		UPDATE charges SET status = 'pending', captured = false, amount_captured = 0, balance_transaction = NULL,
		    settlement_pending = false WHERE captured AND amount_charged_back = 0`, "", effects},
	{"a refused request whose charge succeeded", `
		UPDATE answers SET status = 402
		WHERE request_id IN (SELECT id FROM requests WHERE flow = 'charge.create')`, "", effects},
	{"a finished refund that is pending", `
		UPDATE refunds SET status = 'pending', balance_transaction = NULL, acquirer_reference = NULL
		WHERE status = 'succeeded'`, "", effects},
	{"a customer is lost", "DELETE FROM cards; DELETE FROM customers", "", effects},
	{"an intent whose confirmation was refused is lost", `
		DELETE FROM payment_intents p USING request_status r
		WHERE r.account_id = p.account_id AND r.id = p.request_id AND r.status = 400`, "", effects},
	{"a setup whose confirmation was refused is lost", `
		DELETE FROM setup_intents s USING request_status r
		WHERE r.account_id = s.account_id AND r.id = s.request_id AND r.status = 400`, "", effects},
	{"the path of a request loses a point", `
		UPDATE answers SET recovery_points = array_remove(recovery_points, 'acquirer_answered'),
		    reached_at = reached_at[2:], reached_epochs = reached_epochs[2:], call_phases = '{}', call_keys = '{}',
		    call_generations = '{}', call_sent_at = '{}', call_attempts = '{}'
		WHERE 'acquirer_answered' = ANY (recovery_points)`, "", points},
	{"a request passed its points in another order", `
		UPDATE answers SET recovery_points = ARRAY['acquirer_answered', 'charge_recorded', 'charge_finalized']
		WHERE recovery_points[1] = 'charge_recorded' AND cardinality(recovery_points) = 3`, "", points},
	{"a request passed a point twice", `
		UPDATE answers SET recovery_points = recovery_points || recovery_points[cardinality(recovery_points)],
		    reached_at = reached_at || reached_at[1],
		    reached_epochs = reached_epochs || reached_epochs[1]`, "", points},
	{"a request passed a point that its flow does not have", `
		UPDATE answers SET recovery_points = recovery_points || 'elsewhere'::text,
		    reached_at = reached_at || reached_at[1],
		    reached_epochs = reached_epochs || reached_epochs[1]`, "", points},
	{"a request passed a point in an epoch that was over", `
		UPDATE answers SET reached_epochs = array_fill(9, ARRAY[1]) || reached_epochs[2:]
		WHERE cardinality(recovery_points) > 1`, "", points},
	{"a path is longer than its times", `
		ALTER TABLE answers DROP CONSTRAINT answers_path_is_whole;
		UPDATE answers SET reached_at = reached_at[2:]`, "", points},
	{"a path has no times", `
		ALTER TABLE answers ALTER COLUMN reached_at DROP NOT NULL;
		UPDATE answers SET reached_at = NULL`, "", points},
	{"a path has no epochs", `
		ALTER TABLE answers ALTER COLUMN reached_epochs DROP NOT NULL;
		UPDATE answers SET reached_epochs = NULL`, "", points},
	{"a finished request that does not know what came of its call", `
		ALTER TABLE answers DROP CONSTRAINT answers_calls_are_answered;
		UPDATE answers SET call_phases = '{elsewhere}' WHERE cardinality(call_phases) = 1`, "", open},
	{"two requests asked under one key",
		"UPDATE answers SET call_keys = '{rk_same}' WHERE cardinality(call_phases) = 1", "", open},
	{"a second key without the proof that the first did nothing",
		"UPDATE answers SET call_generations = '{2}' WHERE cardinality(call_phases) = 1", "", open},
	{"a request loses its answer", "DELETE FROM answers WHERE request_id = (SELECT min(request_id) FROM answers)", "",
		stands},
	{"a run goes on beside its answer", `
		INSERT INTO runs (account_id, request_id, flow, version, state, recovery_points, reached_at, reached_epochs,
			state_data, reason) SELECT a.account_id, a.request_id, q.flow, q.version, 'needs_review', a.recovery_points,
			a.reached_at, a.reached_epochs, '{}', 'why' FROM answers a
			JOIN requests q ON q.account_id = a.account_id AND q.id = a.request_id`, "", stands},
	{"an answer of no request", "UPDATE answers SET request_id = request_id || 'x'", "", stands},
	{"a view shows another path", `
		CREATE OR REPLACE VIEW request_checkpoints AS SELECT account_id, request_id,
		    recovery_points[1] AS recovery_point, 1 AS epoch, finished_at AS reached_at FROM answers`, "", shown},
	{"a view hides a call", `
		CREATE OR REPLACE VIEW request_calls AS SELECT account_id, request_id, phase, generation, derived_key, sent_at,
		    attempts, 'executed' AS outcome, proof FROM foreign_calls`, "", shown},
	{"a view shows another state", `
		ALTER VIEW request_status RENAME TO honest;
		CREATE VIEW request_status AS SELECT account_id, id, 'parked' AS state, 1 AS epoch, recovery_point, status
		FROM honest`, "", shown},
	{"work that nobody finishes", `
		INSERT INTO runs (account_id, request_id, flow, version, state, recovery_points, reached_at, reached_epochs,
			state_data, due_at) SELECT a.account_id, a.request_id, q.flow, q.version, 'parked', a.recovery_points,
			a.reached_at, a.reached_epochs, '{}', now() FROM answers a
			JOIN requests q ON q.account_id = a.account_id AND q.id = a.request_id WHERE q.flow = 'customer.update';
			DELETE FROM answers WHERE request_id IN (SELECT request_id FROM runs);
			UPDATE requests SET created_at = created_at - interval '1 hour'
			WHERE id IN (SELECT request_id FROM runs)`, "", open},
	{"the events of charges are lost", "DELETE FROM events WHERE type = 'charge.succeeded'", "", events},
	{"an intent says it received more", `
		UPDATE payment_intents SET amount = amount + 1, amount_received = amount_received + 1
		WHERE status = 'succeeded'`, "", intents},
	{"an intent forgets what paid it", `
		UPDATE payment_intents SET status = 'requires_payment_method', amount_received = 0
		WHERE status = 'succeeded'`, "", intents},
	{"an intent changes its currency", "UPDATE payment_intents SET currency = 'gbp' WHERE status = 'succeeded'", "",
		intents},
	{"an intent names another charge",
		"UPDATE payment_intents SET latest_charge = 'ch_x' WHERE latest_charge IS NOT NULL", "", intents},
	{"an intent is lost", "DELETE FROM payment_intents WHERE status = 'succeeded'", "", intents},
	{"an intent is locked by an unknown request", "UPDATE payment_intents SET locked_by = 'req_none'", "", open},
	{"a setup says it succeeded", `
		UPDATE setup_intents SET status = 'succeeded', payment_method_id = 'pm_x'
		WHERE last_setup_error IS NOT NULL`, "", setups},
	{"a setup names another's attempt", `
		UPDATE setup_intents SET latest_attempt = (SELECT id FROM setup_attempts WHERE status = 'failed')
		WHERE status = 'requires_action'`, "", setups},
	{"a setup forgets that it was tried",
		"UPDATE setup_intents SET latest_attempt = NULL WHERE last_setup_error IS NOT NULL", "", setups},
	{"an attempt that succeeded is lost", "DELETE FROM setup_attempts WHERE status = 'succeeded'", "", setups},
	{"an attempt of no request", "UPDATE setup_attempts SET request_id = request_id || 'x'", "", askedFor},
	{"a session says it was paid", `
		UPDATE checkout_sessions SET status = 'complete', payment_status = 'paid', payment_intent_id = 'pi_x'
		WHERE status = 'open'`, "", checkout},
	{"a session forgets that it was paid", `
		UPDATE checkout_sessions SET status = 'open', payment_status = 'unpaid'
		WHERE payment_status = 'paid'`, "", checkout},
	{"a session names another intent",
		"UPDATE checkout_sessions SET payment_intent_id = 'pi_x' WHERE payment_status = 'paid'", "", checkout},
	{"a session was for less than was paid", `
		UPDATE checkout_sessions SET amount_subtotal = amount_subtotal - 1, amount_total = amount_total - 1
		WHERE payment_status = 'paid'`, "", checkout},
	{"an item was sold cheaper", "UPDATE checkout_items SET amount = amount - 1", "", checkout},
	{"an item is lost", "DELETE FROM checkout_items", "", checkout},
	{"a discount is not divided among the items", "UPDATE checkout_items SET discount = 0", "", checkout},
	{"a session is shipped cheaper than its rate", `
		UPDATE checkout_sessions SET amount_shipping = amount_shipping - 1, amount_subtotal = amount_subtotal + 1
		WHERE amount_shipping > 0`, "", checkout},
	{"a session takes off more than its coupon", "UPDATE coupons SET percent_off = percent_off / 2", "", checkout},
	{"a session's total forgets its shipping", `
		ALTER TABLE checkout_sessions DROP CONSTRAINT checkout_sessions_total_adds_up;
		UPDATE checkout_sessions SET amount_shipping = 0 WHERE amount_shipping > 0;
		UPDATE shipping_rates SET amount = 0`, "", checkout},
	{"a coupon forgets that it was redeemed", "UPDATE coupons SET times_redeemed = 0", "", redeemed},
	{"a coupon is reserved by no session",
		"UPDATE coupons SET times_reserved = times_reserved + 1, max_redemptions = 3", "", redeemed},
	{"a promotion code forgets that it was redeemed", "UPDATE promotion_codes SET times_redeemed = 0", "", redeemed},
	{"a promotion code is reserved by no session",
		"UPDATE promotion_codes SET times_reserved = times_reserved + 1, max_redemptions = 3", "", redeemed},
	{"a session forgets the promotion code that it was paid with",
		"UPDATE checkout_sessions SET promotion_code_id = NULL", "", redeemed},
	{"a promotion code is lost", `
		ALTER TABLE checkout_sessions DROP CONSTRAINT checkout_sessions_promotion_code_is_of_their_coupon;
		DELETE FROM promotion_codes`, "", redeemed},
	{"a session forgets that it has reserved a coupon",
		"UPDATE checkout_sessions SET coupon_reserved = false WHERE status = 'open'", "", redeemed},
	{"a setup's session is not complete", "UPDATE checkout_sessions SET status = 'open' WHERE mode = 'setup'", "",
		checkout},
	{"a session is lost", "DELETE FROM checkout_items; DELETE FROM checkout_sessions", "", checkout},
	{"the events of sessions are lost", "DELETE FROM events WHERE type = 'checkout.session.completed'", "", completed},
	{"the events of expired sessions are lost", "DELETE FROM events WHERE type = 'checkout.session.expired'", "",
		events},
	{"the events of prices are lost", "DELETE FROM events WHERE type = 'price.created'", "", events},
	{"the events of coupons are lost", "DELETE FROM events WHERE type = 'coupon.created'", "", events},
	{"the events of intents are lost", "DELETE FROM events WHERE type = 'payment_intent.succeeded'", "", events},
	{"the events of failed attempts are lost", "DELETE FROM events WHERE type = 'payment_intent.payment_failed'", "",
		events},
	{"the events of refunds are lost", "DELETE FROM events WHERE type = 'refund.created'", "", events},
	{"the events of customers are lost", "DELETE FROM events WHERE type = 'customer.created'", "", events},
	{"the deliveries of an event are lost", `
		UPDATE webhook_endpoints SET changed_at = changed_at - interval '1 day';
		DELETE FROM webhook_deliveries
		WHERE event_id = (SELECT min(event_id) FROM webhook_deliveries)`, "", deliveries},
	{"an endpoint is lost under its deliveries", "DELETE FROM webhook_endpoints", "", deliveries},
	{"an event is told to the other mode", "UPDATE webhook_endpoints SET livemode = NOT livemode", "", deliveries},
	{"a delivery is written off as made",
		"UPDATE webhook_deliveries SET state = 'succeeded', due_at = NULL, ended_at = now()", "", deliveries},
	{"an attempt is forgotten", "UPDATE webhook_deliveries SET attempts = 1", "", deliveries},
	{"a period forgets a posting", "UPDATE ledger_periods SET postings = postings - 1", "", periods},
	{"a period's sum is raised",
		"UPDATE ledger_period_sums SET credit = credit + 1 WHERE account = 'merchant_balance'", "", periods},
	{"an account is left out of a period", "DELETE FROM ledger_period_sums WHERE account = 'fee_revenue'", "", periods},
	{"more matures in a period than it holds", "UPDATE ledger_periods SET maturing = maturing + 1 WHERE maturing > 0",
		"", periods},
	{"the money of a period matures too early", `
		UPDATE ledger_periods SET matures_from = matures_from - interval '1 day',
		    matures_until = matures_from - interval '1 day' WHERE maturing > 0`, "", periods},
	{"a posting slips into a closed period", `
		UPDATE ledger_postings SET created_at = (SELECT min(until) FROM ledger_periods) - interval '1 s'
		WHERE created_at = (SELECT max(created_at) FROM ledger_postings)`, "", periods},
	{"the first of the periods is gone", `
		DELETE FROM ledger_period_sums WHERE until = (SELECT min(until) FROM ledger_periods);
		DELETE FROM ledger_periods WHERE until = (SELECT min(until) FROM ledger_periods)`, "", periods},
	{"a day's sum is raised", "UPDATE charge_days SET amount = amount + 1", "", days},
	{"the sum of a day has webhook attempts that did not happen",
		"INSERT INTO attempt_days SELECT account_id, false, '2026-11-20', 5, 4 FROM counted", "", days},
	{"a charge slips in behind what was counted", `
		UPDATE counted SET charges_before = 'ch_zzz';
		UPDATE charges SET created_at = created_at - interval '3 days' WHERE captured`, "", days},
	{"a charge is counted and waits, too", `
		INSERT INTO charges_to_count SELECT account_id, min(id) FROM charges WHERE captured GROUP BY 1
		ON CONFLICT DO NOTHING`, "", days},
	{"a charge waits that was never reached", "UPDATE counted SET charges_before = ''", "", days},
	{"a payout takes a past that was never there", `
		INSERT INTO swept_before SELECT min(id), 'po_x', '-infinity', 100 FROM ledger_books`, "", parts},
	{"a payout names what another took with the past", `
		INSERT INTO ledger_swept SELECT b.id, p.balance_transaction, p.id FROM payouts p
		JOIN ledger_books b ON b.account_id = p.account_id AND b.currency = p.currency;
		INSERT INTO swept_before SELECT min(id), 'po_x', 'infinity', 0 FROM ledger_books`, "", parts},
	{"a payout's posting is raised", "UPDATE ledger_postings SET amounts[1] = amounts[1] + 1 WHERE kind = 'payout'",
		"", paidOut},
	{"a payout's money never came back", "DELETE FROM ledger_postings WHERE kind = 'payout_cancel'", "", paidOut},
	{"a payout is paid without a posting",
		"UPDATE payouts SET status = 'paid' WHERE status = 'pending' AND amount > 0", "", paidOut},
	{"a posting of a payout nobody made",
		"UPDATE ledger_postings SET source = source || 'x' WHERE kind = 'payout_failure'", "", paidOut},
	{"more is paid out than there ever was", `
		UPDATE ledger_postings SET amounts[1] = amounts[1] + 100000
		WHERE kind = 'payout' AND debits[1] = 'merchant_balance'`, "", covered},
	{"a payout forgets its reversal", "UPDATE payouts SET original_payout = NULL, amount = -amount WHERE amount < 0",
		"", parts},
	{"a payout is locked by an unknown request", "UPDATE payouts SET locked_by = 'req_none'", "", parts},
	{"a payout that was asked for is lost", "DELETE FROM payouts WHERE status = 'failed'", "", parts},
	{"a payout says it swept", `
		INSERT INTO ledger_swept SELECT b.id, p.balance_transaction, p.id FROM payouts p
		JOIN ledger_books b ON b.account_id = p.account_id AND b.currency = p.currency`, "", parts},
	{"the events of payouts are lost", "DELETE FROM events WHERE type = 'payout.paid'", "", events},
	{"the bank sent another amount", "", "UPDATE acquirer.movements SET amount = amount + 1 WHERE kind = 'payout'",
		acquirers},
	{"the bank sent money that we know nothing of", "DELETE FROM payouts WHERE status = 'pending' AND amount > 0", "",
		acquirers},
	{"the bank never fetched a payout back", "", "DELETE FROM acquirer.movements WHERE kind = 'recall'", acquirers},
	{"a person is put back into an answer", `
		UPDATE answers SET redacted_at = now()
		WHERE request_id IN (SELECT id FROM requests WHERE flow = 'customer.create')`, "", forgotten},
	{"a person is put back into an event", `
		UPDATE answers SET redacted_at = now(), body = redact_pii(body)
		WHERE request_id IN (SELECT id FROM requests WHERE flow = 'customer.create');
		UPDATE requests SET params = redact_pii(params), context = redact_pii(context)
		WHERE flow = 'customer.create'`, "", forgotten},
	{"a session remembers who was erased", `
		UPDATE answers SET redacted_at = now(), body = redact_pii(body)
		WHERE request_id IN (SELECT id FROM requests WHERE flow = 'checkout_session.create');
		UPDATE requests SET params = redact_pii(params), context = redact_pii(context)
		WHERE flow = 'checkout_session.create'; UPDATE events SET data = redact_pii(data);
		UPDATE checkout_sessions SET customer_email = 'ann@example.com'`, "", forgotten},
	{"evidence remembers who was erased",
		"UPDATE answers SET redacted_at = now(), body = redact_pii(body) WHERE request_id IN (SELECT id FROM " +
			"requests WHERE flow = 'acquirer.dispute.opened'); UPDATE requests SET params = redact_pii(params), " +
			"context = redact_pii(context) WHERE flow = 'acquirer.dispute.opened'; UPDATE events SET data = " +
			"redact_pii(data); UPDATE disputes SET evidence = '{\"customer_name\": \"Ann\"}'", "", forgotten},
	{"an audit row is deleted", "DELETE FROM audit_events WHERE operation = 'refund.create'", "", audited},
	{"an audit row is written twice",
		insertAuditRow +
			" SELECT at + interval '1 us', id, account_id, livemode, request_id, idempotency_key, actor, address, " +
			"operation, object_id, status, error_code, commitment, salt, details, xid FROM audit_events WHERE actor " +
			"NOT LIKE 'operator:%' LIMIT 1", "", audited},
	{"the details of an audit row are changed", "UPDATE audit_events SET details = replace(details, '2000', '2001')",
		"", audited},
	{"an audit row names another actor",
		"UPDATE audit_events SET actor = 'somebody' WHERE operation = 'customer.create'", "", chainRule},
	{"two audit rows change places", `
		UPDATE audit_events SET xid = CASE xid WHEN (SELECT min(xid) FROM audit_events)
		    THEN (SELECT max(xid) FROM audit_events WHERE xid < (SELECT max(to_xid) FROM audit_blocks))
		    ELSE (SELECT min(xid) FROM audit_events) END
		WHERE xid IN ((SELECT min(xid) FROM audit_events),
		    (SELECT max(xid) FROM audit_events WHERE xid < (SELECT max(to_xid) FROM audit_blocks)))`, "", chainRule},
	{"an audit row is slipped in",
		insertAuditRow +
			" SELECT at + interval '1 us', id || 'x', account_id, livemode, request_id || 'x', idempotency_key, " +
			"'operator:eve', address, operation, object_id, status, error_code, commitment, salt, details, xid FROM " +
			"audit_events LIMIT 1", "", chainRule},
	{"an audit row has waited to be sealed for long",
		insertAuditRow +
			" SELECT at - interval '11 minutes', id || 'x', account_id, livemode, request_id || 'x', " +
			"idempotency_key, actor, address, operation, object_id, status, error_code, commitment, salt, details, " +
			"pg_current_xact_id()::text::bigint FROM audit_events LIMIT 1", "", chainRule},
	{"a block of the chain is gone", "DELETE FROM audit_blocks WHERE no = 1", "", chainRule},
	{"a block is sealed again over less", "UPDATE audit_blocks SET rows = rows - 1", "", chainRule},
	{"a constraint is dropped", "ALTER TABLE ledger_postings DROP CONSTRAINT ledger_postings_source_is_posted_once", "",
		secondRule},
	{"a unique index is dropped", "DROP INDEX webhook_endpoints_one_per_slot", "", secondRule},
	{"a constraint is put back without being validated", `
		ALTER TABLE charges DROP CONSTRAINT charges_amount_is_positive,
		    ADD CONSTRAINT charges_amount_is_positive CHECK (amount > 0) NOT VALID`, "", secondRule},
	{"a trigger is left disabled", "ALTER TABLE ledger_postings DISABLE TRIGGER ledger_postings_is_final", "",
		secondRule},
	{"a trigger sleeps on a replica", "ALTER TABLE ledger_postings ENABLE TRIGGER ledger_postings_is_final", "",
		secondRule},
	{"the API may change the books", "GRANT UPDATE ON ledger_postings TO ratchet_api", "", secondRule},
	{"the worker may delete from the audit trail", "GRANT DELETE ON audit_events TO ratchet_worker", "", secondRule},
	{"a unique constraint on money without its account", "ALTER TABLE charges ADD UNIQUE (request_id)", "", accounts},
	{"the acquirer moved a card under a key of its own", "", `
		INSERT INTO acquirer.movements (key, reference, authorization_id, verb, card, kind, amount, currency, result,
			at) VALUES ('rk_x', 'auth_x', 'auth_x', 'authorize', 'visa', 'sale', 100, 'usd', 'approved',
			now())`, acquirers},
	{"the acquirer charged a card twice", "", `
		INSERT INTO acquirer.movements (key, reference, authorization_id, verb, card, kind, amount, currency, result,
			at) SELECT key, reference || 'x', authorization_id, verb, card, kind, amount, currency, result, at
			FROM acquirer.movements WHERE kind = 'sale' LIMIT 1`, acquirers},
	{"the acquirer never refunded", "", "DELETE FROM acquirer.movements WHERE kind = 'refund'", acquirers},
	{"the acquirer took another amount", "", "UPDATE acquirer.movements SET amount = amount + 1 WHERE kind = 'sale'",
		acquirers},
	{"the acquirer knows nothing of a hold", "", "DELETE FROM acquirer.movements WHERE kind = 'hold'", acquirers},
	{"the acquirer did not let a hold go", "", "DELETE FROM acquirer.movements WHERE kind = 'release'", acquirers},
	{"a charge names another authorization",
		"UPDATE charges SET acquirer_reference = acquirer_reference || 'x' WHERE captured", "", acquirers},
	{"a dispute says it was won",
		"UPDATE disputes SET status = 'won', reinstatement = withdrawal WHERE status = 'lost'", "", disputes},
	{"a dispute forgets its withdrawal",
		"UPDATE disputes SET status = 'warning_closed', withdrawal = NULL WHERE status = 'lost'", "", disputes},
	{"a dispute is over another amount", "UPDATE disputes SET amount = amount + 1 WHERE status = 'lost'", "", disputes},
	{"the posting of a dispute is gone", "DELETE FROM ledger_postings WHERE kind = 'dispute_reversal'", "", disputes},
	{"a dispute's fee comes back in part",
		"UPDATE ledger_postings SET amounts[2] = amounts[2] - 1 WHERE kind = 'dispute_reversal'", "", disputes},
	{"a charge forgets that it was charged back", "UPDATE charges SET amount_charged_back = 0", "", disputes},
	{"a withdrawal nobody disputed", "UPDATE ledger_postings SET source = source || 'x' WHERE kind = 'dispute'", "",
		sources},
	{"a refund that came back without its posting", `
		UPDATE refunds SET failure_balance_transaction = 'txn_x'
		WHERE failure_balance_transaction IS NOT NULL`, "", refunds},
	{"the chain forgets that a refund came back", "DELETE FROM ledger_refund_chain WHERE returned", "", chained},
	{"a settlement is over another amount", "UPDATE settlements SET amount = amount + 1", "", settled},
	{"a charge does not know that it has settled", `
		UPDATE charges SET settlement_pending = true
		WHERE id IN (SELECT charge_id FROM settlements WHERE movement = 'sale')`, "", settled},
	{"a charge that was paid is forgotten before it shows so", "DELETE FROM charges_to_show", "", settled},
	{"a charge is to be shown and hides nothing",
		"UPDATE charges SET settlement_pending = false WHERE settlement_pending", "", settled},
	{"a posting of a batch mixes two requests",
		"UPDATE settlements SET request_id = request_id || 'x' WHERE movement = 'refund'", "", settled},
	{"a batch is posted without its movements", "DELETE FROM charges_to_show; DELETE FROM settlements", "", settled},
	{"a settled movement is lost with its money",
		"DELETE FROM settlements; DELETE FROM ledger_postings WHERE kind = 'settlement'", "", settledAll},
	{"a settlement is of a movement that no part lists", `
		UPDATE settlements SET acquirer_reference = acquirer_reference || 'x'
		WHERE movement = 'refund'`, "", settledAll},
	{"a settlement is of another charge than was said", `
		UPDATE settlements s SET charge_id = (SELECT c.id FROM charges c WHERE c.captured AND c.id <> s.charge_id
		    LIMIT 1) WHERE movement = 'refund'`, "", settledAll},
	{"a part says it was larger", "UPDATE settlement_parts SET movements = movements + 1, paid = paid + 1", "",
		settledAll},
	{"a part is lost", "DELETE FROM settlement_parts WHERE currency = 'eur'", "", settledAll},
	{"a part of a batch never came",
		"UPDATE inbox SET body = replace(convert_from(body, 'UTF8'), '\"parts\":1', '\"parts\":2')::bytea WHERE " +
			"kind = 'batch.settled'; UPDATE settlement_parts SET parts = 2, created_at = created_at - interval '1 " +
			"hour'", "", settledAll},
	{"a movement waits for hours", `
		INSERT INTO movements_waiting (account_id, acquirer_reference, movement, livemode, authorization_id, batch,
			part, amount, currency, settled_at, received_at, due_at)
			SELECT account_id, acquirer_reference, movement, livemode, acquirer_reference, batch, part, amount,
			       currency, settled_at, settled_at - interval '1 hour', settled_at FROM settlements
			   WHERE movement = 'sale'`, "", settledAll},
	{"a movement is set aside", `
		INSERT INTO movements_set_aside (account_id, acquirer_reference, movement, livemode, request_id,
			authorization_id, batch, part, amount, currency, reason, created_at)
			SELECT account_id, acquirer_reference, movement, livemode, request_id, acquirer_reference, batch, part,
			       amount, currency, 'a reason', settled_at FROM settlements WHERE movement = 'sale'`, "", settledAll},
	{"charges are lost, and messages about them wait", `
		INSERT INTO inbox (source, event_id, kind, digest, body, state, reason, due_at)
		SELECT 'acquirer', 'late ' || c.id, 'refund.failed', sha256(said.body), said.body, 'waiting', 'no refund', now()
		FROM charges c, LATERAL (SELECT convert_to(json_build_object('authorization', c.acquirer_reference)::text,
		    'UTF8') AS body) said WHERE c.acquirer_reference IS NOT NULL; DELETE FROM settlements; DELETE FROM refunds;
		    DELETE FROM disputes; DELETE FROM charges`, "", acquirers},
	{"charges are lost, and their settlements wait", `
		INSERT INTO inbox (source, event_id, kind, digest, body, state, reason, due_at)
		SELECT 'acquirer', 'late ' || c.id, 'batch.settled', sha256(said.body), said.body, 'waiting', 'no account',
		       now() FROM charges c, LATERAL (SELECT convert_to(json_build_object('authorization',
		           c.acquirer_reference)::text, 'UTF8') AS body) said WHERE c.acquirer_reference IS NOT NULL;
		           INSERT INTO movements_waiting (account_id, acquirer_reference, movement, livemode, authorization_id,
		           	batch, part, amount, currency, settled_at, received_at, due_at)
		           	SELECT s.account_id, s.acquirer_reference, s.movement, s.livemode, c.acquirer_reference, s.batch,
		           	       s.part, s.amount, s.currency, s.settled_at, s.settled_at, s.settled_at FROM settlements s
		           	   JOIN charges c ON c.account_id = s.account_id AND c.id = s.charge_id; DELETE FROM settlements;
		           	   DELETE FROM refunds; DELETE FROM disputes; DELETE FROM charges`, "", acquirers},
	{"a settlement nobody announced", "UPDATE ledger_postings SET source = source || 'x' WHERE kind = 'settlement'",
		"", sources},
	{"the events of disputes are lost", "DELETE FROM events WHERE type = 'charge.dispute.funds_reinstated'", "",
		events},
	{"a message is forgotten", "DELETE FROM inbox WHERE kind = 'dispute.opened'", "", messages},
	{"a message says another thing than it said", `
		UPDATE inbox SET body = replace(convert_from(body, 'UTF8'), '2000', '2001')::bytea
		WHERE kind = 'dispute.opened'`, "", messages},
	{"a message was applied by somebody else's request", `
		UPDATE inbox SET request_id = (SELECT id FROM requests WHERE flow = 'charge.create' LIMIT 1)
		WHERE kind = 'refund.failed'`, "", messages},
	{"a message contradicts another", `
		INSERT INTO inbox_contradictions (source, event_id, digest, body) SELECT source, event_id, sha256('x'), 'x'
		FROM inbox LIMIT 1`, "", messages},
	{"a message is set aside", `
		UPDATE inbox SET state = 'set_aside', reason = 'a reason', due_at = NULL, account_id = NULL, request_id = NULL,
		    applied_at = NULL WHERE kind = 'batch.settled'`, "", messages},
	{"a cardholder took more back than we know", "",
		"UPDATE acquirer.movements SET amount = amount + 1 WHERE kind = 'chargeback'", acquirers},
	{"the acquirer has never heard that a refund failed", "",
		"DELETE FROM acquirer.movements WHERE kind = 'refund_failed'", acquirers},
	{"a charge cost more", "UPDATE ledger_postings SET amounts[2] = amounts[2] + 1 WHERE kind = 'charge'", "", fees},
	{"a charge cost nothing but a unit", "UPDATE ledger_postings SET amounts[2] = 1 WHERE kind = 'charge'", "", fees},
	{"a dispute cost more", "UPDATE ledger_postings SET amounts[2] = amounts[2] + 1 WHERE kind = 'dispute'", "", fees},
	{"money is available a week early", `
		UPDATE ledger_postings SET available_on = created_at
		WHERE kind = 'charge' AND available_on > created_at`, "", available},
	{"money is available in ten years", `
		UPDATE ledger_postings SET available_on = available_on + interval '10 years'
		WHERE kind = 'charge'`, "", available},
	{"a refund counts in ten years", `
		UPDATE ledger_postings SET available_on = available_on + interval '10 years'
		WHERE kind = 'refund'`, "", available},
	{"a hold never lapses", `
		UPDATE charges SET capture_before = capture_before + interval '10 years'
		WHERE status = 'succeeded' AND NOT captured`, "", holds},
	{"a delivery is given up that was never tried", `
		UPDATE webhook_deliveries SET state = 'failed', due_at = NULL, ended_at = now() WHERE attempts = 0`, "", ended},
	{"a delivery is canceled to an endpoint that listens", `
		UPDATE webhook_deliveries SET state = 'canceled', due_at = NULL, ended_at = clock_timestamp()`, "", ended},
	{"a delivery is due in ten years", `
		UPDATE webhook_deliveries SET due_at = now() + interval '10 years' WHERE state = 'pending'`, "", ended},
	{"a delivery is claimed for ten years", `
		UPDATE webhook_deliveries SET claimed_by = 'wk_x', claimed_until = now() + interval '10 years'
		WHERE state = 'pending'`, "", ended},
	{"a payout went to another account", "UPDATE payouts SET destination = 'ba_eve'", "", parts},
	{"the bank sent a payout elsewhere", "", "UPDATE acquirer.movements SET card = 'ba_eve' WHERE kind = 'payout'",
		acquirers},
	{"the acquirer charged another card", "", "UPDATE acquirer.movements SET card = 'amex' WHERE kind = 'sale'",
		acquirers},
	{"the acquirer captured in another currency", "",
		"UPDATE acquirer.movements SET currency = 'gbp' WHERE kind = 'capture'", acquirers},
	{"a charge names another card", "UPDATE charges SET card = jsonb_set(card::jsonb, '{vault}', '\"amex\"')::json",
		"", acquirers},
	{"a view pays more", `
		CREATE OR REPLACE VIEW ledger_movements AS SELECT p.book_id, p.id, p.kind, p.source, p.created_at,
		    p.available_on, 1::bigint AS net FROM ledger_postings p WHERE p.source <> ''`, "", secondRule},
	{"a function is replaced", `
		CREATE OR REPLACE FUNCTION account_ahead(of_account text,
		    of_livemode boolean) RETURNS interval LANGUAGE sql STABLE AS $$
		    SELECT interval '1 year' $$`, "", secondRule},
	{"the API may write through a view", "GRANT UPDATE ON ledger_movements TO ratchet_api", "", secondRule},
	{"commits of a role do not wait for the disk", "ALTER ROLE ratchet_auditor SET synchronous_commit = off", "",
		secondRule},
	{"commits of the database do not wait for the disk", `
		DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || quote_ident(current_database())
		    || ' SET synchronous_commit = off';END $$`, "", secondRule},
	{"a login of the API is a superuser", "CREATE ROLE verify_test_login LOGIN SUPERUSER IN ROLE ratchet_api", "",
		secondRule},
	{"a login of the worker may make roles", "CREATE ROLE verify_test_login LOGIN CREATEROLE IN ROLE ratchet_worker",
		"", secondRule},
	{"an answer says another amount", `
		UPDATE answers SET body = convert_to(replace(convert_from(body, 'UTF8'), '2000', '9000'),
		    'UTF8')`, "", vouched},
	{"an answer has other headers", "UPDATE answers SET headers = '{}'", "", vouched},
	{"an answer expires at once", "UPDATE answers SET expires_at = finished_at", "", vouched},
	{"a request has another fingerprint", "UPDATE requests SET fingerprint = sha256(fingerprint)", "", vouched},
	{"a request had other parameters", "UPDATE requests SET params = '{}'", "", vouched},
	{"a request was sent to another path", "UPDATE requests SET path = path || '/x'", "", vouched},
	{"a request had another caller", "UPDATE requests SET context = '{}'", "", vouched},
	{"an audit row is stripped of its details",
		"UPDATE audit_events SET details = NULL, salt = NULL WHERE operation = 'refund.create'", "", missing},
	{"an operator's row is stripped of its details",
		"UPDATE audit_events SET details = NULL, salt = NULL WHERE operation = 'data.erase'", "", missing},
	{"an answer is redacted that nobody erased", "UPDATE answers SET redacted_at = now(), body = '{}'", "", missing},
	{"an endpoint is replaced", "UPDATE webhook_endpoints SET url = 'https://eve.example.com/'", "", endpoints},
	{"an endpoint is switched off by hand", "UPDATE webhook_endpoints SET status = 'disabled'", "", endpoints},
	{"a key opens another account", `
		INSERT INTO accounts (id, name) VALUES ('acct_2', 'Eve');
		UPDATE api_keys SET account_id = 'acct_2'`, "", apiKeys},
	{"a key is replaced", "UPDATE api_keys SET hash = sha256(convert_to(id, 'UTF8'))", "", apiKeys},
	{"a key is put in by hand", `
		INSERT INTO api_keys (id, account_id, livemode, kind, hash, display)
		VALUES ('key_eve', 'acct_1', false, 'secret', sha256('eve'), 'sk_test_eve')`, "", apiKeys},
	{"a key that was revoked works again", "UPDATE api_keys SET expires_at = NULL WHERE expires_at IS NOT NULL", "",
		apiKeys},
	{"a restricted key may do everything",
		"UPDATE api_keys SET kind = 'secret', permissions = NULL WHERE kind = 'restricted'", "", apiKeys},
	{"the audit rows of keys are gone", "DELETE FROM audit_events WHERE operation = 'key.create'", "", apiKeys},
	{"a user is put in by hand", `
		INSERT INTO users (id, email, role, password_hash)
		VALUES ('usr_eve', 'eve@example.com', 'administer', '$argon2id$x')`, "", users},
	{"a user gets another role by hand", "UPDATE users SET role = 'administer'", "", users},
	{"a user's password is replaced", "UPDATE users SET password_hash = '$argon2id$x'", "", users},
	{"a user's second factor is removed", "UPDATE users SET totp_secret = NULL, recovery_codes = '{}'", "", users},
	{"a user that was disabled may log in", "UPDATE users SET disabled_at = NULL", "", users},
	{"a user is deleted", "DELETE FROM user_sessions; DELETE FROM users", "", users},
	{"a session is put in by hand", `
		INSERT INTO user_sessions (id, user_id, hash, complete, address, browser, expires_at)
		SELECT 'uses_eve', id, sha256('eve'), true, '', '', now() FROM users LIMIT 1`, "", logins},
	{"a session without its second factor opens", "UPDATE user_sessions SET complete = true", "", logins},
	{"we forgot the keys we asked under", `
		UPDATE answers SET call_keys = ARRAY['rk_' || request_id] WHERE cardinality(call_keys) = 1`, "", acquirers},
}

// triggersOff lets the damage be done. Guards that fire always have to be
// switched off by the table's owner; verify sees only what is left afterwards.
const triggersOff = `DO $$ DECLARE t text; BEGIN
	PERFORM set_config('lock_timeout', '60s', true); -- a vacuum may be at a table
	FOR t IN SELECT relname FROM pg_class
	WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND relname <> 'schema_revision' LOOP
		EXECUTE format('ALTER TABLE %I DISABLE TRIGGER ALL', t);
	END LOOP; END $$`

func TestEveryDamageIsSeen(t *testing.T) {
	t.Parallel()
	guarded, unguarded := make(chan *books, 1), make(chan *books, 2)
	guarded <- newBooks(t)
	for range cap(unguarded) {
		b := newBooks(t)
		// If each damage switched the triggers off, PostgreSQL would plan all rules again each time.
		if _, err := b.ours.Exec(t.Context(), triggersOff); err != nil {
			t.Fatal(err)
		}
		unguarded <- b
	}
	for _, d := range damages {
		t.Run(d.what, func(t *testing.T) {
			t.Parallel()
			free := unguarded
			if d.ours == "" || d.rule == secondRule || d.rule == accounts {
				free = guarded
			}
			b := <-free
			t.Cleanup(func() { free <- b }) // after what requireNoticed cleans up
			requireNoticed(t, b, d)
		})
	}
}

// ruleNamed is one of the rules that are SQL over our tables.
func ruleNamed(name string) (r rule, is bool) {
	rules := allRules()
	n := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
	if n < 0 {
		return rule{}, false
	}
	return rules[n], true
}

// requireViolated runs one rule, over everything or over a part.
func requireViolated(t *testing.T, tx pgx.Tx, r rule, p *part) {
	t.Helper()
	if c := apart(t.Context(), tx, r.over(p)); c.Unchecked != "" || len(c.Violations) == 0 {
		t.Errorf("%q did not notice, over a part: %v; unchecked: %q", r.name, p != nil, c.Unchecked)
	}
}

func requireNoticed(t *testing.T, b *books, d damage) {
	t.Helper()
	ours, theirs := begin(t, b.ours), begin(t, b.theirs)
	exec(t, ours, d.ours)
	if d.theirs != "" {
		exec(t, theirs, "ALTER TABLE acquirer.movements DISABLE TRIGGER ALL")
		exec(t, theirs, d.theirs)
	}
	if r, is := ruleNamed(d.rule); is && testing.Short() { // all rules take most of the time of this package
		requireViolated(t, ours, r, nil)
		requireNoticedSince(t, ours, d)
		return
	}
	side := readBefore(t.Context(), simulator.Records{DB: theirs})
	report, err := Config{AuditKeys: chainKey}.prove(t.Context(), ours, side)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if c.Unchecked != "" {
			t.Errorf("%q could not be checked: %s", c.Rule, c.Unchecked)
		}
	}
	if report.ExitCode() != Violated || !slices.Contains(broken(report), d.rule) {
		t.Errorf("%q did not notice; what did: %q", d.rule, broken(report))
	}
	requireNoticedSince(t, ours, d)
}

// TestTheChainIsKeyed changes a row and seals the trail again, as an attacker with write
// access to the database can.
func TestTheChainIsKeyed(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	prove := func(tx pgx.Tx, audit trail) Check { return audit.chain(t.Context(), tx) }
	head := prove(begin(t, b.ours), trail{keys: chainKey}).Head

	// reseal replaces all blocks by one over what the rows say now.
	reseal := func(t *testing.T, tx pgx.Tx, format int16, digest func(previous []byte, rows []audit.Row) []byte) {
		t.Helper()
		if _, err := tx.Exec(t.Context(), triggersOff); err != nil {
			t.Fatal(err)
		}
		exec(t, tx, "UPDATE audit_events SET actor = 'somebody' WHERE operation = 'customer.create'")
		found, err := read[audit.Row](t.Context(), tx, selectSealed)
		if err != nil {
			t.Fatal(err)
		}
		var end int64
		if err := tx.QueryRow(t.Context(), "SELECT max(to_xid) FROM audit_blocks").Scan(&end); err != nil {
			t.Fatal(err)
		}
		rows := slices.DeleteFunc(found, func(r audit.Row) bool { return r.XID >= end })
		previous := make([]byte, 32)
		exec(t, tx, "DELETE FROM audit_blocks")
		_, err = tx.Exec(t.Context(), `
			INSERT INTO audit_blocks (no, from_xid, to_xid, rows, previous, digest, format)
			VALUES (1, 0, $1, $2, $3, $4, $5)`,
			end, len(rows), previous, digest(previous, rows), format)
		if err != nil {
			t.Fatal(err)
		}
	}
	with := func(key []byte) func([]byte, []audit.Row) []byte {
		return func(previous []byte, rows []audit.Row) []byte { return audit.Digest(key, previous, rows) }
	}

	t.Run("a chain that was computed again under another key is noticed", func(t *testing.T) {
		tx := begin(t, b.ours)
		reseal(t, tx, keyed, with([]byte("a guess")))
		if c := prove(tx, trail{keys: chainKey}); len(c.Violations) == 0 {
			t.Error("not noticed")
		}
	})

	t.Run("a chain that was computed again without a key is noticed", func(t *testing.T) {
		tx := begin(t, b.ours)
		reseal(t, tx, unkeyed, with(nil))
		c := prove(tx, trail{keys: chainKey})
		if !slices.ContainsFunc(c.Violations, func(v Violation) bool {
			return strings.Contains(v.Wrong, "has no key")
		}) {
			t.Errorf("it says %v", c.Violations)
		}
	})

	t.Run("a chain that the holder of the key computed again differs from a head that was kept", func(t *testing.T) {
		tx := begin(t, b.ours)
		if c := prove(tx, trail{chainKey, head}); len(c.Violations) > 0 || c.Unchecked != "" {
			t.Fatalf("before: %v %s", c.Violations, c.Unchecked)
		}
		reseal(t, tx, keyed, with(sealKey))
		if c := prove(tx, trail{keys: chainKey}); len(c.Violations) > 0 {
			t.Fatalf("the key's holder cannot do it, either: %v", c.Violations)
		}
		if c := prove(tx, trail{chainKey, head}); len(c.Violations) != 1 {
			t.Errorf("it says %v", c.Violations)
		}
	})

	t.Run("without the key the chain is not checked, and nothing says that it holds", func(t *testing.T) {
		if c := prove(begin(t, b.ours), trail{}); c.Unchecked == "" {
			t.Error("it is reported as checked")
		}
	})
}

func begin(t *testing.T, pool *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(t.Context()) })
	// One of two transactions waits while work is done in the other.
	_, err = tx.Exec(t.Context(),
		"SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = '60s'")
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func exec(t *testing.T, tx pgx.Tx, sql string) {
	t.Helper()
	for statement := range strings.SplitSeq(sql, "; ") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		tag, err := tx.Exec(t.Context(), statement)
		if err != nil {
			t.Fatalf("%s: %s", statement, err)
		}
		if tag.RowsAffected() == 0 && (tag.Update() || tag.Delete() || tag.Insert()) {
			t.Fatalf("%s: damaged nothing", statement)
		}
	}
}

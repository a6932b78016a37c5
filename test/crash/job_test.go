//go:build unix

package crash_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	acquirers "github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/adoption"
	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/crashpoint"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/endpoint"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	registry "github.com/ratchet-pay/ratchet/internal/operation"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/payout"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/session"
	"github.com/ratchet-pay/ratchet/internal/webhook"
)

// job is what a worker does in the background. No client sends a request that could
// be armed, and in a worker many jobs run at once: so each is done by a process of
// its own, which is this very test binary, and does nothing else.
type job struct {
	name  string
	flows []string // what it runs, in order; none where it asks the engine for nothing
	// prepare makes what the job will find due.
	prepare func(s scenario)
	do      func(ctx context.Context, h *hand) error
	leaves  []string // in the books, when a worker has come by
	command bool     // an operator does it and, if it dies, does it again
}

// hand is the process that does a job: what the parts of a worker are given.
type hand struct {
	pool   *pgxpool.Pool
	engine *phase.Engine
	owner  string
}

var jobs = []job{
	{
		name: "automatic payout", flows: []string{"payout.daily"},
		prepare: func(s scenario) {
			s.earn()
			s.exec(`INSERT INTO payout_schedules (account_id, livemode, frequency, since)
				VALUES ($1, false, 'daily', current_date)`)
		},
		do: func(ctx context.Context, h *hand) error {
			_, err := payout.MakeAutomaticPayouts(ctx, h.engine, h.pool)
			return err
		},
		leaves: append([]string{"1 × payout pending of 970969", "1 × posted: payout of 970969",
			"1 × event payout.created", "1 × audited: payout.daily",
			"2 × request finished", "2 × call executed"}, earned...),
	},
	{
		name: "departure of a payout", flows: []string{"payout.depart"},
		prepare: func(s scenario) {
			s.made(s.payout())
			s.exec("UPDATE payouts SET departs_at = now() - interval '1 second' WHERE account_id = $1")
		},
		do: func(ctx context.Context, h *hand) error {
			_, err := payout.MovePayouts(ctx, h.engine, h.pool)
			return err
		},
		leaves: append([]string{"1 × the card saw: payout", "1 × payout in_transit", "1 × posted: payout",
			"1 × event payout.created", "1 × event payout.updated",
			"1 × audited: payout.create", "1 × audited: payout.depart", "3 × request finished", "2 × call executed"},
			earned...),
	},
	{
		name: "arrival of a payout", flows: []string{"payout.depart", "payout.arrive"},
		prepare: func(s scenario) {
			s.made(s.payout())
			s.exec(`
				UPDATE payouts SET departs_at = now() - interval '2 seconds', arrives_at = now() - interval '1 second'
				WHERE account_id = $1`)
		},
		do: func(ctx context.Context, h *hand) error {
			for range 2 { // it departs, and has arrived
				if _, err := payout.MovePayouts(ctx, h.engine, h.pool); err != nil {
					return err
				}
			}
			return nil
		},
		leaves: append([]string{"1 × the card saw: payout", "1 × payout paid", "1 × posted: payout",
			"1 × event payout.created", "1 × event payout.updated",
			"1 × event payout.paid", "1 × audited: payout.create", "1 × audited: payout.depart",
			"1 × audited: payout.arrive", "4 × request finished", "2 × call executed"}, earned...),
	},
	{
		name: "expiry of an authorization", flows: []string{"charge.expire"},
		prepare: func(s scenario) {
			s.made(s.hold())
			s.exec(expireNow)
		},
		do: func(ctx context.Context, h *hand) error {
			_, err := payment.ExpireAuthorizations(ctx, h.engine)
			return err
		},
		leaves: []string{"1 × the card saw: hold", "1 × the card saw: release", "1 × charge succeeded",
			"1 × refund succeeded",
			"1 × event charge.succeeded", "1 × event refund.created", "1 × event charge.refunded",
			"1 × event charge.expired", "1 × audited: charge.create", "1 × audited: charge.expire",
			"2 × request finished", "2 × call executed"},
	},
	{
		name: "expiry of what an intent holds", flows: []string{"payment_intent.cancel"},
		prepare: func(s scenario) {
			s.made(s.intent("pm_card_visa", "manual"))
			s.exec(expireNow)
		},
		do: func(ctx context.Context, h *hand) error {
			_, err := payment.ExpireAuthorizations(ctx, h.engine)
			return err
		},
		leaves: append([]string{"1 × event charge.expired"}, leavesOf("cancellation of an intent")...),
	},
	{
		name: "end of a checkout session's time", flows: []string{"checkout_session.expire"},
		prepare: func(s scenario) {
			s.made(s.checkout())
			s.exec("UPDATE checkout_sessions SET expires_at = now() - interval '1 second' WHERE account_id = $1")
		},
		do: func(ctx context.Context, h *hand) error {
			_, err := session.ExpireDueSessions(ctx, h.engine, 10)
			return err
		},
		leaves: leavesOf("expiry of a checkout session"),
	},
	{
		name: "word that money has become available", flows: []string{"balance.notify"},
		prepare: func(s scenario) { s.earn() },
		do: func(ctx context.Context, h *hand) error {
			_, err := new(payout.BalanceNotifier).Run(ctx, h.engine, h.pool)
			return err
		},
		leaves: append([]string{"1 × event balance.available", "1 × audited: balance.notify",
			"1 × request finished: balance.notify", "1 × request finished", "1 × call executed"}, earned...),
	},
	{
		name: "end of a test clock's advance", flows: []string{"test_clock.ready"},
		prepare: func(s scenario) {
			s.new("/v1/test_helpers/test_clocks/"+s.clock()+"/advance", "frozen_time", "1700086400")
			s.exec("UPDATE test_clocks SET advanced_at = now() - interval '4 seconds' WHERE account_id = $1")
		},
		do: func(ctx context.Context, h *hand) error {
			_, err := customer.ReadyTestClocks(ctx, h.engine, h.pool)
			return err
		},
		leaves: []string{"1 × clock ready", "1 × event test_helpers.test_clock.created",
			"1 × event test_helpers.test_clock.advancing", "1 × event test_helpers.test_clock.ready",
			"1 × audited: test_clock.create", "1 × audited: test_clock.advance", "1 × audited: test_clock.ready",
			"3 × request finished"},
	},
	{
		name: "message that came too early", flows: []string{"acquirer.dispute.closed"},
		prepare: func(s scenario) {
			s.made(s.charge("tok_createDispute"))
			opened := report(s, s.healthy.outside, acquirers.DisputeOpened, s.amount)
			early := bytes.Replace(opened, []byte(acquirers.DisputeOpened), []byte(acquirers.DisputeClosed), 1)
			s.receive(bytes.Replace(early, []byte(`"id":"`), []byte(`"outcome":"won","id":"early_`), 1))
			s.receive(opened)
			s.script("UPDATE inbox SET due_at = now() - interval '1 second' WHERE state = 'waiting'")
		},
		do: func(ctx context.Context, h *hand) error {
			_, err := inbox.Open(h.pool, registry.ApplyNotification(h.engine), slog.New(slog.DiscardHandler)).
				ApplyDue(ctx)
			return err
		},
		leaves: append([]string{"1 × the card saw: chargeback", "1 × dispute won", "1 × posted: dispute",
			"1 × posted: dispute_reversal",
			"1 × event charge.dispute.created", "1 × event charge.dispute.funds_withdrawn",
			"1 × event charge.dispute.closed", "1 × event charge.dispute.funds_reinstated",
			"1 × audited: acquirer.dispute.opened", "1 × audited: acquirer.dispute.closed", "3 × request finished",
			"1 × call executed"}, sold...),
	},
	{
		name: "settlement that came before its charge", flows: []string{"settlement.late"},
		prepare: func(s scenario) {
			s.made(s.charge("tok_visa"))
			s.exec("UPDATE charges SET acquirer_reference = 'hidden ' || acquirer_reference WHERE account_id = $1")
			s.receive(s.settlement("replace(acquirer_reference, 'hidden ', '')"))
			s.exec(`
				UPDATE charges SET acquirer_reference = replace(acquirer_reference, 'hidden ', '')
				WHERE account_id = $1`)
		},
		do: func(ctx context.Context, h *hand) error {
			_, err := payout.BookWaiting(ctx, h.engine, h.pool)
			return err
		},
		leaves: append([]string{"1 × settled: sale", "1 × audited: acquirer.batch.settled",
			"1 × audited: settlement.late", "3 × request finished", "1 × call executed"}, sold...),
	},
	{
		name: "word that a charge was paid", flows: []string{"settlement.show"},
		prepare: func(s scenario) {
			s.made(s.charge("tok_visa"))
			s.exec("UPDATE charges SET settlement_pending = true WHERE account_id = $1")
			s.receive(s.settlement("acquirer_reference"))
		},
		do: func(ctx context.Context, h *hand) error {
			_, err := payout.ShowPaid(ctx, h.engine, h.pool)
			return err
		},
		leaves: append([]string{"1 × settled: sale", "1 × event charge.updated", "1 × audited: acquirer.batch.settled",
			"1 × audited: settlement.show",
			"3 × request finished", "1 × call executed"}, sold...),
	},
	{
		name:  "adoption of what a restored backup has lost",
		flows: []string{"charge.adopt", "charge.adopt_capture", "refund.adopt"},
		prepare: func(s scenario) {
			held := s.execute("hold", acquirers.Request{Verb: acquirers.VerbAuthorize, Order: acquirers.Order{
				Merchant: s.merchant.account, Card: "visa", Amount: s.amount, Currency: "usd", Object: "ch_lost"}})
			order := acquirers.Order{Authorization: held.Reference, Amount: s.amount, Currency: "usd"}
			s.execute("capture", acquirers.Request{Verb: acquirers.VerbCapture, Order: order})
			s.execute("refund", acquirers.Request{Verb: acquirers.VerbRefund, Order: order})
		},
		do:      adoptAll,
		command: true,
		leaves: []string{"1 × the card saw: hold", "1 × the card saw: capture", "1 × the card saw: refund",
			"1 × charge succeeded and captured", "1 × refund succeeded", "1 × posted: charge", "1 × posted: refund",
			"1 × event charge.succeeded", "1 × event charge.captured", "1 × event refund.created",
			"1 × event charge.refunded", "1 × audited: charge.adopt", "1 × audited: charge.adopt_capture",
			"1 × audited: refund.adopt", "3 × request finished"},
	},
	{
		name: "archiving of an answer",
		prepare: func(s scenario) {
			s.new("/v1/customers")
			s.script(`ALTER TABLE answers DISABLE TRIGGER answers_are_final;
				UPDATE answers SET expires_at = now() - interval '1 second';
				ALTER TABLE answers ENABLE ALWAYS TRIGGER answers_are_final`)
		},
		do: func(ctx context.Context, h *hand) error {
			_, err := idempotency.Reap(ctx, h.pool, 10)
			return err
		},
		leaves: []string{"1 × customer", "1 × event customer.created", "1 × audited: customer.create",
			"1 × request archived", "1 × answer archived"},
	},
	{
		name: "delivery to a webhook endpoint",
		prepare: func(s scenario) {
			shop := listen(s)
			s.new("/v1/webhook_endpoints", "url", shop.url, "enabled_events[]", "customer.created")
			s.new("/v1/customers")
			// However often it was sent, and by which worker: it is one event, and it was sent.
			s.Cleanup(func() { shop.wantOneEvent(s) })
		},
		do: func(ctx context.Context, h *hand) error {
			var to webhook.EndpointKey
			err := h.pool.QueryRow(ctx, "SELECT account_id, id FROM webhook_endpoints").
				Scan(&to.AccountID, &to.EndpointID)
			if err != nil {
				return err
			}
			deliverer := webhook.NewDeliverer(webhook.Parts{
				Pool:     h.pool,
				Config:   webhook.Config{AllowLoopback: true},
				Keys:     secret.Root(rootSecret).Keys(secret.Webhooks),
				Owner:    h.owner,
				Render:   event.RenderEvent,
				Disabled: endpoint.EndpointDisabled,
				Log:      slog.New(slog.DiscardHandler),
			})
			_, err = deliverer.Deliver(ctx, to)
			return err
		},
		leaves: []string{"1 × endpoint enabled", "1 × customer", "1 × delivery succeeded",
			"1 × event customer.created", "1 × audited: webhook_endpoint.create", "1 × audited: customer.create",
			"2 × request finished"},
	},
}

// execute has the acquirer execute an order that no request here made.
func (s scenario) execute(name string, order acquirers.Request) acquirers.Result {
	s.Helper()
	body, err := json.Marshal(order)
	if err != nil {
		s.Fatal(err)
	}
	url := "http://" + s.in.acquirer.addr + acquirers.OperationsPath + name + "_of_" + s.merchant.account
	request, err := http.NewRequestWithContext(s.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+acquirerSecret)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	var done acquirers.Operation
	if err := json.NewDecoder(response.Body).Decode(&done); err != nil || !done.Result.Approved {
		s.Fatalf("%s: status %d, %+v, %v", name, response.StatusCode, done, err)
	}
	return done.Result
}

// adoptAll is what "ratchet reconcile --adopt" does. The acquirer also works for other
// installations, whose accounts are not here.
func adoptAll(ctx context.Context, h *hand) error {
	client := acquirers.NewClient(acquirers.Config{URL: os.Getenv("RATCHET_ACQUIRER_URL"), Secret: acquirerSecret})
	defer client.Close()
	lost, err := adoption.Find(ctx, h.pool, client, time.Now().Add(-time.Hour))
	if err != nil {
		return err
	}
	for _, l := range lost {
		if l.Why != "" {
			continue
		}
		if _, err := l.Adopt(ctx, h.engine, "tester"); err != nil {
			return err
		}
	}
	return nil
}

// settlement is the acquirer's notification about the stage's one charge, whose
// authorization an expression names.
func (s scenario) settlement(reference string) []byte {
	s.Helper()
	var authorization string
	err := s.in.db.QueryRow(s.Context(), "SELECT "+reference+" FROM charges WHERE account_id = $1", s.merchant.account).
		Scan(&authorization)
	if err != nil {
		s.Fatal(err)
	}
	body, err := json.Marshal(acquirers.SettledPart{
		ID:       "note_settled",
		Kind:     acquirers.BatchSettled,
		At:       time.Now(),
		Merchant: s.merchant.account,
		Currency: "usd",
		Batch:    "batch_1",
		Part:     1,
		Parts:    1,
		Count:    1,
		Paid:     s.amount,
		Movements: []acquirers.SettledMovement{{
			Kind:          "sale",
			Authorization: authorization,
			Reference:     authorization,
			Amount:        s.amount,
		}},
	})
	if err != nil {
		s.Fatal(err)
	}
	return body
}

const expireNow = "UPDATE charges SET capture_before = now() - interval '1 second' WHERE account_id = $1"

// shop is a merchant's server that accepts every event.
type shop struct {
	url    string
	mu     sync.Mutex
	events []string
}

func listen(t testing.TB) *shop {
	t.Helper()
	s := &shop{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // who told it died in the middle
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events = append(s.events, string(body))
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *shop) wantOneEvent(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.events); n < 1 || n > 2 {
		t.Errorf("the event was told %d times, want once, or twice where the first time was not written down", n)
	}
	if different := slices.Compact(slices.Sorted(slices.Values(s.events))); len(different) > 1 {
		t.Errorf("it was told differently: %q", different)
	}
}

// TestEveryBoundaryOfAJob kills the process that does a job at each of its
// boundaries in turn. A worker that comes later has to do the rest of it.
func TestEveryBoundaryOfAJob(t *testing.T) {
	t.Parallel()
	acquirer := startAcquirer(t, "--fault", "late_notifications")
	for _, j := range jobs {
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			record := filepath.Join(t.TempDir(), "boundaries")
			j.die(t, acquirer, 0, record)
			text, err := os.ReadFile(record)
			if err != nil {
				t.Fatal(err)
			}
			passed := strings.Split(strings.TrimSpace(string(text)), "\n")
			chosen := operation{name: j.name}.choose(&finisher{name: "by a worker"}, len(passed))
			if !full {
				chosen = chosen[:min(len(chosen), jobSample)]
			}
			t.Logf("dies at %d of %d boundaries", len(chosen), len(passed))
			for _, before := range chosen {
				t.Run(fmt.Sprintf("%03d %s", before+1, passed[before]), func(t *testing.T) {
					t.Parallel()
					j.die(t, acquirer, before+1, "")
				})
			}
		})
	}
}

// jobSample is how many boundaries of a job are tried where not every one is:
// each has its own database, because a job does everything that is due.
const jobSample = 6

// die lets a process do the job until boundary n and a worker do the rest; at 0
// it does all of it, and writes down the boundaries that it passes.
func (j job) die(t *testing.T, a *acquirer, at int, record string) {
	i := installOnFastServer(t, a)
	i.env = append(i.env, "RATCHET_WEBHOOK_ALLOW_LOOPBACK=1")
	s := i.stage(t, i.serve(t))
	j.prepare(s)
	s.healthy.leave()
	before := number(t, i.db, "SELECT count(*) FROM audit_events")

	victim := exec.Command(os.Args[0])
	victim.Env = append(append(os.Environ(), i.env...), crashpoint.Enable+"=1", crashpoint.Record+"="+record,
		jobVar+"="+j.name, jobAtVar+"="+strconv.Itoa(at))
	out, err := victim.CombinedOutput()
	status, is := victim.ProcessState.Sys().(syscall.WaitStatus)
	killed := is && status.Signaled() && status.Signal() == syscall.SIGKILL
	if killed != (at > 0) || at == 0 && err != nil {
		t.Fatalf("killed: %v, %v\n%s", killed, err, out)
	}
	if at == 0 {
		ran, err := lines(t.Context(), i.db, "SELECT operation FROM audit_events ORDER BY at OFFSET @before",
			postgres.Args{"before": before})
		if err != nil || !slices.Equal(ran, j.flows) {
			t.Errorf("the flows that ran are %q, not %q (%v)", ran, j.flows, err)
		}
	}
	if at > 0 && j.command {
		again := exec.Command(os.Args[0])
		again.Env = append(append(os.Environ(), i.env...), crashpoint.Enable+"=1", jobVar+"="+j.name, jobAtVar+"=0")
		if out, err := again.CombinedOutput(); err != nil {
			t.Fatalf("done again: %v\n%s", err, out)
		}
	}
	worker := i.work(t)
	deadline := time.Now().Add(timeout)
	for got, want := i.books(t, s.merchant, s.amount, j.leaves), sorted(j.leaves); !slices.Equal(got,
		want); got = i.books(t, s.merchant, s.amount, j.leaves) {
		if time.Now().After(deadline) {
			t.Fatalf("the books are\n%s\nand should be\n%s", list(got), list(want))
		}
		time.Sleep(100 * time.Millisecond)
	}
	if open := number(t, i.db, "SELECT count(*) FROM webhook_attempts WHERE ended_at IS NULL"); open > 1 {
		t.Errorf("%d attempts to deliver have no end, want none but that of the dead", open)
	}
	worker.leave() // the first death's worker would otherwise work beside all others
}

// The variables that make this binary do a job instead of testing anything.
const (
	jobVar   = "RATCHET_CRASH_JOB"
	jobAtVar = "RATCHET_CRASH_JOB_AT"
)

// doJob is the process that does one job, and counts its boundaries like those
// of a request.
func doJob(name string) error {
	ctx, points := context.Background(), crashpoint.FromEnvironment()
	n := slices.IndexFunc(jobs, func(j job) bool { return j.name == name })
	if n < 0 || points == nil {
		return fmt.Errorf("there is no job %q, or nothing to crash it", name)
	}
	h, err := newHand(ctx, points)
	if err != nil {
		return err
	}
	armed := httptest.NewRequest(http.MethodPost, "/", nil)
	armed.Header.Set(crashpoint.AtHeader, os.Getenv(jobAtVar))
	points.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { err = jobs[n].do(ctx, h) })).
		ServeHTTP(httptest.NewRecorder(), armed)
	return err
}

// newHand puts the parts together as package process does for a worker.
func newHand(ctx context.Context, points *crashpoint.Points) (h *hand, err error) {
	const role = "ratchet_worker"
	h = &hand{}
	h.pool, err = postgres.Open(ctx, postgres.Config{
		URL:      os.Getenv("RATCHET_DATABASE_URL"),
		Role:     role,
		MaxConns: 4,
		DialFunc: points.DialDatabase(),
	})
	if err != nil {
		return nil, err
	}
	heart, err := postgres.Open(ctx, postgres.Config{URL: os.Getenv("RATCHET_DATABASE_URL"), Role: role, MaxConns: 1})
	if err != nil {
		return nil, err
	}
	liveness, err := idempotency.NewLiveness(ctx, heart, "work")
	if err != nil {
		return nil, err
	}
	go liveness.Run(ctx)
	h.owner = liveness.ID
	root := secret.Root(rootSecret)
	h.engine = phase.NewEngine(phase.Config{
		Pool:   h.pool,
		Secret: root.For(secret.Idempotency),
		Roots:  secret.Only(root),
		Owner:  h.owner,
		Record: audit.Record,
		Log:    slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	phase.Connect[acquirers.Acquirer](h.engine, acquirers.Port, acquirers.NewClient(acquirers.Config{
		URL: os.Getenv("RATCHET_ACQUIRER_URL"), Secret: acquirerSecret, DialContext: points.DialAcquirer()}))
	return h, registry.Register(ctx, h.engine)
}

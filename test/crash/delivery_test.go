//go:build unix

package crash_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	acquirers "github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/crashpoint"
)

const notificationSecret = "the secret that the acquirer signs with"

// outbox reads what the acquirer has to tell about the payment of an amount, or of
// several if one of them has it. The acquirer itself sends it nowhere: these
// tests deliver it.
const outbox = `
	SELECT body FROM acquirer.outbox
	WHERE kind = $1 AND (convert_from(body, 'UTF8')::jsonb->>'amount' = $2
	   OR convert_from(body, 'UTF8')::jsonb->'movements'
	   @> jsonb_build_array(jsonb_build_object('amount', $2::text::bigint)))`

func report(t testing.TB, journal *pgxpool.Pool, kind string, amount int64) (body []byte) {
	t.Helper()
	eventually(t, "the acquirer has a "+kind+" to tell", func() bool {
		err := journal.QueryRow(t.Context(), outbox, kind, strconv.FormatInt(amount, 10)).Scan(&body)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			t.Fatal(err)
		}
		return err == nil
	})
	return body
}

// notify delivers a message once; 0 is no answer. headers come in pairs.
func notify(p *process, body []byte, headers ...string) (status int, err error) {
	q, err := http.NewRequest(http.MethodPost, "http://"+p.addr+acquirers.NotificationsPath, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	q.Header.Set(acquirers.SignatureHeader, acquirers.Sign(notificationSecret, body, time.Now()))
	for n := 0; n < len(headers); n += 2 {
		q.Header.Set(headers[n], headers[n+1])
	}
	response, err := client.Do(q)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, nil
}

// deliver has a process take a message. It goes on while the process asks for that, as an acquirer does.
func deliver(t testing.TB, p *process, body []byte) {
	t.Helper()
	eventually(t, "the message is taken", func() bool {
		status, err := notify(p, body)
		if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Fatalf("the delivery is answered %d, %v", status, err)
		}
		return status == http.StatusOK
	})
}

// delivery is a message, and what it leaves behind with all that came before.
type delivery struct {
	kind    string
	prepare func(s scenario)
	leaves  []string
}

// flow is what it is applied by.
func (d delivery) flow() string { return "acquirer." + d.kind }

func refundedTo(card string) func(s scenario) {
	return func(s scenario) { s.new("/v1/refunds", "charge", s.made(s.charge(card))) }
}

var sold = []string{"1 × the card saw: sale", "1 × charge succeeded and captured", "1 × posted: charge",
	"1 × event charge.succeeded", "1 × audited: charge.create"}

var deliveries = []delivery{
	{
		kind:    acquirers.DisputeOpened,
		prepare: func(s scenario) { s.made(s.charge("tok_createDispute")) },
		leaves: append([]string{"1 × the card saw: chargeback", "1 × dispute needs_response", "1 × posted: dispute",
			"1 × event charge.dispute.created", "1 × event charge.dispute.funds_withdrawn",
			"1 × audited: acquirer.dispute.opened", "2 × request finished", "1 × call executed"}, sold...),
	},
	{
		kind: acquirers.DisputeClosed,
		prepare: func(s scenario) {
			_, dispute := s.disputed("tok_createDispute")
			s.new("/v1/disputes/"+dispute, "evidence[uncategorized_text]", "winning_evidence")
		},
		leaves: append([]string{"1 × the card saw: chargeback", "1 × the card saw: chargeback_reversal",
			"1 × the card saw: approved", "1 × dispute won", "1 × posted: dispute", "1 × posted: dispute_reversal",
			"1 × event charge.dispute.created", "1 × event charge.dispute.funds_withdrawn",
			"1 × event charge.dispute.updated", "1 × event charge.dispute.closed",
			"1 × event charge.dispute.funds_reinstated", "1 × audited: acquirer.dispute.opened",
			"1 × audited: dispute.update", "1 × audited: acquirer.dispute.closed", "4 × request finished",
			"2 × call executed"}, sold...),
	},
	{
		kind: acquirers.DisputeEscalated,
		prepare: func(s scenario) {
			_, inquiry := s.disputed("tok_createDisputeInquiry")
			s.new("/v1/disputes/"+inquiry, "evidence[uncategorized_text]", "escalate_inquiry_evidence")
		},
		leaves: append([]string{"1 × the card saw: chargeback", "1 × the card saw: approved",
			"1 × dispute needs_response", "1 × posted: dispute",
			"1 × event charge.dispute.created", "2 × event charge.dispute.updated",
			"1 × event charge.dispute.funds_withdrawn", "1 × audited: acquirer.dispute.opened",
			"1 × audited: dispute.update", "1 × audited: acquirer.dispute.escalated", "4 × request finished",
			"2 × call executed"}, sold...),
	},
	{
		kind:    acquirers.BatchSettled,
		prepare: func(s scenario) { s.sold() },
		leaves: append([]string{"1 × settled: sale", "1 × audited: acquirer.batch.settled", "2 × request finished",
			"1 × call executed"}, sold...),
	},
	{
		kind: acquirers.RefundFailed, prepare: refundedTo("tok_refundFail"),
		leaves: append([]string{"1 × the card saw: refund", "1 × the card saw: refund_failed", "1 × refund failed",
			"1 × posted: refund", "1 × posted: refund_failure",
			"1 × event refund.created", "1 × event charge.refunded", "1 × event refund.failed",
			"1 × event refund.updated", "1 × event charge.refund.updated", "1 × audited: refund.create",
			"1 × audited: acquirer.refund.failed", "3 × request finished", "2 × call executed"}, sold...),
	},
	{
		kind: acquirers.RefundSucceeded, prepare: refundedTo("tok_pendingRefund"),
		leaves: append([]string{"1 × the card saw: refund", "1 × refund succeeded", "1 × posted: refund",
			"1 × event refund.created", "1 × event charge.refunded", "1 × event refund.updated",
			"1 × event charge.refund.updated", "1 × audited: refund.create", "1 × audited: acquirer.refund.succeeded",
			"3 × request finished", "2 × call executed"}, sold...),
	},
}

// TestEveryBoundaryOfADelivery kills the process that takes a message at each of
// its boundaries in turn. The acquirer then does what it does without an
// acknowledgement: it says it again, here even twice.
func TestEveryBoundaryOfADelivery(t *testing.T) {
	t.Parallel()
	// an acquirer settles only if its notifications have a receiver
	deaf := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(deaf.Close)
	i := installOnFastServer(t, startAcquirer(t, "--settle-every", "100ms", "--notify-url", deaf.URL,
		"--fault", "late_notifications"))
	healthy := i.serve(t)
	for _, d := range deliveries {
		t.Run(d.kind, func(t *testing.T) {
			t.Parallel()
			s := i.stage(t, healthy)
			d.prepare(s)
			record := filepath.Join(t.TempDir(), "boundaries")
			p := i.victim(t, record)
			status, err := notify(p, report(t, i.acquirer.journal, d.kind, s.amount), crashpoint.AtHeader, "0")
			if status != http.StatusOK {
				t.Fatalf("answered %d, %v", status, err)
			}
			p.leave()
			i.wantBooks(t, s.merchant, s.amount, d.leaves...)
			i.wantFlow(t, s.merchant, d.flow())
			text, err := os.ReadFile(record)
			if err != nil {
				t.Fatal(err)
			}
			passed := strings.Split(strings.TrimSpace(string(text)), "\n")
			f := &finisher{name: "by the next delivery"}
			for _, before := range (operation{name: d.kind}).choose(f, len(passed)) {
				t.Run(strconv.Itoa(before+1)+" "+passed[before], func(t *testing.T) {
					t.Parallel()
					d.die(t, i, healthy, before+1)
				})
			}
		})
	}
}

func (d delivery) die(t testing.TB, i *installation, healthy *process, at int) {
	s := i.stage(t, healthy)
	d.prepare(s)
	body := report(t, i.acquirer.journal, d.kind, s.amount)
	p := i.victim(t, "")
	status, err := notify(p, body, crashpoint.AtHeader, strconv.Itoa(at))
	if err == nil && !p.dies() {
		t.Fatalf("the process lives and answered %d", status)
	}
	for range 2 {
		deliver(t, healthy, body)
	}
	i.wantBooks(t, s.merchant, s.amount, d.leaves...)
}

package acquirertest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// apart is how far the acquirer's clock may be from ours.
const apart = time.Hour

func (c *conformance) theRecordsSayWhatHappened(t *testing.T) {
	from, to := time.Now().Add(-apart), time.Now().Add(apart)

	t.Run("a statement lists what moved under a key", func(t *testing.T) {
		key := c.key()
		sold := c.answer(t, key, authorize, c.sale(1200))
		lines, err := c.Adapter.Statement(t.Context(), key)
		if err != nil || len(lines) != 1 {
			t.Fatalf("the statement is %+v, %v", lines, err)
		}
		line := lines[0]
		if line.Key != key || line.Reference != sold.Reference || line.Authorization != sold.Reference ||
			line.Kind != acquirer.KindSale || line.Amount != 1200 || line.Currency != "usd" || line.Card != c.Card ||
			line.At.Before(from) || line.At.After(to) {
			t.Errorf("the statement of a sale is %+v", line)
		}
	})

	t.Run("the summary counts charges, and no key that charged twice", func(t *testing.T) {
		before, err := c.Adapter.Summary(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		key := c.key()
		c.answer(t, key, authorize, c.sale(1200))
		c.answer(t, key, authorize, c.sale(1200))
		after, err := c.Adapter.Summary(t.Context())
		if err != nil || after.Charges != before.Charges+1 || after.Twice != before.Twice {
			t.Errorf("the summary is %+v, and after a sale %+v, %v", before, after, err)
		}
	})

	t.Run("the settlement file lists what moved, and nothing that was reversed", func(t *testing.T) {
		held := c.approved(t, authorize, c.hold(1000))
		captured, undone := c.key(), c.key()
		taken := c.answer(t, captured, capture, of(held, 700))
		c.answer(t, undone, authorize, c.sale(1000))
		_, _ = c.call(t, undone, phase.Reverse, authorize, c.sale(1000))
		file, err := c.Adapter.Settlement(t.Context(), from, to)
		if err != nil {
			t.Fatal(err)
		}
		ours := slices.DeleteFunc(file, func(l acquirer.SettlementLine) bool {
			return l.Key != captured && l.Key != undone
		})
		if len(ours) != 1 {
			t.Fatalf("the settlement file lists %+v", ours)
		}
		line := ours[0]
		if line.Reference != taken.Reference || line.Authorization != held.Reference || line.Amount != 700 ||
			line.Kind != acquirer.KindCapture || line.Currency != "usd" {
			t.Errorf("the settlement file has the line %+v", line)
		}
	})

	c.theAuthorizationsSayWhatHappened(t, from, to)
}

func (c *conformance) theAuthorizationsSayWhatHappened(t *testing.T, from, to time.Time) {
	t.Run("an authorization lists what was executed, under the object that came first", func(t *testing.T) {
		key, order := c.key(), c.sale(1000)
		order.Object = "ch_conformance"
		sold := c.answer(t, key, authorize, order)
		refunded, undone := c.key(), c.key()
		c.answer(t, refunded, refund, of(sold, 100))
		c.answer(t, undone, refund, of(sold, 200))
		_, _ = c.call(t, undone, phase.Reverse, refund, of(sold, 200))

		a := c.authorization(t, sold.Reference, from, to)
		if a.Merchant != c.Merchant || a.Card != c.Card || a.Currency != "usd" || len(a.Executed) != 2 {
			t.Fatalf("the authorization is %+v", a)
		}
		first, second := a.Executed[0], a.Executed[1]
		if first.Key != key || first.Kind != acquirer.KindSale || first.Object != "ch_conformance" ||
			first.Amount != 1000 || !same(first.Result, sold) {
			t.Errorf("it lists the sale %+v", first)
		}
		if second.Key != refunded || second.Kind != acquirer.KindRefund || second.Amount != 100 {
			t.Errorf("it lists the refund %+v", second)
		}
	})

	t.Run("an acquirer that cannot be reached has no empty records", func(t *testing.T) {
		_, err := c.Unreachable.Statement(t.Context(), "any")
		_, sums := c.Unreachable.Summary(t.Context())
		_, settlement := c.Unreachable.Settlement(t.Context(), from, to)
		_, authorizations := c.Unreachable.Authorizations(t.Context(), from, to)
		for name, err := range map[string]error{"statement": err, "summary": sums, "settlement": settlement,
			"authorizations": authorizations, "resend": c.Unreachable.Resend(t.Context(), from)} {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	})
}

func (c *conformance) authorization(t *testing.T, id string, from, to time.Time) acquirer.Authorization {
	t.Helper()
	all, err := c.Adapter.Authorizations(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(a acquirer.Authorization) bool { return a.ID == id })
	if i < 0 {
		t.Fatalf("the authorization %s is not listed", id)
	}
	return all[i]
}

func (c *conformance) notificationsArrive(t *testing.T) {
	const secret = "conformance_notification_secret"
	inbox := &inbox{secret: secret}
	server := httptest.NewServer(inbox)
	defer server.Close()
	c.Notify(t, server.URL, secret)

	sold := c.approved(t, authorize, c.sale(1100))
	c.Settle(t)
	about := func(body []byte) bool { return settles(t, body, sold.Reference) }

	t.Run("each is signed, and comes again until it is acknowledged", func(t *testing.T) {
		inbox.wait(t, about, 2) // the inbox acknowledges the second
	})

	resend := func(t *testing.T) {
		t.Helper()
		if err := c.Adapter.Resend(t.Context(), time.Now().Add(-apart)); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("each comes again when it is asked for", func(t *testing.T) {
		resend(t)
		inbox.wait(t, about, 3)
	})

	t.Run("each comes again when it is asked for while it is delivered", func(t *testing.T) {
		came := len(inbox.received(about))
		answer := inbox.hold()
		defer answer()
		resend(t)
		inbox.wait(t, about, came+1)
		resend(t)
		answer()
		inbox.wait(t, about, came+2)
	})

	t.Run("each has one ID, however often it comes", func(t *testing.T) {
		ids := map[string]bool{}
		for _, body := range inbox.received(about) {
			var part acquirer.SettledPart
			if err := json.Unmarshal(body, &part); err != nil {
				t.Fatal(err)
			}
			ids[part.ID] = true
		}
		if len(ids) != 1 || ids[""] {
			t.Errorf("its IDs are %v", ids)
		}
	})

	inbox.mu.Lock()
	defer inbox.mu.Unlock()
	if len(inbox.unsigned) > 0 {
		t.Errorf("not signed: %s", inbox.unsigned)
	}
}

// settles says whether a notification is about the settlement of an authorization.
func settles(t *testing.T, body []byte, authorization string) bool {
	t.Helper()
	var part acquirer.SettledPart
	if err := json.Unmarshal(body, &part); err != nil || part.Kind != acquirer.BatchSettled {
		return false
	}
	if err := part.Check(); err != nil {
		t.Errorf("a part of a batch is wrong: %v", err)
	}
	return slices.ContainsFunc(part.Movements, func(m acquirer.SettledMovement) bool {
		return m.Authorization == authorization
	})
}

// inbox takes notifications, and acknowledges each when it has come twice.
type inbox struct {
	secret string

	mu       sync.Mutex
	bodies   [][]byte
	unsigned []string
	held     chan struct{} // closed when it may answer; nil: it may
}

// hold makes the inbox keep its answers back until answer is called.
func (i *inbox) hold() (answer func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	held := make(chan struct{})
	i.held = held
	return sync.OnceFunc(func() { close(held) })
}

func (i *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = acquirer.CheckSignature(i.secret, r.Header.Get(acquirer.SignatureHeader), body, time.Now())
	}
	status, held := i.take(body, err)
	if held != nil {
		<-held
	}
	w.WriteHeader(status)
}

// take keeps a notification, and says how to answer it, and when: when held is closed, or at once where it is nil.
func (i *inbox) take(body []byte, err error) (status int, held chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err != nil {
		i.unsigned = append(i.unsigned, err.Error())
		return http.StatusBadRequest, nil
	}
	came := slices.ContainsFunc(i.bodies, func(b []byte) bool { return string(b) == string(body) })
	i.bodies = append(i.bodies, body)
	if !came {
		return http.StatusServiceUnavailable, i.held
	}
	return http.StatusOK, i.held
}

func (i *inbox) received(about func([]byte) bool) (found [][]byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, body := range i.bodies {
		if about(body) {
			found = append(found, body)
		}
	}
	return found
}

func (i *inbox) wait(t *testing.T, about func([]byte) bool, times int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if len(i.received(about)) >= times {
			return
		}
	}
	t.Fatalf("it came %d times within five minutes, want %d", len(i.received(about)), times)
}

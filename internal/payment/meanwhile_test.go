package payment_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

// meanwhile makes a request, does something else while the acquirer thinks about it,
// and returns what the request is answered.
func (s *shop) meanwhile(t *testing.T, path, form string, do func()) answer {
	t.Helper()
	begun, goOn := s.sim.Stall(t)
	answered := make(chan answer, 1)
	go func() { answered <- s.post(t, path, form) }()
	<-begun
	do()
	goOn()
	return <-answered
}

func (s *shop) text(t *testing.T, sql string, args ...any) (text string) {
	t.Helper()
	if err := s.db.Pool.QueryRow(t.Context(), sql, args...).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// A change to an object while a call about it is under way is in the response, and in the
// event that reports it.
func TestWhatIsWrittenMeanwhileIsInTheAnswer(t *testing.T) {
	t.Parallel()
	const metadataEvents = `
		SELECT count(*) FROM events
		WHERE object_id = $1 AND type = $2 AND data::jsonb #>> '{object,metadata,note}' = 'late'`

	for _, made := range []struct{ name, path, source, event string }{
		{"a refund", "/v1/refunds", "tok_visa", "refund.created"},
		{"a refund that is declined", "/v1/refunds", "tok_visa", "refund.failed"},
		{"a payout", "/v1/payouts", "tok_bypassPending", "payout.created"},
	} {
		t.Run(made.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			charge := s.post(t, "/v1/charges", "amount=5000&currency=usd&source="+made.source).ID
			form := map[string]string{
				"/v1/refunds": "amount=1000&charge=" + charge,
				"/v1/payouts": "amount=1000&currency=usd",
			}[made.path]
			if made.event == "refund.failed" {
				s.exec(t, `UPDATE charges SET acquirer_reference = 'unheard of' WHERE id = $1`, charge)
			}
			var id string
			a := s.meanwhile(t, made.path, form, func() {
				id = s.text(t, `SELECT id FROM refunds UNION ALL SELECT id FROM payouts`)
				if noted := s.post(t, made.path+"/"+id, "metadata[note]=late"); noted.status != http.StatusOK {
					t.Errorf("the note was refused: %+v", noted)
				}
			})
			if a.status != http.StatusOK || a.ID != id || a.Metadata["note"] != "late" {
				t.Errorf("answered %+v", a)
			}
			if n := s.number(t, metadataEvents, id, made.event); n != 1 {
				t.Errorf("%d events %s say so, want one", n, made.event)
			}
		})
	}
}

func TestAChangeOfAnIntentWhileItIsPaid(t *testing.T) {
	t.Parallel()
	const params = "amount=2000&currency=usd&payment_method=pm_card_visa&return_url=https://shop.example/"

	t.Run("an intent that is being created is not changed", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		var id string
		paid := s.meanwhile(t, "/v1/payment_intents", params+"&confirm=true", func() {
			id = s.text(t, `SELECT id FROM payment_intents`)
			refused := s.post(t, "/v1/payment_intents/"+id, "metadata[note]=late")
			if refused.status != http.StatusTooManyRequests || refused.Error.Code != "lock_timeout" {
				t.Errorf("a change meanwhile is answered %+v", refused)
			}
		})
		if paid.status != http.StatusOK || paid.Status != "succeeded" {
			t.Errorf("the attempt is answered %+v", paid)
		}
		noted := s.post(t, "/v1/payment_intents/"+id, "metadata[note]=late")
		if noted.status != http.StatusOK || noted.Metadata["note"] != "late" || noted.Status != "succeeded" {
			t.Errorf("a change afterwards is answered %+v", noted)
		}
	})

	t.Run("a change of one that is confirmed is in the answer and in the event", func(t *testing.T) {
		t.Parallel()
		s := openShop(t)
		id := s.post(t, "/v1/payment_intents", "amount=2000&currency=usd").ID
		paid := s.meanwhile(t, "/v1/payment_intents/"+id+"/confirm",
			"payment_method=pm_card_visa&return_url=https://shop.example/", func() {
				noted := s.post(t, "/v1/payment_intents/"+id, "metadata[note]=late")
				if noted.status != http.StatusOK || noted.Status != "processing" {
					t.Errorf("a change meanwhile is answered %+v", noted)
				}
			})
		if paid.status != http.StatusOK || paid.Status != "succeeded" || paid.Metadata["note"] != "late" {
			t.Errorf("the attempt is answered %+v", paid)
		}
		events := s.number(t, `SELECT count(*) FROM events WHERE object_id = $1 AND type = 'payment_intent.succeeded'
			AND data::jsonb #>> '{object,metadata,note}' = 'late'`, id)
		stored := s.text(t, `SELECT metadata ->> 'note' || ' ' || status FROM payment_intents WHERE id = $1`, id)
		if events != 1 || stored != "late succeeded" {
			t.Errorf("%d events have the change, and the intent is %q", events, stored)
		}
	})
}

// A charge's request answers with what it was asked for, so its charge cannot change before.
func TestAPendingChargeIsNotChanged(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	var id string
	made := s.meanwhile(t, "/v1/charges", "amount=2000&currency=usd&source=tok_visa", func() {
		id = s.text(t, `SELECT id FROM charges`)
		refused := s.post(t, "/v1/charges/"+id, "metadata[note]=late")
		if refused.status != http.StatusTooManyRequests || refused.Error.Code != "lock_timeout" {
			t.Errorf("a change meanwhile is answered %+v", refused)
		}
	})
	if made.status != http.StatusOK || made.ID != id || made.Metadata["note"] != "" {
		t.Errorf("the charge is answered %+v", made)
	}
	noted := s.post(t, "/v1/charges/"+id, "metadata[note]=late")
	if noted.status != http.StatusOK || noted.Metadata["note"] != "late" {
		t.Errorf("a change afterwards is answered %+v", noted)
	}
}

// While the acquirer thinks about a payment or a setup, other requests may change its method. What they did stays.
func TestAChangeOfAMethodWhileItIsUsed(t *testing.T) {
	t.Parallel()
	const (
		onSale   = "amount=2000&currency=usd&confirm=true&return_url=https://shop.example/&"
		reusable = onSale + "setup_future_usage=off_session&"
		setUp    = "confirm=true&return_url=https://shop.example/&"
	)
	for _, used := range []struct {
		name, path, form string
		attached         bool
		meanwhile        string // the path after the method's
		change           string
		stays            string // of the method
		end              string // of the payment or setup
	}{
		{"a card that pays and is detached", "/v1/payment_intents", reusable, true, "/detach", "",
			"spent, no customer", "succeeded"},
		{"a card that pays and is changed", "/v1/payment_intents", reusable, true, "", "metadata[note]=late",
			"the customer's, note late, set up", "succeeded"},
		{"a card that pays and is attached", "/v1/payment_intents", onSale, false, "/attach", "customer=",
			"the customer's", "succeeded"},
		{"a card that is set up and detached", "/v1/setup_intents", setUp, true, "/detach", "",
			"spent, no customer", "requires_payment_method"},
		{"a card that is set up and changed", "/v1/setup_intents", setUp, true, "", "metadata[note]=late",
			"the customer's, note late, set up", "succeeded"},
	} {
		t.Run(used.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			customer := s.post(t, "/v1/customers", "name=Ada").ID
			method := s.post(t, "/v1/payment_methods", "type=card&card[token]=tok_visa").ID
			form := used.form + "payment_method=" + method
			if used.attached {
				s.post(t, "/v1/payment_methods/"+method+"/attach", "customer="+customer)
				form += "&customer=" + customer
			}
			change := used.change
			if used.meanwhile == "/attach" {
				change += customer
			}
			s.meanwhile(t, used.path, form, func() {
				done := s.post(t, "/v1/payment_methods/"+method+used.meanwhile, change)
				if done.status != http.StatusOK {
					t.Errorf("the change meanwhile is answered %+v", done)
				}
			})
			stays := s.text(t, `
				SELECT CASE WHEN spent_by IS NULL THEN 'the customer''s' ELSE 'spent, no customer' END
				    || coalesce(', note ' || (metadata ->> 'note'), '') || CASE WHEN set_up AND spent_by IS NULL
				    THEN ', set up' ELSE '' END
				FROM payment_methods WHERE id = $1 AND (spent_by IS NULL) = (customer_id IS NOT NULL)`, method)
			end := s.text(t, `SELECT status FROM payment_intents UNION ALL SELECT status FROM setup_intents`)
			if stays != used.stays || end != used.end {
				t.Errorf("the method is %q, and the payment or setup %s, want %q and %s", stays, end, used.stays,
					used.end)
			}
			if left := s.number(t, `SELECT count(*) FROM runs`); left != 0 {
				t.Errorf("%d requests are not finished", left)
			}
		})
	}
}

func (s *shop) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := s.db.Pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// notify tells what the acquirer would tell.
func (s *shop) notify(t *testing.T, news acquirer.Notification) {
	t.Helper()
	body, err := json.Marshal(news)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+acquirer.NotificationsPath,
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(acquirer.SignatureHeader, acquirer.Sign(s.sim.Secret(), body, time.Now()))
	response, err := s.server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the acquirer is answered %d", response.StatusCode)
	}
}

// An acquirer that decides a dispute while it is asked to close it contradicts itself. Its
// first notification counts, and is reported and booked once.
func TestADisputeThatIsDecidedWhileItIsClosed(t *testing.T) {
	t.Parallel()
	for _, outcome := range []string{acquirer.OutcomeWon, acquirer.OutcomeLost} {
		t.Run(outcome, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			charge := s.post(t, "/v1/charges", "amount=2000&currency=usd&source=tok_createDispute").ID
			s.sim.WaitUntilNotified(t, s.server.URL)
			dispute := s.text(t, `SELECT id FROM disputes`)
			a := s.meanwhile(t, "/v1/disputes/"+dispute+"/close", "", func() {
				s.notify(t, acquirer.Notification{
					ID:            "contradiction",
					Kind:          acquirer.DisputeClosed,
					At:            time.Now(),
					Amount:        2000,
					Currency:      "usd",
					Outcome:       outcome,
					Authorization: s.text(t, `SELECT acquirer_reference FROM charges WHERE id = $1`, charge),
					Reference:     s.text(t, `SELECT acquirer_reference FROM disputes`),
				})
			})
			if a.status != http.StatusOK || a.Status != outcome {
				t.Errorf("answered %+v", a)
			}
			if stored := s.text(t, `
				SELECT status || coalesce(', busy with ' || locked_by, '') FROM disputes`); stored != outcome {
				t.Errorf("the dispute is %s", stored)
			}
			if n := s.number(t, `SELECT count(*) FROM events WHERE type = 'charge.dispute.closed'`); n != 1 {
				t.Errorf("its end was told %d times", n)
			}
		})
	}
}

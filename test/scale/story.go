package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/test/deployment"
)

// chargesInStory is how many charges one story makes.
const chargesInStory = 20

// disputesInStory is how many of them are disputed.
const disputesInStory = 2

// story is a merchant's day, lived through the API: all that it leaves in the
// tables is what the program writes, and copies of it are as consistent as it is.
type story struct {
	deployment *deployment.Deployment
	account    string
	key        string

	listener *httptest.Server // takes its webhooks
}

// live opens an account and lives the story, and returns when everything it
// caused has ended: settlements, disputes, deliveries.
func live(ctx context.Context, s *deployment.Deployment) (*story, error) {
	t := &story{deployment: s}
	t.listener = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	var err error
	if t.account, t.key, err = s.OpenAccount(ctx, "A merchant"); err != nil {
		return t, err
	}
	// Its money is available at once, so that a payout is part of the day.
	if _, err := s.Pool.Exec(ctx, "UPDATE accounts SET payout_delay_days = 0 WHERE id = $1", t.account); err != nil {
		return t, err
	}
	if _, err := t.post("/v1/webhook_endpoints",
		"url="+url.QueryEscape(t.listener.URL)+"&enabled_events[]=*"); err != nil {
		return t, err
	}
	return t, t.drained(ctx)
}

func (t *story) end() { t.listener.Close() }

// day makes chargesInStory charges and what goes with them.
func (t *story) day(ctx context.Context) error {
	if err := t.sell(); err != nil {
		return err
	}
	if err := t.sellToCustomers(); err != nil {
		return err
	}
	if err := t.drained(ctx); err != nil {
		return err
	}
	if err := t.answerDisputes(ctx); err != nil {
		return err
	}
	payout, err := t.post("/v1/payouts", "amount=500&currency=usd")
	if err != nil {
		return err
	}
	// The bank takes days, and the copies lie weeks back.
	_, err = t.deployment.Pool.Exec(ctx,
		"UPDATE payouts SET departs_at = now(), arrives_at = now() WHERE id = $1", payout)
	if err != nil {
		return err
	}
	return t.drained(ctx)
}

// sell charges strangers: 13 charges, of which two are declined, one is held and let
// go, one captured later, two refunded and two disputed. Nothing is left that lapses:
// the copies lie weeks back.
func (t *story) sell() error {
	card := func(name, more string) (string, error) {
		return t.post("/v1/charges",
			"amount=2000&currency=usd&description=A+mug&metadata[order]=6735&source=tok_"+name+more)
	}
	for _, name := range []string{"visa", "mastercard", "amex", "visa_debit", "discover", "createDispute",
		"createDisputeInquiry"} {
		if _, err := card(name, ""); err != nil {
			return err
		}
	}
	for _, name := range []string{"chargeDeclined", "chargeDeclinedExpiredCard"} {
		if _, err := card(name, ""); err == nil {
			return fmt.Errorf("tok_%s was not declined", name)
		}
	}
	released, err := card("visa", "&capture=false")
	if err != nil {
		return err
	}
	if _, err := t.post("/v1/refunds", "charge="+released); err != nil {
		return err
	}
	held, err := card("visa", "&capture=false")
	if err != nil {
		return err
	}
	if _, err := t.post("/v1/charges/"+held+"/capture", ""); err != nil {
		return err
	}
	for _, amount := range []string{"", "&amount=700"} {
		charge, err := card("visa", "")
		if err != nil {
			return err
		}
		if _, err := t.post("/v1/refunds", "charge="+charge+amount); err != nil {
			return err
		}
	}
	return nil
}

// answerDisputes has evidence win every dispute: weeks later, none is open any more.
func (t *story) answerDisputes(ctx context.Context) error {
	rows, err := t.deployment.Pool.Query(ctx, "SELECT id FROM disputes WHERE account_id = $1", t.account)
	if err != nil {
		return err
	}
	disputes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(disputes) != disputesInStory {
		return fmt.Errorf("%d disputes came, not %d", len(disputes), disputesInStory)
	}
	for _, dispute := range disputes {
		if _, err := t.post("/v1/disputes/"+dispute, "evidence[uncategorized_text]=winning_evidence"); err != nil {
			return err
		}
	}
	if err := t.drained(ctx); err != nil {
		return err
	}
	var open int
	err = t.deployment.Pool.QueryRow(ctx, `SELECT count(*) FROM disputes
		WHERE account_id = $1 AND status NOT IN ('won', 'warning_closed')`, t.account).Scan(&open)
	if err == nil && open > 0 {
		err = fmt.Errorf("%d disputes are open after their evidence", open)
	}
	return err
}

// sellToCustomers makes a checkout session that expires, and five customers who pay
// seven times.
func (t *story) sellToCustomers() error {
	product, err := t.post("/v1/products", "name=Mug")
	if err != nil {
		return err
	}
	price, err := t.post("/v1/prices", "product="+product+"&currency=usd&unit_amount=1500")
	if err != nil {
		return err
	}
	session, err := t.post("/v1/checkout/sessions",
		"mode=payment&success_url=https://shop.example.com/&line_items[0][quantity]=1&line_items[0][price]="+price)
	if err != nil {
		return err
	}
	if _, err := t.post("/v1/checkout/sessions/"+session+"/expire", ""); err != nil {
		return err
	}
	paid := 0
	for i := range 5 {
		customer, err := t.post("/v1/customers", "name=Jenny+Rosen&email="+id.New("mail",
			time.Now())+"@example.com&metadata[order]=6735")
		if err != nil {
			return err
		}
		if _, err := t.post("/v1/setup_intents",
			"customer="+customer+"&payment_method_types[]=card&confirm=true&payment_method=pm_card_visa"); err != nil {
			return err
		}
		for ; paid < (i+1)*7/5; paid++ {
			_, err := t.post("/v1/payment_intents",
				"amount=2500&currency=usd&payment_method_types[]=card&confirm=true&payment_method=pm_card_visa"+
					"&customer="+customer)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// post asks for one thing and returns its id. Keys look like ids, so that a copy
// of the story has other keys.
func (t *story) post(path, form string) (string, error) {
	request, err := http.NewRequest(http.MethodPost, "http://"+t.deployment.Addr+path, strings.NewReader(form))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+t.key)
	request.Header.Set("Idempotency-Key", id.New("key", time.Now()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("POST %s answered %s: %s", path, response.Status, body)
	}
	var object struct{ ID string }
	return object.ID, json.Unmarshal(body, &object)
}

// whatIsOpen counts what is still under way on our side.
const whatIsOpen = `
	SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM inbox WHERE state <> 'applied')
	     + (SELECT count(*) FROM movements_waiting) + (SELECT count(*) FROM charges_to_show)
	     + (SELECT count(*) FROM webhook_deliveries WHERE state = 'pending') + (SELECT count(*) FROM payouts
	       WHERE status NOT IN ('paid', 'failed', 'canceled'))`

// whatIsOwed counts what the acquirer has not told or not settled yet.
const whatIsOwed = `
	SELECT (SELECT count(*) FROM acquirer.outbox WHERE acknowledged_at IS NULL)
	     + (SELECT count(*) FROM acquirer.owed)`

// drained waits until nothing is under way any more on either side.
func (t *story) drained(ctx context.Context) error {
	theirs, err := pgx.Connect(ctx, t.deployment.AcquirerURL)
	if err != nil {
		return err
	}
	defer theirs.Close(ctx)
	var open, owed int
	for quiet, deadline := 0, time.Now().Add(time.Minute); quiet < 4; time.Sleep(500 * time.Millisecond) {
		if err := t.deployment.Pool.QueryRow(ctx, whatIsOpen).Scan(&open); err != nil {
			return err
		}
		if err := theirs.QueryRow(ctx, whatIsOwed).Scan(&owed); err != nil {
			return err
		}
		if quiet++; open+owed > 0 {
			quiet = 0
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after a minute %d things are open here, and %d at the acquirer", open, owed)
		}
	}
	return nil
}

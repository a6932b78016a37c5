//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// ask sends a request to the demo's API and reads the answer.
func (d *running) ask(t *testing.T, method, key, path string, params ...string) (answer map[string]any) {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(params); i += 2 {
		form.Add(params[i], params[i+1])
	}
	request, err := http.NewRequestWithContext(t.Context(), method, d.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("sk_test_ratchet_demo", "")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || json.Unmarshal(body, &answer) != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s was answered %d, %v: %s", method, path, response.StatusCode, err, body)
	}
	return answer
}

// make posts and returns the id of what was made.
func (d *running) make(t *testing.T, path string, params ...string) string {
	t.Helper()
	return d.ask(t, http.MethodPost, "", path, params...)["id"].(string)
}

func TestInspect(t *testing.T) {
	t.Parallel()
	d := startDemo(t, dataDir(t), nil, "--webhook-loopback-ports", "1")
	atDemo := []string{"RATCHET_DATA_DIR=" + d.dir}

	t.Run("a webhook goes to the ports of this machine that the demo was told, and to no other", func(t *testing.T) {
		d.make(t, "/v1/webhook_endpoints", "url", "http://127.0.0.1:1/told", "enabled_events[]", "*")
		other := url.Values{"url": {"http://127.0.0.1:2/"}, "enabled_events[]": {"*"}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.base+"/v1/webhook_endpoints",
			strings.NewReader(other.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth("sk_test_ratchet_demo", "")
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusBadRequest ||
			!strings.Contains(string(body), "--webhook-loopback-ports") {
			t.Errorf("another port was answered %d, %v: %s", response.StatusCode, err, body)
		}
	})

	t.Run("whatever has an id has a story", func(t *testing.T) {
		endpoint := d.make(t, "/v1/webhook_endpoints", "url", "http://127.0.0.1:1/hook", "enabled_events[]", "*")
		customer := d.make(t, "/v1/customers", "email", "jenny@example.com")
		card := d.make(t, "/v1/customers/"+customer+"/sources", "source", "tok_visa")
		method := d.make(t, "/v1/payment_methods", "type", "card", "card[token]", "tok_visa")
		charge := d.make(t, "/v1/charges", "amount", "5000", "currency", "usd", "source", "tok_bypassPending")
		disputed := d.make(t, "/v1/charges", "amount", "2000", "currency", "usd", "source", "tok_createDispute")
		visa, _ := testcard.ByToken("tok_visa")
		token := d.make(t, "/v1/tokens", "card[number]", visa.Number(), "card[exp_month]", "12", "card[exp_year]",
			"2040")
		spent := d.make(t, "/v1/charges", "amount", "700", "currency", "usd", "source", token)
		price := d.make(t, "/v1/prices", "currency", "usd", "unit_amount", "1500", "product_data[name]", "A mug")
		var dispute string
		await(t, "the dispute", func() bool {
			for _, one := range d.ask(t, http.MethodGet, "", "/v1/disputes?charge="+disputed)["data"].([]any) {
				dispute = one.(map[string]any)["id"].(string)
			}
			return dispute != ""
		})
		tried := d.make(t, "/v1/setup_intents", "payment_method_types[]", "card", "confirm", "true", "payment_method",
			"pm_card_visa")
		attempt := d.ask(t, http.MethodGet, "", "/v1/setup_intents/"+tried)["latest_attempt"].(string)
		posting := d.ask(t, http.MethodGet, "", "/v1/charges/"+charge)["balance_transaction"].(string)
		event := d.ask(t, http.MethodGet, "", "/v1/events?limit=1")["data"].([]any)[0].(map[string]any)["id"].(string)
		for kind, c := range map[string]struct{ id, shown string }{
			"charge": {charge, "POST /v1/charges"},
			"refund": {d.make(t, "/v1/refunds", "charge", charge, "amount", "100"), "POST /v1/refunds"},
			"payment_intent": {d.make(t, "/v1/payment_intents", "amount", "900", "currency", "usd",
				"payment_method_types[]", "card"), "payment_intent.created"},
			"setup_intent": {d.make(t, "/v1/setup_intents", "payment_method_types[]", "card"),
				"setup_intent.created"},
			"setup_attempt":  {attempt, "setup_intent.succeeded"},
			"payment_method": {method, "POST /v1/payment_methods"},
			"card":           {card, "sources"},
			"customer":       {customer, "customer.created"},
			"token":          {token, "POST /v1/charges  finished: response 200 " + spent},
			"price":          {price, "price.created"},
			"product": {d.ask(t, http.MethodGet, "", "/v1/prices/"+price)["product"].(string),
				"product.created"},
			"checkout_session": {d.make(t, "/v1/checkout/sessions", "mode", "payment", "success_url",
				"https://shop.example/", "line_items[0][price]", price, "line_items[0][quantity]", "1"),
				"POST /v1/checkout/sessions"},
			"coupon": {d.make(t, "/v1/coupons", "id", "WELCOME", "percent_off", "10"), "coupon.created"},
			"promotion_code": {d.make(t, "/v1/promotion_codes", "promotion[type]", "coupon", "promotion[coupon]",
				d.make(t, "/v1/coupons", "percent_off", "20")), "promotion_code.created"},
			"shipping_rate": {d.make(t, "/v1/shipping_rates", "display_name", "Standard", "fixed_amount[amount]",
				"500", "fixed_amount[currency]", "usd"), "POST /v1/shipping_rates"},
			"dispute":          {dispute, "charge.dispute.created"},
			"payout":           {d.make(t, "/v1/payouts", "amount", "1000", "currency", "usd"), "payout.created"},
			"webhook_endpoint": {endpoint, "POST /v1/webhook_endpoints"},
			"test_clock": {d.make(t, "/v1/test_helpers/test_clocks", "frozen_time",
				fmt.Sprint(time.Now().Unix())), "test_helpers.test_clock.created"},
			"event":   {event, ""},
			"posting": {posting, "gross: $50.00"},
		} {
			shown := mustDo(t, atDemo, "inspect", c.id)
			want := fmt.Sprintf("%s %s, account acct_demo\n", kind, c.id)
			if !strings.HasPrefix(shown, want) || !strings.Contains(shown, c.shown) {
				t.Errorf("inspect %s begins without %q, or does not tell of %q:\n%s", c.id, want, c.shown, shown)
			}
			if strings.Count(shown, "\n") < 4 {
				t.Errorf("%s has no story:\n%s", c.id, shown)
			}
		}
	})

	t.Run("a key is told with who died over it, and what was taken over", func(t *testing.T) {
		if err := syscall.Kill(d.pid["acquirer"], syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		broken := make(chan error, 1)
		go func() { _, err := d.charge("killed over", ""); broken <- err }()
		ours := d.connect(t, "RATCHET_DATABASE_URL")
		await(t, "the call to be announced", func() bool {
			var n int
			err := ours.QueryRow(t.Context(), `
				SELECT count(*) FROM request_calls c JOIN requests r ON r.id = c.request_id
				WHERE r.key = 'killed over'`).Scan(&n)
			return err == nil && n == 1
		})
		if err := syscall.Kill(d.pid["serve"], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		d.awaitOutput(t, "serve is back as ")
		<-broken
		if err := syscall.Kill(d.pid["acquirer"], syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		d.mustCharge(t, "killed over")
		shown := mustDo(t, atDemo, "inspect", "killed over")
		at := 0
		for _, want := range []string{"POST /v1/charges", fmt.Sprintf("process %d stopped responding", d.pid["serve"]),
			"took over the request", "charge.succeeded", "response 200 stored"} {
			next := strings.Index(shown[at:], want)
			if next < 0 {
				t.Fatalf("%q does not follow in\n%s", want, shown)
			}
			at += next
		}
	})

	t.Run("what is not there is one sentence", func(t *testing.T) {
		stdout, stderr, code := ratchet(t, atDemo, "inspect", "ch_nobody")
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, `not found: "ch_nobody"`) {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
	})

	t.Run("a key of two accounts is told as two stories", func(t *testing.T) {
		key := strings.TrimSpace(
			mustDo(t, atDemo, "keys", "create", "--account", "acct_other", "--create-account", "Another"))
		lines := strings.Split(key, "\n")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.base+"/v1/customers",
			strings.NewReader("name=Other"))
		if err != nil {
			t.Fatal(err)
		}
		request.SetBasicAuth(strings.Fields(lines[len(lines)-1])[len(strings.Fields(lines[len(lines)-1]))-1], "")
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Idempotency-Key", "shared")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("the other account was answered %d", answer.StatusCode)
		}
		d.ask(t, http.MethodPost, "shared", "/v1/customers", "name", "Mine")
		shown := mustDo(t, atDemo, "inspect", "shared")
		mine, others, _ := strings.Cut(shown, "\n\nrequest ")
		if strings.Count(shown, "account acct_demo") != 1 || strings.Count(shown, "account acct_other") != 1 ||
			others == "" ||
			strings.Contains(mine, "acct_demo") == strings.Contains(mine, "acct_other") {
			t.Errorf("inspect prints\n%s", shown)
		}
	})
}

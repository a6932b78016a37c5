package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/testcard"
)

func TestRequestLogs(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	send := func(path, key string, params ...string) string {
		form := url.Values{}
		for i := 0; i < len(params); i += 2 {
			form.Set(params[i], params[i+1])
		}
		answer := s.post(t, path, form, "Authorization", "Bearer "+s.key, "Idempotency-Key", key)
		return answer.header.Get("Request-Id")
	}
	charge := send("/v1/charges", "order-1", "amount", "2000", "currency", "usd", "source", "tok_visa", "capture",
		"false",
		"description", "Jenny’s sledge", "metadata[order]", "6001", "expand[]", "customer")
	intent := send("/v1/payment_intents", "order-2", "amount", "2500", "currency", "usd", "payment_method_types[]",
		"card")
	product := send("/v1/products", "order-4", "id", "sledge", "name", "Sledge", "images[0]",
		"https://shop.example/1.png",
		"default_price_data[currency]", "usd", "default_price_data[unit_amount]", "4000")
	session := send("/v1/checkout/sessions", "order-3", "mode", "payment", "success_url", "https://shop.example/thanks",
		"line_items[0][quantity]", "1", "line_items[0][price_data][currency]", "usd",
		"line_items[0][price_data][unit_amount]", "4000", "line_items[0][price_data][product_data][name]", "Sledge")

	t.Run("a path and a key find their requests", func(t *testing.T) {
		for _, c := range []struct{ query, want string }{
			{"path=/v1/charges", charge},
			{"path=/v1/payment", intent},
			{"key=order-3", session},
			{"key=order-1&path=/v1/charges", charge},
			{"key=order-1&path=/v1/refunds", ""},
			{"key=order", ""},
			{"path=/v1/payment_intents&status=error", ""},
		} {
			if got := strings.Join(rows(s.get(t, "/dashboard/requests?"+c.query)), " "); got != c.want {
				t.Errorf("%s shows %q, want %q", c.query, got, c.want)
			}
		}
	})

	t.Run("the page of a request shows what was sent, and who sent it", func(t *testing.T) {
		requireWords(t, s.get(t, "/dashboard/requests/"+charge), "2000", "tok_visa", "Jenny’s sledge", "6001", "key_",
			"127.0.0.1", "exactly as sent")
	})

	t.Run("the curl command is the same request: it gets the stored response", func(t *testing.T) {
		for id, key := range map[string]string{charge: "order-1", intent: "order-2", product: "order-4"} {
			path, form := parseCurl(t, s.get(t, "/dashboard/requests/"+id), key)
			again := s.post(t, path, form, "Authorization", "Bearer "+s.key, "Idempotency-Key", key)
			if again.status != http.StatusOK || again.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s with %v was answered %d %s", path, form, again.status, again.body)
			}
		}
	})

	t.Run("neither a card nor what the acquirer calls it is among the parameters", func(t *testing.T) {
		visa, known := testcard.ByName("visa")
		if !known {
			t.Fatal("the table of test cards has no visa")
		}
		card := send("/v1/payment_methods", "order-5", "type", "card", "card[number]", visa.Number(),
			"card[exp_month]", "12", "card[exp_year]", "2030", "card[cvc]", "123")
		p := s.get(t, "/dashboard/requests/"+card)
		requireWords(t, p, "as stored", "Card data is never stored.")
		for _, secret := range []string{visa.Number(), "vault", "Send with"} {
			if strings.Contains(p.body, secret) {
				t.Errorf("the page shows %q", secret)
			}
		}
	})

	t.Run("parameters that the fingerprint does not confirm are no command", func(t *testing.T) {
		p := s.get(t, "/dashboard/requests/"+session)
		requireWords(t, p, "as stored", "https://shop.example/thanks")
		if strings.Contains(p.body, "Send with") || strings.Contains(p.body, "curl -X") {
			t.Error("the page offers a command for parameters that were resolved before they were stored")
		}
	})
}

var (
	curlText = regexp.MustCompile(`(?s)<code>(curl .*?)</code>`)
	curlData = regexp.MustCompile(`--data-urlencode '([^'=]*)=([^']*)'`)
	curlPath = regexp.MustCompile(`curl -X POST '[^']*?(/v1/[^']*)'`)
)

// parseCurl reads the command of a request's page.
func parseCurl(t *testing.T, p page, key string) (path string, form url.Values) {
	t.Helper()
	found := curlText.FindStringSubmatch(p.body)
	if found == nil {
		t.Fatalf("%s has no command", p.path)
	}
	command := html.UnescapeString(found[1])
	if !strings.Contains(command, "-H 'Idempotency-Key: "+key+"'") {
		t.Errorf("the command has another key: %s", command)
	}
	form = url.Values{}
	for _, pair := range curlData.FindAllStringSubmatch(command, -1) {
		form.Set(pair[1], pair[2])
	}
	return curlPath.FindStringSubmatch(command)[1], form
}

func TestRequestsThatLeaveNoRow(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	send := func(path, key string, params ...string) string {
		form := url.Values{}
		for i := 0; i < len(params); i += 2 {
			form.Set(params[i], params[i+1])
		}
		answer := s.post(t, path, form, "Authorization", "Bearer "+s.key, "Idempotency-Key", key)
		time.Sleep(2 * time.Millisecond) // IDs are ordered by the millisecond
		return answer.header.Get("Request-Id")
	}
	charge := send("/v1/charges", "stored", "amount", "2000", "currency", "usd", "source", "tok_visa")
	rejected := send("/v1/charges", "typo", "amount", "twenty", "currency", "usd", "source", "tok_visa")
	missing := send("/v1/charges/ch_none/capture", "nothing there")
	other := send("/v1/charges", "stored", "amount", "2100", "currency", "usd", "source", "tok_visa")
	asked, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/v1/charges?limit=3", nil)
	if err != nil {
		t.Fatal(err)
	}
	asked.Header.Set("Authorization", "Bearer "+s.key)
	read := s.do(t, asked).header.Get("Request-Id")

	t.Run("the log has what was rejected among what is stored, and reads on demand", func(t *testing.T) {
		for _, c := range []struct{ query, want string }{
			{"", other + " " + missing + " " + rejected + " " + charge},
			{"reads=yes", read + " " + other + " " + missing + " " + rejected + " " + charge},
			{"reads=yes&path=/v1/charges/", missing},
			{"status=error", other + " " + missing + " " + rejected},
			{"status=ok&reads=yes", read + " " + charge},
			{"key=typo", rejected},
			{"again=yes", ""},
			{"before=" + rejected, charge},
			{"after=" + rejected, other + " " + missing},
		} {
			if got := strings.Join(rows(s.get(t, "/dashboard/requests?"+c.query)), " "); got != c.want {
				t.Errorf("%s shows %q, want %q", c.query, got, c.want)
			}
		}
		if got := strings.Join(rows(s.get(t, "/dashboard/requests?by=machine")), " "); strings.Contains(got, rejected) {
			t.Errorf("the background jobs include a client's request: %s", got)
		}
	})

	t.Run("the page of one says what was sent, and what was wrong with it", func(t *testing.T) {
		requireWords(t, s.get(t, "/dashboard/requests/"+rejected), "Invalid integer: twenty", "amount", "tok_visa",
			"typo", "key_", "127.0.0.1", "HTTP 400", "this request did not use it")
		requireWords(t, s.get(t, "/dashboard/requests/"+other), "Send it with a new key")
		requireWords(t, s.get(t, "/dashboard/requests/"+missing), "No such charge", "HTTP 404", "resource_missing")
		requireWords(t, s.get(t, "/dashboard/requests/"+read), "HTTP 200", "limit", "3",
			"A GET request changes nothing")
	})

	t.Run("search finds one by its ID", func(t *testing.T) {
		if p := s.get(t, "/dashboard/search?q="+rejected); p.path != "/dashboard/requests/"+rejected {
			t.Errorf("the ID leads to %s", p.path)
		}
	})

	t.Run("card data and secrets are not kept", func(t *testing.T) {
		visa, known := testcard.ByName("visa")
		if !known {
			t.Fatal("no visa card")
		}
		id := send("/v1/tokens", "card", "card[number]", visa.Number(), "card[cvc]", "987", "card[exp_month]", "13",
			"card[exp_year]", "2040", "card[name]", "Jenny")
		p := s.get(t, "/dashboard/requests/"+id)
		requireWords(t, p, "card[number]", "[hidden]", "Jenny", "HTTP 402")
		if strings.Contains(p.body, visa.Number()) || strings.Contains(p.body, "987") {
			t.Error("the page shows a card number or a security code")
		}
	})
}

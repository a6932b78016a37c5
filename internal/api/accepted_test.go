package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestUnusualInputIsAccepted sends input that looks invalid and is valid.
func TestUnusualInputIsAccepted(t *testing.T) {
	t.Parallel()
	s := newEnv(t)

	t.Run("names that mean something elsewhere are plain data", func(t *testing.T) {
		a := s.ask(t, sent{target: "/v1/customers", body: "metadata[__proto__]=a&metadata[constructor]=b"})
		metadata, _ := a.object["metadata"].(map[string]any)
		if a.status != http.StatusOK || metadata["__proto__"] != "a" || metadata["constructor"] != "b" {
			t.Errorf("answered %d %s", a.status, a.body)
		}
	})

	t.Run("text of any script, and line breaks, come back byte for byte", func(t *testing.T) {
		for _, text := range []string{"🛷 x", "e\u0301 é", "\u202eevil", "<script>&'\"", "a\r\nSet-Cookie: b",
			strings.Repeat("ä", 5000), "\u2028"} {
			a := s.ask(t, sent{target: "/v1/customers", body: "description=" + url.QueryEscape(text)})
			if a.status != http.StatusOK || a.object["description"] != text {
				t.Errorf("%.40q: answered %d %.100s", text, a.status, a.body)
			}
			if a.header.Get("Set-Cookie") != "" {
				t.Errorf("%q became a header", text)
			}
		}
	})

	t.Run("an old stripe-python writes True, and a retry that writes true is the same request", func(t *testing.T) {
		ask := func(capture string) answer {
			return s.ask(t, sent{
				target: "/v1/charges",
				body:   "amount=1000&currency=usd&source=tok_visa&capture=" + capture,
				header: header("Idempotency-Key", "python"),
			})
		}
		first, again := ask("False"), ask("false")
		if first.status != http.StatusOK || first.object["captured"] != false {
			t.Fatalf("answered %d %s", first.status, first.body)
		}
		if again.header.Get("Idempotent-Replayed") != "true" || again.object["id"] != first.object["id"] {
			t.Errorf("the retry was answered %d %s", again.status, again.body)
		}
	})

	t.Run("a line break in a value is no line of the log", func(t *testing.T) {
		s.ask(t, sent{target: "/v1/charges", body: "amount=" + url.QueryEscape("1\nlevel=INFO msg=forged")})
		if strings.Contains(s.log.String(), "\nlevel=INFO msg=forged") {
			t.Error("a caller wrote a line of the log")
		}
	})

	t.Run("a forged address or host changes nothing", func(t *testing.T) {
		a := s.ask(t, sent{
			target: "/v1/tokens",
			body:   "card[number]=" + number(t, "visa") + "&card[exp_month]=12&card[exp_year]=2040",
			header: header("X-Forwarded-For", "203.0.113.9", "X-Real-Ip", "203.0.113.9", "X-Forwarded-Host",
				"elsewhere.example", "Forwarded", "for=203.0.113.9"),
		})
		if a.status != http.StatusOK || strings.Contains(string(a.body), "203.0.113.9") ||
			strings.Contains(string(a.body), "elsewhere") {
			t.Errorf("answered %d %s", a.status, a.body)
		}
	})

	t.Run("objects that refer to each other are expanded as deep as the request says", func(t *testing.T) {
		const intent = "amount=1000&currency=usd&payment_method=pm_card_visa&payment_method_types[]=card" +
			"&confirm=true&expand[]="
		for _, row := range []struct{ target, body, path string }{
			{"/v1/customers", "source=tok_visa&expand[]=", "default_source.customer.default_source.customer"},
			{"/v1/customers", "source=tok_visa&expand[]=", "sources.data.customer.default_source"},
			{"/v1/charges", "amount=1000&currency=usd&source=tok_visa&expand[]=",
				"balance_transaction.source.balance_transaction.source"},
			{"/v1/payment_intents", intent, "latest_charge.payment_intent.latest_charge.payment_intent"},
			{"/v1/products",
				"name=Toboggan&default_price_data[currency]=usd&default_price_data[unit_amount]=1000&expand[]=",
				"default_price.product.default_price.product"},
		} {
			a := s.ask(t, sent{target: row.target, body: row.body + row.path})
			names := strings.Split(row.path, ".")
			last := names[len(names)-1]
			at := a.object
			for _, name := range names {
				if name == "data" {
					continue
				}
				at, _ = at[name].(map[string]any)
				if items, isList := at["data"].([]any); isList {
					at, _ = items[0].(map[string]any)
				}
			}
			if a.status != http.StatusOK || at["id"] == nil {
				t.Errorf("%s %s: answered %d %.200s", row.target, row.path, a.status, a.body)
			}
			if next, whole := at[names[0]].(map[string]any); whole {
				t.Errorf("%s %s: below the last %s there is more than was asked for: %v", row.target, row.path, last,
					next["id"])
			}
		}
	})

	t.Run("what the request itself has changed is shown as it is now, however it was come by", func(t *testing.T) {
		a := s.ask(t, sent{
			target: "/v1/charges",
			body:   "amount=1000&currency=usd&source=tok_visa&expand[]=balance_transaction.source",
		})
		posting, _ := a.object["balance_transaction"].(map[string]any)
		charge, _ := posting["source"].(map[string]any)
		if charge["status"] != "succeeded" || charge["balance_transaction"] != posting["id"] {
			t.Errorf("the charge of its own balance transaction: %v", charge)
		}
		a = s.ask(t, sent{
			target: "/v1/customers/" + s.make(t, "", "/v1/customers", "") + "/sources",
			body:   "source=tok_visa&expand[]=customer",
		})
		customer, _ := a.object["customer"].(map[string]any)
		if customer["default_source"] != a.object["id"] {
			t.Errorf("the customer of its first card: %v", customer)
		}
		a = s.ask(t, sent{
			target: "/v1/customers/" + customer["id"].(string) + "/sources",
			body:   "source=tok_mastercard&expand[]=customer",
		})
		if again, _ := a.object["customer"].(map[string]any); again["default_source"] != customer["default_source"] {
			t.Errorf("the customer of its second card: %v", again)
		}
		paid := s.make(t, "", "/v1/charges", "amount=1000&currency=usd&source=tok_visa")
		a = s.ask(t, sent{target: "/v1/refunds", body: "amount=300&charge=" + paid + "&expand[]=charge.refunds"})
		charge, _ = a.object["charge"].(map[string]any)
		refund := first(charge["refunds"])
		if refund["status"] != "succeeded" || refund["balance_transaction"] != a.object["balance_transaction"] {
			t.Errorf("the refund among those of its charge: %v", refund)
		}
		a = s.ask(t, sent{target: "/v1/checkout/sessions", body: "mode=payment&success_url=https://shop.example" +
			"&line_items[0][quantity]=1&line_items[0][price_data][currency]=usd" +
			"&line_items[0][price_data][unit_amount]=900&line_items[0][price_data][product_data][name]=Kite" +
			"&expand[]=line_items.data.price.product"})
		price, _ := first(a.object["line_items"])["price"].(map[string]any)
		if product, _ := price["product"].(map[string]any); product["name"] != "Kite" {
			t.Errorf("the product that is made for a session: %v", price)
		}
	})

	t.Run("a customer's sources are his cards, also in the answer to what he pays", func(t *testing.T) {
		customer := s.make(t, "", "/v1/customers", "source=tok_visa")
		for _, target := range []string{"/v1/payment_intents", "/v1/setup_intents"} {
			body := "payment_method_types[]=card&confirm=true&payment_method=pm_card_visa&expand[]=customer.sources" +
				"&customer=" + customer
			if target == "/v1/payment_intents" {
				body += "&amount=1000&currency=usd"
			}
			a := s.ask(t, sent{target: target, body: body})
			of, _ := a.object["customer"].(map[string]any)
			sources, _ := of["sources"].(map[string]any)
			if cards, _ := sources["data"].([]any); len(cards) != 1 || first(sources)["object"] != "card" {
				t.Errorf("%s: the sources are %v", target, sources["data"])
			}
		}
	})

	t.Run("a customer's cards have their old address, too", func(t *testing.T) {
		customer := "/v1/customers/" + s.make(t, "", "/v1/customers", "")
		card := s.make(t, "", customer+"/cards", "source=tok_visa")
		for _, r := range []sent{
			{target: customer + "/cards/" + card, body: "name=Jenny"},
			{method: http.MethodGet, target: customer + "/cards/" + card},
			{method: http.MethodGet, target: customer + "/sources/" + card},
		} {
			if a := s.ask(t, r); a.object["id"] != card || a.object["name"] != "Jenny" {
				t.Errorf("%s %s answered %d %s", r.method, r.target, a.status, a.body)
			}
		}
		if a := s.ask(t, sent{method: http.MethodGet, target: customer + "/cards"}); first(a.object)["id"] != card {
			t.Errorf("the list is %s", a.body)
		}
		a := s.ask(t, sent{method: http.MethodDelete, target: customer + "/cards/" + card})
		if a.object["deleted"] != true {
			t.Errorf("deleting it answered %d %s", a.status, a.body)
		}
	})

	t.Run("a body that is said to be as it is is not compressed", func(t *testing.T) {
		a := s.ask(t, sent{target: "/v1/customers", body: "name=Jenny", header: header("Content-Encoding", "identity")})
		if a.status != http.StatusOK {
			t.Errorf("answered %d %s", a.status, a.body)
		}
	})

	t.Run("a key does nothing for GET and DELETE", func(t *testing.T) {
		key := header("Idempotency-Key", "reused")
		for range 2 {
			a := s.ask(t, sent{method: http.MethodGet, target: "/v1/customers", header: key})
			if a.status != http.StatusOK || a.header.Get("Idempotency-Key") != "" ||
				a.header.Get("Idempotent-Replayed") != "" {
				t.Errorf("GET answered %d %v", a.status, a.header)
			}
			gone := s.make(t, "", "/v1/customers", "")
			a = s.ask(t, sent{method: http.MethodDelete, target: "/v1/customers/" + gone, header: key})
			if a.status != http.StatusOK || a.object["deleted"] != true || a.header.Get("Idempotent-Replayed") != "" {
				t.Errorf("DELETE answered %d %s", a.status, a.body)
			}
			a = s.ask(t, sent{method: http.MethodGet, target: "/v1/customers/" + gone})
			if a.status != http.StatusOK || a.object["deleted"] != true {
				t.Errorf("the deleted customer answers %d %s", a.status, a.body)
			}
		}
	})
}

// first is the first object of a list.
func first(list any) map[string]any {
	of, _ := list.(map[string]any)
	items, _ := of["data"].([]any)
	if len(items) == 0 {
		return nil
	}
	object, _ := items[0].(map[string]any)
	return object
}

// TestRefusalsThatAreKept are about what has happened: they are the outcome of
// their key, and the same key gets them again.
func TestRefusalsThatAreKept(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	held := s.make(t, "", "/v1/charges", "amount=1000&currency=usd&source=tok_visa&capture=false")
	taken := s.make(t, "", "/v1/charges", "amount=1000&currency=usd&source=tok_visa")
	returned := s.make(t, "", "/v1/charges", "amount=1000&currency=usd&source=tok_visa")
	s.make(t, "", "/v1/refunds", "charge="+returned)
	expired := s.make(t, "", "/v1/charges", "amount=1000&currency=usd&source=tok_visa&capture=false")
	s.exec(t, `UPDATE charges SET capture_before = now() - interval '1 second' WHERE id = $1`, expired)

	for _, row := range []refused{
		{"a decline", sent{target: "/v1/charges", body: "amount=1000&currency=usd&source=tok_chargeDeclined"}, 402,
			fault{Type: cardError, Code: "card_declined"}},
		{"an expired card",
			sent{target: "/v1/charges", body: "amount=1000&currency=usd&source=tok_chargeDeclinedExpiredCard"}, 402,
			fault{Type: cardError, Code: "expired_card", Param: "exp_month"}},
		{"a capture of what is taken", sent{target: "/v1/charges/" + taken + "/capture"}, 400,
			fault{Type: invalid, Code: "charge_already_captured"}},
		{"a capture of what is given back", sent{target: "/v1/charges/" + returned + "/capture"}, 400,
			fault{Type: invalid, Code: "charge_already_captured"}},
		{"a capture that is late", sent{target: "/v1/charges/" + expired + "/capture"}, 400,
			fault{Type: invalid, Code: "charge_expired_for_capture"}},
		{"a capture of more than is held", sent{target: "/v1/charges/" + held + "/capture", body: "amount=1001"}, 400,
			fault{Type: invalid, Param: "amount"}},
		{"a refund of more than was taken", sent{target: "/v1/refunds", body: "charge=" + taken + "&amount=1001"}, 400,
			fault{Type: invalid, Param: "amount"}},
		{"a refund of what is given back", sent{target: "/v1/refunds", body: "charge=" + returned}, 400,
			fault{Type: invalid, Code: "charge_already_refunded"}},
		{"a refund of part of what is held", sent{target: "/v1/refunds", body: "charge=" + held + "&amount=1"}, 400,
			fault{Type: invalid, Param: "amount"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.sent.header = header("Idempotency-Key", row.name)
			first, again := s.ask(t, row.sent), s.ask(t, row.sent)
			requireRefusal(t, first, row)
			if again.status != first.status || string(again.body) != string(first.body) ||
				again.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("the same key then heard %d %v %s", again.status, again.header, again.body)
			}
		})
	}

	t.Run("a key that stands for another request is refused, whatever differs", func(t *testing.T) {
		first := sent{target: "/v1/customers", body: "name=Jenny", header: header("Idempotency-Key", "taken")}
		if a := s.ask(t, first); a.status != http.StatusOK {
			t.Fatalf("answered %d %s", a.status, a.body)
		}
		before := s.requests(t)
		for _, other := range []sent{{target: "/v1/customers", body: "name=Jim"},
			{target: "/v1/charges", body: "amount=1000&currency=usd&source=tok_visa"}} {
			other.header = first.header
			requireRefusal(t, s.ask(t, other), refused{status: 400, want: fault{Type: idempotency}})
		}
		if now := s.requests(t); now != before {
			t.Errorf("%d requests were stored", now-before)
		}
	})

	t.Run("a retry during the first request gets a 409, and later the same response", func(t *testing.T) {
		r := sent{
			target: "/v1/charges",
			body:   "amount=1000&currency=usd&source=tok_visa",
			header: header("Idempotency-Key", "under way"),
		}
		first, goOn := s.start(t, r)
		early := s.ask(t, r)
		goOn()
		requireRefusal(t, early, refused{status: 409, want: fault{Type: idempotency, Code: "idempotency_key_in_use"}})
		if early.header.Get("Stripe-Should-Retry") != "true" {
			t.Errorf("clients are not told to retry: %v", early.header)
		}
		done, late := <-first, s.ask(t, r)
		if done.status != http.StatusOK || string(late.body) != string(done.body) {
			t.Errorf("the first was answered %d %s, the last %d %s", done.status, done.body, late.status, late.body)
		}
	})

	t.Run("a key whose request was wrong is free for a better one", func(t *testing.T) {
		key := header("Idempotency-Key", "second thoughts")
		a := s.ask(t, sent{target: "/v1/customers", body: "email=nobody", header: key})
		if a.status != http.StatusBadRequest {
			t.Fatalf("answered %d", a.status)
		}
		a = s.ask(t, sent{target: "/v1/customers", body: "email=jenny@example.com", header: key})
		if a.status != http.StatusOK || a.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("answered %d %s", a.status, a.body)
		}
	})
}

package dashboard_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func TestEditing(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	edit := func(t *testing.T, at, ending string, typed url.Values) page {
		t.Helper()
		form := s.get(t, at)
		typed.Set("csrf", hidden(t, form, "csrf"))
		typed.Set("key", hidden(t, form, "key")+ending)
		return s.post(t, at+"/edit", typed)
	}

	for _, at := range []string{
		"/dashboard/payments/" + s.charge(t),
		s.create(t, "payment", 1, "amount", "20", "currency", "usd", "card", "visa", "capture_method",
			"automatic").path,
	} {
		t.Run("a payment gets a description and metadata, and loses them again: "+at, func(t *testing.T) {
			p := edit(t, at, "-edit",
				url.Values{"description": {"Two sledges"}, "meta_name": {"order", ""}, "meta_value": {"6735", ""}})
			for _, want := range []string{"Payment updated.", "Two sledges", `value="order"`, `value="6735"`} {
				if !strings.Contains(p.body, want) {
					t.Errorf("%s does not say %q", p.path, want)
				}
			}
			p = edit(t, at, "-edit", url.Values{"description": {""}, "meta_name": {"order"}, "meta_value": {""}})
			if strings.Contains(p.body, "Two sledges") || strings.Contains(p.body, "6735") {
				t.Error("the page still shows what was cleared")
			}
		})
	}

	t.Run("a customer's profile is edited", func(t *testing.T) {
		at := s.create(t, "customer", 1, "name", "Jenny").path
		p := edit(t, at, "", url.Values{
			"name":       {"Jenny Rosen"},
			"email":      {"jenny@example.com"},
			"meta_name":  {"tier"},
			"meta_value": {"gold"},
		})
		for _, want := range []string{"Customer updated.", "Jenny Rosen", "jenny@example.com", "gold"} {
			if !strings.Contains(p.body, want) {
				t.Errorf("%s does not say %q", p.path, want)
			}
		}
	})

	t.Run("a price is edited, becomes the default, and is archived", func(t *testing.T) {
		p := s.create(t, "product", 1, "name", "Toboggan", "amount", "15", "currency", "usd")
		product := strings.TrimPrefix(p.path, "/dashboard/products/")
		price := s.api(t, "/v1/prices", "product", product, "unit_amount", "1750", "currency", "usd")
		at := "/dashboard/prices/" + price
		requireWords(t, s.get(t, p.path), `href="`+at+`"`)
		p = edit(t, at, "-edit", url.Values{"nickname": {"Winter"}, "lookup_key": {"toboggan_winter"},
			"meta_name": {"season"}, "meta_value": {"winter"}})
		requireWords(t, p, "Price updated.", "$17.50", "Winter", "toboggan_winter", `value="season"`,
			`href="/dashboard/products/`+product+`"`, "One time", "No recent checkout session")
		csrf, key := hidden(t, p, "csrf"), hidden(t, p, "key")
		p = s.post(t, at+"/default", url.Values{"csrf": {csrf}, "key": {key + "-default"}})
		requireWords(t, p, "This price is now the default.", `<span class="badge">Default</span>`)
		if strings.Contains(p.body, "Archive price") {
			t.Error("the page offers to archive the default price, which the API refuses")
		}
		other := s.api(t, "/v1/prices", "product", product, "unit_amount", "1900", "currency", "usd")
		s.api(t, "/v1/products/"+product, "default_price", other)
		p = s.post(t, at+"/archive", url.Values{"csrf": {csrf}, "key": {key}})
		requireWords(t, p, "Price archived.", "Activate price")
		if strings.Contains(p.body, "/dashboard/new/link?price=") {
			t.Error("an archived price is offered for sale")
		}
	})
	t.Run("a price's page lists what used it", func(t *testing.T) {
		product := s.api(t, "/v1/products", "name", "Luge", "id", "luge-1")
		price := s.api(t, "/v1/prices", "product", product, "unit_amount", "4000", "currency", "usd")
		other := s.api(t, "/v1/prices", "product", product, "unit_amount", "9000", "currency", "usd",
			"recurring[interval]", "month", "recurring[interval_count]", "3")
		line := []string{"line_items[0][price]", price, "line_items[0][quantity]", "2"}
		session := s.api(t, "/v1/checkout/sessions",
			append(line, "mode", "payment", "success_url", "https://shop.example/thanks")...)
		link := s.api(t, "/v1/payment_links", line...)
		requireWords(t, s.get(t, "/dashboard/prices/"+price), session, "$80.00", "for 2", link,
			"/dashboard/new/payment-link?price="+price, `href="/dashboard/products/luge-1"`)
		p := s.get(t, "/dashboard/prices/"+other)
		requireWords(t, p, "every 3 months", "No recent checkout session", "No recent payment link")
		if strings.Contains(p.body, "/dashboard/new/link?price=") {
			t.Error("a price that cannot be paid is offered for sale")
		}
		if p := s.get(t, "/dashboard/search?q="+price); p.path != "/dashboard/prices/"+price {
			t.Errorf("the search led to %s", p.path)
		}
	})

	t.Run("a product is edited", func(t *testing.T) {
		at := s.create(t, "product", 1, "name", "Sledge", "amount", "15", "currency", "eur").path
		p := edit(t, at, "-edit", url.Values{
			"name":        {"Red sledge"},
			"description": {"For two"},
			"meta_name":   {"shelf"},
			"meta_value":  {"7b"},
		})
		requireWords(t, p, "Product updated.", "Red sledge", "For two", "shelf", "7b")
		p = edit(t, at, "-edit", url.Values{"name": {" "}})
		requireWords(t, p, "Red sledge")
	})

	t.Run("a part of a payment is refunded, with a reason", func(t *testing.T) {
		at := "/dashboard/payments/" + s.charge(t)
		form := s.get(t, at)
		p := s.post(t, at+"/refund", url.Values{
			"csrf":   {hidden(t, form, "csrf")},
			"key":    {hidden(t, form, "key")},
			"amount": {"7.50"},
			"reason": {"requested_by_customer"},
		})
		for _, want := range []string{"$7.50 refunded.", "Partially refunded", "requested by customer"} {
			if !strings.Contains(p.body, want) {
				t.Errorf("%s does not say %q", p.path, want)
			}
		}
	})
}

func TestAnsweringDisputes(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	disputed := func(t *testing.T, more ...string) string {
		t.Helper()
		card := []string{"payment_method", "pm_card_createDispute", "confirm", "true"}
		intent := s.intent(t, append(card, more...)...)
		s.sim.WaitUntilNotified(t, s.server.URL)
		var id string
		err := s.db.Pool.QueryRow(t.Context(), `
			SELECT d.id FROM disputes d JOIN charges c ON c.account_id = d.account_id AND c.id = d.charge_id
			WHERE c.payment_intent_id = $1`, intent).Scan(&id)
		if err != nil {
			t.Fatal(err)
		}
		return "/dashboard/disputes/" + id
	}
	answer := func(t *testing.T, at, action string, typed ...string) page {
		t.Helper()
		form := s.get(t, at)
		sent := url.Values{"csrf": {hidden(t, form, "csrf")}, "key": {hidden(t, form, "key")}}
		for i := 0; i < len(typed); i += 2 {
			sent.Set(typed[i], typed[i+1])
		}
		return s.post(t, at+"/"+action, sent)
	}

	t.Run("evidence is saved, and then submitted", func(t *testing.T) {
		at := disputed(t)
		p := answer(t, at, "evidence", "submit", "false", "customer_name", "Jenny Rosen")
		if !strings.Contains(p.body, "Draft saved.") || !strings.Contains(p.body, `value="Jenny Rosen"`) ||
			!strings.Contains(p.body, "Needs response") {
			t.Errorf("a draft was not saved: %s", p.body)
		}
		p = answer(t, at, "evidence", "submit", "true", "customer_name", " ", "sure", "yes")
		requireWords(t, p, "Nothing was sent. Enter your evidence first.", "Needs response")
		p = answer(t, at, "evidence", "submit", "true", "customer_name", "Jenny Rosen")
		requireWords(t, p, "Nothing was sent. Check the box to submit the evidence.", "Needs response")
		p = answer(t, at, "evidence", "submit", "true", "customer_name", "Jenny Rosen", "uncategorized_text",
			"Delivered on Friday", "sure", "yes")
		if !strings.Contains(p.body, "Evidence submitted.") || !strings.Contains(p.body, "Under review") ||
			strings.Contains(p.body, `id="respond"`) {
			t.Errorf("the evidence was not submitted: %s", p.body)
		}
		requireWords(t, p, "<dt>What happened</dt>", "<dt>Customer name</dt>") // as the form calls them
	})

	t.Run("the form starts with who paid, and the payment tells how the dispute stands", func(t *testing.T) {
		const billing = "billing_details"
		at := disputed(t, "payment_method", s.api(t, "/v1/payment_methods", "type", "card", "card[token]",
			"tok_createDispute", billing+"[name]", "Jenny Rosen", billing+"[email]", "jenny@example.com",
			billing+"[address][postal_code]", "94107"))
		dispute := s.get(t, at)
		requireWords(t, dispute, `name="customer_name" type="text" value="Jenny Rosen"`, `value="jenny@example.com"`)
		payment := "/dashboard/payments/" + regexp.MustCompile(`pi_\w+`).FindString(dispute.body)
		requireWords(t, s.get(t, payment), "Billing details", "Jenny Rosen", "jenny@example.com", "94107",
			"Needs response</span>")
		for text, want := range map[string]string{
			"winning_evidence": "Dispute won", "losing_evidence": "Dispute lost",
		} {
			at := disputed(t)
			answer(t, at, "evidence", "submit", "true", "uncategorized_text", text, "sure", "yes")
			s.sim.WaitUntilNotified(t, s.server.URL)
			payment := "/dashboard/payments/" + regexp.MustCompile(`pi_\w+`).FindString(s.get(t, at).body)
			for _, path := range []string{payment, "/dashboard/payments"} {
				requireWords(t, s.get(t, path), want+"</span>")
			}
		}
		list := s.get(t, "/dashboard/payments")
		requireWords(t, list, "jenny@example.com", "Needs response</span>")
		requireWords(t, s.get(t, "/dashboard/payments.csv"), "request,email,name,dispute\n",
			",jenny@example.com,Jenny Rosen,needs_response\n", ",won\n", ",lost\n")
		if strings.Contains(list.body, "Disputed</span>") {
			t.Error("a dispute that is over is called open")
		}
	})

	t.Run("a dispute is accepted only with its box checked", func(t *testing.T) {
		at := disputed(t)
		p := answer(t, at, "accept")
		if !strings.Contains(p.body, "Nothing changed.") || !strings.Contains(p.body, "Needs response") {
			t.Error("a dispute was accepted without a confirmation")
		}
		p = answer(t, at, "accept", "sure", "yes")
		if !strings.Contains(p.body, "Dispute accepted.") || !strings.Contains(p.body, "Lost") {
			t.Errorf("the dispute was not accepted: %s", p.body)
		}
		n := s.count(t,
			fmt.Sprintf(`SELECT count(*) FROM requests WHERE path = '/v1%s/close'`,
				strings.TrimPrefix(at, "/dashboard")))
		if n != 1 {
			t.Errorf("there are %d requests that close it, want 1", n)
		}
	})
}

package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// create opens a form of the menu New, fills it in and sends it, as often as is said.
func (s *env) create(t *testing.T, what string, times int, typed ...string) page {
	t.Helper()
	form := s.get(t, "/dashboard/new/"+what)
	if form.status != http.StatusOK {
		t.Fatalf("the form %s was answered %d: %s", what, form.status, s.log)
	}
	sent := url.Values{
		"csrf":  {hidden(t, form, "csrf")},
		"key":   {hidden(t, form, "key")},
		"scope": {hidden(t, form, "scope")},
	}
	for i := 0; i < len(typed); i += 2 {
		sent.Set(typed[i], typed[i+1])
	}
	var last page
	for range times {
		last = s.post(t, "/dashboard/new/"+what, sent)
	}
	return last
}

func TestCreatingThings(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")

	for _, c := range []struct {
		what, table, page string
		typed             []string
		shows             []string
	}{
		{"payment", "payment_intents", "/dashboard/payments/pi_",
			[]string{"amount", "20.00", "currency", "usd", "card", "visa", "capture_method", "automatic",
				"description", "By hand"},
			[]string{"Payment created.", "Succeeded", "By hand"}},
		{"customer", "customers", "/dashboard/customers/cus_",
			[]string{"name", "Jenny Rosen", "email", "jenny@example.com"},
			[]string{"Customer created.", "Jenny Rosen"}},
		{"product", "products", "/dashboard/products/prod_",
			[]string{"name", "Sledge", "amount", "15", "currency", "eur"},
			[]string{"Product created.", "Sledge", "€15.00", "default"}},
		{"link", "checkout_sessions", "/dashboard/checkout/cs_",
			[]string{"name", "T-shirt", "amount", "9.50", "currency", "usd", "quantity", "2", "success_url",
				"https://shop.example/thanks"},
			[]string{"Link created.", "$19.00", "Share this link"}},
		{"payment-link", "payment_links", "/dashboard/links/plink_",
			[]string{"name", "T-shirt", "amount", "9.50", "currency", "usd", "quantity", "2"},
			[]string{"Payment link created.", "$19.00", "T-shirt", "Share this link", "No one has opened"}},
	} {
		t.Run(c.what+" is created once, however often the form is sent", func(t *testing.T) {
			before := s.count(t, "SELECT count(*) FROM "+c.table)
			p := s.create(t, c.what, 2, c.typed...)
			if p.status != http.StatusOK || !strings.HasPrefix(p.path, c.page) {
				t.Fatalf("the form led to %s (%d): %s", p.path, p.status, p.body)
			}
			for _, want := range c.shows {
				if !strings.Contains(p.body, want) {
					t.Errorf("%s does not say %q", p.path, want)
				}
			}
			if n := s.count(t, "SELECT count(*) FROM "+c.table) - before; n != 1 {
				t.Errorf("there are %d new rows in %s, want 1", n, c.table)
			}
		})
	}

	t.Run("a form suggests the account's customers and products", func(t *testing.T) {
		for what, want := range map[string][]string{
			"payment":      {`<option value="cus_`, "Jenny Rosen, jenny@example.com"},
			"link":         {`<option value="price_`, "Sledge, €15.00"},
			"payment-link": {`<option value="price_`, "Sledge, €15.00"},
			"payout":       {"Nothing is available yet."},
		} {
			requireWords(t, s.get(t, "/dashboard/new/"+what), want...)
		}
	})
	t.Run("the name of a product sells it, if it has one price", func(t *testing.T) {
		sell := []string{"quantity", "1", "price"}
		requireWords(t, s.create(t, "payment-link", 1, append(sell, "sledge")...), "Payment link created.", "€15.00")
		requireWords(t, s.create(t, "payment-link", 1, append(sell, "Sledge, €15.00")...), "Payment link created.")
		requireWords(t, s.create(t, "payment-link", 1, append(sell, "Toboggan")...), "Choose a product from the list.",
			`value="Toboggan"`)
	})
	t.Run("a payout of more than there is says so in the words of the page", func(t *testing.T) {
		p := s.create(t, "payout", 1, "amount", "99999", "currency", "usd", "method", "standard")
		requireWords(t, p, "Your available balance is lower than this amount.")
	})

	t.Run("a payment of an older customer takes their email, and says so if no one, or several, have it",
		func(t *testing.T) {
			customer := s.api(t, "/v1/customers", "email", "old@example.com")
			for range 101 { // more than the form suggests
				s.api(t, "/v1/customers", "email", "twin@example.com")
			}
			pay := []string{"amount", "20", "currency", "usd", "card", "visa", "capture_method", "automatic",
				"customer"}
			if form := s.get(t, "/dashboard/new/payment"); strings.Contains(form.body, customer) {
				t.Fatal("the customer is among the suggestions")
			}
			requireWords(t, s.create(t, "payment", 1, append(pay, "old@example.com")...), "Payment created.", customer)
			requireWords(t, s.create(t, "payment", 1, append(pay, customer)...), "Payment created.", customer)
			requireWords(t, s.create(t, "payment", 1, append(pay, "OLD@Example.com")...), "Payment created.", customer)
			anna := s.api(t, "/v1/customers", "name", "Anna Berg", "email", "Anna@Example.com")
			for _, text := range []string{"anna berg", "anna@example.com", "Anna Berg, Anna@Example.com"} {
				requireWords(t, s.create(t, "payment", 1, append(pay, text)...), "Payment created.", anna)
				requireWords(t, s.get(t, "/dashboard/payments?customer="+url.QueryEscape(text)), "Anna@Example.com")
			}
			requireWords(t, s.create(t, "payment", 1, append(pay, "anna")...), "Choose a customer from the list.",
				`value="anna"`)
			requireWords(t, s.get(t, "/dashboard/payments?customer=anna"), "Enter an email or an ID.",
				"No matching payments")
			requireWords(t, s.get(t, "/dashboard/payments?customer=none@example.com"), "No customer has this email.")
			requireWords(t, s.create(t, "payment", 1, append(pay, "none@example.com")...),
				"No customer has this email.", `value="none@example.com"`)
			requireWords(t, s.create(t, "payment", 1, append(pay, "twin@example.com")...),
				"Several customers have this email.")
		})

	t.Run("a form that fails marks the field that is wrong, and no other", func(t *testing.T) {
		for _, c := range []struct {
			what, field string
			typed       []string
		}{
			{"payment", "amount", []string{"amount", "lots", "currency", "usd", "card", "visa"}},
			{"payment", "customer", []string{"amount", "20", "currency", "usd", "card", "visa", "customer", "cus_none",
				"capture_method", "automatic"}},
			{"customer", "email", []string{"email", "not an address"}},
			{"payment-link", "name", []string{"quantity", "1"}},
			{"payment-link", "price", []string{"quantity", "1", "price", "price_none"}},
			{"payout", "amount", []string{"amount", "1000000", "currency", "usd", "method", "standard"}},
		} {
			p := s.create(t, c.what, 1, c.typed...)
			marked := regexp.MustCompile(`id="` + c.field + `"[^>]* aria-invalid="true" aria-describedby="wrong"`)
			if n := strings.Count(p.body, `aria-invalid="true"`); n != 1 || !marked.MatchString(p.body) {
				t.Errorf("%s with %v marks %d fields, want %s alone: %d %s", c.what, c.typed, n, c.field, p.status,
					p.body)
			}
		}
	})

	t.Run("a declined card leads to the payment, which can be seen", func(t *testing.T) {
		p := s.create(t, "payment", 1, "amount", "20", "currency", "usd", "card", "chargeDeclined", "capture_method",
			"automatic")
		if !strings.HasPrefix(p.path, "/dashboard/payments/pi_") ||
			!strings.Contains(p.body, "Your card was declined.") {
			t.Errorf("a declined card led to %s", p.path)
		}
		if strings.Contains(p.body, "Finished") {
			t.Error("the request that was declined is called finished")
		}
	})

	t.Run("what the API refuses stays in the form, with its message", func(t *testing.T) {
		p := s.create(t, "payout", 1, "amount", "999999", "currency", "usd", "method", "standard", "description",
			"Too much")
		if p.status != http.StatusBadRequest || !strings.Contains(p.body, `role="alert"`) ||
			!strings.Contains(p.body, `value="Too much"`) {
			t.Errorf("a payout of more than there is was answered %d: %s", p.status, p.body)
		}
	})

	t.Run("an amount that cannot be read is not sent", func(t *testing.T) {
		before := s.count(t, `SELECT count(*) FROM requests`)
		p := s.create(t, "payment", 1, "amount", "a lot", "currency", "usd", "card", "visa")
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "Enter an amount") ||
			s.count(t, `SELECT count(*) FROM requests`) != before {
			t.Errorf("an unreadable amount was answered %d", p.status)
		}
	})

	t.Run("a comma stands only between thousands: elsewhere it may be meant as a point, and nothing is sent",
		func(t *testing.T) {
			pay := func(currency, amount string) page {
				return s.create(t, "payment", 1, "amount", amount, "currency", currency, "card", "visa",
					"capture_method", "automatic")
			}
			requireWords(t, pay("eur", "1,050"), "Payment created.", "€1,050.00")
			requireWords(t, pay("eur", "1,050.5"), "Payment created.", "€1,050.50")
			requireWords(t, pay("clp", "12,345,678"), "Payment created.", "12,345,678")
			before := s.count(t, `SELECT count(*) FROM requests`)
			for _, amount := range []string{"10,50", "1.050,00", "1,05", "10,5000", "1,0500", ",500", "1,,050",
				"1,050,"} {
				requireWords(t, pay("eur", amount), "Use a point for decimals, as in 10.50.")
			}
			requireWords(t, pay("jpy", "10,50"), "Amounts in JPY have no decimals.")
			requireWords(t, pay("kwd", "1.235"), "KWD amounts can have at most two decimal places, such as 1.23.")
			requireWords(t, pay("isk", "123.5"), "ISK amounts can have no decimal places, such as 123.")
			if s.count(t, `SELECT count(*) FROM requests`) != before {
				t.Error("a request was sent")
			}
		})

	t.Run("a form of another account than is chosen now is not sent", func(t *testing.T) {
		form := s.get(t, "/dashboard/new/customer")
		before := s.count(t, `SELECT count(*) FROM customers`)
		p := s.post(t, "/dashboard/new/customer", url.Values{
			"csrf":  {hidden(t, form, "csrf")},
			"key":   {hidden(t, form, "key")},
			"scope": {"acct_2.test"},
			"name":  {"Nora"},
		})
		if p.status != http.StatusUnprocessableEntity || s.count(t, `SELECT count(*) FROM customers`) != before {
			t.Errorf("it was answered %d", p.status)
		}
	})

	t.Run("a product gets another price, and is archived", func(t *testing.T) {
		p := s.create(t, "product", 1, "name", "Mug", "amount", "18", "currency", "usd")
		at, csrf, key := p.path, hidden(t, p, "csrf"), hidden(t, p, "key")
		p = s.post(t, at+"/price", url.Values{"csrf": {csrf}, "key": {key}, "amount": {"17.50"}, "currency": {"usd"}})
		if !strings.Contains(p.body, "$17.50") {
			t.Errorf("the new price is not on %s", p.path)
		}
		p = s.post(t, at+"/archive", url.Values{"csrf": {csrf}, "key": {key + "-archive"}})
		if !strings.Contains(p.body, "Activate product") {
			t.Errorf("the product was not archived: %s", p.body)
		}
		for state, want := range map[string]bool{"": false, "?state=archived": true, "?state=all": true} {
			list := s.get(t, "/dashboard/products"+state)
			if strings.Contains(list.body, at) != want {
				t.Errorf("the list %q has the archived product: %v", state, !want)
			}
			requireWords(t, list, `aria-current="true">`+map[string]string{"": "Active", "?state=archived": "Archived",
				"?state=all": "All"}[state])
		}
	})
}

func TestSessionWithDiscountAndShipping(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	s.api(t, "/v1/coupons", "id", "WINTER", "name", "Winter sale", "percent_off", "25", "duration", "once")
	const rate = "shipping_options[0][shipping_rate_data]"
	id := s.api(t, "/v1/checkout/sessions", "mode", "payment", "success_url", "https://shop.example/thanks",
		"line_items[0][quantity]", "1", "line_items[0][price_data][currency]", "usd",
		"line_items[0][price_data][unit_amount]", "4000", "line_items[0][price_data][product_data][name]", "Sledge",
		"discounts[0][coupon]", "WINTER", rate+"[display_name]", "Ground shipping", rate+"[type]", "fixed_amount",
		rate+"[fixed_amount][amount]", "500", rate+"[fixed_amount][currency]", "usd")
	requireWords(t, s.get(t, "/dashboard/checkout/"+id), "Subtotal", "$40.00", "Winter sale, coupon", "WINTER",
		"−$10.00",
		"Ground shipping", "$5.00", "Total", "$35.00")

	s.api(t, "/v1/payment_pages/"+id+"/confirm", "payment_method", "pm_card_visa", "email", "jenny@example.com")
	var intent string
	err := s.db.Pool.QueryRow(t.Context(), `
		SELECT payment_intent_id FROM checkout_sessions WHERE id = $1`, id).Scan(&intent)
	if err != nil {
		t.Fatal(err)
	}
	requireWords(t, s.get(t, "/dashboard/payments/"+intent), "Discount", "$10.00", "WINTER", "Shipping", "$5.00",
		"/dashboard/checkout/"+id)
}

// requireWords fails the test if the page lacks one of the words.
func requireWords(t *testing.T, p page, words ...string) {
	t.Helper()
	for _, want := range words {
		if !strings.Contains(p.body, want) {
			t.Errorf("%s does not show %q", p.path, want)
		}
	}
}

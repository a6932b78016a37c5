package dashboard_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// api asks as a merchant does, and returns the answer's id.
func (s *env) api(t *testing.T, path string, params ...string) string {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(params); i += 2 {
		form.Set(params[i], params[i+1])
	}
	made := s.post(t, path, form, "Authorization", "Bearer "+s.key)
	if made.status >= 500 {
		t.Fatalf("%s was answered %d %s", path, made.status, made.body)
	}
	found := regexp.MustCompile(`"id": ?"([^"]+)"`).FindStringSubmatch(made.body)
	if found == nil {
		return ""
	}
	return found[1]
}

func (s *env) intent(t *testing.T, more ...string) string {
	t.Helper()
	return s.api(t, "/v1/payment_intents",
		append([]string{"amount", "2500", "currency", "usd", "payment_method_types[]", "card"}, more...)...)
}

var rowKey = regexp.MustCompile(`<tr data-key="([^"]+)"`)

// rows are what a list shows, in its order.
func rows(p page) (ids []string) {
	for _, found := range rowKey.FindAllStringSubmatch(p.body, -1) {
		ids = append(ids, found[1])
	}
	return ids
}

func TestPaymentsAreOneList(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	plain := s.charge(t, "amount", "1000")
	tried := s.intent(t)
	s.api(t, "/v1/payment_intents/"+tried+"/confirm", "payment_method", "pm_card_visa_chargeDeclined")
	s.api(t, "/v1/payment_intents/"+tried+"/confirm", "payment_method", "pm_card_mastercard")
	open := s.intent(t, "amount", "9000")
	declined := s.intent(t)
	s.api(t, "/v1/payment_intents/"+declined+"/confirm", "payment_method", "pm_card_visa_chargeDeclined")
	held := s.intent(t, "capture_method", "manual", "confirm", "true", "payment_method", "pm_card_amex")
	gone := s.intent(t)
	s.api(t, "/v1/payment_intents/"+gone+"/cancel")
	customer := s.api(t, "/v1/customers", "email", "jenny@example.com", "source", "tok_visa")
	theirs := s.api(t, "/v1/charges", "amount", "500000", "currency", "usd", "customer", customer)
	yen := s.charge(t, "amount", "5000", "currency", "jpy")
	dinar := s.charge(t, "amount", "50000", "currency", "kwd")

	t.Run("an intent and its charges are one line", func(t *testing.T) {
		want := []string{dinar, yen, theirs, gone, held, declined, open, tried, plain}
		if got := rows(s.get(t, "/dashboard/payments")); !slices.Equal(got, want) {
			t.Errorf("listed %v\nwant   %v", got, want)
		}
	})

	t.Run("each filter leaves what it names", func(t *testing.T) {
		for filter, want := range map[string][]string{
			"state=succeeded":             {dinar, yen, theirs, tried, plain},
			"state=failed":                {declined},
			"state=incomplete":            {open},
			"state=uncaptured":            {held},
			"state=canceled":              {gone},
			"brand=mastercard":            {tried},
			"brand=amex&state=uncaptured": {held},
			"customer=" + customer:        {theirs},
			"currency=JPY":                {yen},
			"min=50":                      {dinar, yen, theirs, open}, // 50 dinars, 5000 yen, 5000 and 90 dollars
			"min=50.01&max=90":            {open},
			"max=10":                      {plain},
			"min=5000&max=5000":           {yen, theirs},
			"from=2999-01-01":             nil,
			"to=2000-01-01":               nil,
			"crashed=yes":                 nil,
			"last4=0002":                  {declined},
			"min=5,000&max=5,000.00":      {yen, theirs},
			"min=10,50":                   {dinar, yen, theirs, gone, held, declined, open, tried, plain},
			"min=nonsense":                {dinar, yen, theirs, gone, held, declined, open, tried, plain},
		} {
			p := s.get(t, "/dashboard/payments?"+filter)
			if got := rows(p); !slices.Equal(got, want) {
				t.Errorf("%s leaves %v, want %v", filter, got, want)
			}
			file, err := csv.NewReader(strings.NewReader(s.get(t, "/dashboard/payments.csv?"+filter).body)).ReadAll()
			if err != nil || len(file) != len(want)+1 {
				t.Errorf("%s leaves %d lines in the file, %v", filter, len(file), err)
			}
		}
		if p := s.get(t, "/dashboard/payments?min=nonsense"); !strings.Contains(p.body, "“nonsense” isn’t an amount") {
			t.Error("what cannot be read is left out without a word")
		}
		requireWords(t, s.get(t, "/dashboard/payments?min=10,50"), "“10,50” isn’t an amount. Use a point for decimals")
	})

	t.Run("a charge of an intent is shown with it, with every try", func(t *testing.T) {
		charge := regexp.MustCompile(`ch_\w+`).FindString(s.get(t, "/dashboard/payments/"+tried).body)
		p := s.get(t, "/dashboard/payments/"+charge)
		if p.path != "/dashboard/payments/"+tried {
			t.Errorf("it leads to %s", p.path)
		}
		for _, want := range []string{"card declined", "Mastercard", "payment_intent.payment_failed",
			"payment_intent.succeeded"} {
			if !strings.Contains(p.body, want) {
				t.Errorf("the page does not tell of %q", want)
			}
		}
	})

	t.Run("a payment shows the card that would pay it now, or the last one that was tried", func(t *testing.T) {
		id := s.intent(t)
		at := "/v1/payment_intents/" + id
		card := func(want string) {
			t.Helper()
			if got := rows(s.get(t, "/dashboard/payments?last4="+want)); !slices.Contains(got, id) {
				t.Errorf("the list does not show the card %s", want)
			}
			requireWords(t, s.get(t, "/dashboard/payments/"+id), "ending in "+want)
		}
		s.api(t, at+"/confirm", "payment_method", "pm_card_visa_chargeDeclined")
		card("0002")
		s.api(t, at, "payment_method", "pm_card_mastercard")
		card("4444")
		s.api(t, at+"/confirm", "payment_method", "pm_card_amex")
		card("0005")
	})

	t.Run("a hold of an intent is captured in part, an unpaid one canceled", func(t *testing.T) {
		for _, c := range []struct{ id, action, amount, want string }{{held, "capture", "20.00", "$20.00 captured."},
			{open, "cancel", "", "Payment canceled."}} {
			at := "/dashboard/payments/" + c.id
			drawn := s.get(t, at)
			form := url.Values{
				"csrf":   {hidden(t, drawn, "csrf")},
				"key":    {hidden(t, drawn, "key")},
				"amount": {c.amount},
			}
			if p := s.post(t, at+"/"+c.action, form); p.status != http.StatusOK || !strings.Contains(p.body, c.want) {
				t.Errorf("%s was answered %d", c.action, p.status)
			}
			if p := s.post(t, at+"/"+c.action, form); p.status != http.StatusOK || p.path != at {
				t.Errorf("sent again, %s was answered %d at %s", c.action, p.status, p.path)
			}
		}
		if n := s.count(t, `
			SELECT count(*) FROM audit_events
			WHERE actor = 'dashboard' AND operation IN ('payment_intent.capture', 'payment_intent.cancel')`); n != 2 {
			t.Errorf("the trail has %d of the two actions", n)
		}
	})
}

func TestSpreadsheetsRunNothing(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	dangerous := []string{`=1+1`, `+1+1`, `-1+1`, `@SUM(1)`, "\t=1", "\n=1", "  =1", `=cmd|'/C calc'!A0`, `＝1+1`,
		`|calc`}
	harmless := []string{`a=1`, `Order 6735`, `-5`, `-5.25`, `"quoted", and = inside`}
	for _, text := range append(slices.Clone(dangerous), harmless...) {
		s.charge(t, "description", text)
	}
	file, err := csv.NewReader(strings.NewReader(s.get(t, "/dashboard/payments.csv").body)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var cells []string
	for _, line := range file[1:] {
		cells = append(cells, line[9])
		for _, cell := range line {
			if first := strings.TrimLeft(cell, " "); first != "" && strings.ContainsAny(first[:1], "=+@\t\r\n|") {
				t.Errorf("a cell begins like a formula: %q", cell)
			}
		}
	}
	slices.Reverse(cells)
	for i, text := range dangerous {
		if !strings.HasPrefix(cells[i], "'") {
			t.Errorf("%q is written %q", text, cells[i])
		}
	}
	for i, text := range harmless {
		if got := cells[len(dangerous)+i]; got != text {
			t.Errorf("%q is written %q", text, got)
		}
	}
}

func TestAnEmptyListNamesTheNextStep(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	empty := regexp.MustCompile(`(?s)<div class="card empty">.*?</div>`)
	for _, path := range []string{"/payments", "/payments?state=failed", "/customers", "/disputes", "/payouts",
		"/customers?email=jim@example.com", "/checkout", "/products", "/links", "/emails", "/events",
		"/requests"} {
		p := s.get(t, "/dashboard"+path)
		said := empty.FindString(p.body)
		if !strings.Contains(said, "<p>") || !strings.Contains(said, `<a class="button`) {
			t.Errorf("%s says neither what appears there nor what to do next: %s", path, said)
		}
	}
}

func TestAnEmptyInstallationLeadsOn(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	link := regexp.MustCompile(`<a [^>]*href="(/[^"#]*)`)
	seen := map[string]bool{}
	for _, path := range []string{"", "/payments", "/customers", "/checkout", "/disputes", "/balance", "/payouts",
		"/ledger", "/requests", "/idempotency", "/events",
		"/webhooks", "/processes", "/clock", "/search?q=nothing", "/payments?state=failed", "/checkout?state=open",
		"/disputes?state=won", "/payouts?state=paid"} {
		p := s.get(t, "/dashboard"+path)
		if p.status != http.StatusOK || !strings.Contains(p.body, "<h1>") {
			t.Errorf("%s was answered %d", path, p.status)
		}
		for _, found := range link.FindAllStringSubmatch(p.body, -1) {
			seen[strings.ReplaceAll(found[1], "&amp;", "&")] = true
		}
	}
	for path := range seen {
		if p := s.get(t, path); p.status != http.StatusOK {
			t.Errorf("a link leads to %s, which is answered %d", path, p.status)
		}
	}
	if len(seen) < 30 {
		t.Errorf("found %d links; the search is broken", len(seen))
	}
}

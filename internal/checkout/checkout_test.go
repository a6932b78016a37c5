package checkout_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/testapp"
	"github.com/ratchet-pay/ratchet/internal/testcard"
	"github.com/ratchet-pay/ratchet/web/webtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// What a browser does is tried in test/browser. Here is what no browser shows.

// env is an API without a dashboard, over real HTTP.
type env struct {
	db     *pgtest.DB
	server *httptest.Server
	key    string
	log    *testapp.Log
}

func newEnv(t *testing.T) *env {
	t.Helper()
	app := testapp.New(t)
	return &env{db: app.DB, server: app.Server, log: app.Log, key: app.Open(t, "acct_1", "Toboggans")}
}

type page struct {
	status int
	header http.Header
	body   string
}

// do asks for a page and follows nothing.
func (s *env) do(t *testing.T, method, path string, form url.Values, header ...string) page {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := webtest.Read(response)
	if err != nil {
		t.Fatal(err)
	}
	return page{response.StatusCode, response.Header, body}
}

// session makes one, and returns the path of its page.
func (s *env) session(t *testing.T, more ...url.Values) string {
	t.Helper()
	params := url.Values{
		"mode":                                          {"payment"},
		"success_url":                                   {"https://shop.example/thanks?s={CHECKOUT_SESSION_ID}"},
		"line_items[0][quantity]":                       {"1"},
		"line_items[0][price_data][currency]":           {"usd"},
		"line_items[0][price_data][unit_amount]":        {"1500"},
		"line_items[0][price_data][product_data][name]": {"Sledge"},
	}
	for _, m := range more {
		maps.Copy(params, m)
	}
	made := s.do(t, http.MethodPost, "/v1/checkout/sessions", params, "Authorization", "Bearer "+s.key)
	var session struct{ ID, URL string }
	err := json.Unmarshal([]byte(made.body), &session)
	if err != nil || session.URL != s.server.URL+"/c/pay/"+session.ID+"#checkout" {
		t.Fatalf("answered %d %s", made.status, made.body)
	}
	return "/c/pay/" + session.ID
}

func card(t *testing.T, name string) string {
	t.Helper()
	found, known := testcard.ByName(name)
	if !known {
		t.Fatalf("no card is called %s", name)
	}
	return found.Number()
}

func form(number string) url.Values {
	return url.Values{
		"attempt":           {"0"},
		"email":             {"jenny@example.com"},
		"cardNumber":        {number},
		"cardExpiry":        {"12 / 40"},
		"cardCvc":           {"987"},
		"billingName":       {"Jenny Rosen"},
		"billingCountry":    {"US"},
		"billingPostalCode": {"94107"},
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	path := s.session(t)

	t.Run("it keeps itself to itself, and needs no dashboard", func(t *testing.T) {
		shown := s.do(t, http.MethodGet, path, nil)
		if shown.status != http.StatusOK || !strings.Contains(shown.body, "Pay $15.00") ||
			shown.header.Get("Cache-Control") != "no-store" ||
			!strings.Contains(shown.header.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
			strings.Contains(shown.body, "shop.example/thanks") {
			t.Errorf("answered %d %v", shown.status, shown.header)
		}
		if strings.Contains(shown.body, "kill -9") {
			t.Error("outside a demo the page offers to break something")
		}
		for _, asset := range regexp.MustCompile(`/assets/[^"]+`).FindAllString(shown.body, -1) {
			if got := s.do(t, http.MethodGet, asset, nil); got.status != http.StatusOK {
				t.Errorf("%s answers %d", asset, got.status)
			}
		}
	})

	t.Run("an address of no session is nothing", func(t *testing.T) {
		for _, name := range []string{"cs_test_none", "cs_test_%ff", "cs_test_%00", "%27", "cs_test_a%2fb"} {
			if got := s.do(t, http.MethodGet, "/c/pay/"+name, nil); got.status != http.StatusNotFound {
				t.Errorf("%s: answered %d", name, got.status)
			}
		}
	})

	t.Run("a postal code is whole where banks check it", func(t *testing.T) {
		for _, c := range []struct{ country, code, fault string }{
			{"US", "", "Your ZIP code is incomplete."}, {"US", "9410", "Your ZIP code is incomplete."},
			{"US", "941070", "Your ZIP code is incomplete."}, {"US", "SW1A 1AA", "Your ZIP code is incomplete."},
			{"GB", "", "Your postal code is incomplete."}, {"CA", "", "Your postal code is incomplete."},
			{"US", "94107", ""}, {"US", "94107-1234", ""}, {"GB", "SW1A 1AA", ""}, {"DE", "", ""},
		} {
			f := form("4242")
			f.Set("billingCountry", c.country)
			f.Set("billingPostalCode", c.code)
			got := s.do(t, http.MethodPost, path, f)
			said := regexp.MustCompile(`id="billingPostalCode-error">([^<]*)<`).FindStringSubmatch(got.body)
			if said == nil || said[1] != c.fault {
				t.Errorf("%s with %q: answered %d, and says %q", c.country, c.code, got.status, said)
			}
		}
		if s.requests(t) != 0 {
			t.Error("the API was asked")
		}
	})

	t.Run("another site's form is not taken", func(t *testing.T) {
		got := s.do(t, http.MethodPost, path, form(card(t, "visa")), "Sec-Fetch-Site", "cross-site")
		if got.status != http.StatusForbidden || s.requests(t) != 0 {
			t.Errorf("answered %d, and %d requests", got.status, s.requests(t))
		}
	})

	t.Run("who takes another card than the one that the bank asks about sees no error", func(t *testing.T) {
		path := s.session(t)
		s.do(t, http.MethodPost, path, form(card(t, "threeDSecure2Required")))
		if shown := s.do(t, http.MethodGet, path, nil); !strings.Contains(shown.body, "Use another card") {
			t.Fatalf("the page does not ask for the bank: %s", shown.body)
		}
		s.do(t, http.MethodPost, path+"/another", url.Values{})
		for query, failed := range map[string]bool{"?card=another": false, "": true} {
			shown := s.do(t, http.MethodGet, path+query, nil)
			if !strings.Contains(shown.body, "Pay $15.00") ||
				strings.Contains(shown.body, "We are unable to authenticate") != failed {
				t.Errorf("the page %q tells of an error: %v", query, !failed)
			}
		}
	})
}

// requests is how often the API was asked to confirm a page.
func (s *env) requests(t *testing.T) (n int) {
	t.Helper()
	err := s.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM requests WHERE flow = 'payment_page.confirm'`).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOneKeyIsOneAttempt(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	path := s.session(t)
	state := func(p page) (got struct{ State, Key, Next, Message string }) {
		if err := json.Unmarshal([]byte(p.body), &got); err != nil {
			t.Fatalf("answered %d %s", p.status, p.body)
		}
		return got
	}
	pay := func(number, attempt string) page {
		f := form(number)
		f.Set("attempt", attempt)
		return s.do(t, http.MethodPost, path, f, "Accept", "application/json")
	}
	declined, visa := card(t, "visa_chargeDeclined"), card(t, "visa")
	first := state(pay(declined, "0"))
	again := state(pay(declined, "0"))
	if again != first || first.State != "open" || !strings.HasSuffix(first.Key, "-2") || s.requests(t) != 1 {
		t.Errorf("told %+v, then %+v, after %d requests", first, again, s.requests(t))
	}
	other := state(pay(visa, "0"))
	if other.State != "open" || !strings.Contains(other.Message, "another tab") || s.requests(t) != 1 {
		t.Errorf("the old key with another card: told %+v, after %d requests", other, s.requests(t))
	}
	if ahead := state(pay(declined, "7")); ahead.State != "open" || !strings.HasSuffix(ahead.Key, "-3") {
		t.Errorf("a number that nobody was given: told %+v", ahead)
	}
	for range 2 {
		paid := state(pay(visa, "2"))
		if paid.State != "complete" ||
			paid.Next != "https://shop.example/thanks?s="+strings.TrimPrefix(path, "/c/pay/") {
			t.Errorf("told %+v", paid)
		}
	}
	var charged int
	err := s.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM charges WHERE status = 'succeeded'`).Scan(&charged)
	if err != nil || charged != 1 || s.requests(t) != 3 {
		t.Errorf("%d charges after %d requests, %v", charged, s.requests(t), err)
	}
}

func TestNoCardIsRepeatedOrKept(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	path, number := s.session(t), card(t, "visa_chargeDeclinedLostCard") // which the page does not offer
	grouped := number[:4] + " " + number[4:8] + " " + number[8:12] + " " + number[12:]
	holds := func(text string) bool { return strings.Contains(strings.ReplaceAll(text, " ", ""), number) }
	attempts := []url.Values{form(number), form(grouped), form(number[:15] + "1")}
	for _, slipped := range []string{"billingName", "email", "cardExpiry", "cardCvc", "billingPostalCode",
		"phoneNumber", "attempt", "bank_fault"} {
		f := form(number)
		f.Set(slipped, grouped)
		attempts = append(attempts, f)
		f = form(number)
		f.Set(slipped, "paid with "+grouped+" 12/30")
		attempts = append(attempts, f)
	}
	for i, f := range attempts {
		for _, accept := range []string{"text/html", "application/json"} {
			got := s.do(t, http.MethodPost, path, f, "Accept", accept)
			if holds(got.body) || strings.Contains(got.body, `"987"`) ||
				got.status >= http.StatusInternalServerError || got.status == http.StatusSeeOther {
				t.Errorf("form %d as %s: answered %d, with the number: %t", i, accept, got.status, holds(got.body))
			}
		}
	}
	if s.requests(t) == 0 || holds(s.log.String()) || !strings.Contains(s.log.String(), "/confirm") {
		t.Error("the log has the number in it, or nothing")
	}
	for table, text := range s.db.Text(t) {
		if holds(text) {
			t.Errorf("%s has the number in it", table)
		}
	}
}

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/apiversion"
)

// before is the version that every change in the table is newer than.
const before = "2017-08-15"

// TestVersions asks for objects in old versions and in new ones.
func TestVersions(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	ask := func(t *testing.T, version, method, target, body string) answer {
		t.Helper()
		a := s.ask(t, sent{method: method, target: target, body: body, header: header("Stripe-Version", version)})
		if a.status == http.StatusOK && a.header.Get("Stripe-Version") != version {
			t.Errorf("%s %s in %s was answered in %q", method, target, version, a.header.Get("Stripe-Version"))
		}
		return a
	}
	ok := func(t *testing.T, a answer) map[string]any {
		t.Helper()
		if a.status != http.StatusOK {
			t.Fatalf("answered %d %s", a.status, a.body)
		}
		return a.object
	}
	const paid = "amount=1000&currency=usd&payment_method=pm_card_visa&confirm=true"

	t.Run("every version that Stripe has had is answered under its own name", func(t *testing.T) {
		for _, version := range apiversion.Versions() {
			ok(t, ask(t, string(version), http.MethodGet, "/v1/balance", ""))
		}
	})

	t.Run("before 2023-08-16 an intent takes cards, and is confirmed without a return_url", func(t *testing.T) {
		intent := ok(t, ask(t, "2022-11-15", http.MethodPost, "/v1/payment_intents", paid))
		if intent["status"] != "succeeded" || intent["automatic_payment_methods"] != nil {
			t.Errorf("the intent is %v with %v", intent["status"], intent["automatic_payment_methods"])
		}
		setup := ok(t,
			ask(t, "2022-11-15", http.MethodPost, "/v1/setup_intents", "payment_method=pm_card_visa&confirm=true"))
		if setup["status"] != "succeeded" || setup["automatic_payment_methods"] != nil {
			t.Errorf("the setup is %v with %v", setup["status"], setup["automatic_payment_methods"])
		}
		if a := ask(t, "2023-08-16", http.MethodPost, "/v1/payment_intents", paid); a.status != http.StatusBadRequest {
			t.Errorf("2023-08-16: answered %d %s", a.status, a.body)
		}
	})

	t.Run("before 2025-09-30 a promotion code is made of a coupon, and contains it", func(t *testing.T) {
		coupon := ok(t, ask(t, "2025-09-30.clover", http.MethodPost, "/v1/coupons", "percent_off=10"))["id"].(string)
		old := ok(t, ask(t, "2025-08-27.basil", http.MethodPost, "/v1/promotion_codes", "coupon="+coupon))
		if within(old, "coupon", "id") != coupon ||
			within(old, "coupon", "percent_off") == nil || old["promotion"] != nil {
			t.Errorf("the old code is %v", old)
		}
		const list = "/v1/promotion_codes?coupon="
		listed := firstOf(t, ok(t, ask(t, "2025-08-27.basil", http.MethodGet, list+coupon, "")))
		if listed["id"] != old["id"] || within(listed, "coupon", "id") != coupon {
			t.Errorf("the list contains %v", listed)
		}
		now := ok(t, ask(t, "2025-09-30.clover", http.MethodPost, "/v1/promotion_codes",
			"promotion[type]=coupon&promotion[coupon]="+coupon))
		if within(now, "promotion", "coupon") != coupon || now["coupon"] != nil {
			t.Errorf("the new code is %v", now)
		}
		const sold = "mode=payment&success_url=https://shop.example&line_items[0][quantity]=1" +
			"&line_items[0][price_data][currency]=usd&line_items[0][price_data][unit_amount]=1000" +
			"&line_items[0][price_data][product_data][name]=Kite&expand[]=total_details.breakdown&discounts[0][coupon]="
		breakdown := within(ok(t, ask(t, "2025-08-27.basil", http.MethodPost, "/v1/checkout/sessions", sold+coupon)),
			"total_details", "breakdown", "discounts").([]any)[0]
		if within(breakdown.(map[string]any), "discount", "coupon", "percent_off") == nil {
			t.Errorf("the old discount is %v", breakdown)
		}
		a := ask(t, "2025-09-30.clover", http.MethodPost, "/v1/promotion_codes", "coupon="+coupon)
		if a.status != http.StatusBadRequest {
			t.Errorf("the new version takes the old parameter: %d %s", a.status, a.body)
		}
	})

	t.Run("before 2024-04-10 a payment is captured with automatic, of a session too", func(t *testing.T) {
		const intent = "amount=1000&currency=usd"
		for version, want := range map[string]string{"2023-10-16": "automatic", "2024-04-10": "automatic_async"} {
			got := ok(t, ask(t, version, http.MethodPost, "/v1/payment_intents", intent))
			if got["capture_method"] != want {
				t.Errorf("%s: the intent is captured with %v, want %s", version, got["capture_method"], want)
			}
		}
		got := ok(t, ask(t, "2023-10-16", http.MethodPost, "/v1/payment_intents", intent+"&capture_method=manual"))
		if got["capture_method"] != "manual" {
			t.Errorf("what was asked for became %v", got["capture_method"])
		}
		session := ok(t, ask(t, before, http.MethodPost, "/v1/checkout/sessions", aSession+"&expand[]=payment_intent"))
		if got := within(session, "payment_intent", "capture_method"); got != "automatic" {
			t.Errorf("the session's intent is captured with %v", got)
		}
		ok(t, ask(t, before, http.MethodPost, "/v1/checkout/sessions",
			"mode=setup&success_url=https://shop.example.com/&currency=usd"))
	})

	t.Run("before 2022-11-15 an intent shows its charges, and a charge its refunds, everywhere", func(t *testing.T) {
		const version = "2022-08-01"
		intent := ok(t,
			ask(t, version, http.MethodPost, "/v1/payment_intents", paid+"&expand[]=charges.data.balance_transaction"))
		charge := firstOf(t, within(intent, "charges"))
		if charge["id"] != intent["latest_charge"] ||
			within(charge, "balance_transaction", "object") != "balance_transaction" {
			t.Errorf("the intent's first charge is %v, its balance transaction %v", charge["id"],
				charge["balance_transaction"])
		}
		ok(t, ask(t, version, http.MethodPost, "/v1/refunds", "amount=100&charge="+charge["id"].(string)))
		for _, target := range []string{"/v1/payment_intents?limit=1", "/v1/payment_intents/" + intent["id"].(string),
			"/v1/payment_intents/search?limit=1&query=amount:1000"} {
			object := ok(t, ask(t, version, http.MethodGet, target, ""))
			if object["data"] != nil {
				object = firstOf(t, object)
			}
			refund := firstOf(t, within(firstOf(t, within(object, "charges")), "refunds"))
			if refund["amount"] != 100.0 {
				t.Errorf("%s: the refund is %v", target, refund)
			}
		}
		expanded := ok(t,
			ask(t, version, http.MethodGet, "/v1/charges/"+charge["id"].(string)+"?expand[]=payment_intent", ""))
		if got := firstOf(t, within(expanded, "payment_intent", "charges")); got["id"] != charge["id"] {
			t.Errorf("the charge's intent shows the charge %v", got["id"])
		}
		for _, version := range []string{"2022-11-15", string(apiversion.Current)} {
			now := ok(t,
				ask(t, version, http.MethodGet, "/v1/payment_intents/"+intent["id"].(string)+"?expand[]=latest_charge",
					""))
			if now["charges"] != nil || within(now, "latest_charge", "refunds") != nil {
				t.Errorf("%s shows charges %v", version, now["charges"])
			}
			a := ask(t, version, http.MethodGet, "/v1/payment_intents/"+intent["id"].(string)+"?expand[]=charges", "")
			if a.status != http.StatusBadRequest {
				t.Errorf("%s expands charges: %d", version, a.status)
			}
		}
	})

	t.Run("before 2022-08-01 a session has its intent from the beginning, and is paid with it", func(t *testing.T) {
		session := ok(t,
			ask(t, "2020-08-27", http.MethodPost, "/v1/checkout/sessions", aSession+"&customer_creation=always"))
		intent, _ := session["payment_intent"].(string)
		if !strings.HasPrefix(intent, "pi_") {
			t.Fatalf("the session's intent is %v", session["payment_intent"])
		}
		ok(t, ask(t, "2020-08-27", http.MethodPost, "/v1/payment_pages/"+session["id"].(string)+"/confirm",
			"payment_method=pm_card_visa&email=jenny@example.com"))
		paid := ok(t, ask(t, "2020-08-27", http.MethodGet, "/v1/payment_intents/"+intent, ""))
		if paid["status"] != "succeeded" || paid["customer"] == nil {
			t.Errorf("the intent is %v, of the customer %v", paid["status"], paid["customer"])
		}
		later := ok(t, ask(t, "2022-08-01", http.MethodPost, "/v1/checkout/sessions", aSession))
		if later["payment_intent"] != nil {
			t.Errorf("2022-08-01: the session's intent is %v", later["payment_intent"])
		}
	})

	t.Run("before 2026-03-25 pages are called hosted, embedded and custom", func(t *testing.T) {
		session := ok(t,
			ask(t, "2026-02-25.clover", http.MethodPost, "/v1/checkout/sessions", aSession+"&ui_mode=hosted"))
		if session["ui_mode"] != "hosted" {
			t.Errorf("ui_mode is %v", session["ui_mode"])
		}
		now := ok(t, ask(t, "2026-03-25.dahlia", http.MethodGet, "/v1/checkout/sessions/"+session["id"].(string), ""))
		if now["ui_mode"] != "hosted_page" {
			t.Errorf("dahlia: ui_mode is %v", now["ui_mode"])
		}
		const onOurPage = "success_url=https://shop.example.com/"
		onTheirs := strings.Replace(aSession, onOurPage, "return_url=https://shop.example.com/", 1)
		for old, now := range map[string]string{"embedded": "embedded_page", "custom": "elements"} {
			session := ok(t,
				ask(t, "2026-02-25.clover", http.MethodPost, "/v1/checkout/sessions", onTheirs+"&ui_mode="+old))
			read := ok(t,
				ask(t, "2026-03-25.dahlia", http.MethodGet, "/v1/checkout/sessions/"+session["id"].(string), ""))
			if session["ui_mode"] != old || read["ui_mode"] != now {
				t.Errorf("clover: ui_mode is %v, want %s; dahlia: %v, want %s", session["ui_mode"], old,
					read["ui_mode"], now)
			}
		}
		a := ask(t, "2026-03-25.dahlia", http.MethodPost, "/v1/checkout/sessions", aSession+"&ui_mode=hosted")
		if a.status != http.StatusBadRequest {
			t.Errorf("dahlia: answered %d", a.status)
		}
	})

	t.Run("before 2020-08-27 a customer shows sources, subscriptions and tax ids", func(t *testing.T) {
		customer := ok(t,
			ask(t, "2020-03-02", http.MethodPost, "/v1/customers",
				"source=tok_visa&metadata[object]=customer&metadata[id]=cus_1"))
		if card := firstOf(t, within(customer, "sources")); card["id"] != customer["default_source"] {
			t.Errorf("the customer's first source is %v", card["id"])
		}
		for _, name := range []string{"subscriptions", "tax_ids"} {
			if within(customer, name, "object") != "list" {
				t.Errorf("%s is %v", name, customer[name])
			}
		}
		if metadata := customer["metadata"].(map[string]any); len(metadata) != 2 {
			t.Errorf("the metadata became %v", metadata)
		}
		ok(t, ask(t, "2020-03-02", http.MethodDelete, "/v1/customers/"+customer["id"].(string), ""))
		gone := ok(t, ask(t, "2020-03-02", http.MethodGet, "/v1/customers/"+customer["id"].(string), ""))
		if len(gone) != 3 {
			t.Errorf("the deleted customer is %v", gone)
		}
	})

	t.Run("a stored answer is replayed in its first version, no matter what the retry asks for", func(t *testing.T) {
		retry := func(version string) answer {
			return s.ask(t, sent{
				target: "/v1/payment_intents",
				body:   paid,
				header: header("Stripe-Version", version, "Idempotency-Key", "versions"),
			})
		}
		then, now := retry("2022-08-01"), retry(string(apiversion.Current))
		if ok(t, then); string(now.body) != string(then.body) || now.header.Get("Stripe-Version") != "2022-08-01" {
			t.Errorf("the replay is in %s: %d %s", now.header.Get("Stripe-Version"), now.status, now.body)
		}
	})

	t.Run("the account's version counts for a request without one, and for its events", func(t *testing.T) {
		s.exec(t, `INSERT INTO accounts (id, name, api_version) VALUES ('acct_old', 'Old', '2020-08-27')`)
		s.keys["old"] = s.newKey(t, "acct_old", "secret", false)
		a := s.ask(t, sent{as: "old", target: "/v1/payment_intents", body: paid})
		if ok(t, a); a.header.Get("Stripe-Version") != "2020-08-27" || a.object["charges"] == nil {
			t.Errorf("answered in %q: %s", a.header.Get("Stripe-Version"), a.body)
		}
		for _, target := range []string{"/v1/events?type=payment_intent.succeeded",
			"/v1/events?type=payment_intent.succeeded&expand[]=data"} {
			event := firstOf(t,
				ok(t, s.ask(t,
					sent{as: "old", method: http.MethodGet, target: target, header: header("Stripe-Version", before)})))
			if event["api_version"] != "2020-08-27" ||
				firstOf(t, within(event, "data", "object", "charges"))["id"] != a.object["latest_charge"] {
				t.Errorf("the event is in %v: %v", event["api_version"], event)
			}
		}
	})
}

// aSession is a checkout session of one payment.
const aSession = "mode=payment&success_url=https://shop.example.com/&line_items[0][quantity]=1" +
	"&line_items[0][price_data][currency]=usd&line_items[0][price_data][unit_amount]=1000" +
	"&line_items[0][price_data][product_data][name]=Toboggan"

// within is what is at the end of a path, or nil.
func within(object map[string]any, path ...string) any {
	var at any = object
	for _, name := range path {
		inner, _ := at.(map[string]any)
		at = inner[name]
	}
	return at
}

// firstOf is the first object of a list.
func firstOf(t *testing.T, list any) map[string]any {
	t.Helper()
	object, _ := list.(map[string]any)
	data, _ := object["data"].([]any)
	if len(data) == 0 {
		t.Fatalf("this is no list with something in it: %v", list)
	}
	return data[0].(map[string]any)
}

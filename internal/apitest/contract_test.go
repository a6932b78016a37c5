package apitest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/wire"
)

// sample is the example that openapi.yaml shows of an object, as a copy.
func sample(t *testing.T, object string) map[string]any {
	t.Helper()
	encoded, err := json.Marshal(document().Components.Schemas[object].Value.Example)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(encoded, &body); err != nil {
		t.Fatal(err)
	}
	return body
}

func listOf(url string, items ...any) map[string]any {
	return map[string]any{"object": "list", "url": url, "has_more": false, "data": append([]any{}, items...)}
}

func fault(fields map[string]any) map[string]any {
	all := map[string]any{"type": "invalid_request_error", "message": "Missing required param: amount."}
	maps.Copy(all, fields)
	return map[string]any{"error": all}
}

// answer is a good answer but for the body.
func answer(t *testing.T, method, path string, status int, body any) Response {
	t.Helper()
	encoded, err := wire.Encode(body)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Request-Id", "req_0VbTq1s3QWERTYqwerty1234")
	header.Set("Stripe-Version", "2026-08-26.dahlia")
	if method == http.MethodPost {
		header.Set("Idempotency-Key", "5f1c")
		header.Set("Original-Request", "req_0VbTq1s3QWERTYqwerty1234")
	}
	return Response{method, path, status, header, encoded}
}

const (
	aCharge   = "/v1/charges/ch_1"
	aCustomer = "/v1/customers/cus_1"
	aSource   = "/v1/customers/cus_1/sources/card_1"
)

func TestCheckAccepts(t *testing.T) {
	t.Parallel()

	for object, path := range map[string]string{
		"account":             "/v1/account",
		"balance":             "/v1/balance",
		"balance_transaction": "/v1/balance_transactions/txn_1",
		"card":                aSource,
		"charge":              aCharge,
		"customer":            aCustomer,
		"event":               "/v1/events/evt_1",
		"refund":              "/v1/refunds/re_1",
		"token":               "/v1/tokens/tok_1",
	} {
		t.Run("the documented "+object, func(t *testing.T) {
			t.Parallel()
			requireNone(t, answer(t, http.MethodGet, path, http.StatusOK, sample(t, object)))
		})
	}

	for object, path := range map[string]string{
		"balance_transaction": "/v1/balance_transactions",
		"card":                "/v1/customers/cus_1/sources",
		"charge":              "/v1/charges",
		"customer":            "/v1/customers",
		"event":               "/v1/events",
		"refund":              "/v1/charges/ch_1/refunds",
	} {
		t.Run("a list of documented objects: "+object, func(t *testing.T) {
			t.Parallel()
			requireNone(t,
				answer(t, http.MethodGet, path, http.StatusOK, listOf(path, sample(t, object), sample(t, object))))
		})
	}

	t.Run("what is left of the deleted", func(t *testing.T) {
		t.Parallel()
		requireNone(t, answer(t, http.MethodGet, aCustomer, http.StatusOK, sample(t, "deleted_customer")))
		requireNone(t, answer(t, http.MethodDelete, aCustomer, http.StatusOK, sample(t, "deleted_customer")))
		requireNone(t, answer(t, http.MethodDelete, aSource, http.StatusOK, sample(t, "deleted_card")))
	})

	t.Run("objects inside objects, as expand puts them", func(t *testing.T) {
		t.Parallel()
		charge := sample(t, "charge")
		charge["balance_transaction"] = sample(t, "balance_transaction")
		charge["customer"] = sample(t, "deleted_customer")
		charge["refunds"] = listOf("/v1/charges/ch_1/refunds", sample(t, "refund"))
		refund := sample(t, "refund")
		refund["charge"] = charge
		requireNone(t, answer(t, http.MethodPost, "/v1/refunds", http.StatusOK, refund))
	})

	t.Run("errors", func(t *testing.T) {
		t.Parallel()
		requireNone(t,
			answer(t, http.MethodPost, "/v1/charges", http.StatusBadRequest,
				fault(map[string]any{"param": "amount", "code": "parameter_missing"})))
		requireNone(t, answer(t, http.MethodGet, "/v1/toboggans", http.StatusNotFound, fault(nil)))
		requireNone(t, answer(t, http.MethodPut, aCharge, http.StatusNotFound, fault(nil)))
		requireNone(t, answer(t, http.MethodPost, "/v1/charges", http.StatusRequestEntityTooLarge, fault(nil)))
		requireNone(t,
			answer(t, http.MethodGet, aCharge, http.StatusUnauthorized,
				fault(map[string]any{"message": "Invalid API Key provided: sk_test_****************1234"})))
	})

	t.Run("a replay", func(t *testing.T) {
		t.Parallel()
		a := answer(t, http.MethodPost, "/v1/charges", http.StatusOK, sample(t, "charge"))
		a.Header.Set("Idempotent-Replayed", "true")
		a.Header.Set("Original-Request", "req_0VbTq1s3QWERTYqwerty0000")
		requireNone(t, a)
	})
}

func requireNone(t *testing.T, a Response) {
	t.Helper()
	if found := Check(a); len(found) > 0 {
		t.Error(Report(a, found))
	}
}

// planted is a fault put into an answer that is otherwise good, and where each
// rule that should see it says it is.
type planted struct {
	name  string
	plant func(body map[string]any)
	rules []string
	at    string
}

func TestCheckFinds(t *testing.T) {
	t.Parallel()

	anywhere := []string{RuleContract, RuleStripe}
	for object, c := range map[string]struct {
		path   string
		faults []planted
	}{
		"charge": {aCharge, []planted{
			{"a key that Stripe requires is missing", without("amount"),
				[]string{RuleContract, RuleStripe, RuleSample}, "/amount"},
			{"a key that Stripe always sends is missing", without("receipt_url"), []string{RuleContract, RuleSample},
				"/receipt_url"},
			{"a key nobody knows", with("amount_allowed", 1), anywhere, "/amount_allowed"},
			{"a product we do not have", with("transfer", "tr_1"), []string{RuleContract}, "/transfer"},
			{"a text for a number", with("amount", "2000"), anywhere, "/amount"},
			{"half a cent", with("amount", 2000.5), anywhere, "/amount"},
			{"null where there is always something", with("metadata", nil), anywhere, "/metadata"},
			{"a number in metadata", with("metadata", map[string]any{"order": 6735}), anywhere, "/metadata/order"},
			{"a state nobody knows", with("status", "paid"), anywhere, "/status"},
			{"upper case", with("currency", "USD"), []string{RuleContract}, "/currency"},
			{"another object's id", with("balance_transaction", "ch_1"), []string{RuleContract},
				"/balance_transaction"},
			{"a misspelled key far down", inside("payment_method_details", "card", with("last_4", "4242")), anywhere,
				"/payment_method_details/card/last_4"},
			{"a missing key far down", inside("payment_method_details", "card", without("wallet")),
				[]string{RuleContract}, "/payment_method_details/card/wallet"},
			{"a bad object where an id is expanded",
				with("customer", map[string]any{"id": "cus_1", "object": "customer"}),
				[]string{RuleContract, RuleStripe, RuleSample}, "/customer/created"},
			{"the source of an intent", with("source", map[string]any{"object": "source"}), anywhere, "/source"},
		}},
		"refund": {"/v1/refunds/re_1", []planted{
			{"null where the key is left out", with("failure_reason", nil), anywhere, "/failure_reason"},
		}},
		"card": {aSource, []planted{
			{"the brand of a payment method", with("brand", "visa"), []string{RuleContract}, "/brand"},
			{"a Connect field", with("account", "acct_1"), []string{RuleContract}, "/account"},
		}},
		"customer": {aCustomer, []planted{
			{"half deleted", with("deleted", false), anywhere, "/deleted"},
		}},
		"event": {"/v1/events/evt_1", []planted{
			{"a type nobody knows", with("type", "charge.exploded"), []string{RuleContract}, "/type"},
			{"a broken object in the data", inside("data", "object", without("last4")),
				[]string{RuleContract, RuleStripe, RuleSample}, "/data/object/last4"},
			{"an object nobody knows in the data", inside("data", "object", with("object", "sledge")), anywhere,
				"/data/object"},
		}},
		"balance": {"/v1/balance", []planted{
			{"no currency at all", with("available", []any{}), []string{RuleContract}, "/available"},
		}},
	} {
		for _, f := range c.faults {
			t.Run(object+": "+f.name, func(t *testing.T) {
				t.Parallel()
				body := sample(t, object)
				f.plant(body)
				requireAt(t, answer(t, http.MethodGet, c.path, http.StatusOK, body), f.at, f.rules...)
			})
		}
	}

	t.Run("a fault in one item of a list", func(t *testing.T) {
		t.Parallel()
		bad := sample(t, "charge")
		delete(bad, "paid")
		list := listOf("/v1/charges", sample(t, "charge"), bad)
		requireAt(t, answer(t, http.MethodGet, "/v1/charges", http.StatusOK, list), "/data/1/paid", RuleContract,
			RuleStripe, RuleSample)
	})

	t.Run("a list that is not quite one", func(t *testing.T) {
		t.Parallel()
		list := listOf("/v1/charges?limit=3")
		list["total_count"] = 0
		requireAt(t, answer(t, http.MethodGet, "/v1/charges", http.StatusOK, list), "/total_count", RuleContract,
			RuleStripe)
		requireAt(t, answer(t, http.MethodGet, "/v1/charges", http.StatusOK, list), "/url", RuleContract)
	})

	for _, f := range []planted{
		{"a type that Stripe has dropped", with("type", "authentication_error"), anywhere, "/error/type"},
		{"null for what does not apply", with("param", nil), anywhere, "/error/param"},
		{"a code nobody has heard of", with("code", "card_on_fire"), []string{RuleContract}, "/error/code"},
		{"no message", without("message"), []string{RuleContract}, "/error/message"},
		{"a key nobody knows", with("stack", "main.go:1"), anywhere, "/error/stack"},
	} {
		t.Run("error: "+f.name, func(t *testing.T) {
			t.Parallel()
			body := fault(nil)
			f.plant(body["error"].(map[string]any))
			requireAt(t, answer(t, http.MethodPost, "/v1/charges", http.StatusBadRequest, body), f.at, f.rules...)
		})
	}
}

func with(key string, value any) func(map[string]any) {
	return func(body map[string]any) { body[key] = value }
}

func without(key string) func(map[string]any) { return func(body map[string]any) { delete(body, key) } }

func inside(outer, inner string, plant func(map[string]any)) func(map[string]any) {
	return func(body map[string]any) { plant(body[outer].(map[string]any)[inner].(map[string]any)) }
}

func requireAt(t *testing.T, a Response, at string, rules ...string) {
	t.Helper()
	found := Check(a)
	for _, rule := range rules {
		if !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == rule && v.At == at }) {
			t.Errorf("%s does not see it at %q:\n%s", rule, at, Report(a, found))
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()

	t.Run("it says what was asked, what is wrong and where", func(t *testing.T) {
		t.Parallel()
		body := sample(t, "charge")
		body["amount"] = "2000"
		a := answer(t, http.MethodGet, aCharge, http.StatusOK, body)
		got := Report(a, Check(a))
		for _, part := range []string{"GET /v1/charges/ch_1 answered 200",
			`openapi.yaml: /amount: value must be an integer (it is "2000")`} {
			if !strings.Contains(got, part) {
				t.Errorf("the report lacks %q:\n%s", part, got)
			}
		}
	})
}

package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
)

// refused is a request that is refused, and how.
type refused struct {
	name   string
	sent   sent
	status int
	want   fault // the message is not compared
}

const (
	invalid     = "invalid_request_error"
	idempotency = "idempotency_error"
	cardError   = "card_error"

	badInteger = "parameter_invalid_integer"
	badText    = "invalid_characters"
	badName    = "parameter_unknown"
	nothing    = "resource_missing"
)

// TestRefusals sends what is wrong. Each is answered with its own error in
// Stripe's shape, takes no key, and is never a fault of the server's.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	things := s.things(t)
	for group, rows := range map[string][]refused{
		"who asks": keyRefusals(s), "addresses": addressRefusals, "bodies": bodyRefusals, "headers": headerRefusals,
		"charges": chargeRefusals, "lists": listRefusals, "cards": cardRefusals(t), "customers": customerRefusals,
	} {
		for _, row := range rows {
			t.Run(group+": "+row.name, func(t *testing.T) {
				before := s.rows(t)
				row.sent.target, row.sent.body = things.Replace(row.sent.target), things.Replace(row.sent.body)
				a := s.ask(t, row.sent)
				requireRefusal(t, a, row)
				if now := s.rows(t); !maps.Equal(now, before) {
					t.Errorf("something was stored: there were %v, there are %v", before, now)
				}
			})
		}
	}
}

func requireRefusal(t *testing.T, a answer, want refused) {
	t.Helper()
	if a.status != want.status {
		t.Errorf("status = %d, want %d: %s", a.status, want.status, a.body)
	}
	got := a.fault
	got.Message = ""
	if got != want.want {
		t.Errorf("got %+v, want %+v: %s", got, want.want, a.fault.Message)
	}
	if len(a.object) != 1 || a.object["error"] == nil {
		t.Errorf("an error stands alone at the top: %s", a.body)
	}
	if a.fault.Message == "" || len([]rune(a.fault.Message)) > 800 {
		t.Errorf("the message has %d characters", len(a.fault.Message))
	}
}

// things makes objects that requests can name, in braces.
func (s *env) things(t *testing.T) *strings.Replacer {
	t.Helper()
	charge := s.make(t, "", "/v1/charges", "amount=1000&currency=usd&source=tok_visa")
	customer := s.make(t, "", "/v1/customers", "name=Jenny")
	theirs := s.make(t, "kites", "/v1/charges", "amount=1000&currency=usd&source=tok_visa")
	token := s.make(t, "", "/v1/tokens",
		"card[number]="+number(t, "visa")+"&card[exp_month]=12&card[exp_year]=2040&card[cvc]=123")
	s.make(t, "", "/v1/charges", "amount=1000&currency=usd&source="+token)
	return strings.NewReplacer("{charge}", charge, "{customer}", customer, "{their charge}", theirs, "{spent token}",
		token)
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = append(h[pairs[i]], pairs[i+1])
	}
	return h
}

func keyRefusals(s *env) []refused {
	list := func(h http.Header) sent { return sent{method: "GET", target: "/v1/charges", header: h} }
	return []refused{
		{"no key", list(http.Header{"Authorization": nil}), 401, fault{Type: invalid}},
		{"an unknown key", list(header("Authorization", "Bearer sk_test_unknown_000000")), 401, fault{Type: invalid}},
		{"a revoked key", sent{as: "toboggans revoked", method: "GET", target: "/v1/charges"}, 401,
			fault{Type: invalid, Code: "api_key_expired"}},
		{"a publishable key", sent{as: "toboggans publishable", method: "GET", target: "/v1/charges"}, 401,
			fault{Type: invalid, Code: "secret_key_required"}},
		{"a publishable key that reads a token",
			sent{as: "toboggans publishable", method: "GET", target: "/v1/tokens/tok_visa"}, 401,
			fault{Type: invalid, Code: "secret_key_required"}},
		{"a live key and a test charge", sent{as: "toboggans live", method: "GET", target: "/v1/charges/{charge}"},
			404, fault{Type: invalid, Code: nothing, Param: "charge"}},
		{"Basic that is not Base64", list(header("Authorization", "Basic %%%")), 401, fault{Type: invalid}},
		{"Basic without a user", list(header("Authorization", "Basic Og==")), 401, fault{Type: invalid}},
		{"Bearer alone", list(header("Authorization", "Bearer")), 401, fault{Type: invalid}},
		{"an unknown scheme", list(header("Authorization", "Digest "+s.keys["toboggans"])), 401, fault{Type: invalid}},
		{"a key alone", list(header("Authorization", s.keys["toboggans"])), 401, fault{Type: invalid}},
		{"two keys",
			list(header("Authorization", "Bearer "+s.keys["toboggans"], "Authorization", "Bearer "+s.keys["kites"])),
			401, fault{Type: invalid}},
		{"a key in the query",
			sent{
				method: "GET",
				target: "/v1/charges?api_key=" + s.keys["toboggans"],
				header: http.Header{"Authorization": nil},
			}, 401, fault{Type: invalid}},
		{"a very long key", list(header("Authorization", "Bearer sk_test_"+strings.Repeat("x", 40<<10))), 431,
			fault{Type: invalid}},
		{"another account", list(header("Stripe-Account", "acct_kites")), 403,
			fault{Type: invalid, Code: "account_invalid"}},
	}
}

var unknownURL = fault{Type: invalid}

var addressRefusals = []refused{
	{"an unknown path", sent{method: "GET", target: "/v1/nothing"}, 404, unknownURL},
	{"no path at all", sent{method: "GET", target: "/"}, 404, unknownURL},
	{"PUT", sent{method: "PUT", target: "/v1/charges"}, 404, unknownURL},
	{"PATCH", sent{method: "PATCH", target: "/v1/charges/{charge}"}, 404, unknownURL},
	{"DELETE of what stays", sent{method: "DELETE", target: "/v1/charges/{charge}"}, 404, unknownURL},
	{"a method in a header",
		sent{method: "POST", target: "/v1/balance", header: header("X-Http-Method-Override", "GET")}, 404, unknownURL},
	{"two slashes in front", sent{method: "GET", target: "//v1/charges"}, 404, unknownURL},
	{"two slashes within", sent{method: "GET", target: "/v1//charges"}, 404, unknownURL},
	{"a slash at the end", sent{method: "GET", target: "/v1/charges/"}, 404, unknownURL},
	{"a slash after an id", sent{method: "GET", target: "/v1/products/prod_1/"}, 404, unknownURL},
	{"a path below an object", sent{method: "GET", target: "/v1/products/prod_1/features"}, 404, unknownURL},
	{"a path below an object, with a query",
		sent{method: "GET", target: "/v1/accounts/acct_toboggans/persons?limit=3"}, 404, unknownURL},
	{"a path below an object, to post to", sent{target: "/v1/webhook_endpoints/we_1/rotate", body: "url=x"}, 404,
		unknownURL},
	{"a path below an object, to delete", sent{method: "DELETE", target: "/v1/products/prod_1/features/feat_1"}, 404,
		unknownURL},
	{"a path below an object with an escaped slash", sent{method: "GET", target: "/v1/products/prod%2F1/features"},
		404, unknownURL},
	{"a path below an object, without a key",
		sent{method: "GET", target: "/v1/products/prod_1/features", header: http.Header{"Authorization": nil}},
		404, unknownURL},
	{"capital letters", sent{method: "GET", target: "/V1/charges"}, 404, unknownURL},
	{"dots and an escaped slash", sent{method: "GET", target: "/v1/charges/..%2fcustomers"}, 404,
		fault{Type: invalid, Code: nothing, Param: "charge"}},
	{"a NUL in an id", sent{method: "GET", target: "/v1/charges/ch_%00"}, 404, unknownURL},
	{"a line break in an id", sent{method: "GET", target: "/v1/charges/ch_%0d%0a"}, 404, unknownURL},
	{"an id that is not UTF-8", sent{method: "GET", target: "/v1/charges/ch_%ff"}, 404, unknownURL},
	{"an id of ten thousand letters", sent{method: "GET", target: "/v1/charges/ch_" + strings.Repeat("x", 10_000)},
		404, fault{Type: invalid, Code: nothing, Param: "charge"}},
	{"an address of twenty thousand letters",
		sent{method: "GET", target: "/v1/charges/ch_" + strings.Repeat("x", 20_000)}, 414, fault{Type: invalid}},
	{"a query of twenty thousand letters",
		sent{method: "GET", target: "/v1/charges?customer=" + strings.Repeat("x", 20_000)}, 414, fault{Type: invalid}},
	{"an id that is an escape itself", sent{method: "GET", target: "/v1/charges/ch_%2500"}, 404,
		fault{Type: invalid, Code: nothing, Param: "charge"}},
	{"an id that is SQL", sent{method: "GET", target: "/v1/charges/ch_1'%20OR%20''='';--"}, 404,
		fault{Type: invalid, Code: nothing, Param: "charge"}},
	{"an id of another account", sent{method: "GET", target: "/v1/charges/{their charge}"}, 404,
		fault{Type: invalid, Code: nothing, Param: "charge"}},
	{"a capture for another account", sent{target: "/v1/charges/{their charge}/capture"}, 404,
		fault{Type: invalid, Code: nothing, Param: "charge"}},
	{"a refund for another account", sent{target: "/v1/charges/{their charge}/refunds"}, 404,
		fault{Type: invalid, Code: nothing, Param: "charge"}},
	{"a refund for another account by parameter", sent{target: "/v1/refunds", body: "charge={their charge}"}, 404,
		fault{Type: invalid, Code: nothing, Param: "charge"}},
}

var bodyRefusals = []refused{
	{"JSON", sent{target: "/v1/charges", body: `{"amount":100}`, header: header("Content-Type", "application/json")},
		400, fault{Type: invalid}},
	{"a form in parts",
		sent{
			target: "/v1/charges",
			body:   "--x\r\n\r\n--x--",
			header: header("Content-Type", "multipart/form-data; boundary=x"),
		}, 400, fault{Type: invalid}},
	{"XML", sent{target: "/v1/charges", body: "<a/>", header: header("Content-Type", "text/xml")}, 400,
		fault{Type: invalid}},
	{"no content type", sent{target: "/v1/charges", body: "amount=100", header: http.Header{"Content-Type": nil}}, 400,
		fault{Type: invalid}},
	{"two content types in one",
		sent{
			target: "/v1/charges",
			body:   "amount=100",
			header: header("Content-Type", "application/x-www-form-urlencoded, text/plain"),
		}, 400, fault{Type: invalid}},
	{"a compressed body", sent{target: "/v1/charges", body: "amount=100", header: header("Content-Encoding", "gzip")},
		415, fault{Type: invalid}},
	{"a body of a GET that says too much", sent{method: "GET", target: "/v1/charges", body: "foo=1"}, 400,
		fault{Type: invalid, Code: badName, Param: "foo"}},
	{"a body of a DELETE that says too much",
		sent{method: "DELETE", target: "/v1/customers/{customer}", body: "foo=1"}, 400,
		fault{Type: invalid, Code: badName, Param: "foo"}},
	{"300 KiB", sent{target: "/v1/charges", body: "description=" + strings.Repeat("x", 300<<10)}, 413,
		fault{Type: invalid}},
	{"more than a thousand pairs", sent{target: "/v1/charges", body: numbered(1001, "a%d=1")}, 400,
		fault{Type: invalid}},
	{"brackets nested nine deep", charge("a[b][c][d][e][f][g][h][i][j]=1"), 400, fault{Type: invalid, Param: "a"}},
	{"an index in the millions", charge("expand[1000000]=x"), 400, fault{Type: invalid, Param: "expand"}},
	{"a text that is also a hash", charge("a=1&a[b]=2"), 400, fault{Type: invalid, Param: "a[b]"}},
	{"metadata that is also a text", charge("metadata=x&metadata[k]=v"), 400,
		fault{Type: invalid, Param: "metadata[k]"}},
	{"a bracket left open", charge("metadata[a=1"), 400, fault{Type: invalid, Code: badName, Param: "metadata[a"}},
	{"a closing bracket", charge("]=1"), 400, fault{Type: invalid, Code: badName, Param: "]"}},
	{"brackets without a name", charge("[]=1"), 400, fault{Type: invalid, Code: badName, Param: "[]"}},
	{"no name", charge("=1"), 400, fault{Type: invalid, Code: badName}},
	{"an amount twice", sent{target: "/v1/charges", body: "amount=100&amount=200&currency=usd&source=tok_visa"}, 400,
		fault{Type: invalid, Param: "amount"}},
	{"an amount in the query and in the body",
		sent{target: "/v1/charges?amount=100", body: "amount=200&currency=usd&source=tok_visa"}, 400,
		fault{Type: invalid, Param: "amount"}},
	{"an escape that is none", charge("description=%zz"), 400, fault{Type: invalid, Param: "description"}},
	{"a lone percent sign", charge("description=%"), 400, fault{Type: invalid, Param: "description"}},
	{"a semicolon between pairs", charge("a=1;b=2"), 400, fault{Type: invalid, Param: "a"}},
	{"a NUL", charge("description=%00"), 400, fault{Type: invalid, Code: badText, Param: "description"}},
	{"bytes that are not UTF-8", charge("description=%ff"), 400,
		fault{Type: invalid, Code: badText, Param: "description"}},
	{"half a surrogate pair", charge("description=%ED%A0%80"), 400,
		fault{Type: invalid, Code: badText, Param: "description"}},
	{"an unknown parameter", charge("tip=1"), 400, fault{Type: invalid, Code: badName, Param: "tip"}},
	{"an unknown parameter in a hash", charge("shipping[color]=red"), 400,
		fault{Type: invalid, Code: badName, Param: "shipping[color]"}},
}

// charge is a charge that is in order but for what is added.
func charge(wrong string) sent {
	return sent{target: "/v1/charges", body: "amount=1000&currency=usd&source=tok_visa&" + wrong}
}

// amount is a charge that is in order but for its amount.
func amount(wrong string) sent {
	return sent{target: "/v1/charges", body: "currency=usd&source=tok_visa&amount=" + wrong}
}

// currency is a charge that is in order but for its currency.
func currency(wrong string) sent {
	return sent{target: "/v1/charges", body: "amount=1005&source=tok_visa&currency=" + wrong}
}

var chargeRefusals = []refused{
	{"no amount", sent{target: "/v1/charges", body: "currency=usd&source=tok_visa"}, 400,
		fault{Type: invalid, Code: "parameter_missing", Param: "amount"}},
	{"no currency", sent{target: "/v1/charges", body: "amount=100&source=tok_visa"}, 400,
		fault{Type: invalid, Code: "parameter_missing", Param: "currency"}},
	{"no source", sent{target: "/v1/charges", body: "amount=100&currency=usd"}, 400,
		fault{Type: invalid, Code: "parameter_missing"}},
	{"an empty amount", amount(""), 400, fault{Type: invalid, Code: "parameter_invalid_empty", Param: "amount"}},
	{"letters", amount("abc"), 400, fault{Type: invalid, Code: badInteger, Param: "amount"}},
	{"a fraction", amount("10.5"), 400, fault{Type: invalid, Code: badInteger, Param: "amount"}},
	{"an exponent", amount("1e3"), 400, fault{Type: invalid, Code: badInteger, Param: "amount"}},
	{"a hexadecimal number", amount("0x10"), 400, fault{Type: invalid, Code: badInteger, Param: "amount"}},
	{"a plus sign", amount("+500"), 400, fault{Type: invalid, Code: badInteger, Param: "amount"}},
	{"Arabic digits", amount("٣٠٠"), 400, fault{Type: invalid, Code: badInteger, Param: "amount"}},
	{"less than nothing", amount("-1"), 400, fault{Type: invalid, Code: badInteger, Param: "amount"}},
	{"nothing", amount("0"), 400, fault{Type: invalid, Code: badInteger, Param: "amount"}},
	{"more than an integer holds", amount("9223372036854775808"), 400,
		fault{Type: invalid, Code: badInteger, Param: "amount"}},
	{"less than the least", amount("49"), 400, fault{Type: invalid, Code: "amount_too_small", Param: "amount"}},
	{"more than the most", amount("100000000"), 400, fault{Type: invalid, Code: "amount_too_large", Param: "amount"}},
	{"an unknown currency", currency("xyz"), 400, fault{Type: invalid, Param: "currency"}},
	{"a currency with a space", currency("US+D"), 400, fault{Type: invalid, Param: "currency"}},
	{"an empty currency", currency(""), 400, fault{Type: invalid, Code: "parameter_invalid_empty", Param: "currency"}},
	{"a thousandth that no card network moves", currency("kwd"), 400, fault{Type: invalid, Param: "amount"}},
	{"fifty-one keys of metadata", charge(numbered(51, "metadata[k%d]=v")), 400,
		fault{Type: invalid, Param: "metadata"}},
	{"a key of metadata of 41 characters", charge("metadata[" + strings.Repeat("k", 41) + "]=v"), 400,
		fault{Type: invalid, Param: "metadata"}},
	{"a value of metadata of 501 characters", charge("metadata[k]=" + strings.Repeat("v", 501)), 400,
		fault{Type: invalid, Param: "metadata"}},
	{"metadata that is a hash", charge("metadata[k][l]=v"), 400, fault{Type: invalid, Param: "metadata[k]"}},
	{"a bad email address", charge("receipt_email=nobody"), 400,
		fault{Type: invalid, Code: "email_invalid", Param: "receipt_email"}},
	{"a descriptor of 23 characters", charge("statement_descriptor=" + strings.Repeat("x", 23)), 400,
		fault{Type: invalid, Param: "statement_descriptor"}},
	{"a descriptor of four characters", charge("statement_descriptor=Shop"), 400,
		fault{Type: invalid, Param: "statement_descriptor"}},
	{"a descriptor with a quote", charge("statement_descriptor=Jenny's"), 400,
		fault{Type: invalid, Param: "statement_descriptor"}},
	{"a descriptor of digits", charge("statement_descriptor_suffix=123"), 400,
		fault{Type: invalid, Param: "statement_descriptor_suffix"}},
	{"a path to expand of five names", charge("expand[]=a.b.c.d.e"), 400,
		fault{Type: invalid, Code: "property_expansion_max_depth"}},
	{"what cannot be expanded", charge("expand[]=amount"), 400, fault{Type: invalid}},
	{"two hundred paths to expand", charge(numbered(200, "expand[]=customer%d")), 400,
		fault{Type: invalid, Param: "expand[]"}},
	{"an unknown token", sent{target: "/v1/charges", body: "amount=100&currency=usd&source=tok_none"}, 400,
		fault{Type: invalid, Code: nothing, Param: "source"}},
	{"a spent token", sent{target: "/v1/charges", body: "amount=100&currency=usd&source={spent token}"}, 400,
		fault{Type: invalid, Code: "token_already_used"}},
	{"an unknown customer", sent{target: "/v1/charges", body: "amount=100&currency=usd&customer=cus_none"}, 400,
		fault{Type: invalid, Code: nothing, Param: "customer"}},
	{"a customer without a card", sent{target: "/v1/charges", body: "amount=100&currency=usd&customer={customer}"},
		402, fault{Type: cardError, Code: "missing", Param: "card"}},
	{"a refund of nothing", sent{target: "/v1/refunds", body: "charge={charge}&amount=0"}, 400,
		fault{Type: invalid, Code: badInteger, Param: "amount"}},
	{"a refund for no reason known", sent{target: "/v1/refunds", body: "charge={charge}&reason=whim"}, 400,
		fault{Type: invalid, Param: "reason"}},
	{"a refund of no charge", sent{target: "/v1/refunds", body: "amount=1"}, 400,
		fault{Type: invalid, Code: "parameter_missing"}},
}

func numbered(n int, pair string) string {
	pairs := make([]string, n)
	for i := range pairs {
		pairs[i] = fmt.Sprintf(pair, i)
	}
	return strings.Join(pairs, "&")
}

var customerRefusals = []refused{
	{"a bad email address", sent{target: "/v1/customers", body: "email=nobody"}, 400,
		fault{Type: invalid, Code: "email_invalid", Param: "email"}},
	{"goods sent to a name without an address", sent{target: "/v1/customers", body: "shipping[name]=Jenny"}, 400,
		fault{Type: invalid, Code: "parameter_missing", Param: "shipping[address]"}},
	{"how goods travel", sent{target: "/v1/customers", body: "shipping[carrier]=DHL"}, 400,
		fault{Type: invalid, Code: badName, Param: "shipping[carrier]"}},
	{"an unknown customer", sent{target: "/v1/customers/cus_none", body: "name=x"}, 404,
		fault{Type: invalid, Code: nothing, Param: "id"}},
}

// list is a list that is in order but for what is added.
func list(wrong string) sent { return sent{method: "GET", target: "/v1/charges?" + wrong} }

var listRefusals = []refused{
	{"a limit in letters", list("limit=x"), 400, fault{Type: invalid, Code: badInteger, Param: "limit"}},
	{"both directions", list("starting_after={charge}&ending_before={charge}"), 400, fault{Type: invalid}},
	{"a place in another account's list", list("starting_after={their charge}"), 400,
		fault{Type: invalid, Code: nothing, Param: "starting_after"}},
	{"a place in another list", list("ending_before={customer}"), 400,
		fault{Type: invalid, Code: nothing, Param: "ending_before"}},
	{"a time in letters", list("created[gte]=abc"), 400, fault{Type: invalid, Code: badInteger, Param: "created[gte]"}},
	{"a time beyond all time", list("created[gte]=1000000000000000000000000000000"), 400,
		fault{Type: invalid, Code: badInteger, Param: "created[gte]"}},
	{"an unknown bound of a time", list("created[near]=1"), 400,
		fault{Type: invalid, Code: badName, Param: "created[near]"}},
	{"a filter we do not have", list("source=x"), 400,
		fault{Type: invalid, Code: badName, Param: "source"}},
	{"the charges of nobody", list("customer=cus_none"), 400, fault{Type: invalid, Code: nothing, Param: "customer"}},
	{"the charges of no intent", list("payment_intent=pi_none"), 400,
		fault{Type: invalid, Code: nothing, Param: "payment_intent"}},
	{"the refunds of another account's charge", sent{method: "GET", target: "/v1/refunds?charge={their charge}"}, 400,
		fault{Type: invalid, Code: nothing, Param: "charge"}},
	{"the disputes of no charge", sent{method: "GET", target: "/v1/disputes?charge=ch_none"}, 400,
		fault{Type: invalid, Code: nothing, Param: "charge"}},
	{"the intents of nobody", sent{method: "GET", target: "/v1/payment_intents?customer=cus_none"}, 400,
		fault{Type: invalid, Code: nothing, Param: "customer"}},
	{"the setups of nobody", sent{method: "GET", target: "/v1/setup_intents?customer=cus_none"}, 400,
		fault{Type: invalid, Code: nothing, Param: "customer"}},
	{"the checkout sessions of no intent", sent{method: "GET", target: "/v1/checkout/sessions?payment_intent=pi_none"},
		400, fault{Type: invalid, Code: nothing, Param: "payment_intent"}},
	{"an unknown place in events", sent{method: "GET", target: "/v1/events?starting_after=evt_none"}, 400,
		fault{Type: invalid, Code: nothing, Param: "starting_after"}},
	{"a parameter of an object", sent{method: "GET", target: "/v1/charges/{charge}?limit=1"}, 400,
		fault{Type: invalid, Code: badName, Param: "limit"}},
}

var headerRefusals = []refused{
	{"an unknown version", sent{method: "GET", target: "/v1/charges", header: header("Stripe-Version", "latest")}, 400,
		fault{Type: invalid}},
	{"a version that is no day",
		sent{method: "GET", target: "/v1/charges", header: header("Stripe-Version", "2020-13-40")}, 400,
		fault{Type: invalid}},
	{"a key of 256 characters", keyed(strings.Repeat("k", 256)), 400, fault{Type: idempotency}},
	{"an empty key", keyed(""), 400, fault{Type: idempotency}},
	{"a key that is not UTF-8", keyed("\xff"), 400, fault{Type: idempotency}},
	{"two keys", sent{target: "/v1/customers", header: header("Idempotency-Key", "a", "Idempotency-Key", "b")}, 400,
		fault{Type: idempotency}},
	{"40 KiB of headers",
		sent{method: "GET", target: "/v1/charges", header: header("X-Padding", strings.Repeat("x", 40<<10))}, 431,
		fault{Type: invalid}},
}

func keyed(key string) sent {
	return sent{target: "/v1/customers", header: header("Idempotency-Key", key)}
}

// cardRefusals are those of a card that a customer typed.
func cardRefusals(t *testing.T) []refused {
	visa := number(t, "visa")
	typed := func(number, rest string) sent {
		return sent{target: "/v1/tokens", body: "card[number]=" + number + "&card[cvc]=123&" + rest}
	}
	good := "card[exp_month]=12&card[exp_year]=2040"
	mistyped := []byte(visa)
	mistyped[15] = '0' + (mistyped[15]-'0'+1)%10
	return []refused{
		{"no card", sent{target: "/v1/tokens"}, 400, fault{Type: invalid, Code: "parameter_missing"}},
		{"a slip of the finger", typed(string(mistyped), good), 402,
			fault{Type: cardError, Code: "incorrect_number", Param: "number"}},
		{"letters", typed("abcdefghijklmnop", good), 402,
			fault{Type: cardError, Code: "invalid_number", Param: "number"}},
		{"eleven digits", typed(visa[:11], good), 402, fault{Type: cardError, Code: "invalid_number", Param: "number"}},
		{"twenty digits", typed(visa+"0000", good), 402,
			fault{Type: cardError, Code: "invalid_number", Param: "number"}},
		{"a number that may be somebody's", typed(withCheckDigit("4"+strings.Repeat("3", 14)), good), 402,
			fault{Type: cardError, Code: "card_declined"}},
		{"the thirteenth month", typed(visa, "card[exp_month]=13&card[exp_year]=2040"), 402,
			fault{Type: cardError, Code: "invalid_expiry_month", Param: "exp_month"}},
		{"a year gone by", typed(visa, "card[exp_month]=12&card[exp_year]=2020"), 402,
			fault{Type: cardError, Code: "invalid_expiry_year", Param: "exp_year"}},
		{"a security code too short",
			sent{target: "/v1/tokens", body: "card[number]=" + visa + "&card[cvc]=12&" + good}, 402,
			fault{Type: cardError, Code: "invalid_cvc", Param: "cvc"}},
		{"a typed card that does not say it is one",
			sent{target: "/v1/charges", body: "amount=100&currency=usd&source[number]=" + visa}, 400,
			fault{Type: invalid, Code: "parameter_missing", Param: "source[object]"}},
	}
}

// withCheckDigit makes a number that no slip of the finger shows in.
func withCheckDigit(digits string) string {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 0 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	return fmt.Sprint(digits, (10-sum%10)%10)
}

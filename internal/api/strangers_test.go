package api_test

import (
	"bytes"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/apitest"
)

// others are who may see nothing of what the toboggans' test key makes: another
// merchant, and the same merchant's live mode.
var others = []string{"kites", "toboggans live"}

// sledge are the parameters of a checkout session.
const sledge = "mode=payment&success_url=https://example.com&line_items[0][quantity]=1" +
	"&line_items[0][price_data][currency]=usd&line_items[0][price_data][unit_amount]=2000" +
	"&line_items[0][price_data][product_data][name]=Sledge"

// fixtures are objects of the toboggans in test mode.
type fixtures struct {
	byVariable map[string]string // by the variable in a path
	byPath     map[string]string // where variables of one name mean different things
}

func (s *env) fixtures(t *testing.T) fixtures {
	t.Helper()
	charge := s.make(t, "", "/v1/charges", "amount=1000&currency=usd&source=tok_createDisputeInquiry")
	s.make(t, "", "/v1/charges", "amount=9000&currency=usd&source=tok_bypassPending") // something to pay out
	customer := s.make(t, "", "/v1/customers", "name=Jenny")
	setup := s.make(t, "", "/v1/setup_intents", "")
	b := fixtures{
		byVariable: map[string]string{
			"{account}":        "acct_toboggans",
			"{charge}":         charge,
			"{refund}":         s.make(t, "", "/v1/refunds", "charge="+charge+"&amount=100"),
			"{customer}":       customer,
			"{intent}":         s.make(t, "", "/v1/payment_intents", "amount=1000&currency=usd"),
			"{payment_method}": s.make(t, "", "/v1/payment_methods/pm_card_visa/attach", "customer="+customer),
			"{token}": s.make(t, "", "/v1/tokens",
				"card[number]="+number(t, "visa")+"&card[exp_month]=12&card[exp_year]=2040"),
			"{confirmation_token}": s.make(t, "", "/v1/test_helpers/confirmation_tokens",
				"payment_method=pm_card_visa"),
			"{webhook_endpoint}": s.make(t, "", "/v1/webhook_endpoints",
				"url=https://example.com/hook&enabled_events[]=*"),
			"{session}": s.make(t, "", "/v1/checkout/sessions", sledge),
			"{payment_link}": s.make(t, "", "/v1/payment_links",
				"line_items[0][price_data][currency]=usd&line_items[0][price_data][unit_amount]=1000&"+
					"line_items[0][price_data][product_data][name]=Sledge&line_items[0][quantity]=1"),
			"{price}":  s.make(t, "", "/v1/prices", "currency=usd&unit_amount=1000&product_data[name]=Sledge"),
			"{coupon}": s.make(t, "", "/v1/coupons", "percent_off=10"),
			"{promotion_code}": s.make(t, "", "/v1/promotion_codes",
				"promotion[type]=coupon&promotion[coupon]="+s.make(t, "", "/v1/coupons", "percent_off=10")),
			"{shipping_rate_token}": s.make(t, "", "/v1/shipping_rates",
				"display_name=Standard&fixed_amount[amount]=500&fixed_amount[currency]=usd"),
			"{payout}":     s.make(t, "", "/v1/payouts", "amount=100&currency=usd"),
			"{test_clock}": s.make(t, "", "/v1/test_helpers/test_clocks", "frozen_time=1"),
		},
		byPath: map[string]string{
			"/v1/customers/{customer}/sources/{id}": s.make(t, "", "/v1/customers/"+customer+"/sources",
				"source=tok_visa"),
			"/v1/customers/{customer}/cards/{id}": s.make(t, "", "/v1/customers/"+customer+"/cards", "source=tok_visa"),
			"/v1/products/{id}":                   s.make(t, "", "/v1/products", "name=Sledge"),
		},
	}
	for _, o := range apitest.Operations() {
		if strings.HasPrefix(o.Path, "/v1/setup_intents/{intent}") {
			b.byPath[o.Path] = setup
		}
	}
	s.sim.WaitUntilNotified(t, s.server.URL)
	disputes := s.ask(t, sent{method: http.MethodGet, target: "/v1/disputes"})
	b.byVariable["{dispute}"], _ = disputes.object["data"].([]any)[0].(map[string]any)["id"].(string)
	for path, list := range map[string]string{
		"/v1/events/{id}":               "/v1/events?limit=1",
		"/v1/balance_transactions/{id}": "/v1/balance_transactions?limit=1",
		"/v1/balance/history/{id}":      "/v1/balance_transactions?limit=1",
	} {
		page := s.ask(t, sent{method: http.MethodGet, target: list})
		b.byPath[path], _ = page.object["data"].([]any)[0].(map[string]any)["id"].(string)
	}
	b.byPath["/v1/events/{id}/retry"] = b.byPath["/v1/events/{id}"]
	return b
}

// fill puts ids in the place of a path's variables. given are those it used.
func (b fixtures) fill(t *testing.T, path string) (filled string, given []string) {
	t.Helper()
	filled = inBraces.ReplaceAllStringFunc(path, func(variable string) string {
		value := b.byVariable[variable]
		if value == "" || variable == "{intent}" && b.byPath[path] != "" {
			value = b.byPath[path]
		}
		if value == "" {
			t.Fatalf("there is no value for %s of %s", variable, path)
		}
		given = append(given, value)
		return value
	})
	return filled, given
}

// TestStrangers asks at every address that names an object, with a key whose account it
// is not. The answer is the one for an object that never was, and nothing happens.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	theirs := s.fixtures(t)
	needed := map[string]map[string]string{"kites": {}, "toboggans live": {}}
	for _, as := range others {
		needed[as]["test_clock.advance"] = "frozen_time=2"
		needed[as]["payment_method.attach"] = "customer=" + s.make(t, as, "/v1/customers", "name=Kit")
	}
	needed["kites"]["card.create"] = "source=tok_visa"
	needed["toboggans live"]["card.create"] = "source=tok_0VbTq1s3QWERTYqwerty1234" // live mode knows no magic token
	asked := 0
	for _, o := range apitest.Operations() {
		if !strings.Contains(o.Path, "{") {
			continue
		}
		asked++
		t.Run(o.ID, func(t *testing.T) {
			real, given := theirs.fill(t, o.Path)
			if o.Method == http.MethodGet {
				if mine := s.ask(t, sent{method: o.Method, target: real}); mine.status != http.StatusOK {
					t.Fatalf("the owner gets %d: %s", mine.status, mine.body)
				}
			}
			made := real
			for _, value := range given {
				made = strings.ReplaceAll(made, value, madeUp(value))
			}
			for _, as := range others {
				if as == "toboggans live" && o.ID == "account.retrieve_by_id" {
					continue // an account has both modes
				}
				before := s.requests(t)
				stranger := s.ask(t, sent{as: as, method: o.Method, target: real, body: needed[as][o.ID]})
				nobody := s.ask(t, sent{as: as, method: o.Method, target: made, body: needed[as][o.ID]})
				if now := s.requests(t); now != before {
					t.Errorf("%d requests were stored", now-before)
				}
				body := stranger.body
				for _, value := range given {
					body = bytes.ReplaceAll(body, []byte(value), []byte(madeUp(value)))
				}
				if stranger.status != nobody.status || stranger.status == http.StatusOK ||
					!bytes.Equal(body, nobody.body) {
					t.Errorf("%s: another's object answers\n%d %s, one that never was\n%d %s", as, stranger.status,
						stranger.body, nobody.status, nobody.body)
				}
			}
		})
	}
	if asked < 18 {
		t.Errorf("only %d addresses were asked", asked)
	}
}

// TestStrangersLists looks for another's objects at every address that shows many:
// in the lists, behind cursors, and by searching for everything.
func TestStrangersLists(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	s.fixtures(t)
	lists, searches := 0, 0
	for _, o := range apitest.Operations() {
		if o.Method != http.MethodGet || strings.Contains(o.Path, "{") {
			continue
		}
		target := o.Path
		if strings.HasSuffix(o.Path, "/search") {
			target += "?query=" + url.QueryEscape("created>0")
			searches++
		}
		mine := s.ask(t, sent{method: http.MethodGet, target: target})
		rows, many := mine.object["data"].([]any)
		if !many {
			continue
		}
		lists++
		if len(rows) == 0 {
			t.Errorf("%s: the owner has none, so nothing is proved", o.Path)
			continue
		}
		for _, as := range others {
			page := s.ask(t, sent{as: as, method: http.MethodGet, target: target})
			if found, is := page.object["data"].([]any); !is || len(found) != 0 {
				t.Errorf("%s sees at %s: %d %s", as, o.Path, page.status, page.body)
			}
			if strings.HasSuffix(o.Path, "/search") {
				continue
			}
			first, _ := rows[0].(map[string]any)["id"].(string)
			for _, cursor := range []string{"starting_after=", "ending_before="} {
				at := s.ask(t, sent{as: as, method: http.MethodGet, target: target + "?" + cursor + first})
				never := s.ask(t, sent{as: as, method: http.MethodGet, target: target + "?" + cursor + madeUp(first)})
				if at.status != http.StatusBadRequest ||
					!bytes.Equal(bytes.ReplaceAll(at.body, []byte(first), []byte(madeUp(first))), never.body) {
					t.Errorf("%s goes on from another's object at %s: %d %s, and from none: %s", as, o.Path, at.status,
						at.body, never.body)
				}
			}
		}
	}
	if lists < 9 || searches < 3 {
		t.Errorf("only %d lists and %d searches were asked", lists, searches)
	}
}

// TestStrangersParameters names another's objects in what is sent.
func TestStrangersParameters(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	theirs := s.fixtures(t)
	const pay = "amount=1000&currency=usd&"
	for _, as := range others {
		own := s.make(t, as, "/v1/customers", "name=Kit")
		before := s.requests(t)
		for _, r := range []sent{
			{method: http.MethodGet, target: "/v1/charges?customer={customer}"},
			{method: http.MethodGet, target: "/v1/charges?payment_intent={intent}"},
			{method: http.MethodGet, target: "/v1/refunds?charge={charge}"},
			{method: http.MethodGet, target: "/v1/payment_intents?customer={customer}"},
			{method: http.MethodGet, target: "/v1/payment_methods?customer={customer}"},
			{target: "/v1/refunds", body: "charge={charge}"},
			{target: "/v1/refunds", body: "payment_intent={intent}"},
			{target: "/v1/charges", body: pay + "customer={customer}"},
			{target: "/v1/charges", body: pay + "source={token}"},
			{target: "/v1/customers", body: "source={token}"},
			{target: "/v1/payment_methods", body: "type=card&card[token]={token}"},
			{target: "/v1/payment_methods/{payment_method}/attach", body: "customer=" + own},
			{target: "/v1/payment_intents", body: pay + "customer={customer}"},
			{target: "/v1/payment_intents", body: pay + "payment_method={payment_method}"},
			{target: "/v1/payment_intents", body: pay + "confirm=true&confirmation_token={confirmation_token}"},
			{target: "/v1/test_helpers/confirmation_tokens", body: "payment_method={payment_method}"},
			{target: "/v1/setup_intents", body: "customer={customer}"},
			{target: "/v1/setup_intents", body: "payment_method={payment_method}"},
			{target: "/v1/checkout/sessions", body: sledge + "&discounts[0][coupon]={coupon}"},
			{target: "/v1/checkout/sessions", body: sledge + "&discounts[0][promotion_code]={promotion_code}"},
			{target: "/v1/promotion_codes", body: "promotion[type]=coupon&promotion[coupon]={coupon}"},
			{target: "/v1/payment_links", body: "line_items[0][quantity]=1&line_items[0][price]={price}"},
			{
				target: "/v1/checkout/sessions",
				body:   sledge + "&shipping_options[0][shipping_rate]={shipping_rate_token}",
			},
		} {
			real, never := sent{as: as, method: r.method}, sent{as: as, method: r.method}
			var inTarget, inBody []string
			real.target, inTarget = theirs.fill(t, r.target)
			real.body, inBody = theirs.fill(t, r.body)
			never.target, never.body = real.target, real.body
			given := append(inTarget, inBody...)
			for _, value := range given {
				never.target = strings.ReplaceAll(never.target, value, madeUp(value))
				never.body = strings.ReplaceAll(never.body, value, madeUp(value))
			}
			stranger, nobody := s.ask(t, real), s.ask(t, never)
			body := stranger.body
			for _, value := range given {
				body = bytes.ReplaceAll(body, []byte(value), []byte(madeUp(value)))
			}
			rows, _ := stranger.object["data"].([]any)
			done := stranger.status == http.StatusOK && r.method != http.MethodGet
			if stranger.status != nobody.status || !bytes.Equal(body, nobody.body) || done || len(rows) > 0 {
				t.Errorf("%s: %s %s is answered\n%d %s, and where there is nothing\n%d %s", as, r.target, r.body,
					stranger.status, stranger.body, nobody.status, nobody.body)
			}
		}
		if now := s.requests(t); now != before {
			t.Errorf("%s: %d requests were stored", as, now-before)
		}
	}
}

var inBraces = regexp.MustCompile(`\{[a-z_]+\}`)

// madeUp is an id of the same kind and length that does not exist.
func madeUp(name string) string {
	kind, rest, _ := strings.Cut(name, "_")
	return kind + "_" + strings.Repeat("x", len(rest))
}

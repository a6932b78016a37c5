package api_test

import (
	"net/http"
	"net/url"
	"testing"
)

// TestPublishableKeyAsParameter sends keys the way Stripe.js does: as the parameter "key", without a header.
func TestPublishableKeyAsParameter(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	withoutHeader := http.Header{"Authorization": nil}
	publishable, secret := "key="+s.keys["toboggans publishable"], "key="+s.keys["toboggans"]
	card := "card[number]=" + number(t, "visa") + "&card[exp_month]=12&card[exp_year]=2040&card[cvc]=123"

	t.Run("in the body it makes a token", func(t *testing.T) {
		a := s.ask(t, sent{target: "/v1/tokens", body: card + "&" + publishable, header: withoutHeader})
		if a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.body)
		}
	})

	t.Run("in the query it reads an intent with its client secret", func(t *testing.T) {
		made := s.ask(t, sent{target: "/v1/payment_intents", body: "amount=1000&currency=usd"})
		id, clientSecret := made.object["id"].(string), made.object["client_secret"].(string)
		target := "/v1/payment_intents/" + id + "?client_secret=" + url.QueryEscape(clientSecret) + "&" + publishable
		a := s.ask(t, sent{method: http.MethodGet, target: target, header: withoutHeader})
		if a.status != http.StatusOK || a.object["id"] != id {
			t.Errorf("%d %s", a.status, a.body)
		}
	})

	t.Run("what Stripe.js reports of the browser is dropped, and a retry may report something else", func(t *testing.T) {
		made := s.ask(t, sent{target: "/v1/payment_intents",
			body: "amount=1000&currency=usd&payment_method_types[]=card"})
		report := func(seconds string) string {
			const method = "&payment_method_data"
			return "client_secret=" + made.object["client_secret"].(string) + "&" + publishable +
				"&expected_payment_method_type=card&use_stripe_sdk=true&return_url=https://shop.example/back" +
				method + "[type]=card" + method + "[card][token]=tok_visa" + method + "[guid]=a" + method + "[muid]=b" +
				method + "[sid]=c" + method + "[payment_user_agent]=stripe.js" + method + "[time_on_page]=" + seconds +
				method + "[referrer]=https://shop.example" + method + "[pasted_fields]=number" +
				method + "[client_attribution_metadata][client_session_id]=d"
		}
		confirm := func(seconds string) answer {
			return s.ask(t, sent{target: "/v1/payment_intents/" + made.object["id"].(string) + "/confirm",
				body: report(seconds), header: http.Header{"Authorization": nil, "Idempotency-Key": {"once"}}})
		}
		first, second := confirm("100"), confirm("200")
		if first.status != http.StatusOK || first.object["status"] != "succeeded" ||
			second.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%d %s, then %d %s", first.status, first.body, second.status, second.body)
		}
	})

	t.Run("Stripe.js confirms with a card and without a return_url; a server may not", func(t *testing.T) {
		const confirm = "use_stripe_sdk=true&payment_method_data[type]=card&payment_method_data[card][token]=tok_visa"
		for kind, params := range map[string]string{
			"payment_intents": "&amount=1000&currency=usd",
			"setup_intents":   "",
		} {
			made := s.ask(t, sent{target: "/v1/" + kind, body: "automatic_payment_methods[enabled]=true" + params})
			target := "/v1/" + kind + "/" + made.object["id"].(string) + "/confirm"
			if a := s.ask(t, sent{target: target, body: confirm}); a.status != http.StatusBadRequest {
				t.Errorf("a server confirms %s: %d %s", kind, a.status, a.body)
			}
			body := confirm + "&client_secret=" + made.object["client_secret"].(string) + "&" + publishable
			a := s.ask(t, sent{target: target, body: body, header: withoutHeader})
			if a.status != http.StatusOK || a.object["status"] != "succeeded" {
				t.Errorf("Stripe.js confirms %s: %d %s", kind, a.status, a.body)
			}
		}
	})

	t.Run("a secret key reports nothing of a browser", func(t *testing.T) {
		a := s.ask(t, sent{target: "/v1/tokens", body: card + "&time_on_page=100"})
		if a.status != http.StatusBadRequest {
			t.Errorf("%d %s", a.status, a.body)
		}
	})

	before := s.requests(t)
	for _, row := range []refused{
		{"a secret key in the body", sent{target: "/v1/tokens", body: card + "&" + secret, header: withoutHeader}, 401,
			fault{Type: invalid}},
		{"a secret key in the query", sent{target: "/v1/tokens?" + secret, body: card, header: withoutHeader}, 401,
			fault{Type: invalid}},
		{"an unknown key", sent{target: "/v1/tokens", body: card + "&key=pk_test_unknown", header: withoutHeader}, 401,
			fault{Type: invalid}},
		{"a key in a hash", sent{target: "/v1/tokens", body: card + "&key[a]=pk_test_a", header: withoutHeader}, 401,
			fault{Type: invalid}},
		{"two keys", sent{target: "/v1/tokens?" + publishable, body: card + "&" + publishable, header: withoutHeader},
			401, fault{Type: invalid}},
		{"a body that is no form", sent{target: "/v1/tokens", body: "%zz&" + publishable, header: withoutHeader}, 401,
			fault{Type: invalid}},
		{"a key where a secret one is needed", sent{target: "/v1/customers", body: publishable, header: withoutHeader},
			401, fault{Type: invalid}},
		{"a key beside a header", sent{target: "/v1/tokens", body: card + "&" + publishable}, 400,
			fault{Type: invalid, Code: badName, Param: "key"}},
	} {
		t.Run(row.name+" is refused", func(t *testing.T) { requireRefusal(t, s.ask(t, row.sent), row) })
	}
	if now := s.requests(t); now != before {
		t.Errorf("%d refused requests were stored", now-before)
	}
}

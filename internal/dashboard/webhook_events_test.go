package dashboard_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func TestWebhookForms(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	form := s.get(t, "/dashboard/webhooks")
	types := regexp.MustCompile(`name="events" value="([^"]+)"`).FindAllStringSubmatch(form.body, -1)
	if len(types) < 50 {
		t.Fatalf("the picker has %d event types", len(types))
	}
	sent := url.Values{
		"csrf": {hidden(t, form, "csrf")},
		"key":  {hidden(t, form, "key")},
		"url":  {"https://books.example/hook"},
	}
	for _, one := range types {
		sent.Add("events", one[1])
	}
	made := s.post(t, "/dashboard/webhooks", sent)
	if !strings.Contains(made.body, "whsec_") {
		t.Fatalf("the API knows not all of the picker's types: %s", made.body)
	}
	at := "/dashboard/webhooks/" + regexp.MustCompile(`we_\w+`).FindString(made.body)

	t.Run("the picker shows what is chosen, and changes it", func(t *testing.T) {
		p := s.get(t, at)
		if n := strings.Count(p.body, " checked"); n != len(types) {
			t.Errorf("%d boxes are checked, want %d", n, len(types))
		}
		p = s.post(t, at+"/edit", url.Values{
			"csrf":        {hidden(t, p, "csrf")},
			"key":         {hidden(t, p, "key")},
			"url":         {"https://books.example/other"},
			"description": {"Books"},
			"events":      {"customer.created", "charge.refunded"},
		})
		for _, want := range []string{"Endpoint updated.", "https://books.example/other", "Books",
			"customer.created, charge.refunded"} {
			if !strings.Contains(p.body, want) {
				t.Errorf("the page does not say %q", want)
			}
		}
	})

	t.Run("a test event is offered only where the endpoint receives it, and is sent once", func(t *testing.T) {
		p := s.get(t, at)
		if strings.Contains(p.body, "<option>product.created") {
			t.Error("an event is offered that the endpoint does not receive")
		}
		test := url.Values{"csrf": {hidden(t, p, "csrf")}, "key": {hidden(t, p, "key")}, "type": {"customer.created"}}
		s.post(t, at+"/test", test)
		if p = s.post(t, at+"/test", test); !strings.Contains(p.body, "Sent a test customer.created event.") {
			t.Errorf("it was answered: %s", p.body)
		}
		if n := s.count(t, `SELECT count(*) FROM webhook_deliveries`); n != 1 {
			t.Errorf("there are %d deliveries, want 1", n)
		}
		p = s.post(t, at+"/test", url.Values{"csrf": test["csrf"], "key": test["key"], "type": {"product.created"}})
		if p.status != 404 {
			t.Errorf("an event that is not offered was answered %d", p.status)
		}
	})
}

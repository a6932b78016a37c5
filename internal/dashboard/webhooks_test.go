package dashboard_test

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	endpoint := s.api(t, "/v1/webhook_endpoints", "url", "https://shop.example/hook", "enabled_events[]",
		"charge.succeeded")
	other := s.api(t, "/v1/webhook_endpoints", "url", "https://books.example/hook", "enabled_events[]", "*")
	s.charge(t)
	var event string
	if err := s.db.Pool.QueryRow(t.Context(), `SELECT id FROM events WHERE type = 'charge.succeeded'`).
		Scan(&event); err != nil {
		t.Fatal(err)
	}
	at := "/dashboard/webhooks/" + endpoint
	secrets := regexp.MustCompile(`whsec_\w+`)

	t.Run("the lists and the details show what the rows say, and no secret", func(t *testing.T) {
		for path, want := range map[string]string{
			"/dashboard/webhooks":          "https://books.example/hook",
			at:                             event,
			at + "/" + event:               "No attempts yet",
			"/dashboard/webhooks/" + other: "All events",
		} {
			p := s.get(t, path)
			if p.status != http.StatusOK || !strings.Contains(p.body, want) || secrets.MatchString(p.body) {
				t.Errorf("%s was answered %d, with %q: %v", path, p.status, want, strings.Contains(p.body, want))
			}
		}
		for _, path := range []string{"/dashboard/webhooks/we_nobody", at + "/evt_nobody",
			"/dashboard/webhooks/we_nobody/" + event} {
			if p := s.get(t, path); p.status != http.StatusNotFound {
				t.Errorf("%s was answered %d", path, p.status)
			}
		}
	})

	t.Run("an attempt shows status, time, headers and the beginning of the body, as text", func(t *testing.T) {
		_, err := s.db.Pool.Exec(t.Context(), `
			INSERT INTO webhook_attempts (account_id, event_id, endpoint_id, attempt, started_at, ended_at, status,
				headers, body, duration_ms)
			VALUES ('acct_1', $1, $2, 1, now(), now(), 500, '{"X-Answered-By": ["a shop"]}', $3,
				12)`, event, endpoint, []byte("<script>alert(1)</script>\xff"))
		if err != nil {
			t.Fatal(err)
		}
		p := s.get(t, at+"/"+event)
		for _, want := range []string{"HTTP 500", "12 ms", "X-Answered-By: a shop",
			"&lt;script&gt;alert(1)&lt;/script&gt;�"} {
			if !strings.Contains(p.body, want) {
				t.Errorf("it does not show %q", want)
			}
		}
	})

	t.Run("sending again goes to the one or to all, and the trail says who did it", func(t *testing.T) {
		if _, err := s.db.Pool.Exec(t.Context(), `
			UPDATE webhook_deliveries SET state = 'succeeded', due_at = NULL, ended_at = now()`); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			path, back string
			pending    int
		}{{at + "/" + event, at + "/" + event, 1}, {"/dashboard/events/" + event, "/dashboard/events/" + event, 2}} {
			csrf := hidden(t, s.get(t, at), "csrf")
			p := s.post(t, c.path+"/resend", url.Values{"csrf": {csrf}})
			if p.status != http.StatusOK || p.path != c.back || !strings.Contains(p.body, "Resending to") {
				t.Errorf("%s was answered %d at %s", c.path, p.status, p.path)
			}
			if n := s.count(t, `SELECT count(*) FROM webhook_deliveries WHERE state = 'pending'`); n != c.pending {
				t.Errorf("%d deliveries are on their way, want %d", n, c.pending)
			}
		}
		if n := s.count(t, `
			SELECT count(*) FROM audit_events
			WHERE actor = 'operator:dashboard' AND operation = 'event.resend'`); n != 2 {
			t.Errorf("the trail has it %d times", n)
		}
		if p := s.post(t, at+"/"+event+"/resend", url.Values{"csrf": {"forged"}}); p.status != http.StatusForbidden {
			t.Errorf("a stranger's form was answered %d", p.status)
		}
	})

	t.Run("a secret is rolled once however often its form is sent, and seen once", func(t *testing.T) {
		drawn := s.get(t, at)
		form := url.Values{
			"csrf":       {hidden(t, drawn, "csrf")},
			"generation": {hidden(t, drawn, "generation")},
			"overlap":    {"1h"},
		}
		first := s.post(t, at+"/roll", form)
		if !secrets.MatchString(first.body) || !strings.Contains(first.body, "stays valid for 1 hour") ||
			strings.Contains(first.path, "whsec") {
			t.Errorf("rolling was answered %d without the secret", first.status)
		}
		again := s.post(t, at+"/roll", form)
		if secrets.MatchString(again.body) || !strings.Contains(again.body, "Nothing was rolled") {
			t.Error("the same form rolled it again")
		}
		if n := s.count(t, `SELECT secret_generation FROM webhook_endpoints WHERE url LIKE '%shop%'`); n != 2 {
			t.Errorf("it is the secret no. %d", n)
		}
		if secrets.MatchString(s.get(t, at).body) {
			t.Error("the secret is shown later, too")
		}
		if n := s.count(t, `
			SELECT count(*) FROM audit_events
			WHERE actor = 'operator:dashboard' AND operation = 'webhook_endpoint.roll'`); n != 1 {
			t.Errorf("the trail has it %d times", n)
		}
	})

	t.Run("an endpoint is switched off and on through the API", func(t *testing.T) {
		for _, action := range []string{"disable", "enable"} {
			p := s.post(t, at+"/"+action, url.Values{"csrf": {hidden(t, s.get(t, at), "csrf")}})
			if p.status != http.StatusOK || p.path != at {
				t.Errorf("%s was answered %d at %s", action, p.status, p.path)
			}
			if action == "disable" {
				requireWords(t, p, "not sent")
				requireWords(t, s.get(t, at+"/"+event), "The endpoint is disabled, so this delivery")
				if strings.Contains(p.body, ">due ") {
					t.Error("a delivery to a disabled endpoint is called due")
				}
			}
			if n := s.count(t, `
				SELECT count(*) FROM webhook_endpoints WHERE url LIKE '%shop%' AND status = '`+action+`d'`); n != 1 {
				t.Errorf("after %s it is not %sd", action, action)
			}
		}
		if n := s.count(t, `
			SELECT count(*) FROM audit_events
			WHERE actor = 'dashboard' AND operation = 'webhook_endpoint.update'`); n != 2 {
			t.Errorf("the trail has it %d times", n)
		}
	})

	t.Run("an endpoint is deleted once its box is checked, and its deliveries are counted apart", func(t *testing.T) {
		if _, err := s.db.Pool.Exec(t.Context(), `
			UPDATE webhook_deliveries SET state = 'canceled', due_at = NULL, ended_at = now()
			WHERE endpoint_id = $1 AND state = 'pending'`, endpoint); err != nil {
			t.Fatal(err)
		}
		if _, err := s.db.Pool.Exec(t.Context(), `
			UPDATE webhook_endpoints SET failing_since = now(), status = 'disabled'
			WHERE id = $1`, endpoint); err != nil {
			t.Fatal(err)
		}
		drawn := s.get(t, at)
		requireWords(t, drawn, "failed, 1 canceled")
		for _, p := range []page{drawn, s.get(t, "/dashboard/webhooks")} {
			if strings.Contains(p.body, "Failing since") || strings.Contains(p.body, "since <time") {
				t.Errorf("%s calls the time of the first failure the time of the disabling", p.path)
			}
		}
		form := url.Values{"csrf": {hidden(t, drawn, "csrf")}}
		requireWords(t, s.post(t, at+"/delete", form), "Nothing changed. Check the box")
		form.Set("sure", "yes")
		for range 2 {
			requireWords(t, s.post(t, at+"/delete", form), "Endpoint deleted.", "Deleted</span>")
		}
		if n := s.count(t, `SELECT count(*) FROM audit_events WHERE operation = 'webhook_endpoint.delete'`); n != 1 {
			t.Errorf("%d requests deleted it", n)
		}
		if list := s.get(t, "/dashboard/webhooks"); strings.Contains(list.body, endpoint) {
			t.Error("the deleted endpoint is in the list")
		}
		list := s.get(t, "/dashboard/webhooks?state=deleted")
		requireWords(t, list, endpoint)
		if strings.Contains(list.body, other) {
			t.Error("an endpoint is listed as deleted that is not")
		}
	})

	t.Run("one that is made shows its secret once, and is made once", func(t *testing.T) {
		drawn := s.get(t, "/dashboard/webhooks")
		form := url.Values{
			"csrf": {hidden(t, drawn, "csrf")},
			"key":  {hidden(t, drawn, "key")},
			"url":  {"https://new.example/hook"},
		}
		for range 2 {
			p := s.post(t, "/dashboard/webhooks", form)
			if !secrets.MatchString(p.body) || !strings.Contains(p.body, "https://new.example/hook") {
				t.Errorf("it was answered %d without a secret", p.status)
			}
		}
		if n := s.count(t, `SELECT count(*) FROM webhook_endpoints WHERE url LIKE '%new%'`); n != 1 {
			t.Errorf("%d were made", n)
		}
		form.Set("url", "nonsense")
		form.Set("key", "another")
		if p := s.post(t, "/dashboard/webhooks", form); p.status != http.StatusBadRequest ||
			!strings.Contains(p.body, `role="alert"`) || !strings.Contains(p.body, `value="nonsense"`) {
			t.Errorf("no address was answered %d", p.status)
		}
	})
}

// TestAnchorsExist reads the documentation from page to page, and follows every link to a part of a page.
func TestAnchorsExist(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	link := regexp.MustCompile(`<a [^>]*href="(/docs[^"#?]*)?(#[^"]+)?"`)
	pages, next, followed := map[string]string{}, []string{"/docs"}, 0
	read := func(path string) string {
		body, known := pages[path]
		if !known {
			body = s.get(t, path).body
			pages[path] = body
			next = append(next, path)
		}
		return body
	}
	for len(next) > 0 {
		from := next[0]
		next = next[1:]
		for _, found := range link.FindAllStringSubmatch(read(from), -1) {
			to, anchor := cmp.Or(found[1], from), strings.TrimPrefix(found[2], "#")
			if strings.HasPrefix(to, "/docs/source") { // a line of a file
				continue
			}
			if body := read(to); anchor != "" {
				followed++
				if !strings.Contains(body, ` id="`+anchor+`"`) {
					t.Errorf("%s leads to %s#%s, which is not there", from, to, anchor)
				}
			}
		}
	}
	if len(pages) < 40 || followed < 200 {
		t.Errorf("followed %d links on %d pages; the search is broken", followed, len(pages))
	}
}

func TestErrorsAreExplained(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	p := s.get(t, "/docs/errors")
	for _, want := range []string{`id="card_declined"`, "HTTP 402", "409", "What to do", `href="/docs/api/`} {
		if !strings.Contains(p.body, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if n := strings.Count(p.body, `class="error-code"`); n < 40 {
		t.Errorf("%d codes are explained", n)
	}
	if p := s.get(t, "/docs/errors/lock_timeout"); p.status != http.StatusOK || p.path != "/docs/errors" {
		t.Errorf("a code leads to %d %s", p.status, p.path)
	}
	if p := s.get(t, "/docs/errors/no_such_code"); p.status != http.StatusNotFound {
		t.Errorf("no code was answered %d", p.status)
	}
	p = s.get(t, "/docs/api/no-such-thing")
	if p.status != http.StatusNotFound || !strings.Contains(p.body, `href="/docs/api"`) {
		t.Errorf("what is not in the reference was answered %d %s, which leads nowhere", p.status, p.body)
	}
}

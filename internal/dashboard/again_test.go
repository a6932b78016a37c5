package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/testcard"
)

func TestSendingAgain(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	send := func(path, key string, form url.Values) page {
		return s.post(t, path, form, "Authorization", "Bearer "+s.key, "Idempotency-Key", key)
	}
	first := send("/v1/charges", "order-1", url.Values{"amount": {"2000"}, "currency": {"usd"}, "source": {"tok_visa"},
		"description": {`Jenny’s "sledge" & 'more' $HOME \ 雪`}})
	at := "/dashboard/requests/" + first.header.Get("Request-Id")
	charges := func() int { return s.count(t, `SELECT count(*) FROM charges`) }

	t.Run("with the same key the same bytes come back, and the act is in the audit trail", func(t *testing.T) {
		p := s.get(t, at)
		again := s.post(t, at+"/again", url.Values{"csrf": {hidden(t, p, "csrf")}, "with": {"same"}})
		requireWords(t, again, "Sent again with the same key", "bytes came back", "HTTP 200", "true")
		if n := charges(); n != 1 {
			t.Errorf("there are %d charges", n)
		}
		if n := s.count(t, `SELECT count(*) FROM audit_events
			WHERE operation = 'request.send_again' AND actor LIKE 'operator:%'`); n != 1 {
			t.Errorf("%d rows of the audit trail tell of it", n)
		}
	})

	t.Run("with a new key it is a new request of the person, once for a form that is sent twice", func(t *testing.T) {
		p := s.get(t, at)
		form := url.Values{"csrf": {hidden(t, p, "csrf")}, "with": {"new"}, "key": {hidden(t, p, "key")}}
		again := s.post(t, at+"/again", form)
		requireWords(t, again, "Sent again with a new key", form.Get("key"))
		if twice := s.post(t, at+"/again", form); twice.path != again.path || again.path == at {
			t.Errorf("it led to %s, then to %s", again.path, twice.path)
		}
		if n := charges(); n != 2 {
			t.Errorf("there are %d charges", n)
		}
		if n := s.count(t, `SELECT count(*) FROM audit_events
			WHERE operation = 'charge.create' AND actor = 'dashboard'`); n != 1 {
			t.Errorf("%d rows of the audit trail name who sent it", n)
		}
	})

	t.Run("a request with card data says why it cannot be sent again", func(t *testing.T) {
		visa, _ := testcard.ByName("visa")
		card := send("/v1/payment_methods", "order-2", url.Values{"type": {"card"}, "card[number]": {visa.Number()},
			"card[exp_month]": {"12"}, "card[exp_year]": {"2030"}, "card[cvc]": {"123"}})
		at := "/dashboard/requests/" + card.header.Get("Request-Id")
		p := s.get(t, at)
		requireWords(t, p, "Can’t be sent again.", "card data, which is never stored")
		csrf := hidden(t, s.get(t, "/dashboard/clock"), "csrf")
		refused := s.post(t, at+"/again", url.Values{"csrf": {csrf}, "with": {"same"}})
		requireWords(t, refused, "card data, which is never stored")
		if refused.path != at {
			t.Errorf("it led to %s", refused.path)
		}
	})

	t.Run("a request without a key is only sent under a new one", func(t *testing.T) {
		made := s.post(t, "/v1/customers", url.Values{"name": {"Jenny"}}, "Authorization", "Bearer "+s.key)
		at := "/dashboard/requests/" + made.header.Get("Request-Id")
		p := s.get(t, at)
		if strings.Contains(p.body, "Send with the same key") || !strings.Contains(p.body, "Send with a new key") {
			t.Error("the page offers to send it with the same key")
		}
		requireWords(t, s.post(t, at+"/again", url.Values{"csrf": {hidden(t, p, "csrf")}, "with": {"same"}}),
			"Nothing was sent.")
	})

	t.Run("a program in each language gets the stored response", func(t *testing.T) {
		shown := regexp.MustCompile(`(?s)<code>(.*?)</code>`).FindAllStringSubmatch(s.get(t, at).body, 4)
		for i, run := range [][]string{{"sample.sh", "sh"}, {"sample.go", "go", "run"}, {"sample.mjs", "node"},
			{"sample.py", "python3"}} {
			if _, err := exec.LookPath(run[1]); err != nil {
				t.Logf("%s is not run: %v", run[0], err)
				continue
			}
			file := filepath.Join(t.TempDir(), run[0])
			if err := os.WriteFile(file, []byte(html.UnescapeString(shown[i][1])), 0o600); err != nil {
				t.Fatal(err)
			}
			program := exec.CommandContext(t.Context(), run[1], append(run[2:], file)...)
			program.Env = append(os.Environ(), "SECRET_KEY="+s.key)
			answer, err := program.Output()
			if err != nil || string(answer) != first.body {
				t.Errorf("%s answered %v %s", run[0], err, answer)
			}
		}
	})
	if first.status != http.StatusOK {
		t.Errorf("the charge was answered %d", first.status)
	}
}

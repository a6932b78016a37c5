package dashboard_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// token is the field of a form that is new on every page.
var token = regexp.MustCompile(`name="csrf"\s+value="[^"]+"`)

// TestPagesAreCompressed opens pages of every kind as a browser does.
func TestPagesAreCompressed(t *testing.T) {
	t.Parallel()
	const most = 40_000 // bytes on the wire; a page with its styles and scripts has at most 100 KB
	s := newEnv(t, "")
	payment := "/dashboard/payments/" + s.charge(t)
	session := s.api(t, "/v1/checkout/sessions", "mode", "payment", "success_url", "https://shop.example/thanks",
		"line_items[0][quantity]", "1", "line_items[0][price_data][currency]", "usd",
		"line_items[0][price_data][unit_amount]", "2000", "line_items[0][price_data][product_data][name]", "Toboggan")
	// They show figures, a new key and ages; without a password, the login leads to the overview.
	changing := []string{"/", "/dashboard/new/payment", payment, "/dashboard/login"}
	for _, path := range append(changing, "/docs/api/payment_intents", "/docs/api/customers", "/docs/api/refunds",
		"/docs", "/dashboard/no-such-page", "/c/pay/"+session) {
		plainHeader, plain := s.encoded(t, path, "identity")
		zippedHeader, zipped := s.encoded(t, path, "gzip")
		if got := zippedHeader.Get("Content-Encoding"); got != "gzip" || len(zipped) > most {
			t.Errorf("%s has %d bytes in encoding %q, want at most %d in gzip", path, len(zipped), got, most)
		}
		if plainHeader.Get("Content-Encoding") != "" || zippedHeader.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: a cache may send it compressed to a client that cannot read it", path)
		}
		body, err := unzip(zipped)
		if err != nil || !strings.HasSuffix(strings.TrimSpace(body), "</html>") {
			t.Errorf("%s does not end as a page does when it is compressed (%v)", path, err)
		}
		same := token.ReplaceAllString(body, "") == token.ReplaceAllString(plain, "")
		if !same && !slices.Contains(changing, path) {
			t.Errorf("%s is another page when it is compressed", path)
		}
	}
}

// TestTokensAreMasked draws a form twice: nothing of its token repeats, and both are accepted.
func TestTokensAreMasked(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	at := "/dashboard/payments/" + s.charge(t)
	drawn := []page{s.get(t, at), s.get(t, at)}
	first, second := hidden(t, drawn[0], "csrf"), hidden(t, drawn[1], "csrf")
	for i := range len(first) - 8 {
		if strings.Contains(second, first[i:i+8]) {
			t.Fatalf("two pages have the tokens %q and %q, which share %q", first, second, first[i:i+8])
		}
	}
	for i, p := range drawn {
		sent := s.post(t, at+"/refund", url.Values{"csrf": {hidden(t, p, "csrf")}, "key": {hidden(t, p, "key")},
			"amount": {"1.00"}})
		if sent.status != http.StatusOK {
			t.Errorf("form %d is answered %d: %s", i+1, sent.status, sent.body)
		}
	}
	if n := s.count(t, `SELECT count(*) FROM refunds`); n != 2 {
		t.Errorf("two forms made %d refunds", n)
	}
	for _, wrong := range []string{"", "A", first[:len(first)-1], first[1:], "A" + first[1:],
		first[:len(first)/2] + second[len(second)/2:]} {
		if sent := s.post(t, at+"/refund", url.Values{"csrf": {wrong}}); sent.status != http.StatusForbidden {
			t.Errorf("a form with the token %q is answered %d", wrong, sent.status)
		}
	}
}

// TestStreamsAreNotHeldBack reads the first line of what has no end, and a file, as a browser asks for them.
func TestStreamsAreNotHeldBack(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	charge := s.charge(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+"/dashboard/stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil || line != "retry: 1000\n" {
		t.Errorf("the stream begins with %q (%v)", line, err)
	}
	header, file := s.encoded(t, "/dashboard/payments.csv", "gzip")
	if header.Get("Content-Encoding") != "" || !strings.Contains(file, charge) {
		t.Errorf("the file comes in encoding %q: %s", header.Get("Content-Encoding"), file)
	}
}

// encoded is an answer as it is on the wire.
func (s *env) encoded(t *testing.T, path, encoding string) (header http.Header, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", encoding)
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Header, string(content)
}

func unzip(zipped string) (string, error) {
	content, err := gzip.NewReader(strings.NewReader(zipped))
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(content)
	return string(body), err
}

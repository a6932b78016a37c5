package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/process"
)

// TestWire sends bytes that no client library would.
func TestWire(t *testing.T) {
	t.Parallel()
	s := newEnv(t, func(c *process.Config) { c.PublicURL = "http://ratchet.example" })
	dial := s.serve(t)
	key := "Authorization: Bearer " + s.keys["toboggans"] + "\r\n"
	const formType = "Content-Type: application/x-www-form-urlencoded\r\n"

	for _, row := range []struct {
		name   string
		head   string // without Host and the empty line
		body   string
		status int
		Type   string // of the error; "" where there is no body
	}{
		{"two keys", "GET /v1/charges HTTP/1.1\r\n" + key + key, "", 401, invalid},
		{"two idempotency keys",
			"POST /v1/customers HTTP/1.1\r\n" + key +
				"Idempotency-Key: a\r\nIdempotency-Key: a\r\nContent-Length: 0\r\n", "", 400, idempotency},
		{"a tab in an idempotency key",
			"POST /v1/customers HTTP/1.1\r\n" + key + "Idempotency-Key: a\tb\r\nContent-Length: 0\r\n", "", 400,
			idempotency},
		{"a body with two lengths",
			"POST /v1/customers HTTP/1.1\r\n" + key + formType + "Content-Length: 6\r\nContent-Length: 7\r\n",
			"name=x", 400, invalid},
		{"a length that is none", "POST /v1/customers HTTP/1.1\r\n" + key + formType + "Content-Length: x\r\n",
			"name=x", 400, invalid},
		{"40 KiB of headers in small pieces",
			"GET /v1/charges HTTP/1.1\r\n" + key + strings.Repeat("X-Padding: "+strings.Repeat("x", 90)+"\r\n", 410),
			"", 431, invalid},
		{"a body that is cut into pieces and too long",
			"POST /v1/charges HTTP/1.1\r\n" + key + formType + "Transfer-Encoding: chunked\r\n",
			"4b000\r\n" + strings.Repeat("x", 0x4b000) + "\r\n0\r\n\r\n", 413, invalid},
		{"an encoding of the body that nobody knows",
			"POST /v1/customers HTTP/1.1\r\n" + key + formType + "Transfer-Encoding: rot13\r\n", "name=x", 501,
			invalid},
		{"a percent sign in a path", "GET /v1/charges/50% HTTP/1.1\r\n" + key, "", 400, invalid},
		{"two hosts", "GET /v1/charges HTTP/1.1\r\n" + key + "Host: elsewhere.example\r\n", "", 400, invalid},
		{"a version that nobody knows", "GET /v1/charges HTTP/3.0\r\n" + key, "", 505, invalid},
		{"no space for a method", "/v1/charges\r\n", "", 400, invalid},
		{"a line break in a header",
			"GET /v1/charges HTTP/1.1\r\n" + key + "Stripe-Version: 2020-08-27\n injected\r\n", "", 400, invalid},
		{"an absolute address of another host", "GET http://elsewhere.example/v1/nothing HTTP/1.1\r\n" + key, "", 404,
			invalid},
		{"dots that lead out", "GET /v1/charges/../nothing HTTP/1.1\r\n" + key, "", 404, invalid},
		{"a method nobody knows", "FROB /v1/charges HTTP/1.1\r\n" + key, "", 404, invalid},
		{"HEAD", "HEAD /v1/charges HTTP/1.1\r\n" + key, "", 404, ""},
		{"OPTIONS of nothing", "OPTIONS /v1/nothing HTTP/1.1\r\n", "", 404, invalid},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := s.requests(t)
			response, rest := speak(t, dial(t), row.head, row.body)
			if response.StatusCode != row.status {
				t.Errorf("status = %d, want %d: %s", response.StatusCode, row.status, rest)
			}
			if row.Type != "" &&
				(!strings.Contains(rest, `"type": "`+row.Type+`"`) ||
					response.Header.Get("Content-Type") != "application/json") {
				t.Errorf("want an %s in JSON, got %s", row.Type, rest)
			}
			if now := s.requests(t); now != before {
				t.Errorf("%d requests were stored", now-before)
			}
		})
	}

	t.Run("OPTIONS of an address says what can be asked there, and allows no other origin", func(t *testing.T) {
		response, rest := speak(t, dial(t), "OPTIONS /v1/charges HTTP/1.1\r\nOrigin: https://elsewhere.example\r\n", "")
		if response.StatusCode != http.StatusNoContent || rest != "" ||
			response.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("answered %d %v %q", response.StatusCode, response.Header, rest)
		}
	})

	// A proxy in front may go by the one and we by the other: where a second
	// request begins must not be a matter of opinion.
	t.Run("a body with a length and in pieces ends the connection, and nothing is smuggled in it", func(t *testing.T) {
		before := s.requests(t)
		smuggled := "POST /v1/customers HTTP/1.1\r\nHost: x\r\n" + key + "Content-Length: 0\r\n\r\n"
		_, rest := speak(t, dial(t),
			"POST /v1/nothing HTTP/1.1\r\n"+key+formType+"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
			"0\r\n\r\n"+smuggled)
		if strings.Contains(rest, "HTTP/1.1 ") {
			t.Errorf("a second request was answered: %s", rest)
		}
		if now := s.requests(t); now != before {
			t.Errorf("%d requests were stored", now-before)
		}
	})
}

// speak sends bytes and returns the first answer, with its body and all that
// follows until the server closes the connection.
func speak(t *testing.T, conn net.Conn, head, body string) (first *http.Response, rest string) {
	t.Helper()
	requestLine, fields, _ := strings.Cut(head, "\r\n")
	// A server that has read enough and closes while we still send.
	go func() {
		_, _ = io.WriteString(conn, requestLine+"\r\nHost: ratchet.example\r\nConnection: close\r\n"+fields+"\r\n"+body)
	}()
	reader := bufio.NewReader(conn)
	method, _, _ := strings.Cut(requestLine, " ")
	first, err := http.ReadResponse(reader, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(first.Body)
	if err != nil {
		t.Fatal(err)
	}
	after, _ := io.ReadAll(reader)
	return first, string(content) + string(after)
}

package apitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/testcard"
)

func TestCheckTransport(t *testing.T) {
	t.Parallel()
	good := func(t *testing.T) Response {
		return answer(t, http.MethodPost, "/v1/charges", http.StatusOK, sample(t, "charge"))
	}
	for name, c := range map[string]struct {
		spoil func(*Response)
		at    string
	}{
		"an answer that is not called JSON": {func(a *Response) {
			a.Header.Set("Content-Type", "text/plain")
		}, "Content-Type"},
		"an answer without a request id": {func(a *Response) { a.Header.Del("Request-Id") }, "Request-Id"},
		"a POST that does not name its key": {func(a *Response) {
			a.Header.Del("Idempotency-Key")
		}, "Idempotency-Key"},
		"a replay that names no original": {func(a *Response) {
			a.Header.Set("Idempotent-Replayed", "true")
			a.Header.Del("Original-Request")
		}, "Original-Request"},
		"a replay under the original's id": {func(a *Response) {
			a.Header.Set("Idempotent-Replayed", "true")
		}, "Request-Id"},
		"an answer that is not JSON": {func(a *Response) { a.Body = []byte("<html>") }, ""},
		"an answer on a single line": {func(a *Response) { a.Body = compact(a.Body) }, ""},
		"an answer without a last line break": {func(a *Response) {
			a.Body = bytes.TrimSuffix(a.Body, []byte("\n"))
		}, ""},
		"an answer that is a list": {func(a *Response) { a.Body = []byte("[]") }, ""},
		"a failure without an error": {func(a *Response) {
			a.Status = http.StatusInternalServerError
		}, "/error"},
		"a success with an error": {func(a *Response) {
			a.Body = bytes.Replace(a.Body, []byte("{"), []byte(`{"error":null,`), 1)
		}, "/error"},
		"a card number": {func(a *Response) { a.Body = insert(a.Body, visaNumber()) }, ""},
		"a card number in groups": {func(a *Response) {
			a.Body = insert(a.Body, "3782 822463 10005")
		}, ""},
		"a secret key": {func(a *Response) {
			a.Body = insert(a.Body, "sk_test_51MzS0aBcDeFgHiJkLmNo")
		}, ""},
		"a webhook's secret": {func(a *Response) {
			a.Body = insert(a.Body, "whsec_51MzS0aBcDeFgHiJkLmNo")
		}, ""},
		"a header that is not what it should be": {func(a *Response) {
			a.Header.Set("Stripe-Version", "latest")
		}, "Stripe-Version"},
		"a status of another API":         {func(a *Response) { a.Status = http.StatusUnprocessableEntity }, ""},
		"a path that should not be there": {func(a *Response) { a.Path = "/v1/toboggans" }, ""},
	} {
		t.Run("it finds "+name, func(t *testing.T) {
			t.Parallel()
			a := good(t)
			c.spoil(&a)
			found := Check(a)
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.At == c.at }) {
				t.Error(Report(a, found))
			}
		})
	}

	for name, harmless := range map[string]string{
		"a time in milliseconds":              "1788000000005",
		"a long number that is not a card's":  "4242424242424241",
		"a card's digits inside an id":        "ch_" + visaNumber() + "x",
		"the end of a key behind asterisks":   "sk_test_************1234",
		"a day and a time that look like one": "2026-08-26 12:00:00",
	} {
		t.Run("it is not alarmed by "+name, func(t *testing.T) {
			t.Parallel()
			a := good(t)
			a.Body = insert(a.Body, harmless)
			requireNone(t, a)
		})
	}
}

func compact(body []byte) []byte {
	var out bytes.Buffer
	_ = json.Compact(&out, body) // an answer of ours
	return append(out.Bytes(), '\n')
}

// insert puts a text into a charge's description.
func insert(body []byte, text string) []byte {
	return bytes.Replace(body, []byte("One toboggan"), []byte(text), 1)
}

// recorder is a test that notes its failures instead of failing.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper()        {}
func (r *recorder) Error(a ...any) { r.failures = append(r.failures, a[0].(string)) }

func TestChecked(t *testing.T) {
	t.Parallel()
	// get asks a server that always gives the same answer, through Checked.
	get := func(t *testing.T, a Response, key string) (*recorder, []byte, error) {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for name, values := range a.Header {
				w.Header()[name] = values
			}
			w.WriteHeader(a.Status)
			w.Write(a.Body)
		}))
		t.Cleanup(server.Close)
		r := &recorder{TB: t}
		client := http.Client{Transport: Checked(r, server.Client().Transport)}
		request, err := http.NewRequestWithContext(t.Context(), a.Method, server.URL+a.Path+"?expand[]=customer", nil)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			request.Header.Set("Idempotency-Key", key)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return r, body, err
	}

	t.Run("a good answer passes through as it is", func(t *testing.T) {
		t.Parallel()
		a := answer(t, http.MethodGet, aCharge, http.StatusOK, sample(t, "charge"))
		r, body, err := get(t, a, "")
		if err != nil || !bytes.Equal(body, a.Body) {
			t.Errorf("got %q, %v", body, err)
		}
		if len(r.failures) > 0 {
			t.Error(r.failures)
		}
	})

	t.Run("a bad answer passes through too, and fails the test", func(t *testing.T) {
		t.Parallel()
		a := answer(t, http.MethodGet, aCharge, http.StatusOK, map[string]any{"object": "charge"})
		r, body, err := get(t, a, "")
		if err != nil || !bytes.Equal(body, a.Body) {
			t.Errorf("got %q, %v", body, err)
		}
		if len(r.failures) != 1 || !strings.Contains(r.failures[0], "/amount") {
			t.Error(r.failures)
		}
	})

	t.Run("the key that comes back is the one that was sent", func(t *testing.T) {
		t.Parallel()
		a := answer(t, http.MethodPost, "/v1/charges", http.StatusOK, sample(t, "charge"))
		r, _, _ := get(t, a, a.Header.Get("Idempotency-Key"))
		if len(r.failures) > 0 {
			t.Error(r.failures)
		}
		r, _, _ = get(t, a, "another")
		if len(r.failures) != 1 || !strings.Contains(r.failures[0], "Idempotency-Key") {
			t.Error(r.failures)
		}
	})

	t.Run("an answer that breaks off is no violation", func(t *testing.T) {
		t.Parallel()
		a := answer(t, http.MethodGet, aCharge, http.StatusOK, sample(t, "charge"))
		a.Header.Set("Content-Length", "100000")
		r, body, err := get(t, a, "")
		if err == nil || !bytes.Equal(body, a.Body) {
			t.Errorf("got %d bytes, %v, want the %d that were sent and an error", len(body), err, len(a.Body))
		}
		if len(r.failures) > 0 {
			t.Error(r.failures)
		}
	})

	t.Run("pages are not the API's", func(t *testing.T) {
		t.Parallel()
		r, _, _ := get(t,
			Response{Method: http.MethodGet, Path: "/pay/cs_1", Status: http.StatusOK, Body: []byte("<html>")}, "")
		if len(r.failures) > 0 {
			t.Error(r.failures)
		}
	})
}

// visaNumber is a number that must not appear in an answer. It is in one table.
func visaNumber() string {
	visa, _ := testcard.ByName("visa")
	return visa.Number()
}

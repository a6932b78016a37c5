package apitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// checkTransport holds the rules for every answer, for any request.
func checkTransport(a Response) (found []Violation) {
	broken := func(at, format string, args ...any) {
		found = append(found, Violation{RuleTransport, at, fmt.Sprintf(format, args...)})
	}
	media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		broken("Content-Type", "is %q, want application/json: clients retry or misread anything else",
			a.Header.Get("Content-Type"))
	}
	id := a.Header.Get("Request-Id")
	if !requestID.MatchString(id) {
		broken("Request-Id", "is %q, want req_ and at least 14 letters and digits", id)
	}
	replayed, original := a.Header.Get("Idempotent-Replayed"), a.Header.Get("Original-Request")
	switch {
	case replayed != "" && original == "":
		broken("Original-Request", "is missing from a replay")
	case replayed != "" && original == id:
		broken("Request-Id", "is the original's: a replay is a separate request")
	}
	if a.Method == http.MethodPost && a.Status == http.StatusOK && a.Header.Get("Idempotency-Key") == "" {
		broken("Idempotency-Key", "is missing: a POST that was done names the key it is kept under")
	}
	var written bytes.Buffer
	if json.Indent(&written, bytes.TrimRight(a.Body, "\n"), "", "  ") == nil &&
		written.String()+"\n" != string(a.Body) {
		broken("", "the body is not indented by two spaces, or has no line break at its end")
	}
	for _, kind := range secretsIn(a.Body) {
		if kind == signingSecret && a.Method == http.MethodPost && a.Status == http.StatusOK &&
			slices.Contains(showSecrets, a.Path) {
			continue
		}
		broken("", "the body has %s in it", kind)
	}
	return found
}

var requestID = regexp.MustCompile(`^req_[0-9A-Za-z]{14,}$`)

var (
	// No network's card numbers begin with another digit, and a time in
	// milliseconds begins with a 1: one in ten of those would pass for a card.
	cardNumber = regexp.MustCompile(`\b[2-6](?:[ -]?[0-9]){12,18}\b`)
	// The message about a wrong key shows some of it, but behind asterisks.
	secretKey     = regexp.MustCompile(`\b[sr]k_(test|live)_[0-9A-Za-z]{12,}`)
	endpointKey   = regexp.MustCompile(`\bwhsec_[0-9A-Za-z]{12,}`)
	withoutSpaces = strings.NewReplacer(" ", "", "-", "")
)

const signingSecret = "a webhook secret"

// showSecrets are the addresses whose answers show a signing secret.
var showSecrets = []string{"/v1/webhook_endpoints", "/v1/stripecli/sessions"}

// secretsIn says what an answer must never have in it and this one has.
func secretsIn(body []byte) (kinds []string) {
	for _, digits := range cardNumber.FindAllString(string(body), -1) {
		if passesLuhn(withoutSpaces.Replace(digits)) {
			kinds = append(kinds, "a card number")
			break
		}
	}
	if secretKey.Match(body) {
		kinds = append(kinds, "an API key")
	}
	if endpointKey.Match(body) {
		kinds = append(kinds, signingSecret)
	}
	return kinds
}

// passesLuhn checks the last digit, which is made from the others.
func passesLuhn(digits string) bool {
	sum, double := 0, false
	for i := len(digits) - 1; i >= 0; i-- {
		d := int(digits[i] - '0')
		if double {
			d *= 2
		}
		sum += d/10 + d%10
		double = !double
	}
	return sum%10 == 0
}

// Checked returns a transport that checks every answer of the API that passes
// through it, and fails the test for one that breaks the contract. Answers to
// other paths than /v1/… are left alone. next does the work;
// nil is http.DefaultTransport.
//
// An answer whose body breaks off is handed on as it is: its bytes, then the error.
func Checked(t testing.TB, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &checkedTransport{t, next}
}

type checkedTransport struct {
	t    testing.TB
	next http.RoundTripper
}

// RoundTrip checks a response of /v1/ against the contract, fails the test for each violation, and returns the response
// unchanged.
func (c *checkedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if err != nil || !strings.HasPrefix(r.URL.Path, "/v1/") {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	if err != nil {
		response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), brokenReader{err}))
		return response, nil
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	answer := Response{
		Method: r.Method,
		Path:   r.URL.EscapedPath(),
		Status: response.StatusCode,
		Header: response.Header,
		Body:   body,
	}
	found := Check(answer)
	sent, got := r.Header.Get("Idempotency-Key"), response.Header.Get("Idempotency-Key")
	if r.Method == http.MethodPost && got != "" && sent != "" && got != sent {
		found = append(found,
			Violation{RuleTransport, "Idempotency-Key", fmt.Sprintf("is %q, but %q was sent", got, sent)})
	}
	if len(found) > 0 {
		c.t.Helper()
		c.t.Error(Report(answer, found))
	}
	return response, nil
}

type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }

package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// answerWithin is what an endpoint gets from the first packet of the connection to the
	// last header of its answer.
	answerWithin = 10 * time.Second
	maxHeaders   = 16 << 10 // bytes of an answer
	maxBody      = 16 << 10 // bytes of an answer that are kept
	maxError     = 500      // bytes
)

// Headers of every delivery. "stripe listen" forwards them.
const (
	UserAgent = "Ratchet/1.0 (+https://github.com/ratchet-pay/ratchet)"
	Accept    = "*/*; q=0.5, application/xml"
)

// Result is how an attempt ended.
type Result struct {
	Status   int         // 0: no answer
	Headers  http.Header // of the answer
	Body     []byte      // its beginning
	Error    string      // why there is no answer, or why it does not count
	Duration time.Duration
}

// OK says whether the endpoint has acknowledged the event.
func (r Result) OK() bool { return r.Status >= 200 && r.Status <= 299 }

// Sender makes the HTTP requests.
type Sender struct {
	client  *http.Client
	private *Private
}

// NewSender makes a sender that goes where the configuration lets it.
func NewSender(c Config) *Sender {
	dialer := &net.Dialer{Timeout: answerWithin, Control: guard(c.Private())}
	return &Sender{private: c.Private(), client: &http.Client{
		// A redirect could lead anywhere, and a POST would become a GET on the way.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  nil, // a proxy would dial in our place, past the guard
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			MaxResponseHeaderBytes: maxHeaders,
			MaxIdleConnsPerHost:    2,
			MaxIdleConns:           100,
			IdleConnTimeout:        30 * time.Second,
		},
	}}
}

// Send makes one attempt and says how it ended. ctx bounds it besides its own time-out.
func (s *Sender) Send(ctx context.Context, address string, body []byte, signature string) (r Result) {
	started := time.Now()
	defer func() { r.Duration = time.Since(started) }()
	// An address that was allowed when the endpoint was created may be forbidden now.
	if objection := Objection(address, s.private); objection != "" {
		return Result{Error: objection}
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return Result{Error: reason(err)}
	}
	q.Header.Set("Content-Type", "application/json; charset=utf-8")
	q.Header.Set("User-Agent", UserAgent)
	q.Header.Set("Accept", Accept)
	q.Header.Set("Cache-Control", "no-cache")
	q.Header.Set("Stripe-Signature", signature)
	answer, err := s.client.Do(q)
	if err != nil {
		return Result{Error: reason(err)}
	}
	defer answer.Body.Close()
	r = Result{Status: answer.StatusCode, Headers: answer.Header}
	// The status has decided. A body that breaks off or does not end changes nothing.
	r.Body, _ = io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if r.Status >= 300 && r.Status <= 399 {
		r.Error = "redirects are not followed"
	}
	return r
}

// reason is an error as the merchant reads it, without what we put around it.
func reason(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	text := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		text = fmt.Sprintf("no response within %s", answerWithin)
	}
	if len(text) > maxError {
		text = text[:maxError]
	}
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return strings.ReplaceAll(text, "\x00", "")
}

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/apiversion"
)

// InternalRequest is a request that a page of this very process sends to the API for
// a user it has let in. It passes everything that a merchant's request passes.
type InternalRequest struct {
	Credential *apikey.Credential // in whose name; its KeyID is what the audit trail names as the actor
	Method     string
	Path       string // may have a query
	Key        string // idempotency key, "" for none
	Form       url.Values
	Header     http.Header // more of it; nil for no more
}

// Do sends the request for the page that r loads, and waits for the answer.
// A user who closes the page does not cancel the request.
func (in InternalRequest) Do(h http.Handler, r *http.Request) (*InternalResponse, error) {
	target, err := url.Parse(in.Path)
	if err != nil {
		return nil, fmt.Errorf("call the API: %w", err)
	}
	body := in.Form.Encode()
	request := (&http.Request{
		Method:        in.Method,
		URL:           target,
		Proto:         r.Proto,
		ProtoMajor:    r.ProtoMajor,
		ProtoMinor:    r.ProtoMinor,
		Header:        http.Header{},
		Body:          io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)),
		Host:          r.Host,
		RemoteAddr:    r.RemoteAddr,
		RequestURI:    in.Path,
	}).
		WithContext(WithCredential(context.WithoutCancel(r.Context()), in.Credential))
	for name, values := range in.Header {
		request.Header[name] = values
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if request.Header.Get("Stripe-Version") == "" {
		// the pages read these shapes, regardless of the account's version
		request.Header.Set("Stripe-Version", string(apiversion.Current))
	}
	if in.Key != "" {
		request.Header.Set("Idempotency-Key", in.Key)
	}
	a := &InternalResponse{Status: http.StatusOK, header: http.Header{}}
	h.ServeHTTP(a, request)
	return a, nil
}

// InternalResponse is the API's response to an InternalRequest. It is the http.ResponseWriter that the API writes to.
type InternalResponse struct {
	Status int
	Body   bytes.Buffer
	header http.Header
}

// Header are the headers of the answer.
func (a *InternalResponse) Header() http.Header { return a.header }

// WriteHeader keeps the status.
func (a *InternalResponse) WriteHeader(status int) { a.Status = status }

// Write keeps a part of the body.
func (a *InternalResponse) Write(b []byte) (int, error) { return a.Body.Write(b) }

// RequestID is the request that did it, not the one that was answered from memory.
func (a *InternalResponse) RequestID() string {
	if original := a.header.Get("Original-Request"); original != "" {
		return original
	}
	return a.header.Get("Request-Id")
}

// Refusal is what the API said against it, or nil.
func (a *InternalResponse) Refusal() *apierror.Error {
	if a.Status < http.StatusBadRequest {
		return nil
	}
	var body apierror.Envelope
	if json.Unmarshal(a.Body.Bytes(), &body) != nil || body.Error == nil || body.Error.Message == "" {
		return &apierror.Error{Status: a.Status, Message: fmt.Sprintf("The API returned %d.", a.Status)}
	}
	body.Error.Status = a.Status
	return body.Error
}

// Open tells whether the fate of the request is not known yet: then only the same
// key may be tried again.
func (a *InternalResponse) Open() bool {
	return a.Status == http.StatusConflict || a.Status == http.StatusTooManyRequests ||
		a.Status >= http.StatusInternalServerError
}

package design

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

// DialFunc opens a connection.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Bank is a client of the acquirer that adds no key.
type Bank struct {
	url, secret string
	merchant    string
	http        *http.Client
}

// of is the same bank, charging for the merchant of a design.
func (b *Bank) of(design string) *Bank {
	own := *b
	own.merchant = "acct_lab_" + design
	return &own
}

// NewBank returns a client that waits so long for an answer.
func NewBank(url, secret string, timeout time.Duration, dial DialFunc) *Bank {
	return &Bank{url: url, secret: secret, http: &http.Client{
		Timeout: timeout,
		// A connection per call: what a connection did before must not change where a call can break.
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial},
	}}
}

// Charge takes the order's amount from the card and returns the bank's reference.
// Each call is a new charge for the bank: the key that its protocol asks for is
// made up here, and forgotten.
func (b *Bank) Charge(ctx context.Context, o order) (reference string, err error) {
	body, err := json.Marshal(acquirer.Request{Verb: acquirer.VerbAuthorize,
		Order: acquirer.Order{Merchant: b.merchant, Card: "visa", Amount: o.Amount, Currency: "usd", Capture: true}})
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+acquirer.OperationsPath+rand.Text(),
		bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+b.secret)
	request.Header.Set("Content-Type", "application/json")
	if fault, is := ctx.Value(faultKey{}).(string); is {
		request.Header.Set(acquirer.FaultHeader, fault)
	}
	response, err := b.http.Do(request)
	if err != nil {
		return "", fmt.Errorf("call the bank: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the bank answered %s", response.Status)
	}
	var done acquirer.Operation
	if err := json.NewDecoder(response.Body).Decode(&done); err != nil {
		return "", fmt.Errorf("read the bank's answer: %w", err)
	}
	if !done.Result.Approved {
		return "", fmt.Errorf("the bank declined: %s", done.Result.Code)
	}
	return done.Result.Reference, nil
}

type faultKey struct{}

// WithFault has the bank misbehave in the calls that are made with the context.
func WithFault(ctx context.Context, wish string) context.Context {
	if wish == "" {
		return ctx
	}
	return context.WithValue(ctx, faultKey{}, wish)
}

// fault passes on what a request asks the bank to do wrong, as `ratchet serve`
// does in a demo.
func fault(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		c.SetRequest(r.WithContext(WithFault(r.Context(), r.Header.Get(acquirer.FaultHeader))))
		return next(c)
	}
}

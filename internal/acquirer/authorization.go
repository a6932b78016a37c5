package acquirer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// AuthorizationsPath is where the acquirer reports the authorizations of which
// anything was executed in a time: JSON lines of Authorization for ?from=…&to=…, both
// RFC 3339, from inclusive.
const AuthorizationsPath = "/authorizations"

// ResendPath has the acquirer send all notifications again that happened or were acknowledged since ?from=….
const ResendPath = "/notifications/resend"

// Authorization is a payment as the acquirer keeps it, with all that moved its money.
// It is what we rebuild a charge from that we lost.
type Authorization struct {
	ID       string     `json:"id"`
	Merchant string     `json:"merchant"`
	Livemode bool       `json:"livemode"`
	Card     string     `json:"card"` // its name in the vault, never its number
	Currency string     `json:"currency"`
	Executed []Executed `json:"executed"` // oldest first
}

// Executed is an operation that moved money and was not reversed.
type Executed struct {
	At        time.Time `json:"at"`
	Key       string    `json:"key"`       // the key that it was ordered under
	Kind      string    `json:"kind"`      // hold, sale, capture, release, refund
	Reference string    `json:"reference"` // the acquirer's id of the operation
	Object    string    `json:"object"`    // Order.Object
	Amount    int64     `json:"amount"`
	Result    Result    `json:"answer"` // to the first call under the key
}

// The kinds of operations that an authorization lists.
const (
	KindHold    = "hold"
	KindSale    = "sale"
	KindCapture = "capture"
	KindRelease = "release"
	KindRefund  = "refund"
)

// AdoptionKey is our idempotency key of the request that adopts what was executed under
// a key, if the request that ordered it was lost.
func AdoptionKey(key string) string { return "adopt " + key }

// Authorizations reads the authorizations of which anything was executed in a time.
func (c *Client) Authorizations(ctx context.Context, from, to time.Time) (all []Authorization, err error) {
	query := url.Values{"from": {from.UTC().Format(time.RFC3339Nano)}, "to": {to.UTC().Format(time.RFC3339Nano)}}
	resp, err := c.report(ctx, http.MethodGet, AuthorizationsPath, query)
	if err != nil {
		return nil, fmt.Errorf("fetch authorizations: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch authorizations: status %d", resp.StatusCode)
	}
	for lines := json.NewDecoder(resp.Body); ; {
		var a Authorization
		err := lines.Decode(&a)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read authorizations: %w", err)
		}
		all = append(all, a)
	}
}

// Resend has the acquirer send again what happened or was acknowledged since a time. The inbox applies only what it has
// not applied.
func (c *Client) Resend(ctx context.Context, from time.Time) error {
	resp, err := c.report(ctx, http.MethodPost, ResendPath, url.Values{"from": {from.UTC().Format(time.RFC3339Nano)}})
	if err != nil {
		return fmt.Errorf("ask for notifications: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("ask for notifications: status %d", resp.StatusCode)
	}
	return nil
}

// report makes a call about what the acquirer did, past the breaker. The caller closes
// the body.
func (c *Client) report(ctx context.Context, method, path string, query url.Values) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", c.bearer)
	return c.http.RoundTrip(req)
}

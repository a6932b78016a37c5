package shop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client is the caller's half of exactly-once, whole: a key that is written down
// before the first attempt, and the same request again until there is an answer.
// A merchant would leave this to Stripe's library. It is spelled out here because
// it is little, and because that library takes longer to compile than the API.
type client struct {
	api  string // such as http://127.0.0.1:8080
	key  string // the merchant's secret key
	http http.Client
}

func newClient(api, key string) *client {
	return &client{api: strings.TrimSuffix(api, "/"), key: key, http: http.Client{Timeout: 10 * time.Second}}
}

// apiVersion is the one whose fields the shop reads.
const apiVersion = "2026-08-26.dahlia"

// refusal is an answer of the API that is not 200.
type refusal struct {
	Status    int    `json:"-"`
	RequestID string `json:"-"`
	Type      string
	Code      string
	Message   string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%d %s: %s (request %s)", r.Status, strings.TrimSpace(r.Type+" "+r.Code), r.Message, r.RequestID)
}

func (c *client) get(ctx context.Context, path string, into any) error {
	return c.ask(ctx, http.MethodGet, path, "", nil, into)
}

// post changes something under an idempotency key. Without a key it must be
// something that may happen twice.
func (c *client) post(ctx context.Context, path, key string, params url.Values, into any) error {
	return c.ask(ctx, http.MethodPost, path, key, params, into)
}

// The pauses are for an API that is being restarted: half a second at first,
// eight at last, some fifteen in all.
const (
	tries      = 6
	firstPause = 500 * time.Millisecond
)

// ask repeats a request for as long as that can help. What it sends is the same
// each time: under one key, anything else is refused.
func (c *client) ask(ctx context.Context, method, path, key string, params url.Values, into any) error {
	pause := firstPause
	for try := 1; ; try++ {
		again, err := c.once(ctx, method, path, key, params, into)
		if err == nil || !again || try == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// largestAnswer is far above what the shop asks for.
const largestAnswer = 1 << 20

func (c *client) once(
	ctx context.Context, method, path, key string, params url.Values, into any,
) (again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.api+path, strings.NewReader(params.Encode()))
	if err != nil {
		return false, err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("Stripe-Version", apiVersion)
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	if host, _ := ctx.Value(hostKey{}).(string); host != "" {
		request.Host = host
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return true, err // no connection, or the response is lost: the API may have acted
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, largestAnswer))
	if err != nil {
		return true, err
	}
	if answer.StatusCode == http.StatusOK {
		return false, json.Unmarshal(body, into)
	}
	refused := struct{ Error refusal }{refusal{Status: answer.StatusCode, RequestID: answer.Header.Get("Request-Id")}}
	_ = json.Unmarshal(body, &refused) // what is in front of the API may refuse in its own words
	return repeatable(answer), &refused.Error
}

// repeatable says whether the same request may get another answer. The API knows
// it best; if it does not say, it is so while the key is busy, when too much is
// asked, and after an error of the server's.
func repeatable(answer *http.Response) bool {
	switch answer.Header.Get("Stripe-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	return answer.StatusCode == http.StatusConflict || answer.StatusCode == http.StatusTooManyRequests ||
		answer.StatusCode >= http.StatusInternalServerError
}

type hostKey struct{}

// underName calls the API under the host name that the customer's browser uses, so that
// the session's URL has the same host.
func underName(ctx context.Context, host string) context.Context {
	return context.WithValue(ctx, hostKey{}, host)
}

package acquirer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

const (
	defaultTimeout      = 8 * time.Second
	defaultBreakerLimit = 20
	defaultBreakerPause = time.Second

	// maxAnswerBytes is far above any honest answer; a longer one is not read.
	maxAnswerBytes = 512 << 10 // evidence is repeated in the answer
)

// ErrContradiction says that the acquirer answered something else than was asked:
// another key, order, amount or currency. What it did is unknown and needs a look.
var ErrContradiction = errors.New("the acquirer's answer contradicts the order")

var (
	errBreakerOpen = errors.New("the circuit breaker is open: the acquirer has not answered")
	// errNoAnswer marks what the breaker counts: no connection, or no readable answer.
	errNoAnswer = errors.New("no answer from the acquirer")
)

// Config says where the acquirer is.
type Config struct {
	URL    string
	Secret string

	// Timeout is the longest wait for one answer: 8 seconds if zero. It must stay
	// below the engine's lease, or a call would outlive the right to make it.
	Timeout time.Duration

	// BreakerLimit is after how many calls in a row without an answer the breaker
	// opens: 20 if zero, never if negative. BreakerPause is for how long: 1 second if zero.
	BreakerLimit int
	BreakerPause time.Duration

	// DialContext opens the connections. nil: within two seconds, over TCP.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client is the adapter that speaks to `ratchet acquirer`. It is safe for
// concurrent use, and one per process is enough.
type Client struct {
	url     string
	bearer  string
	timeout time.Duration
	http    *http.Transport
	breaker breaker
}

var _ Acquirer = (*Client)(nil)

// NewClient returns a client. It does not connect before the first call.
func NewClient(cfg Config) *Client {
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.BreakerLimit == 0 {
		cfg.BreakerLimit = defaultBreakerLimit
	}
	if cfg.BreakerPause == 0 {
		cfg.BreakerPause = defaultBreakerPause
	}
	if cfg.DialContext == nil {
		cfg.DialContext = (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	}
	return &Client{
		url:     strings.TrimRight(cfg.URL, "/"),
		bearer:  "Bearer " + cfg.Secret,
		timeout: cfg.Timeout,
		http:    newTransport(cfg.DialContext),
		breaker: breaker{limit: cfg.BreakerLimit, pause: cfg.BreakerPause},
	}
}

func newTransport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: dial,
		// As many as there are calls under way in a busy process: with Go's default
		// of 2 almost every call would open a connection and throw it away.
		MaxIdleConnsPerHost: 256,
		// Shorter than the simulator keeps them open, so that we are the side that
		// hangs up: a request sent into a closing connection has an unknown fate.
		IdleConnTimeout:       30 * time.Second,
		TLSHandshakeTimeout:   2 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}
}

// Close drops the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// BreakerOpen says whether the acquirer is left alone because it did not answer.
func (c *Client) BreakerOpen() bool { return c.breaker.open() }

// Authorize implements Acquirer.
func (c *Client) Authorize(ctx context.Context, permit phase.Permit, order Order) (Result, error) {
	return c.do(ctx, permit.Key(), permit.Mode(), Request{VerbAuthorize, order})
}

// Capture implements Acquirer.
func (c *Client) Capture(ctx context.Context, permit phase.Permit, order Order) (Result, error) {
	return c.do(ctx, permit.Key(), permit.Mode(), Request{VerbCapture, order})
}

// Void implements Acquirer.
func (c *Client) Void(ctx context.Context, permit phase.Permit, order Order) (Result, error) {
	return c.do(ctx, permit.Key(), permit.Mode(), Request{VerbVoid, order})
}

// Refund implements Acquirer.
func (c *Client) Refund(ctx context.Context, permit phase.Permit, order Order) (Result, error) {
	return c.do(ctx, permit.Key(), permit.Mode(), Request{VerbRefund, order})
}

// Verify implements Acquirer.
func (c *Client) Verify(ctx context.Context, permit phase.Permit, order Order) (Result, error) {
	return c.do(ctx, permit.Key(), permit.Mode(), Request{VerbVerify, order})
}

// PayOut implements Acquirer.
func (c *Client) PayOut(ctx context.Context, permit phase.Permit, order Order) (Result, error) {
	return c.do(ctx, permit.Key(), permit.Mode(), Request{VerbPayOut, order})
}

// Recall implements Acquirer.
func (c *Client) Recall(ctx context.Context, permit phase.Permit, order Order) (Result, error) {
	return c.do(ctx, permit.Key(), permit.Mode(), Request{VerbRecall, order})
}

// SubmitEvidence implements Acquirer.
func (c *Client) SubmitEvidence(ctx context.Context, permit phase.Permit, order Order) (Result, error) {
	return c.do(ctx, permit.Key(), permit.Mode(), Request{VerbSubmitEvidence, order})
}

// AcceptDispute implements Acquirer.
func (c *Client) AcceptDispute(ctx context.Context, permit phase.Permit, order Order) (Result, error) {
	return c.do(ctx, permit.Key(), permit.Mode(), Request{VerbAcceptDispute, order})
}

func (c *Client) do(ctx context.Context, key string, mode phase.Mode, asked Request) (Result, error) {
	if key == "" {
		return Result{}, phase.NotSent(errors.New("the permit has no key"))
	}
	switch mode {
	case phase.Lookup:
		return c.operation(ctx, http.MethodGet, key, asked)
	case phase.Reverse:
		return Result{}, c.reverse(ctx, key)
	default:
		return c.operation(ctx, http.MethodPost, key, asked)
	}
}

// operation asks for what was asked (POST) or reads what was done (GET).
func (c *Client) operation(ctx context.Context, method, key string, asked Request) (Result, error) {
	var body []byte
	if method == http.MethodPost {
		var err error
		body, err = json.Marshal(asked)
		if err != nil {
			return Result{}, phase.NotSent(err)
		}
	}
	var done Operation
	err := c.call(ctx, method, key, "", body, &done)
	if err != nil {
		return Result{}, err
	}
	err = contradiction(key, asked, done)
	if err != nil {
		return Result{}, err
	}
	keepNotifications(ctx, done.Notifications)
	return done.Result, nil
}

func (c *Client) reverse(ctx context.Context, key string) error {
	var reversal Reversal
	err := c.call(ctx, http.MethodPost, key, ReversePath, nil, &reversal)
	if err != nil {
		return err
	}
	if reversal.Key != key || !reversal.Reversed {
		return fmt.Errorf("%w: reversing %q returned %+v", ErrContradiction, key, reversal)
	}
	return phase.ErrReversed
}

// contradiction compares an answer with what was asked. A void that names no
// amount accepts any held amount.
func contradiction(key string, asked Request, done Operation) error {
	if done.Key != key || done.Verb != asked.Verb || !done.Order.Same(asked.Order) {
		return fmt.Errorf("%w: sent %s under %q, received %s under %q", ErrContradiction, asked.Verb, key, done.Verb,
			done.Key)
	}
	answer, order := done.Result, asked.Order
	wholeHold := asked.Verb == VerbVoid && order.Amount == 0
	if answer.Currency != order.Currency || (answer.Amount != order.Amount && !wholeHold) {
		return fmt.Errorf("%w: %s of %d %s returned %d %s", ErrContradiction,
			asked.Verb, order.Amount, order.Currency, answer.Amount, answer.Currency)
	}
	if answer.Approved && answer.Reference == "" {
		return fmt.Errorf("%w: approved without a reference", ErrContradiction)
	}
	return nil
}

// call makes one HTTP call behind the breaker and decodes a 200 into out.
func (c *Client) call(ctx context.Context, method, key, suffix string, body []byte, out any) error {
	if !c.breaker.allow(time.Now()) {
		return phase.NotSent(errBreakerOpen)
	}
	callCtx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()

	err := c.send(callCtx, method, key, suffix, body, out)
	switch {
	case !errors.Is(err, errNoAnswer):
		c.breaker.answered()
	case errors.Is(ctx.Err(), context.Canceled):
		// Our caller went away; that says nothing about the acquirer.
	default:
		c.breaker.failed(time.Now())
	}
	return err
}

func (c *Client) send(ctx context.Context, method, key, suffix string, body []byte, out any) error {
	// Nothing can have been sent before there was a connection to send it on.
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	req, err := c.newRequest(ctx, method, key, suffix, body)
	if err != nil {
		return phase.NotSent(err)
	}
	resp, err := c.http.RoundTrip(req)
	if err != nil {
		err = fmt.Errorf("%w: %w", errNoAnswer, err)
		if !connected.Load() {
			return phase.NotSent(err)
		}
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil {
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	if resp.StatusCode != http.StatusOK {
		return refused(key, resp.StatusCode, answer)
	}
	err = json.Unmarshal(answer, out)
	if err != nil {
		return fmt.Errorf("%w: unreadable: %w", errNoAnswer, err)
	}
	if done, is := out.(*Operation); is {
		done.Result.Replayed = resp.Header.Get(ReplayedHeader) == "true"
	}
	return nil
}

// newRequest puts the key into the path and not into an Idempotency-Key header:
// that header would allow net/http to send a POST a second time on its own.
func (c *Client) newRequest(ctx context.Context, method, key, suffix string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+OperationsPath+url.PathEscape(key)+suffix,
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", c.bearer)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(req.Header))
	if fault, ok := ctx.Value(faultKey{}).(string); ok {
		req.Header.Set(FaultHeader, fault)
	}
	return req, nil
}

// refused turns a status other than 200 into what it proves, which is mostly nothing.
func refused(key string, status int, body []byte) error {
	if status >= http.StatusInternalServerError {
		return fmt.Errorf("%w: status %d", errNoAnswer, status)
	}
	var refusal Refusal
	err := json.Unmarshal(body, &refusal)
	if err != nil {
		return fmt.Errorf("%w: status %d without a reason", errNoAnswer, status)
	}
	said := fmt.Errorf("the acquirer rejected the call with status %d: %s %s", status, refusal.Reason, refusal.Message)
	if refusal.Key != key {
		return said
	}
	switch refusal.Reason {
	case ReasonNeverHappened:
		return phase.ErrNotExecuted
	case ReasonReversed:
		return phase.ErrReversed
	case ReasonKeyRetired:
		return phase.KeyRetired(said)
	default:
		return said
	}
}

type faultKey struct{}

// WithFault asks the simulator to misbehave for the calls made under the
// context, such as "drop_after_acting" or "slow:300,fail_after_acting". It is for
// demonstrations and tests; a simulator that was not told to allow it ignores it.
func WithFault(ctx context.Context, fault string) context.Context {
	return context.WithValue(ctx, faultKey{}, fault)
}

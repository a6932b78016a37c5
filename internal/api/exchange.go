package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/logline"
	"github.com/ratchet-pay/ratchet/internal/stripecli"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// exchange is a request and its answer, as operators see them: one line in the
// log, one more in the numbers, one span.
type exchange struct {
	id    string // req_…
	line  *logline.Line
	end   func(status int, limit string)
	limit string // that refused it

	credential *apikey.Credential // who asks; nil: unknown
}

// unknownRoute is the label of every unknown path: callers can make up
// any number of them.
const unknownRoute = "unknown"

// begin starts an exchange. What is done for the request is done in its context.
func (s *Server) begin(c echo.Context, route string) *exchange {
	x := &exchange{id: newRequestID(), line: logline.Begin("request")}
	x.line.Add(slog.String("request", x.id), slog.String("method", form.Quote(c.Request().Method)),
		slog.String("route", route))
	h := c.Request().WithContext(logline.With(c.Request().Context(), x.line))
	ctx, end := s.telemetry.Request(h, route)
	x.end = end
	c.SetRequest(h.WithContext(ctx))
	return x
}

// note adds who asks, and under which key. A key is the client's own text and is
// what both sides look for when something went wrong, so it is logged as it is,
// but for its length and for what looks like a card number.
func (x *exchange) note(r *request) {
	if r == nil {
		return
	}
	if r.credential != nil {
		x.credential = r.credential
		x.line.Add(slog.String("account", r.credential.AccountID))
	}
	if r.key != "" {
		x.line.Add(slog.String("key", form.Quote(r.key)))
	}
}

// refused notes why there is no other answer than an error.
func (x *exchange) refused(err error) {
	x.line.Fail(err)
	var e *apierror.Error
	if errors.As(err, &e) {
		x.limit = e.Limit
	}
}

// finish writes the line.
func (x *exchange) finish(ctx context.Context, log *slog.Logger, status int, replayed bool) {
	level := slog.LevelInfo
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	x.line.Add(slog.Int("status", status), slog.Bool("replayed", replayed))
	x.line.Write(ctx, log, level)
	x.end(status, x.limit)
}

// tail shows the exchange to clients that tail the account's log with the Stripe CLI.
func (s *Server) tail(c echo.Context, x *exchange, status int, body []byte) {
	if x.credential == nil || s.stripeCLI == nil || !s.stripeCLI.Tailed(x.credential.AccountID, x.credential.Livemode) {
		return
	}
	h := c.Request()
	path := h.URL.Path
	if testcard.Mentions(path) {
		path = form.Quote(path)
	}
	_, inside := h.Context().Value(actingKey{}).(*apikey.Credential)
	s.stripeCLI.Logged(stripecli.Request{
		AccountID: x.credential.AccountID,
		Livemode:  x.credential.Livemode,
		Method:    h.Method,
		Path:      path,
		ID:        x.id,
		Address:   peer(h.RemoteAddr),
		Dashboard: inside,
		Status:    status,
		Answer:    body,
	})
}

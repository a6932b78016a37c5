package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/logline"
	"github.com/ratchet-pay/ratchet/internal/recent"
	"github.com/ratchet-pay/ratchet/internal/stripecli"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// requestLog is a request and its answer, as operators see them: one line in the
// log, one more in the numbers, one span.
type requestLog struct {
	id    string // req_…
	line  *logline.Line
	end   func(status int, limit string)
	limit string // that refused it

	credential *apikey.Credential // who asks; nil: unknown
	request    *request           // as far as it was read; nil: nothing was
	began      time.Time
	stored     bool            // the answer is in the database, or was
	refusal    *apierror.Error // what the client was answered instead
}

// unknownRoute is the label of every unknown path: callers can make up
// any number of them.
const unknownRoute = "unknown"

// startLog starts the log of a request. All work for the request uses its context.
func (s *Server) startLog(c echo.Context, route string) *requestLog {
	x := &requestLog{id: newRequestID(), line: logline.Begin("request"), began: time.Now()}
	x.line.Add(slog.String("request", x.id), slog.String("method", form.Quote(c.Request().Method)),
		slog.String("route", route))
	h := c.Request().WithContext(logline.With(c.Request().Context(), x.line))
	ctx, end := s.telemetry.Request(h, route)
	x.end = end
	c.SetRequest(h.WithContext(ctx))
	return x
}

// addCaller adds who asks, and under which key. A key is the client's own text and is
// what both sides look for when something went wrong, so it is logged as it is,
// but for its length and for what looks like a card number.
func (x *requestLog) addCaller(r *request) {
	if r == nil {
		return
	}
	x.request = r
	if r.credential != nil {
		x.credential = r.credential
		x.line.Add(slog.String("account", r.credential.AccountID))
	}
	if r.key != "" {
		x.line.Add(slog.String("key", form.Quote(r.key)))
	}
}

// refused notes why there is no other answer than an error.
func (x *requestLog) refused(err error) {
	x.line.Fail(err)
	var e *apierror.Error
	if errors.As(err, &e) {
		x.limit = e.Limit
	}
}

// finish writes the line.
func (x *requestLog) finish(ctx context.Context, log *slog.Logger, status int, replayed bool) {
	level := slog.LevelInfo
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	x.line.Add(slog.Int("status", status), slog.Bool("replayed", replayed))
	x.line.Write(ctx, log, level)
	x.end(status, x.limit)
}

// sendToTails sends the request to clients that tail the account's log with the Stripe CLI.
func (s *Server) sendToTails(c echo.Context, x *requestLog, status int, body []byte) {
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

// mostShown is how many parameters of a request without a row are kept.
const mostShown = 50

// storeRecent stores the request for the dashboard's log, if the request left no row. A request whose fate is unknown
// has one, and a request with an invalid API key belongs to no account.
func (s *Server) storeRecent(c echo.Context, x *requestLog, status int) {
	h := c.Request()
	unknown := status >= http.StatusInternalServerError && h.Method != http.MethodGet
	if s.recent == nil || x.credential == nil || x.stored || unknown {
		return
	}
	r := x.request
	kept := recent.Request{
		AccountID: x.credential.AccountID,
		Livemode:  x.credential.Livemode,
		ID:        x.id,
		Method:    form.Quote(h.Method),
		Path:      recent.Whole(h.URL.Path),
		Key:       recent.Whole(r.key),
		Params:    r.values.Shown(mostShown),
		Unread:    r.values.Len() == 0 && (h.URL.RawQuery != "" || h.ContentLength > 0),
		APIKey:    x.credential.KeyID,
		Address:   peer(h.RemoteAddr),
		Client:    clientName(h),
		Version:   string(r.version),
		Status:    status,
		At:        x.began,
		Took:      time.Since(x.began),
	}
	if e := x.refusal; e != nil { // only what was said: the objects in an error can be large
		kept.Error = &apierror.Error{Type: e.Type, Code: e.Code, Param: e.Param, Message: e.Message}
	}
	s.recent.Add(kept)
}

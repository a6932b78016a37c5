// Package api is the HTTP layer: it reads requests, authenticates callers, runs the operations
// of routes.go, and writes responses. It is the only package that turns an error into a
// response.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/limit"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/recent"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/stripecli"
	"github.com/ratchet-pay/ratchet/internal/telemetry"
	"github.com/ratchet-pay/ratchet/internal/webhook"
	"github.com/ratchet-pay/ratchet/internal/wire"
	"github.com/ratchet-pay/ratchet/web"
)

// Config is what a server needs.
type Config struct {
	Engine    *phase.Engine
	Roots     *secret.Roots
	Demo      bool // accept the demo accounts' keys, and faults that a request asks for
	Limits    Limits
	Reads     ReadLimiters // where requests that change nothing wait for a slot
	Telemetry *telemetry.Telemetry
	Log       *slog.Logger
	// PublicURL is where a browser finds this installation, such as
	// "https://pay.example.com"; "" is this machine, as the request names it.
	PublicURL string
	Inbox     *inbox.Inbox
	Site      *web.Site      // what the bank's page is drawn with
	Pages     bool           // people look at this installation with a browser, and not the API's clients alone
	StripeCLI *stripecli.Hub // the connections of Stripe's command line
	Recent    *recent.Log    // keeps what leaves no row, for the dashboard; nil: nothing does
	// NotificationSecret is what the acquirer signs with; without one nothing is taken from it.
	NotificationSecret string

	PrivateWebhooks *webhook.Private // which addresses endpoints may have besides public ones; nil: none
}

// Server answers the API.
type Server struct {
	engine          *phase.Engine
	keys            *apikey.Cache
	idempotencyKeys secret.Keys
	cardKey         []byte
	inbox           *inbox.Inbox
	demo            bool
	publicURL       string
	private         *webhook.Private
	limits          Limits
	limiters        limiters
	permissions     permissions
	telemetry       *telemetry.Telemetry
	site            *web.Site
	pages           bool
	stripeCLI       *stripecli.Hub
	recent          *recent.Log
	log             *slog.Logger
	echo            *echo.Echo

	notificationSecret string
}

// New returns the handler of all routes.
func New(c Config) *Server {
	s := &Server{
		engine:    c.Engine,
		keys:      apikey.NewCache(c.Engine.Pool(), c.Roots.Keys(secret.APIKeys), c.Demo),
		demo:      c.Demo,
		private:   c.PrivateWebhooks,
		log:       c.Log,
		publicURL: strings.TrimRight(c.PublicURL, "/"),
		limits:    c.Limits,
		telemetry: c.Telemetry,
		limiters: limiters{limit.NewRates(c.Limits.KeyRate), limit.NewConcurrency(c.Limits.AccountConcurrency),
			limit.NewRates(c.Limits.AuthFailureRate), newCodeTries(), c.Reads,
			limit.NewBrake(c.Limits.RejectionDelay, delayedAtMost)},
		idempotencyKeys:    c.Roots.Keys(secret.Idempotency),
		cardKey:            c.Roots.Keys(secret.Cards).Oldest(),
		echo:               echo.New(),
		inbox:              c.Inbox,
		site:               c.Site,
		pages:              c.Pages,
		stripeCLI:          c.StripeCLI,
		recent:             c.Recent,
		notificationSecret: c.NotificationSecret,
	}
	s.echo.HideBanner, s.echo.HidePort = true, true
	// The peer's own address: a header that any client can send is no evidence.
	s.echo.IPExtractor = echo.ExtractIPDirect()
	all := routes()
	s.permissions = newPermissions(all)
	for _, rt := range slices.Concat(all, emptyLists()) {
		s.echo.Add(rt.method, echoPath(rt.path), s.handler(rt))
	}
	s.challenges()
	s.echo.GET(stripecli.SocketPath+":account", func(c echo.Context) error {
		s.stripeCLI.Connect(c.Response(), c.Request(), c.Param("account"))
		return nil
	})
	s.echo.POST(acquirer.NotificationsPath, s.notifications)
	s.echo.HTTPErrorHandler = func(err error, c echo.Context) {
		if !c.Response().Committed {
			s.missing(c)
		}
	}
	return s
}

// RecordUses stores from time to time which API keys were used, until ctx ends.
func (s *Server) RecordUses(ctx context.Context) { s.keys.Record(ctx) }

func newRequestID() string { return id.New("req", time.Now()) }

// echoPath turns /v1/charges/{charge} into echo's own way of writing it.
func echoPath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// spansSegments says whether a parameter of the path holds more than one segment.
// The router gives the rest of a path to a last parameter, slashes included, but
// /v1/products/prod_1/features is a separate path. An escaped slash is no
// separator: the router has the parameters as they were sent.
func spansSegments(params []string) bool {
	return slices.ContainsFunc(params, func(p string) bool { return strings.Contains(p, "/") })
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// handler answers one route: read, run, write, and one line in the log.
func (s *Server) handler(rt route) echo.HandlerFunc {
	return func(c echo.Context) error {
		if spansSegments(c.ParamValues()) {
			s.missing(c)
			return nil
		}
		x := s.startLog(c, rt.path)
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("panic in a handler", "request", x.id, "panic", p, "stack", string(debug.Stack()))
				s.writeError(c, x, apierror.Internal())
			}
		}()
		r, err := s.read(c, &rt, x.id)
		x.addCaller(r)
		if err != nil {
			s.writeError(c, x, err)
			return nil
		}
		echoHeaders(c.Response().Header(), r)
		release, err := s.limiters.enter(r.credential)
		if err != nil {
			s.writeError(c, x, err)
			return nil
		}
		defer release()
		answer, body, err := rt.answer(s.context(c.Request()), s, r)
		if postgres.IsStalePlan(err) { // nothing was done, and the session knows better now
			answer, body, err = rt.answer(s.context(c.Request()), s, r)
		}
		if answer.Key != "" && rt.method == http.MethodPost {
			c.Response().Header().Set("Idempotency-Key", strings.TrimPrefix(answer.Key, apirequest.BrowserKeys))
		}
		switch {
		case err != nil:
			s.writeError(c, x, err)
		case body != nil:
			s.write(c, x, http.StatusOK, body, false)
		default:
			s.writeStored(c, x, answer)
		}
		return nil
	}
}

// context carries the fault that a demo or a test asks the acquirer for.
func (s *Server) context(h *http.Request) context.Context {
	if fault := h.Header.Get("Acquirer-Fault"); s.demo && fault != "" {
		return acquirer.WithFault(h.Context(), fault)
	}
	return h.Context()
}

// baseURL is where the installation's own pages are.
func (s *Server) baseURL(h *http.Request) string {
	if s.publicURL != "" {
		return s.publicURL
	}
	return "http://" + h.Host
}

func echoHeaders(header http.Header, r *request) {
	header.Set("Stripe-Version", string(r.version))
	if account := r.http.Header.Get("Stripe-Account"); account != "" {
		header.Set("Stripe-Account", account)
	}
	if r.key != "" {
		header.Set("Idempotency-Key", r.key)
	}
}

// writeStored sends an answer that is already committed, byte for byte.
func (s *Server) writeStored(c echo.Context, x *requestLog, a phase.Response) {
	header := c.Response().Header()
	for name, value := range a.Headers {
		header.Set(name, value)
	}
	if a.OriginalRequest != "" && c.Request().Method == http.MethodPost {
		header.Set("Original-Request", a.OriginalRequest)
	}
	if a.Replayed {
		header.Set("Idempotent-Replayed", "true")
	}
	x.stored = true
	s.write(c, x, a.Status, a.Body, a.Replayed)
}

// writeError sends an error. Details that are not for the caller are logged, and the
// client learns that something went wrong here.
func (s *Server) writeError(c echo.Context, x *requestLog, err error) {
	var e *apierror.Error
	switch {
	case errors.As(err, &e):
	case postgres.IsLockTimeout(err):
		e = apierror.Locked()
	case postgres.IsTransient(err):
		e = apierror.Unavailable()
	default:
		e = apierror.Internal()
	}
	x.refused(err)
	x.refusal = e
	if c.Response().Committed {
		return
	}
	header := c.Response().Header()
	if e.Retry != "" {
		header.Set("Stripe-Should-Retry", e.Retry)
	}
	if e.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	if e.Status == http.StatusTooManyRequests && e.Limit != "" {
		s.limiters.brake.Wait(c.Request().Context())
		header.Set("Stripe-Rate-Limited-Reason", e.Limit)
	}
	if e.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Basic realm="Stripe"`)
	}
	body, _ := wire.Encode(apierror.Envelope{Error: e}) // an Error is made of texts
	s.write(c, x, e.Status, body, false)
}

func (s *Server) write(c echo.Context, x *requestLog, status int, body []byte, replayed bool) {
	header := c.Response().Header()
	header.Set("Content-Type", "application/json")
	header.Set("Request-Id", x.id)
	header.Set("Cache-Control", "no-cache, no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	c.Response().WriteHeader(status)
	_, _ = c.Response().Write(body) // a client that is gone does not change what was done
	x.finish(c.Request().Context(), s.log, status, replayed)
	s.sendToTails(c, x, status, body)
	s.storeRecent(c, x, status)
}

func unknownURL(h *http.Request) *apierror.Error {
	e := apierror.Invalid("",
		"Unrecognized request URL (%s: %s). If you are trying to list objects, remove the trailing slash. "+
			"If you are trying to retrieve an object, make sure you passed a valid (non-empty) identifier in your "+
			"code. Please see https://stripe.com/docs or we can help at https://support.stripe.com/.",
		form.Quote(h.Method), form.Quote(h.URL.Path))
	e.Status = http.StatusNotFound
	return e
}

// Package checkout is the page on which a customer pays: /c/pay/{session}. It needs no
// login, because a customer is identified by the session's id. The page is a client of the
// API like any other: it reads GET /v1/payment_pages/{session}, and Pay sends POST
// …/confirm under the page's idempotency key.
//
// A card's number is in the body of one POST to our own address and goes from
// there to the API. No URL, log, table or response contains it.
package checkout

import (
	"log/slog"
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/session"
	"github.com/ratchet-pay/ratchet/internal/supervisor"
	"github.com/ratchet-pay/ratchet/web"
)

// Config is what the pages need.
type Config struct {
	DB   phase.Reader // where a session's account is looked up
	API  http.Handler // answers /v1
	Rest http.Handler // answers everything but our pages
	Site *web.Site
	Demo bool // offer test cards that misbehave, and say how to kill the process
	// Supervisor kills processes of the demo while they pay; nil: the page offers no such thing.
	Supervisor *supervisor.Client
	Log        *slog.Logger
}

// Server serves the checkout pages, and gives everything else to the rest.
type Server struct {
	Config
	across *http.CrossOriginProtection
	mux    *http.ServeMux
}

// New returns the checkout pages' handler. It opens no connection: the pages are a client of the API.
func New(c Config) *Server {
	s := &Server{Config: c, across: http.NewCrossOriginProtection(), mux: http.NewServeMux()}
	page := func(pattern string, p web.Policy, show http.HandlerFunc) {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			p.Apply(w.Header())
			show(w, r)
		})
	}
	const at = session.CheckoutPath + "{session}"
	page("GET "+at, web.Policy{}, s.show)
	page("POST "+at, web.Policy{}, s.pay)
	page("POST "+at+"/code", web.Policy{}, s.code)
	page("POST "+at+"/quantity", web.Policy{}, s.quantity)
	page("GET "+at+"/state", web.Policy{}, s.sendState)
	page("GET "+at+"/challenge", web.Policy{Framed: true}, s.frame)
	page("POST "+at+"/another", web.Policy{}, s.another)
	page("GET "+at+"/done", web.Policy{}, s.done)
	page("GET "+session.PaymentLinkPath+"{link}", web.Policy{}, s.link)
	page("GET "+apirequest.ReceiptPath+"{account}/{charge}/{token}", web.Policy{}, s.receipt)
	if c.Supervisor != nil {
		page("POST "+at+"/kill", web.Policy{}, s.kill)
	}
	page("GET /assets/{version}/{name...}", web.Policy{}, c.Site.Assets)
	s.mux.Handle("/", c.Rest)
	return s
}

// ServeHTTP answers one request. The mux gets only paths that it has a pattern for: it
// would redirect any other path to its cleaned form.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := s.mux.Handler(r); pattern == "/" || pattern == "" {
		s.Rest.ServeHTTP(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

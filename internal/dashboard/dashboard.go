// Package dashboard serves the front page and the dashboard with the inspector. It reads
// the database through its own pool, and changes objects only through the API: a refund
// that an operator makes here goes through the API's handler, with an idempotency key
// that was made when the form was rendered.
package dashboard

import (
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/internal/login"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/web"
)

// Config is what the dashboard needs.
type Config struct {
	Pool     *pgxpool.Pool
	API      http.Handler     // answers /v1 and what else is not the dashboard's
	Acquirer *acquirer.Client // whose books are shown beside ours; nil if they cannot be read
	Secret   secret.Root
	Password string // "" needs no login: only for an address that only this machine reaches
	Site     *web.Site
	Demo     bool
	HTTPS    bool     // browsers reach the pages over HTTPS
	Shop     *url.URL // where the demo's shop answers; nil: there is none
	Lab      *url.URL // where the demo's lab answers; nil: there is none
	Log      *slog.Logger
}

// Server serves the pages, and gives everything else to the API.
type Server struct {
	Config
	site  *web.Site
	guard *login.Guard
	watch *watcher
	facts *facts
	lab   *page.Pages
	mux   *http.ServeMux
}

// New makes a server. Nothing runs until a browser opens a page.
func New(c Config) *Server {
	s := &Server{Config: c, site: c.Site, mux: http.NewServeMux()}
	s.guard = login.New(login.Config{
		Pool:     c.Pool,
		Secret:   c.Secret,
		Password: c.Password,
		Site:     c.Site,
		Demo:     c.Demo,
		HTTPS:    c.HTTPS,
		Log:      c.Log,
	})
	s.watch = newWatcher(c.Pool, c.Log)
	s.facts = newFacts(c.Pool, c.Acquirer, c.Log)
	s.lab = s.openLab()
	s.routes()
	return s
}

func (s *Server) routes() {
	open := func(pattern string, show http.HandlerFunc) { s.mux.Handle(pattern, s.guard.Open(show)) }
	closed := func(pattern string, show http.HandlerFunc) { s.mux.Handle(pattern, s.guard.Closed(show)) }
	s.mux.Handle("/", s.API)
	open("GET /{$}", s.front)
	if s.Shop != nil {
		shop := s.guard.Host(s.shop().ServeHTTP)
		s.mux.Handle("/shop", shop)
		s.mux.Handle("/shop/", shop)
	}
	s.lab.Routes(open, closed)
	s.docs().Routes(open, closed)
	s.guard.Routes(s.mux.Handle)

	closed("GET /dashboard", s.overview)
	closed("POST /dashboard/scope", s.postScope)
	closed("GET /dashboard/new", s.creations)
	closed("GET /dashboard/new/{what}", s.creation)
	closed("POST /dashboard/new/{what}", s.postCreation)
	closed("GET /dashboard/products", products.show(s))
	closed("GET /dashboard/products/{id}", s.product)
	closed("POST /dashboard/products/{id}/{deed}", s.postProduct)
	closed("GET /dashboard/stream", s.watch.stream)
	closed("GET /dashboard/payments", s.payments)
	closed("GET /dashboard/payments.csv", s.paymentsCSV)
	closed("GET /dashboard/payments/{id}", s.payment)
	closed("POST /dashboard/payments/{id}/{deed}", s.postPayment)
	closed("POST /dashboard/payments/{id}/edit", s.postPaymentEdit)
	closed("GET /dashboard/requests", s.requests)
	closed("GET /dashboard/requests/{id}", s.request)
	closed("GET /dashboard/customers", s.customers)
	closed("GET /dashboard/customers/{id}", s.customer)
	closed("POST /dashboard/customers/{id}/edit", s.postCustomerEdit)
	closed("GET /dashboard/balance", s.balance)
	closed("GET /dashboard/checkout", sessions.show(s))
	closed("GET /dashboard/checkout/{id}", s.session)
	closed("POST /dashboard/checkout/{id}/expire", s.postSessionExpire)
	closed("GET /dashboard/disputes", disputes.show(s))
	closed("GET /dashboard/disputes/{id}", s.dispute)
	closed("POST /dashboard/disputes/{id}/{deed}", s.postDispute)
	closed("GET /dashboard/payouts", payouts.show(s))
	closed("GET /dashboard/payouts/{id}", s.payout)
	closed("POST /dashboard/payouts/{id}/cancel", s.postPayoutCancel)
	closed("GET /dashboard/clock", s.clock)
	closed("POST /dashboard/clock", s.postClock)
	closed("POST /dashboard/clock/{id}", s.postAdvance)
	closed("GET /dashboard/ledger", s.ledger)
	closed("GET /dashboard/ledger/{id}", s.posting)
	closed("GET /dashboard/events", s.events)
	closed("GET /dashboard/events/{id}", s.event)
	closed("POST /dashboard/events/{event}/resend", s.postResend)
	closed("GET /dashboard/webhooks", s.webhooks)
	closed("POST /dashboard/webhooks", s.postEndpoint)
	closed("GET /dashboard/webhooks/{id}", s.webhook)
	closed("POST /dashboard/webhooks/{id}/{deed}", s.postEndpointDeed)
	closed("GET /dashboard/webhooks/{id}/{event}", s.delivery)
	closed("POST /dashboard/webhooks/{id}/{event}/resend", s.postResend)
	closed("GET /dashboard/idempotency", s.idempotencyKeys)
	closed("POST /dashboard/requests/{id}/resume", s.postResume)
	closed("POST /dashboard/requests/{id}/release", s.postRelease)
	closed("GET /dashboard/keys", s.keys)
	closed("GET /dashboard/workers", s.workers)
	closed("GET /dashboard/search", s.search)
	closed("/dashboard/", s.notFound)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// past the mux, which would send a client of the API to the clean path
	if strings.HasPrefix(path.Clean(r.URL.Path)+"/", "/v1/") {
		s.API.ServeHTTP(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// StopStreams ends the streams that pages keep open, for which a server that shuts down
// would otherwise wait. Call it once.
func (s *Server) StopStreams() { close(s.watch.over) }

func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, name string, page web.Page) {
	s.guard.Render(w, r, status, name, page)
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) { s.guard.Fail(w, r, err) }

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	text := "Check the address, or press Ctrl K to search."
	if id := r.PathValue("id"); id != "" {
		text = "We couldn’t find " + id + ". Check the ID, or press Ctrl K to search."
	}
	s.render(w, r, http.StatusNotFound, "dashboard/problem", web.Page{Title: "Not found", Desk: true,
		Data: login.Problem{Heading: "Page not found", Text: text, Href: "/dashboard", Way: "Go to overview"}})
}

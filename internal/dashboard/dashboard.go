// Package dashboard serves the front page and the dashboard with the inspector. It reads
// the database through its own pool, and changes objects only through the API: a refund
// that an operator makes here goes through the API's handler, with an idempotency key
// that was made when the form was rendered.
package dashboard

import (
	"cmp"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/dashboard/developers"
	"github.com/ratchet-pay/ratchet/internal/dashboard/sales"
	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/internal/login"
	"github.com/ratchet-pay/ratchet/internal/people"
	"github.com/ratchet-pay/ratchet/internal/recent"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/supervisor"
	"github.com/ratchet-pay/ratchet/web"
)

// Config is what the dashboard needs.
type Config struct {
	Pool         *pgxpool.Pool
	API          http.Handler     // answers /v1 and what else is not the dashboard's
	Recent       *recent.Log      // requests that left no row
	Acquirer     acquirer.Reports // whose books are shown beside ours; nil if they cannot be read
	Roots        *secret.Roots
	Password     string // opens the pages while there is no user; "" for an address that only this machine reaches
	TOTPRequired bool   // every user needs a second factor
	Site         *web.Site
	Demo         bool
	HTTPS        bool     // browsers reach the pages over HTTPS
	Shop         *url.URL // where the demo's shop answers; nil: there is none
	Lab          *url.URL // where the demo's lab answers; nil: there is none
	Source       fs.FS    // the source that the documentation links to
	Operator     string   // what an operator types before "keys create"; "": ratchet

	Supervisor *supervisor.Client // of the demo, which kills its processes; nil: no page does
	Log        *slog.Logger
}

// Server serves the pages, and gives everything else to the API.
type Server struct {
	Config
	site  *web.Site
	guard *login.Guard
	watch *watcher
	facts *facts
	lab   *page.Pages
	env   *ui.Env
	mux   *http.ServeMux
}

// New makes a server. Nothing runs until a browser opens a page.
func New(c Config) *Server {
	s := &Server{Config: c, site: c.Site, mux: http.NewServeMux()}
	s.guard = login.New(login.Config{
		Pool:         c.Pool,
		Roots:        c.Roots,
		Password:     c.Password,
		TOTPRequired: c.TOTPRequired,
		Site:         c.Site,
		Demo:         c.Demo,
		HTTPS:        c.HTTPS,
		Log:          c.Log,
	})
	s.watch = newWatcher(c.Pool, c.Recent, c.Log)
	s.facts = newFacts(c.Pool, c.Acquirer, s.watch, c.Log)
	s.lab = s.openLab()
	s.env = &ui.Env{Pool: c.Pool, API: c.API, Recent: c.Recent, Acquirer: c.Acquirer, Roots: c.Roots, Demo: c.Demo,
		Shop: c.Shop != nil, HTTPS: c.HTTPS, Supervisor: c.Supervisor,
		Operator: cmp.Or(c.Operator, "ratchet"), Token: s.guard.Token, Chosen: chosenScope}
	s.routes()
	return s
}

func (s *Server) routes() {
	open := func(pattern string, show http.HandlerFunc) { s.mux.Handle(s.guard.Open(pattern, show)) }
	closed := func(pattern string, show http.HandlerFunc) { s.mux.Handle(s.guard.Closed(pattern, show)) }
	s.mux.Handle("/", s.API)
	open("GET /{$}", s.front)
	if s.Shop != nil {
		shop := s.guard.Host(s.shop().ServeHTTP)
		s.mux.Handle("/shop", shop)
		s.mux.Handle("/shop/", shop)
	}
	s.lab.Routes(open, closed)
	s.docs().Routes(open, closed)
	open("GET /dashboard/requests/{id}/story", s.framedStory)
	s.guard.Routes(s.mux.Handle)

	page := func(pattern string, show ui.Handler) { closed(pattern, s.page(show)) }
	page("GET /dashboard", s.overview)
	page("GET /dashboard/charts", s.charts)
	page("GET /dashboard/search", s.search)
	sales.Pages{Env: s.env}.Routes(page)
	developers.Pages{Env: s.env}.Routes(page, func(pattern string, show ui.Handler) {
		s.mux.Handle(s.guard.Act(people.Administer, pattern, s.page(show)))
	})
	s.mux.Handle(s.guard.Stream("GET /dashboard/stream", s.watch.stream))
	s.mux.Handle(s.guard.Own("POST /dashboard/scope", s.postScope)) // it changes what one browser shows
	s.mux.Handle(s.guard.Own("POST /dashboard/views", s.postView))  // as above
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
func (s *Server) StopStreams() {
	close(s.watch.over)
	s.watch.end()
}

func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, name string, page web.Page) {
	s.guard.Render(w, r, status, name, page)
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) { s.guard.Fail(w, r, err) }

// page sends what a handler answers.
func (s *Server) page(show ui.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		shows := s.watch.now()
		p, err := show(r)
		switch {
		case errors.Is(err, ui.ErrNotFound):
			s.notFound(w, r)
		case err != nil:
			s.fail(w, r, err)
		case p.Send != nil:
			if err := p.Send(w); err != nil {
				s.Log.Warn("download interrupted", "path", r.URL.Path, "error", err)
				panic(http.ErrAbortHandler) // the browser must not take a part for the whole
			}
		case p.To != "":
			if p.Wrong {
				login.Complain(w, r, p.Said)
			} else if p.Said != "" {
				login.Say(w, r, p.Said)
			}
			http.Redirect(w, r, p.To, http.StatusSeeOther)
		default:
			p.Views, p.Shows = viewsOf(r), shows
			if p.At = cmp.Or(p.At, s.pageAt(r)); r.Method != http.MethodPost {
				p.At = ""
			}
			s.render(w, r, p.Status, p.Template, p.Page)
		}
	}
}

// pageAt is the address of the page whose form was sent to a request's address: the nearest one above it, or the
// address itself, that has a page.
func (s *Server) pageAt(r *http.Request) string {
	for p := r.URL.EscapedPath(); len(p) > 1; p = path.Dir(p) {
		at, err := url.ParseRequestURI(p)
		if err != nil || isAction(p) {
			continue
		}
		_, pattern := s.mux.Handler(&http.Request{Method: http.MethodGet, Host: r.Host, URL: at})
		if strings.HasPrefix(pattern, http.MethodGet+" ") {
			return p
		}
	}
	return "/dashboard"
}

// isAction tells whether an address below an object names something to do with it. An address that shows something has
// an ID there.
func isAction(address string) bool {
	object, last := path.Split(address)
	return strings.Contains(path.Base(object), "_") && !strings.Contains(last, "_")
}

// isForm tells whether only forms are sent to an address. A browser opens it if its reader reloads, or goes back, after
// a form was rejected.
func (s *Server) isForm(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	_, pattern := s.mux.Handler(&http.Request{Method: http.MethodPost, Host: r.Host, URL: r.URL})
	return strings.HasPrefix(pattern, http.MethodPost+" ") && s.pageAt(r) != r.URL.EscapedPath()
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	if s.isForm(r) {
		http.Redirect(w, r, s.pageAt(r), http.StatusSeeOther)
		return
	}
	text := "Check the address, or press Ctrl K to search."
	if id := r.PathValue("id"); id != "" {
		text = "We couldn’t find " + id + ". Check the ID, or press Ctrl K to search."
	}
	s.render(w, r, http.StatusNotFound, "dashboard/problem", web.Page{Title: "Not found", Dashboard: true,
		Data: login.Problem{Heading: "Page not found", Text: text, Href: "/dashboard", Way: "Go to overview"}})
}

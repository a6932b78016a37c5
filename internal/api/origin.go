package api

import (
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/form"
)

// Two attacks come from a web page that a user opens beside a running server.
//
// The page sends a form to our address, with a key in the URL or from the browser's
// memory of Basic authentication. refuseForeignPage stops that for every key that
// must not be in a browser anyway.
//
// The page's own name is made to resolve to our address (DNS rebinding), so that the
// browser takes us for the page's origin. Guard stops that: the Host header still
// carries the page's name.

// LoopbackHost says whether a Host header names this machine: localhost, or a loopback address.
func LoopbackHost(host string) bool {
	name := hostname(host)
	address := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || address != nil && address.IsLoopback()
}

// hostname is a Host header without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// answersTo says whether requests may name us so. Without a public URL, links are built from
// the name, so it must be this machine's. With one, a load balancer may use any name, but not
// in a demo: its keys are known, and nothing else keeps a rebound page from using them.
func (s *Server) answersTo(host string) bool {
	switch {
	case LoopbackHost(host):
		return true
	case s.publicURL == "":
		return false
	case s.demo:
		public, err := url.Parse(s.publicURL)
		return err == nil && strings.EqualFold(hostname(host), public.Hostname())
	}
	return true
}

// Guard answers 421 to requests that do not name this installation, and passes on the others.
// Where browsers reach the installation over HTTPS, it tells them to use nothing else.
func (s *Server) Guard(next http.Handler) http.Handler {
	https := strings.HasPrefix(s.publicURL, "https://")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if https { // a browser believes it only over HTTPS
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		if s.answersTo(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		refusal := misdirected(r.Host)
		if !strings.HasPrefix(path.Clean(r.URL.Path)+"/", "/v1/") {
			http.Error(w, refusal.Message, refusal.Status)
			return
		}
		c := s.echo.NewContext(r, w)
		s.writeError(c, s.startLog(c, unknownRoute), refusal)
	})
}

func misdirected(host string) *apierror.Error {
	e := apierror.Invalid("",
		"This server does not serve the host '%s'. It serves 127.0.0.1, localhost, and the host of "+
			"its --public-url. Nothing was done.", form.Quote(host))
	e.Status = http.StatusMisdirectedRequest
	return e
}

// refuseForeignPage refuses a key that belongs on a server if a browser sends it from a page of
// another origin, or as a navigation. Publishable keys are made for browsers and pass.
func (s *Server) refuseForeignPage(h *http.Request, credential *apikey.Credential) error {
	if credential.Kind == apikey.Publishable || !s.sentByForeignPage(h) {
		return nil
	}
	e := apierror.Invalid("",
		"This request was sent by a web browser for a page of another site. Secret and restricted API keys are "+
			"accepted from servers only, so that no web page can act with them. Use a publishable key in a browser. "+
			"Nothing was done.")
	e.Status = http.StatusForbidden
	return e
}

// sentByForeignPage reads what browsers add and pages cannot change. Current browsers describe each
// request to an https or loopback address (Sec-Fetch-Site); older ones, and all of them over
// plain http, name the origin of anything that is not a simple read.
func (s *Server) sentByForeignPage(h *http.Request) bool {
	if h.Header.Get("Sec-Fetch-Mode") == "navigate" { // a link, a form, or an address with a key in it
		return true
	}
	switch h.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
		return s.foreignOrigin(h)
	}
	return true
}

func (s *Server) foreignOrigin(h *http.Request) bool {
	given := h.Header.Get("Origin")
	if given == "" {
		return false
	}
	origin, err := url.Parse(given)
	if err != nil || origin.Host == "" { // "null" is a page that hides its origin
		return true
	}
	public, err := url.Parse(s.publicURL)
	return origin.Host != h.Host && (err != nil || origin.Host != public.Host)
}

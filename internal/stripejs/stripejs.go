// Package stripejs serves what takes the place of Stripe.js: the script that a merchant's
// page loads, and the frames that the script puts into that page.
//
//	merchant's page                          frames, from our address
//	  window.Stripe  ──── a message port ────▶ card fields, bank's page ──▶ /v1
//
// A card number is typed into a frame and goes from there to the API, under a publishable
// key. The merchant's page has another origin, so it cannot read the frame. The script
// itself makes no request. Its files are in web/stripejs, the frames' in web/static/stripejs.
package stripejs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/web"
)

// trains are the releases of Stripe.js that have an address, the oldest first. What each
// of them lacks, the script decides.
var trains = []string{"v3", "basil", "clover", "dahlia", "endive"}

// frames are the pages of the frames, by the last part of their address. Test suites search
// for Stripe's names there.
var frames = map[string]web.Page{
	"controller":                         {Title: "Payment controller"},
	"elements-inner-payment":             {Title: "Secure payment input frame"},
	"elements-inner-card":                {Title: "Secure card payment input frame"},
	"elements-inner-card-part":           {Title: "Secure card payment input frame"},
	"elements-inner-address":             {Title: "Secure address input frame"},
	"elements-inner-link-authentication": {Title: "Secure email input frame"},
	"elements-inner-currency-selector":   {Title: "Secure currency selector"},
	"elements-inner-unavailable":         {Title: "Unavailable payment method"},
	"three-ds-2-challenge":               {Title: "3D Secure 2 authentication"},
}

// Server serves the script and the frames, and gives everything else to the rest.
type Server struct {
	site *web.Site
	rest http.Handler
	mux  *http.ServeMux
}

// New returns a handler that serves the scripts and their frames, and passes any other request to rest.
func New(site *web.Site, rest http.Handler) *Server {
	s := &Server{site: site, rest: rest, mux: http.NewServeMux()}
	for _, train := range trains {
		s.mux.Handle("GET /"+train+"/stripe.js", script(train))
	}
	s.mux.Handle("GET /v3", script("v3"))
	s.mux.Handle("GET /v3/{$}", script("v3"))
	s.mux.HandleFunc("GET /v3/{page}", s.frame)
	return s
}

// ServeHTTP answers one request. The mux gets only paths that it has a pattern for: it
// would redirect any other path to its cleaned form.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, pattern := s.mux.Handler(r)
	if pattern == "" || path.Clean(r.URL.Path) != strings.TrimSuffix(r.URL.Path, "/") {
		s.rest.ServeHTTP(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// script is the script of a release: web.StripeJS within a function that knows the release's
// name. A browser asks every time whether it has changed, because the address never does.
func script(train string) http.Handler {
	var text bytes.Buffer
	fmt.Fprintf(&text, "(() => {\n\"use strict\";\nconst train = %q;\n", train)
	text.Write(web.StripeJS())
	text.WriteString("})();\n")
	sum := sha256.Sum256(text.Bytes())
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/javascript; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		h.Set("X-Content-Type-Options", "nosniff")
		// Pages of every site may load it, also with crossorigin="anonymous". It holds no secret.
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text.Bytes()))
	})
}

// frame serves one frame. Its options come in a message from the page around it, so its
// address and the server's log contain nothing of them.
func (s *Server) frame(w http.ResponseWriter, r *http.Request) {
	name, isPage := strings.CutSuffix(r.PathValue("page"), ".html")
	page, known := frames[name]
	if !known || !isPage {
		s.rest.ServeHTTP(w, r)
		return
	}
	web.Policy{Embedded: true}.Apply(w.Header())
	page.Layout = "stripejs"
	s.site.Render(w, r, http.StatusOK, "stripejs/"+name, page)
}

package dashboard

import (
	"net/http"
	"net/http/httputil"

	"github.com/ratchet-pay/ratchet/internal/login"
	"github.com/ratchet-pay/ratchet/web"
)

// shop forwards requests to the demo's shop, which is a separate process, so that a
// visitor has one address to remember. It does not change the responses.
func (s *Server) shop() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(s.Shop)
			r.SetXForwarded()
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			s.Log.Warn("the shop does not answer", "error", err)
			web.Harden(http.HandlerFunc(s.shopIsAway)).ServeHTTP(w, r)
		},
	}
}

func (s *Server) shopIsAway(w http.ResponseWriter, r *http.Request) {
	page := web.Page{Title: "The shop is restarting", Here: "shop",
		Data: login.Problem{Heading: "The shop is restarting", Href: "/shop", Way: "Try again",
			Text: "Its process isn’t responding; the demo restarts it. Orders and carts are saved."}}
	if r.Method == http.MethodGet {
		page.Reload = 1
	}
	s.render(w, r, http.StatusServiceUnavailable, "dashboard/problem", page)
}

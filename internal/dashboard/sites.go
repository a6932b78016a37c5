package dashboard

import (
	"net/http"
	"net/url"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/dashboard/developers"
	"github.com/ratchet-pay/ratchet/internal/docsite"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/web"
)

// openLab makes the pages of the crash lab. Their recorded runs are part of the program;
// only a demo can run them again.
func (s *Server) openLab() *page.Pages {
	c := page.Config{HTTPS: s.HTTPS, Render: s.render, Fail: s.fail}
	if s.Lab != nil {
		c.Live = page.Remote{At: s.Lab}
	}
	return page.New(c)
}

// docs makes the pages of the documentation.
func (s *Server) docs() *docsite.Pages {
	return docsite.New(docsite.Config{Pool: s.Pool, Demo: s.Demo, Render: s.render, Fail: s.fail, Token: s.guard.Token,
		Lab: s.lab, Source: s.Source, Shop: s.Shop != nil, HTTPS: s.HTTPS,
		Ask: func(r *http.Request, account, method, path, key string, form url.Values) (*api.InternalResponse, error) {
			return s.env.Call(r, account, false, method, path, key, form)
		}})
}

// framedStory is how a request recovered, for a frame in the shop's page of the order.
func (s *Server) framedStory(w http.ResponseWriter, r *http.Request) {
	web.Policy{Framed: true}.Apply(w.Header())
	s.page(developers.Pages{Env: s.env}.Recovery(s.guard.Known(r)))(w, r)
}

package dashboard

import (
	"net/http"
	"net/url"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/docsite"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
)

// openLab makes the pages of the crash lab. Their recorded runs are part of the program;
// only a demo can run them again.
func (s *Server) openLab() *page.Pages {
	c := page.Config{Render: s.render, Fail: s.fail}
	if s.Lab != nil {
		c.Live = page.Remote{At: s.Lab}
	}
	return page.New(c)
}

// docs makes the pages of the documentation.
func (s *Server) docs() *docsite.Pages {
	return docsite.New(docsite.Config{Pool: s.Pool, Demo: s.Demo, Render: s.render, Fail: s.fail, Token: s.guard.Token,
		Ask: func(r *http.Request, account, method, path, key string, form url.Values) (*api.Answer, error) {
			return s.desk.Ask(r, account, false, method, path, key, form)
		}})
}

package dashboard

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/web"
)

type frontPage struct {
	Proof proof
	Known bool // the reader may see the dashboard's figures
	Shop  bool // there is one to buy in
}

// front is the first page: three doors, and what the installation can say for itself.
func (s *Server) front(w http.ResponseWriter, r *http.Request) {
	page := frontPage{Known: s.guard.known(r), Shop: s.Shop != nil}
	if page.Known {
		var err error
		if page.Proof, err = s.facts.get(r.Context()); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	s.render(w, r, http.StatusOK, "site/front", web.Page{Title: "A payment is charged once", Here: "front", Data: page})
}

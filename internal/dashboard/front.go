package dashboard

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/web"
)

type frontPage struct {
	Proof proof
	Known bool // the reader may see the dashboard's figures

	Chapters int // of the tour
}

// front is the first page: three doors, and what the installation can say for itself.
func (s *Server) front(w http.ResponseWriter, r *http.Request) {
	all, err := library()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page := frontPage{Known: s.guard.known(r), Chapters: len(contents(all)[0].Documents)}
	if page.Known {
		if page.Proof, err = s.facts.get(r.Context()); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	s.render(w, r, http.StatusOK, "site/front", web.Page{Title: "A payment is charged once", Here: "front", Data: page})
}

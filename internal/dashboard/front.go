package dashboard

import (
	"net/http"
	"os"

	"github.com/ratchet-pay/ratchet/internal/docsite"
	"github.com/ratchet-pay/ratchet/internal/lab/page"
	"github.com/ratchet-pay/ratchet/web"
)

type frontPage struct {
	Proof proof
	Known bool // the reader may see the dashboard's figures
	Shop  bool // there is one to buy in

	Chapters int // of the tour

	Kills bool // this process can be killed from here
	PID   int
	CSRF  string

	Duel []page.Lane // the naive design and Ratchet, killed at the same line
}

// front is the first page: three doors, and what the installation can say for itself.
func (s *Server) front(w http.ResponseWriter, r *http.Request) {
	chapters, err := docsite.Chapters()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	shown := frontPage{Known: s.guard.Known(r), Shop: s.Shop != nil, Chapters: chapters,
		PID: os.Getpid(), CSRF: s.guard.Token(r),
		Duel: []page.Lane{s.lab.Recorded("naive", "answer-not-recorded"),
			s.lab.Recorded("ratchet", "answer-not-recorded")}}
	shown.Kills = shown.Known && s.Supervisor != nil
	var shows string
	if shown.Known {
		shows = s.watch.now()
		if shown.Proof, err = s.facts.get(r.Context()); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	s.render(w, r, http.StatusOK, "site/front",
		web.Page{Title: "Your card is charged once", Here: "front", Shows: shows, Data: shown})
}

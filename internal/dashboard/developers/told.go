package developers

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/dashboard/desk"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/web"
)

type toldPage struct {
	Known   bool             // the reader may see it
	Request *inspect.Request // nil: there is none
	Rail    rail
	Words   []string
	Crashes int
	Stalls  int // processes that came back too late
}

// Told shows how a request recovered, for the page of the order that it paid. It is drawn for
// a frame there, because the shop is another program and knows nothing of processes.
func (s Pages) Told(known bool) desk.Handler {
	return func(r *http.Request) (*desk.Page, error) {
		told, status := toldPage{Known: known}, http.StatusOK
		if known {
			found, err := idempotency.LookUp(r.Context(), s.Pool, r.PathValue("id"))
			if err != nil {
				return nil, err
			}
			if len(found) == 0 {
				status = http.StatusNotFound
			} else if told.Request, err = inspect.Show(r.Context(), s.Pool, s.Books(), found[0]); err != nil {
				return nil, err
			}
		}
		if shown := told.Request; shown != nil {
			told.Rail, told.Words = draw(shown), shown.InWords()
			told.Crashes, told.Stalls = shown.Crashes(), shown.Stalls()
			told.Rail.Words = nil // they are above the drawing
		}
		page := web.Page{Title: "How the charge was made", Layout: "bare", Data: told}
		return &desk.Page{Page: page, Template: "dashboard/story", Status: status}, nil
	}
}

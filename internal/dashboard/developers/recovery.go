package developers

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/web"
)

type recoveryPage struct {
	Known   bool             // the reader may see it
	Request *inspect.Request // nil: there is none
	Trace   trace
	Words   []string
	Crashes int
	Stalls  int // processes that came back too late
}

// Recovery shows how a request recovered, for the page of the order that it paid. It is drawn for
// a frame there, because the shop is another program and knows nothing of processes.
func (s Pages) Recovery(known bool) ui.Handler {
	return func(r *http.Request) (*ui.Page, error) {
		page, status := recoveryPage{Known: known}, http.StatusOK
		if known {
			found, err := idempotency.LookUp(r.Context(), s.Pool, r.PathValue("id"))
			if err != nil {
				return nil, err
			}
			if len(found) == 0 {
				status = http.StatusNotFound
			} else if page.Request, err = inspect.Show(r.Context(), s.Pool, s.Books(), found[0]); err != nil {
				return nil, err
			}
		}
		if shown := page.Request; shown != nil {
			page.Trace, page.Words = draw(shown), shown.InWords()
			page.Crashes, page.Stalls = shown.Crashes(), shown.Stalls()
			page.Trace.Words = nil // they are above the drawing
		}
		shown := web.Page{Title: "How the charge was made", Layout: "bare", Data: page}
		return &ui.Page{Page: shown, Template: "dashboard/story", Status: status}, nil
	}
}

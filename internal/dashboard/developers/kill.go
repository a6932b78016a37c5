package developers

import (
	"errors"
	"net/http"
	"os"
	"strconv"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/supervisor"
	"github.com/ratchet-pay/ratchet/web"
)

type killedPage struct {
	Process string // its number
	Self    bool   // it is the one that makes this page
	Shop    bool
}

// postKill kills one of the demo's processes. It may be this one: then this page is the last
// that it makes, and its links lead to the next.
func (s Pages) postKill(r *http.Request) (*ui.Page, error) {
	process := r.PostFormValue("process")
	err := s.Supervisor.Kill(r.Context(), process)
	if errors.Is(err, supervisor.ErrNotFound) {
		return ui.RedirectWithError("/dashboard/processes",
			"The demo has no process "+process+". It may have been killed already."), nil
	}
	if err != nil {
		return nil, err
	}
	return ui.Show("dashboard/killed", web.Page{Title: "Killed", Here: "processes",
		Data: killedPage{process, process == strconv.Itoa(os.Getpid()), s.Shop}}), nil
}

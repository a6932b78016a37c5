package login

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// activityRows is how many acts a page shows.
const activityRows = 50

// What people did, in the dashboard or with a command. Merchants' own requests are not among them.
const selectActs = `
	SELECT at, id, actor, coalesce(address, '') AS address, operation, coalesce(object_id, '') AS object_id, request_id,
	       account_id, status
	FROM audit_events
	WHERE (actor LIKE 'operator:%' OR actor LIKE 'dashboard%') AND (@before = '' OR id < @before)
	ORDER BY at DESC, id DESC
	LIMIT @limit`

type performed struct {
	At        time.Time
	ID        string
	Actor     string
	Address   string
	Operation string
	ObjectID  string
	RequestID string
	AccountID string
	Status    int16
}

// Who is the user's or the operator's name, without the prefix that says where they acted.
func (p performed) Who() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.Actor, "operator:"), "dashboard:")
}

// About is the object or the request that the act was about, or "".
func (p performed) About() string {
	if p.ObjectID == "" && strings.HasPrefix(p.RequestID, "req_") {
		return p.RequestID
	}
	return p.ObjectID
}

// Refused reports whether the request was rejected, so that nothing changed.
func (p performed) Refused() bool { return p.Status >= http.StatusBadRequest }

type activityPage struct {
	Acts  []performed
	Older string // the address of the next page, or ""
}

func (g *Guard) activity(w http.ResponseWriter, r *http.Request) {
	rows, err := g.Pool.Query(r.Context(), selectActs,
		postgres.Args{"before": r.FormValue("before"), "limit": activityRows + 1})
	if err != nil {
		g.Fail(w, r, fmt.Errorf("read user activity: %w", err))
		return
	}
	acts, err := pgx.CollectRows(rows, pgx.RowToStructByName[performed])
	if err != nil {
		g.Fail(w, r, fmt.Errorf("read user activity: %w", err))
		return
	}
	var page activityPage
	page.Acts = acts[:min(len(acts), activityRows)]
	if len(acts) > activityRows {
		page.Older = "/dashboard/activity?before=" + page.Acts[activityRows-1].ID
	}
	g.Render(w, r, http.StatusOK, "dashboard/activity",
		web.Page{Title: "Activity", Here: "activity", Dashboard: true, Data: page})
}

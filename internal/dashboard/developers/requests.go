package developers

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/recent"
)

// logged is a line of the log of requests.
type logged struct {
	ID           string
	Method       string
	Path         string
	Key          string
	KeyGenerated bool
	Flow         string
	State        string
	Point        string
	Status       *int16
	ObjectID     *string
	Epoch        int32
	Owner        *string
	OwnerPID     *int32 `db:"owner_pid"`
	HeldReason   *string
	Undecided    bool // as of idempotency.IsUndecided
	DueAt        *time.Time
	CreatedAt    time.Time
	TookMS       *float64 `db:"took_ms"`
}

// loggedOf shows a request that left no row as the others are shown.
func loggedOf(r recent.Request) logged {
	status, took := int16(r.Status), float64(r.Took.Microseconds())/1000
	return logged{ID: r.ID, Method: r.Method, Path: r.Path, Key: r.Key, KeyGenerated: r.Key == "", Status: &status,
		CreatedAt: r.At, TookMS: &took}
}

// What says "running" may have lost its process: then it is shown as orphaned.
const selectLogged = `
	SELECT r.id, r.method, r.path, r.key, r.key_generated, r.flow,
	       CASE WHEN r.state = 'running' AND NOT ` + idempotency.IsExecuting + `
	            THEN 'orphaned' ELSE r.state END AS state,
	       coalesce(r.recovery_point, '') AS point, r.status, r.object_id, coalesce(r.epoch, 0) AS epoch, r.owner,
	       w.pid AS owner_pid, r.reason AS held_reason,
	       r.id IN (SELECT r.request_id FROM runs r
	                WHERE r.account_id = @account_id AND ` + idempotency.IsUndecided + `) AS undecided,
	       r.due_at, r.created_at,
	       extract(epoch FROM r.finished_at - r.created_at)::float8 * 1000 AS took_ms
	FROM request_status r
	LEFT JOIN workers w ON w.id = r.owner
	WHERE r.account_id = @account_id AND r.livemode = @livemode AND r.id BETWEEN @least AND @most
	  AND starts_with(r.path, @path)
	  AND (@flow = '' OR r.flow = @flow)
	  AND (@status = '' OR @status = 'ok' AND r.status < 400 OR @status = 'error' AND r.status >= 400
	      OR @status = 'none' AND r.status IS NULL)
	  AND (NOT @again::boolean OR r.epoch > 1)
	  AND (@by = 'all' OR (@by = 'machine') = (r.method = 'JOB' OR r.path LIKE '/acquirer/%'))
	  AND (NOT @keyed::boolean OR NOT r.key_generated)
	  AND (cardinality(@states::text[]) = 0 OR r.state = ANY (@states::text[]))`

const (
	loggedDown = selectLogged + ` AND (@before = '' OR r.id < @before) AND r.id >= @edge
		ORDER BY r.id DESC LIMIT @limit`
	loggedUp = selectLogged + ` AND r.id > @after AND r.id <= @edge ORDER BY r.id LIMIT @limit`

	loggedEdgeDown = `SELECT id FROM requests WHERE account_id = @account_id AND id BETWEEN @least AND @most
		AND (@before = '' OR id < @before) ORDER BY id DESC OFFSET @over LIMIT 1`
	loggedEdgeUp = `SELECT id FROM requests WHERE account_id = @account_id AND id BETWEEN @least AND @most
		AND id > @after ORDER BY id OFFSET @over LIMIT 1`
)

var requestLog = ui.Lister[logged]{Down: loggedDown, Up: loggedUp, Prefix: "req_",
	ID:   func(l logged) string { return l.ID },
	Edge: ui.Edge{Down: loggedEdgeDown, Up: loggedEdgeUp, Args: []string{"least", "most"}}}

// An unfinished request has a run, and few requests have one. They are looked up by their IDs: a join could read all
// requests of the account instead, newest first, until it has found a page of unfinished ones.
const (
	selectUnfinished = selectLogged + `
	  AND r.id = ANY (ARRAY(SELECT request_id FROM runs WHERE account_id = @account_id))`
	unfinishedDown = selectUnfinished + ` AND (@before = '' OR r.id < @before) ORDER BY r.id DESC LIMIT @limit`
	unfinishedUp   = selectUnfinished + ` AND r.id > @after ORDER BY r.id LIMIT @limit`
)

var unfinished = ui.Lister[logged]{Down: unfinishedDown, Up: unfinishedUp, Prefix: requestLog.Prefix,
	ID: requestLog.ID}

type requestsPage struct {
	Requests []logged
	Results  []ui.Chip
	Flows    []string
	Flow     string
	Path     string // what the path begins with
	Key      string // the idempotency key
	Again    bool
	Status   string
	By       string // byClients, byMachine, byAnybody
	keyed    bool   // only what was sent under a key
	archived bool   // only what is archived
	Pager    ui.Pager
	Filtered bool
	CSV      string
	Dates    ui.Dates
	Reads    bool   // shows what only read, too
	Tail     bool   // the page follows what arrives
	Toggle   string // the address that starts or stops that
}

// Who sent a request. Background jobs and the acquirer's notifications are far more
// numerous than clients' requests, and would hide them.
const (
	byClients = ""
	byMachine = "machine"
	byAnybody = "all"
)

// span is a range of request IDs. Every ID sorts between firstID and lastID.
type span struct{ Least, Most string }

const firstID, lastID = "", "~"

const selectKeyed = `
	SELECT id AS least, id AS most FROM requests WHERE key = @key AND account_id = @account_id AND livemode = @livemode`

// Archived requests are older than the others: a page can begin at the newest of them.
const selectArchivedSpan = `
	SELECT '' AS least, coalesce(max(request_id), '') AS most FROM archived_answers WHERE account_id = @account_id`

// span is where the requests of a page can be: a key finds its one request.
func (s Pages) span(r *http.Request, of ui.Scope, page requestsPage) (span, error) {
	found, err := &span{firstID, lastID}, error(nil)
	switch {
	case page.Key != "":
		found, err = ui.ReadOne[span](r.Context(), s.Pool, selectKeyed, of.Args(postgres.Args{"key": page.Key}))
	case page.archived:
		found, err = ui.ReadOne[span](r.Context(), s.Pool, selectArchivedSpan,
			postgres.Args{"account_id": of.AccountID})
	}
	if err != nil {
		return span{}, err
	}
	if found == nil { // no request has the key: nothing is between the last ID and the first
		return span{lastID, firstID}, nil
	}
	return *found, nil
}

// requestsPageOf is the filter that the address asks for.
func requestsPageOf(r *http.Request) requestsPage {
	page := requestsPage{
		Flow:   r.FormValue("flow"),
		Status: r.FormValue("status"),
		Again:  r.FormValue("again") == "yes",
		By:     r.FormValue("by"),
		Path:   strings.TrimSpace(r.FormValue("path")),
		Key:    strings.TrimSpace(r.FormValue("key")),
		Reads:  r.FormValue("reads") == "yes",
	}
	page.Filtered = page.Reads || page.Path != "" || page.Key != "" || page.Flow != "" || page.Status != "" ||
		page.Again || page.By != byClients || ui.DatesOf(r).Limits()
	return page
}

// flows are few, and each is there once for each of its versions.
const selectFlows = `SELECT DISTINCT flow FROM flows ORDER BY flow`

func (s Pages) requests(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	page := requestsPageOf(r)
	page.CSV, page.Dates, page.Tail = ui.FileOf(r), ui.DatesOf(r), r.FormValue("tail") != "no"
	page.Toggle = ui.With(r.URL, "tail", map[bool]string{true: "no"}[page.Tail], "before", "after")
	flows, err := ui.Read[struct{ Flow string }](r.Context(), s.Pool, selectFlows, nil)
	if err != nil {
		return nil, err
	}
	for _, f := range flows {
		page.Flows = append(page.Flows, f.Flow)
	}
	page.Requests, page.Pager, err = s.logged(r, of, requestLog, page, nil)
	if err != nil {
		return nil, err
	}
	page.Requests = s.withUnstored(r, of, page)
	page.Results = ui.Chips(r, "status", [2]string{"", "All"}, [2]string{"ok", "Succeeded"},
		[2]string{"error", "Failed"}, [2]string{"none", "Open"})
	return ui.List(of, "dashboard/requests", "requests", "Logs", page), nil
}

// withUnstored puts the requests that left no row, and that pass the filter, where their times are on the page. They
// are of API clients, had one attempt, and belong to no operation. A filter by day leaves them out: they are kept for
// an hour.
func (s Pages) withUnstored(r *http.Request, of ui.Scope, page requestsPage) []logged {
	if page.By == byMachine || page.Again || page.Flow != "" || page.Status == "none" || page.Dates.Limits() {
		return page.Requests
	}
	k, rows := ui.KeysetOf(r), page.Requests
	least, most := firstID, lastID
	switch {
	case k.Backwards():
		least = k.After
		if page.Pager.Newer != "" && len(rows) > 0 {
			most = rows[0].ID
		}
	case k.Before != "":
		most = k.Before
		fallthrough
	default:
		if page.Pager.Older != "" && len(rows) > 0 {
			least = rows[len(rows)-1].ID
		}
	}
	all := slices.Clone(rows)
	for _, u := range s.Recent.Of(of.AccountID, of.Livemode, page.Reads) {
		failed := u.Status >= http.StatusBadRequest
		fits := strings.HasPrefix(u.Path, page.Path) && (page.Key == "" || u.Key == page.Key) &&
			(page.Status == "" || (page.Status == "error") == failed)
		if fits && least < u.ID && u.ID < most {
			all = append(all, loggedOf(u))
		}
	}
	slices.SortStableFunc(all, func(a, b logged) int { return strings.Compare(b.ID, a.ID) })
	return all
}

func (s Pages) logged(
	r *http.Request, of ui.Scope, list ui.Lister[logged], page requestsPage, states []string,
) ([]logged, ui.Pager, error) {
	args, err := s.loggedArgs(r, of, page, states)
	if err != nil {
		return nil, ui.Pager{}, err
	}
	return list.Page(s.Env, r, args)
}

func (s Pages) loggedArgs(
	r *http.Request, of ui.Scope, page requestsPage, states []string,
) (postgres.Args, error) {
	if states == nil {
		states = []string{}
	}
	within, err := s.span(r, of, page)
	if err != nil {
		return nil, err
	}
	return of.Args(postgres.Args{
		"least":  within.Least,
		"most":   within.Most,
		"path":   page.Path,
		"flow":   page.Flow,
		"status": page.Status,
		"again":  page.Again,
		"by":     page.By,
		"keyed":  page.keyed,
		"states": states,
	}), nil
}

// anID is an id in a path: its prefix, and the long tail that people do not read.
var anID = regexp.MustCompile(`\b([a-z]+(?:_test|_live)?_)[0-9A-Za-z]{12,}`)

// Brief is the path without the ids' long tails.
func (l logged) Brief() string { return anID.ReplaceAllString(l.Path, "$1…") }

// Short is a key as far as a line has room for it.
func (l logged) Short() string {
	const most = 20
	if len(l.Key) <= most {
		return l.Key
	}
	return strings.ToValidUTF8(l.Key[:most], "") + "…"
}

package developers

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	emitted "github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// event is a line of the list of events.
type event struct {
	ID             string
	Type           string
	ObjectID       string
	RequestID      string
	IdempotencyKey *string
	CreatedAt      time.Time
}

// keyOfClient is the key of an event's request, or null if no client made it.
const keyOfClient = `nullif(idempotency_key, '` + apirequest.JobKeys + `') AS idempotency_key`

const selectEvents = `
	SELECT id, type, object_id, request_id, ` + keyOfClient + `, created_at FROM events
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	eventsDown = selectEvents + ` AND (@before = '' OR id < @before) ORDER BY id DESC LIMIT @limit`
	eventsUp   = selectEvents + ` AND id > @after ORDER BY id LIMIT @limit`

	typedDown = `WITH ` + emitted.WantedTypes + selectEvents + idsOfTypes + ` AND (@before = '' OR id < @before)
		ORDER BY id DESC LIMIT @limit) p)) ORDER BY id DESC LIMIT @limit`
	typedUp = `WITH ` + emitted.WantedTypes + selectEvents + idsOfTypes + ` AND id > @after
		ORDER BY id LIMIT @limit) p)) ORDER BY id LIMIT @limit`
	idsOfTypes = ` AND id = ANY (ARRAY(
		SELECT p.id FROM wanted CROSS JOIN LATERAL (
			SELECT id FROM events
			WHERE account_id = @account_id AND livemode = @livemode AND type = wanted.type`
)

var events = ui.Lister[event]{Down: eventsDown, Up: eventsUp, Prefix: "evt_",
	ID: func(e event) string { return e.ID }}

// eventsOf is the list for a filter by type, with its arguments. "charge" means all types that begin with it, too.
func eventsOf(of ui.Scope, kind string) (ui.Lister[event], postgres.Args) {
	if kind == "" {
		return events, of.Args(nil)
	}
	typed := ui.Lister[event]{Down: typedDown, Up: typedUp, Prefix: events.Prefix, ID: events.ID}
	return typed, of.Args(postgres.Args{"types": []string{emitted.Pattern(kind), emitted.Pattern(kind + ".*")}})
}

type eventsPage struct {
	Events []event
	Types  []ui.Chip
	Pager  ui.Pager
	CSV    string
	Dates  ui.Dates
}

func (s Pages) events(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	page := eventsPage{CSV: ui.FileOf(r), Dates: ui.DatesOf(r)}
	list, args := eventsOf(of, r.FormValue("type"))
	page.Events, page.Pager, err = list.Page(s.Env, r, args)
	if err != nil {
		return nil, err
	}
	page.Types = ui.Chips(r, "type", [2]string{"", "All"}, [2]string{"charge", "Charges"},
		[2]string{"refund", "Refunds"},
		[2]string{"payment_intent", "Intents"}, [2]string{"checkout.session", "Checkout"},
		[2]string{"charge.dispute", "Disputes"}, [2]string{"payout", "Payouts"}, [2]string{"customer", "Customers"})
	return ui.List(of, "dashboard/events", "events", "Events", page), nil
}

type eventPage struct {
	event
	AccountID  string
	APIVersion string
	Data       json.RawMessage
	Changes    []ui.Change    `db:"-"`
	Attempts   []eventAttempt `db:"-"`
}

// eventAttempt is an attempt to tell an endpoint of the event.
type eventAttempt struct {
	EndpointID string
	URL        string `db:"url"`
	Attempt    int32
	StartedAt  time.Time
	Status     *int16
	Error      *string
	DurationMS *int32 `db:"duration_ms"`
	Body       []byte
}

const selectEventAttempts = `
	SELECT p.id AS endpoint_id, p.url, t.attempt, t.started_at, t.status, t.error, t.duration_ms, t.body
	FROM webhook_attempts t
	JOIN webhook_endpoints p ON p.account_id = t.account_id AND p.id = t.endpoint_id
	WHERE t.account_id = @account_id AND t.event_id = @id
	ORDER BY t.started_at DESC
	LIMIT 50`

const selectEvent = `
	SELECT e.id, e.type, e.object_id, e.request_id, ` + keyOfClient + `, e.created_at, e.account_id, e.api_version,
	       e.data
	FROM events e WHERE e.id = @id AND e.account_id = ` + ui.AccountWith + `events` + ui.ThatID

func (s Pages) event(r *http.Request) (*ui.Page, error) {
	rows, err := s.Pool.Query(r.Context(), selectEvent, pgx.QueryExecModeCacheDescribe,
		postgres.Args{"id": r.PathValue("id")})
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[eventPage])
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ui.ErrNotFound
	}
	page := found[0]
	page.Changes = changesOf(page.Data)
	page.Attempts, err = ui.Read[eventAttempt](r.Context(), s.Pool, selectEventAttempts,
		postgres.Args{"account_id": page.AccountID, "id": page.ID})
	if err != nil {
		return nil, err
	}
	return ui.Show("dashboard/event",
		web.Page{Title: "Event " + page.ID, Here: "events", Data: page}), nil
}

func changesOf(data json.RawMessage) (all []ui.Change) {
	var shown struct {
		Object             map[string]json.RawMessage `json:"object"`
		PreviousAttributes map[string]json.RawMessage `json:"previous_attributes"`
	}
	if json.Unmarshal(data, &shown) != nil {
		return nil
	}
	for _, name := range ui.Sorted(shown.PreviousAttributes) {
		was, is := shown.PreviousAttributes[name], shown.Object[name]
		all = append(all, ui.Change{Name: name, Was: string(was), Is: string(is)})
	}
	return all
}

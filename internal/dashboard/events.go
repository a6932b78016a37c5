package dashboard

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

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

const selectEvents = `
	SELECT id, type, object_id, request_id, idempotency_key, created_at FROM events
	WHERE account_id = @account_id AND livemode = @livemode AND (@type = '' OR type = @type OR type LIKE @type || '.%')`

const (
	eventsDown = selectEvents + ` AND (@before = '' OR id < @before) ORDER BY id DESC LIMIT @limit`
	eventsUp   = selectEvents + ` AND id > @after ORDER BY id LIMIT @limit`
)

var events = lister[event]{eventsDown, eventsUp, func(e event) string { return e.ID }}

type eventsPage struct {
	Events []event
	Types  []chip
	Pager  pager
}

func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	of, err := s.scope(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var page eventsPage
	page.Events, page.Pager, err = events.page(s, r, of.args(postgres.Args{"type": r.FormValue("type")}))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page.Types = chips(r, "type", [2]string{"", "All"}, [2]string{"charge", "Charges"}, [2]string{"refund", "Refunds"},
		[2]string{"payment_intent", "Intents"}, [2]string{"checkout.session", "Checkout"},
		[2]string{"charge.dispute", "Disputes"}, [2]string{"payout", "Payouts"}, [2]string{"customer", "Customers"})
	s.list(w, r, of, "dashboard/events", "events", "Events", page)
}

type eventPage struct {
	event
	AccountID  string
	APIVersion string
	Data       json.RawMessage
	Changes    []change       `db:"-"`
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

// change is a field of an update: what it was, and what it is.
type change struct{ Name, Was, Is string }

const selectEvent = `
	SELECT e.id, e.type, e.object_id, e.request_id, e.idempotency_key, e.created_at, e.account_id, e.api_version, e.data
	FROM accounts a JOIN events e ON e.account_id = a.id AND e.id = @id`

func (s *Server) event(w http.ResponseWriter, r *http.Request) {
	rows, err := s.Pool.Query(r.Context(), selectEvent, postgres.Args{"id": r.PathValue("id")})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[eventPage])
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if len(found) == 0 {
		s.notFound(w, r)
		return
	}
	page := found[0]
	page.Changes = changesOf(page.Data)
	page.Attempts, err = read[eventAttempt](r.Context(), s, selectEventAttempts,
		postgres.Args{"account_id": page.AccountID, "id": page.ID})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.render(w, r, http.StatusOK, "dashboard/event",
		web.Page{Title: "Event " + page.ID, Here: "events", Desk: true, Data: page})
}

func changesOf(data json.RawMessage) (all []change) {
	var told struct {
		Object             map[string]json.RawMessage `json:"object"`
		PreviousAttributes map[string]json.RawMessage `json:"previous_attributes"`
	}
	if json.Unmarshal(data, &told) != nil {
		return nil
	}
	for _, name := range sorted(told.PreviousAttributes) {
		all = append(all, change{name, string(told.PreviousAttributes[name]), string(told.Object[name])})
	}
	return all
}

package developers

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/webhook"
	"github.com/ratchet-pay/ratchet/web"
)

// endpoint is a webhook endpoint.
type endpoint struct {
	AccountID           string
	ID                  string
	Livemode            bool
	Listener            bool   // a session of "stripe listen"
	URL                 string `db:"url"`
	Description         *string
	EnabledEvents       []string
	APIVersion          *string
	Status              string
	SecretGeneration    int32
	PreviousSecretUntil *time.Time // nil, or already past: only one secret signs
	FailingSince        *time.Time
	RequestID           string
	CreatedAt           time.Time
	DeletedAt           *time.Time
}

// State is the endpoint's, in the badges' words.
func (e endpoint) State() string {
	switch {
	case e.DeletedAt != nil:
		return "deleted"
	case e.Listener:
		return "listening"
	case e.Status == "disabled":
		return "disabled"
	case e.FailingSince != nil:
		return "failing"
	}
	return "enabled"
}

// Receives tells whether deliveries are sent to the endpoint.
func (e endpoint) Receives() bool { return e.DeletedAt == nil && e.Status == "enabled" }

// Wants is what the endpoint listens to, in a word or two.
func (e endpoint) Wants() string {
	if slices.Contains(e.EnabledEvents, "*") {
		return "All events"
	}
	return strings.Join(e.EnabledEvents, ", ")
}

const selectEndpoints = `
	SELECT w.account_id, w.id, w.livemode, w.listener, w.url, w.description, w.enabled_events, w.api_version, w.status,
	       w.secret_generation, CASE WHEN w.previous_secret_until > clock_timestamp() THEN w.previous_secret_until
	       END AS previous_secret_until, w.failing_since, w.request_id, w.created_at, w.deleted_at
	FROM webhook_endpoints w`

const (
	endpointsHere = selectEndpoints + `
		WHERE w.account_id = @account_id AND w.livemode = @livemode AND w.deleted_at IS NULL ORDER BY w.id DESC`
	// Of an account's endpoints in both modes at most 32 are not deleted.
	deletedEndpoints = selectEndpoints + `
		WHERE w.account_id = @account_id AND w.id = ANY (ARRAY(
		    SELECT id FROM webhook_endpoints WHERE account_id = @account_id ORDER BY id DESC LIMIT @newest))
		  AND w.livemode = @livemode AND w.deleted_at IS NOT NULL
		ORDER BY w.id DESC LIMIT @limit`
	endpointByID = selectEndpoints + ` WHERE w.id = @id
		AND w.account_id = ` + ui.AccountWith + `webhook_endpoints` + ui.ThatID
)

// tally is what became of an endpoint's latest deliveries.
type tally struct {
	EndpointID string
	Succeeded  int64
	Pending    int64
	Failed     int64
	Canceled   int64
}

// tallyOver is how many of an account's deliveries are counted: no index leads
// from an endpoint to its deliveries, because every payment would pay for it.
const tallyOver = 1000

// shownDeleted is how many deleted endpoints are listed, of the newest endpoints that are read for them.
const shownDeleted, newestEndpoints = 100, 500

const selectTallies = `
	SELECT endpoint_id, count(*) FILTER (WHERE state = 'succeeded') AS succeeded,
	       count(*) FILTER (WHERE state = 'pending') AS pending,
	       count(*) FILTER (WHERE state = 'failed') AS failed,
	       count(*) FILTER (WHERE state = 'canceled') AS canceled
	FROM (SELECT endpoint_id, state FROM webhook_deliveries WHERE account_id = @account_id ORDER BY event_id DESC
	    LIMIT @limit) latest
	GROUP BY endpoint_id`

type endpointRow struct {
	endpoint
	tally
}

type webhooksPage struct {
	Endpoints []endpointRow
	States    []ui.Chip
	Deleted   bool   // the deleted endpoints are shown
	Key       string // of the form that makes one
	Typed     string
	Events    []eventGroup
	Wrong     string
	Open      bool
}

func (s Pages) webhooks(r *http.Request) (*ui.Page, error) {
	return s.showWebhooks(r, http.StatusOK, webhooksPage{Key: ui.NewIdempotencyKey("endpoint"), Events: picker(nil)})
}

func (s Pages) showWebhooks(r *http.Request, status int, page webhooksPage) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	page.States = ui.Chips(r, "state", [2]string{"", "Active"}, [2]string{"deleted", "Deleted"})
	page.Deleted = r.FormValue("state") == "deleted"
	sql, args := endpointsHere, of.Args(nil)
	if page.Deleted {
		sql, args["limit"], args["newest"] = deletedEndpoints, shownDeleted, newestEndpoints
	}
	found, err := ui.Read[endpoint](r.Context(), s.Pool, sql, args)
	if err != nil {
		return nil, err
	}
	tallies, err := ui.Read[tally](r.Context(), s.Pool, selectTallies,
		postgres.Args{"account_id": of.AccountID, "limit": tallyOver})
	if err != nil {
		return nil, err
	}
	for _, e := range found {
		row := endpointRow{endpoint: e}
		if at := slices.IndexFunc(tallies, func(t tally) bool { return t.EndpointID == e.ID }); at >= 0 {
			row.tally = tallies[at]
		}
		page.Endpoints = append(page.Endpoints, row)
	}
	return ui.ShowAs(status, "dashboard/webhooks",
		web.Page{Title: "Webhooks", Here: "webhooks", Scopes: of.All, Data: page}), nil
}

// delivery is one event on its way to one endpoint, with its latest attempt.
type delivery struct {
	EventID    string
	Type       string
	State      string
	Attempts   int32
	DueAt      *time.Time
	CreatedAt  time.Time
	Status     *int16
	Error      *string
	DurationMS *int32 `db:"duration_ms"`
}

// soon is how near the next attempt must be for a delivery's page to reload automatically.
const soon = 15 * time.Second

// Soon tells whether something is about to become of it.
func (d delivery) Soon() bool {
	return d.State == webhook.Pending && (d.DueAt == nil || time.Until(*d.DueAt) < soon)
}

const selectDeliveries = `
	SELECT d.event_id, e.type, d.state, d.attempts, d.due_at, d.created_at, t.status, t.error, t.duration_ms
	FROM webhook_deliveries d
	JOIN events e ON e.account_id = d.account_id AND e.id = d.event_id
	LEFT JOIN webhook_attempts t ON t.account_id = d.account_id AND t.event_id = d.event_id
	    AND t.endpoint_id = d.endpoint_id AND t.attempt = d.attempts
	WHERE d.account_id = @account_id AND d.endpoint_id = @endpoint_id AND (@state = '' OR d.state = @state)`

const (
	deliveriesDown = selectDeliveries + ` AND (@before = '' OR d.event_id < @before) AND d.event_id >= @edge
		ORDER BY d.event_id DESC LIMIT @limit`
	deliveriesUp = selectDeliveries + ` AND d.event_id > @after AND d.event_id <= @edge
		ORDER BY d.event_id LIMIT @limit`

	deliveriesEdgeDown = `SELECT event_id AS id FROM webhook_deliveries
		WHERE account_id = @account_id AND (@before = '' OR event_id < @before)
		ORDER BY event_id DESC OFFSET @over LIMIT 1`
	deliveriesEdgeUp = `SELECT event_id AS id FROM webhook_deliveries
		WHERE account_id = @account_id AND event_id > @after
		ORDER BY event_id OFFSET @over LIMIT 1`
)

// Another endpoint may get most of an account's events.
var deliveries = ui.Lister[delivery]{Down: deliveriesDown, Up: deliveriesUp,
	ID: func(d delivery) string { return d.EventID }, Edge: ui.Edge{Down: deliveriesEdgeDown, Up: deliveriesEdgeUp}}

type endpointPage struct {
	endpoint
	tally
	Deliveries []delivery
	Events     []eventGroup
	Key        string // of the forms that edit and test it
	States     []ui.Chip
	Filtered   bool
	Pager      ui.Pager
	NewSecret  string // just made: the only time it is shown
	Overlap    string // how long the one before signs, too
}

func (s Pages) webhook(r *http.Request) (*ui.Page, error) {
	return s.showWebhook(r, r.PathValue("id"), endpointPage{})
}

func (s Pages) showWebhook(r *http.Request, id string, page endpointPage) (*ui.Page, error) {
	e, err := s.findEndpoint(r, id)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, ui.ErrNotFound
	}
	state := r.FormValue("state")
	page.endpoint, page.Filtered = *e, state != ""
	page.Events, page.Key = picker(e.EnabledEvents), ui.NewIdempotencyKey("endpoint")
	tallies, err := ui.Read[tally](r.Context(), s.Pool, selectTallies,
		postgres.Args{"account_id": e.AccountID, "limit": tallyOver})
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(tallies, func(t tally) bool { return t.EndpointID == e.ID }); at >= 0 {
		page.tally = tallies[at]
	}
	page.Deliveries, page.Pager, err = deliveries.Page(s.Env, r,
		postgres.Args{"account_id": e.AccountID, "endpoint_id": e.ID, "state": state})
	if err != nil {
		return nil, err
	}
	page.States = ui.Chips(r, "state", [2]string{"", "All"}, [2]string{webhook.Succeeded, "Delivered"},
		[2]string{webhook.Pending, "Pending"},
		[2]string{webhook.Failed, "Failed"}, [2]string{webhook.Canceled, "Canceled"})
	return ui.Show("dashboard/webhook", web.Page{Title: "Webhook endpoint " + e.ID, Here: "webhooks",
		At: "/dashboard/webhooks/" + e.ID, Data: page}), nil
}

func (s Pages) findEndpoint(r *http.Request, id string) (*endpoint, error) {
	return ui.ReadOne[endpoint](r.Context(), s.Pool, endpointByID, postgres.Args{"id": id})
}

// attempt is one try to tell an endpoint of an event.
type attempt struct {
	Attempt    int32
	StartedAt  time.Time
	EndedAt    *time.Time
	Status     *int16
	Error      *string
	DurationMS *int32 `db:"duration_ms"`
	Headers    json.RawMessage
	Body       []byte
}

// Answered are the lines of the answer's head.
func (a attempt) Answered() (lines []string) {
	var headers http.Header
	if json.Unmarshal(a.Headers, &headers) != nil {
		return nil
	}
	for _, name := range ui.Sorted(headers) {
		for _, value := range headers[name] {
			lines = append(lines, name+": "+value)
		}
	}
	return lines
}

// Text is the beginning of the answer's body, as far as it is text.
func (a attempt) Text() string {
	if !utf8.Valid(a.Body) {
		return strings.ToValidUTF8(string(a.Body), "�")
	}
	return string(a.Body)
}

const selectAttempts = `
	SELECT attempt, started_at, ended_at, status, error, duration_ms, headers, body FROM webhook_attempts
	WHERE account_id = @account_id AND event_id = @event_id AND endpoint_id = @endpoint_id
	ORDER BY attempt DESC LIMIT 100`

const oneDelivery = selectDeliveries + ` AND d.event_id = @event_id`

type deliveryPage struct {
	delivery
	Endpoint endpoint
	Tries    []attempt
}

func (s Pages) delivery(r *http.Request) (*ui.Page, error) {
	e, err := s.findEndpoint(r, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, ui.ErrNotFound
	}
	args := postgres.Args{"account_id": e.AccountID, "endpoint_id": e.ID, "event_id": r.PathValue("event"), "state": ""}
	found, err := ui.Read[delivery](r.Context(), s.Pool, oneDelivery, args)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ui.ErrNotFound
	}
	delete(args, "state")
	page := deliveryPage{delivery: found[0], Endpoint: *e}
	page.Tries, err = ui.Read[attempt](r.Context(), s.Pool, selectAttempts, args)
	if err != nil {
		return nil, err
	}
	return ui.Show("dashboard/delivery",
		web.Page{Title: "Delivery of " + page.EventID, Here: "webhooks", Data: page}), nil
}

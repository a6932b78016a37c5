// Package event writes the events that report changes, each in the transaction of
// its change, with the webhook deliveries that carry it.
package event

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/webhook"
	"github.com/ratchet-pay/ratchet/internal/wire"
)

func init() {
	resource.Register(resource.Kind{Object: "event"})
}

// Event reports one change. Its type is one of Stripe's.
type Event struct {
	ID             string
	Type           string
	Livemode       bool
	Data           json.RawMessage
	APIVersion     apiversion.Version
	RequestID      string
	IdempotencyKey *string
	Unacknowledged int
	CreatedAt      time.Time
}

// Data is data of an event: the object as a plain GET shows it, and what
// the changed fields were before.
type Data struct {
	Object             any         `json:"object"`
	PreviousAttributes wire.Object `json:"previous_attributes,omitempty"`
}

// Insert writes an event with its deliveries, one to each endpoint that subscribes to
// it, and with the jobs that wake a worker for them. A merchant without endpoints
// pays for one look into an index that is empty for it. A session of "stripe listen"
// is an endpoint that needs no worker, and its ID has another prefix.
const Insert = `
	WITH emitted AS (
		SELECT * FROM unnest(@account_id::text[], @id::text[], @livemode::boolean[], @type::text[],
			@object_id::text[], @data::text[], @api_version::text[], @request_id::text[],
			@idempotency_key::text[], @created_at::timestamptz[])
			AS m (account_id, id, livemode, type, object_id, data, api_version, request_id, idempotency_key, created_at)
	), event AS (
		INSERT INTO events (account_id, id, livemode, type, object_id, data, api_version, request_id, idempotency_key,
			created_at)
		SELECT account_id, id, livemode, type, object_id, data::json, api_version, request_id, idempotency_key,
			created_at FROM emitted
	), delivery AS (
		INSERT INTO webhook_deliveries (account_id, event_id, endpoint_id, due_at, created_at)
		SELECT m.account_id, m.id, e.id, m.created_at, m.created_at
		FROM emitted m JOIN webhook_endpoints e ON e.account_id = m.account_id AND e.livemode = m.livemode
		WHERE e.status = 'enabled' AND e.deleted_at IS NULL AND e.enabled_events && ARRAY['*', m.type]
		RETURNING account_id, endpoint_id
	)
	INSERT INTO river.river_job (kind, args, queue, max_attempts)
	SELECT '` + webhook.WakeKind + `', jsonb_build_object('account_id', account_id, 'endpoint_id', endpoint_id), '` +
	webhook.Queue + `', 3
	FROM delivery WHERE endpoint_id LIKE 'we\_%'`

type row struct {
	AccountID      string    `db:"account_id"`
	ID             string    `db:"id"`
	Livemode       bool      `db:"livemode"`
	Type           string    `db:"type"`
	ObjectID       string    `db:"object_id"`
	Data           string    `db:"data"`
	APIVersion     string    `db:"api_version"`
	RequestID      string    `db:"request_id"`
	IdempotencyKey *string   `db:"idempotency_key"`
	CreatedAt      time.Time `db:"created_at"`
}

// Emit queues an event in the transaction of its change, so that both commit or
// neither does. previous is nil except for updates.
func Emit(tx *phase.Tx, kind, objectID string, object any, previous wire.Object) {
	key := tx.Key
	if !apirequest.ByClient(tx.Caller) {
		key = apirequest.JobKeys
	}
	tx.Write(Insert, Args(Event{
		ID:             tx.NewID("evt"),
		Livemode:       tx.Livemode,
		Type:           kind,
		APIVersion:     apirequest.Of(tx.Caller).DefaultVersion,
		RequestID:      tx.RequestID,
		IdempotencyKey: resource.NilIfEmpty(key),
		CreatedAt:      tx.Now(),
	}, tx.AccountID, objectID, Data{object, previous}))
}

// Args returns the arguments of Insert for one event.
func Args(e Event, accountID, objectID string, data Data) postgres.Rows {
	return postgres.RowsOf(row{AccountID: accountID, ID: e.ID, Livemode: e.Livemode, Type: e.Type, ObjectID: objectID,
		Data: postgres.JSONText(data), APIVersion: string(e.APIVersion.OrCurrent()), RequestID: e.RequestID,
		IdempotencyKey: e.IdempotencyKey, CreatedAt: e.CreatedAt})
}

// Changes compares two forms of an object and returns the old values of what
// differs: previous_attributes of an update's event.
func Changes(before, after any) (wire.Object, error) {
	old, err := resource.Tree(before)
	if err != nil {
		return nil, err
	}
	now, err := resource.Tree(after)
	if err != nil {
		return nil, err
	}
	return differences(old, now), nil
}

// differences are the old values of the fields that differ: of a hash only the keys that
// differ, of a list the entire list. A field that was missing before is null, as at Stripe.
func differences(old, now wire.Object) wire.Object {
	previous := wire.Object{}
	for name, value := range old {
		was, wasHash := value.(wire.Object)
		is, isHash := now[name].(wire.Object)
		switch {
		case reflect.DeepEqual(value, now[name]):
		case wasHash && isHash:
			previous[name] = differences(was, is)
		default:
			previous[name] = value
		}
	}
	for name, value := range now {
		if _, was := old[name]; !was && value != nil {
			previous[name] = nil
		}
	}
	return previous
}

type eventRequest struct {
	ID             *string `json:"id"`
	IdempotencyKey *string `json:"idempotency_key"`
}

// EventObject is an event on the wire.
type EventObject struct {
	ID              string             `json:"id"`
	Object          string             `json:"object"`
	APIVersion      apiversion.Version `json:"api_version"`
	Created         int64              `json:"created"`
	Data            json.RawMessage    `json:"data"`
	Livemode        bool               `json:"livemode"`
	PendingWebhooks int                `json:"pending_webhooks"`
	Request         eventRequest       `json:"request"`
	Type            string             `json:"type"`
}

// Render is the event as the API's JSON object, with the object inside as it was when the event happened.
func (e *Event) Render() any {
	return EventObject{
		ID:              e.ID,
		Object:          "event",
		APIVersion:      e.APIVersion,
		Created:         resource.Unix(e.CreatedAt),
		Data:            e.Data,
		Livemode:        e.Livemode,
		PendingWebhooks: e.Unacknowledged,
		Request:         e.cause(),
		Type:            e.Type,
	}
}

// cause is the request that caused the event. It is empty if a job or the acquirer did.
func (e *Event) cause() eventRequest {
	if !strings.HasPrefix(e.RequestID, "req_") || resource.Deref(e.IdempotencyKey) == apirequest.JobKeys {
		return eventRequest{}
	}
	return eventRequest{&e.RequestID, e.IdempotencyKey}
}

// Pending and failed deliveries are both unacknowledged. Deliveries that were canceled
// with their endpoint do not count.
const eventColumns = `id, type, livemode, data, api_version, request_id, idempotency_key, created_at,
	       (SELECT count(*) FROM ` + unacknowledged + ` AND d.event_id = events.id) AS unacknowledged`

// unacknowledged are the deliveries that keep an event from being delivered. An index has only them.
const unacknowledged = `webhook_deliveries d
	        WHERE d.account_id = @account_id AND d.state IN ('pending', 'failed')`

const selectEvents = `
	SELECT ` + eventColumns + `
	FROM events
	WHERE account_id = @account_id AND livemode = @livemode`

const eventByID = selectEvents + ` AND id = @id`

const delivered = `
	AND NOT EXISTS (SELECT FROM ` + unacknowledged + ` AND d.event_id = events.id AND @delivered::boolean)`

const (
	listEvents          = selectEvents + delivered + resource.NewestFirst
	listEventsBackwards = selectEvents + delivered + resource.OldestFirst
)

// WantedTypes are the types that match a pattern in @types, in a statement that reads a page of each of them. The types
// that an account has are found one by one in the index that begins with them: each lookup skips to the next type.
const WantedTypes = `RECURSIVE known (type) AS (
		(SELECT e.type FROM events e WHERE e.account_id = @account_id ORDER BY e.type LIMIT 1)
		UNION ALL
		SELECT (SELECT e.type FROM events e WHERE e.account_id = @account_id AND e.type > known.type
		        ORDER BY e.type LIMIT 1)
		FROM known WHERE known.type IS NOT NULL
	), wanted AS (
		SELECT type FROM known WHERE EXISTS (SELECT FROM unnest(@types::text[]) AS pattern WHERE type LIKE pattern)
	)`

// The IDs of the pages are looked up: a join could read all events of the account instead.
const (
	listTyped          = `WITH ` + WantedTypes + selectEvents + idsOfTypes + resource.NewestFirst + newestOfTypes
	listTypedBackwards = `WITH ` + WantedTypes + selectEvents + idsOfTypes + resource.OldestFirst + oldestOfTypes

	idsOfTypes = ` AND id = ANY (ARRAY(
		SELECT p.id FROM wanted CROSS JOIN LATERAL (
			SELECT id FROM events
			WHERE account_id = @account_id AND livemode = @livemode AND type = wanted.type` + delivered
	newestOfTypes = `) p)) ORDER BY id DESC LIMIT @limit`
	oldestOfTypes = `) p)) ORDER BY id LIMIT @limit`
)

// Events that were not delivered are read in the order of their deliveries, each once.
const (
	listUndelivered = `SELECT ` + undelivered + ` ORDER BY d.event_id DESC` + theirEvents +
		resource.NewestFirst
	listUndeliveredBackwards = `SELECT ` + undelivered + ` ORDER BY d.event_id` + theirEvents + resource.OldestFirst

	undelivered = eventColumns + `
		FROM (SELECT DISTINCT d.event_id FROM ` + unacknowledged + ` AND d.event_id < @before AND d.event_id > @after`
	theirEvents = `) u JOIN events ON events.account_id = @account_id AND events.id = u.event_id
		WHERE livemode = @livemode AND (@types::text[] IS NULL
		    OR EXISTS (SELECT FROM unnest(@types::text[]) AS pattern WHERE type LIKE pattern))`
)

// RetrieveEvent answers GET /v1/events/{id}.
func RetrieveEvent(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve) (any, error) {
	event, err := existingEvent(ctx, db, v, in.ID)
	if err != nil {
		return nil, err
	}
	if err := event.age(ctx, db, v); err != nil {
		return nil, err
	}
	return resource.Expand(ctx, db, v, in.Expand, event.Render())
}

// age shows what the event tells in the event's own version. Its row has the shapes
// of the current one.
func (e *Event) age(ctx context.Context, db phase.Reader, v resource.Principal) error {
	if !e.APIVersion.ChangesAnswers() {
		return nil
	}
	data, err := resource.Tree(e.Data)
	if err != nil {
		return err
	}
	object, is := data["object"].(wire.Object)
	if !is {
		return fmt.Errorf("event %s has no object", e.ID)
	}
	if err := resource.InVersion(ctx, db, v, e.APIVersion, object); err != nil {
		return err
	}
	e.Data, err = json.Marshal(resource.InOrder(data))
	return err
}

// existingEvent reads an event, or says that there is none.
func existingEvent(ctx context.Context, db phase.Reader, v resource.Principal, eventID string) (*Event, error) {
	event, err := resource.Get[Event](ctx, db, eventByID, v, eventID)
	if err != nil {
		return nil, err
	}
	if event == nil {
		return nil, apierror.NotFound("event", "id", eventID)
	}
	return event, nil
}

// RenderEvent is the body of a webhook: the event as GET /v1/events/{id} answers
// it, but in the version that the endpoint was made with, if it was made with one.
func RenderEvent(
	ctx context.Context, pool *pgxpool.Pool, to webhook.EndpointKey, livemode bool, version *string, eventID string,
) ([]byte, error) {
	viewer := resource.Principal{AccountID: to.AccountID, Livemode: livemode}
	event, err := existingEvent(ctx, pool, viewer, eventID)
	if err != nil {
		return nil, err
	}
	if version != nil {
		event.APIVersion = apiversion.Version(*version)
	}
	if err := event.age(ctx, pool, viewer); err != nil {
		return nil, err
	}
	body, err := wire.Encode(event.Render())
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return body, nil
}

// ListEventsParams are the parameters of GET /v1/events.
type ListEventsParams struct {
	resource.List
	Type            string   `form:"type"`
	Types           []string `form:"types" max:"20"`
	DeliverySuccess *bool    `form:"delivery_success"`
}

// ListEvents answers GET /v1/events. Types may end in a star: "charge.*".
func ListEvents(ctx context.Context, db phase.Reader, v resource.Principal, in ListEventsParams) (any, error) {
	if in.Type != "" && in.Types != nil {
		return nil, apierror.Invalid("types", "You may only specify one of these parameters: type, types.").
			WithCode("parameters_exclusive")
	}
	types := in.Types
	if in.Type != "" {
		types = []string{in.Type}
	}
	list := resource.Listing{
		URL: "/v1/events", Object: "event", Newest: listEvents, Oldest: listEventsBackwards, ByID: eventByID,
		Prefix:  "evt",
		Filters: pgx.StrictNamedArgs{"delivered": in.DeliverySuccess != nil && *in.DeliverySuccess},
		Prepare: func(row any) error { return row.(*Event).age(ctx, db, v) },
	}
	switch {
	case in.DeliverySuccess != nil && !*in.DeliverySuccess:
		list.Newest, list.Oldest = listUndelivered, listUndeliveredBackwards
		list.Filters = pgx.StrictNamedArgs{"types": patterns(types)}
	case types != nil:
		list.Newest, list.Oldest = listTyped, listTypedBackwards
		list.Filters["types"] = patterns(types)
	}
	return resource.ListPage[Event](ctx, db, v, in.List, list)
}

// patterns turns Stripe's wildcards into SQL's.
func patterns(types []string) []string {
	if types == nil {
		return nil
	}
	out := slices.Clone(types)
	for i, t := range out {
		out[i] = Pattern(t)
	}
	return out
}

// Pattern is a type with wildcards ("charge.*") as LIKE understands it.
func Pattern(wildcard string) string {
	var out []byte
	for _, c := range []byte(wildcard) {
		switch c {
		case '%', '_', '\\':
			out = append(out, '\\', c)
		case '*':
			out = append(out, '%')
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

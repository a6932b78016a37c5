// Package endpoint holds webhook endpoints and the operations on their deliveries.
package endpoint

import (
	"context"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/webhook"
)

func init() {
	resource.Register(resource.Kind{Object: "webhook_endpoint", Table: "webhook_endpoints"})
}

// WebhookEndpoint is where a merchant receives events.
type WebhookEndpoint struct {
	AccountID        string
	ID               string
	Livemode         bool
	RequestID        string
	URL              string
	Description      *string
	EnabledEvents    []string
	Metadata         map[string]string
	APIVersion       *string
	Status           string
	SecretGeneration int32
	SecretVersion    int16 `db:"-"` // of the root secret; only an insert needs it
	CreatedAt        time.Time
}

// Statuses of an endpoint.
const (
	endpointEnabled  = "enabled"
	endpointDisabled = "disabled"
)

// WebhookEndpointObject is an endpoint on the wire. Secret is there when it was
// just created and never again.
type WebhookEndpointObject struct {
	ID            string            `json:"id"`
	Object        string            `json:"object"`
	APIVersion    *string           `json:"api_version"`
	Application   *string           `json:"application"`
	Created       int64             `json:"created"`
	Description   *string           `json:"description"`
	EnabledEvents []string          `json:"enabled_events"`
	Livemode      bool              `json:"livemode"`
	Metadata      map[string]string `json:"metadata"`
	Secret        string            `json:"secret,omitempty"`
	Status        string            `json:"status"`
	URL           string            `json:"url"`
}

// Render is the endpoint as the API's JSON object, without its signing secret.
func (e *WebhookEndpoint) Render() any { return e.object() }

func (e *WebhookEndpoint) object() WebhookEndpointObject {
	return WebhookEndpointObject{
		ID:            e.ID,
		Object:        "webhook_endpoint",
		APIVersion:    e.APIVersion,
		Created:       resource.Unix(e.CreatedAt),
		Description:   e.Description,
		EnabledEvents: e.EnabledEvents,
		Livemode:      e.Livemode,
		Metadata:      e.Metadata,
		Status:        e.Status,
		URL:           e.URL,
	}
}

// newSecret is the signing secret of a new endpoint. It is derived, not stored.
func (e *WebhookEndpoint) newSecret(tx *phase.Tx) string {
	version, key := tx.Keys(secret.Webhooks).Newest()
	e.SecretVersion, e.SecretGeneration = version, 1
	return webhook.Secret(key, webhook.EndpointKey{AccountID: e.AccountID, EndpointID: e.ID}, e.SecretGeneration)
}

// maxEndpoints is how many endpoints an account may have in each mode. The schema
// has as many slots.
const maxEndpoints = 16

// Who makes endpoints takes turns, so that two at once do not go for one slot. If
// they did, the unique index would refuse the second.
const takeTurns = `
	SELECT pg_advisory_xact_lock(hashtextextended(@account_id || '/' || @livemode::boolean::text, 0))::text`

const selectSlots = `
	SELECT slot FROM webhook_endpoints
	WHERE account_id = @account_id AND livemode = @livemode AND deleted_at IS NULL AND NOT listener`

// freeSlot finds one, or refuses.
func freeSlot(ctx context.Context, tx *phase.Tx) (int16, error) {
	rows, err := tx.Query(ctx, takeTurns, resource.PrincipalOf(tx.Caller).Args())
	if err != nil {
		return 0, err
	}
	if _, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return 0, err
	}
	rows, err = tx.Query(ctx, selectSlots, resource.PrincipalOf(tx.Caller).Args())
	if err != nil {
		return 0, err
	}
	taken, err := pgx.CollectRows(rows, pgx.RowTo[int16])
	if err != nil {
		return 0, err
	}
	for slot := int16(1); slot <= maxEndpoints; slot++ {
		if !slices.Contains(taken, slot) {
			return slot, nil
		}
	}
	mode := "test"
	if tx.Livemode {
		mode = "live"
	}
	return 0, apierror.Invalid("", "You have reached the maximum of %d %s webhook endpoints.", maxEndpoints, mode)
}

const insertEndpoint = `
	INSERT INTO webhook_endpoints (account_id, id, livemode, request_id, slot, url, description, enabled_events,
		metadata, api_version, status, secret_generation, secret_version, created_at, changed_at)
	VALUES (@account_id, @id, @livemode, @request_id, @slot, @url, @description, @enabled_events, @metadata,
		@api_version, @status, @secret_generation, @secret_version, @created_at, @created_at)`

func (e *WebhookEndpoint) insert(tx *phase.Tx, slot int16) {
	tx.Write(insertEndpoint, pgx.StrictNamedArgs{
		"account_id":        e.AccountID,
		"id":                e.ID,
		"livemode":          e.Livemode,
		"request_id":        e.RequestID,
		"slot":              slot,
		"url":               e.URL,
		"description":       e.Description,
		"enabled_events":    e.EnabledEvents,
		"metadata":          e.Metadata,
		"api_version":       e.APIVersion,
		"status":            e.Status,
		"secret_generation": e.SecretGeneration,
		"secret_version":    e.SecretVersion,
		"created_at":        e.CreatedAt,
	})
}

// An endpoint that is enabled again gets the full time to fail again.
const updateEndpoint = `
	UPDATE webhook_endpoints
	SET url = @url, description = @description, enabled_events = @enabled_events, metadata = @metadata,
	    changed_at = clock_timestamp(),
	    failing_since = CASE WHEN @status = 'enabled' AND status = 'disabled' THEN NULL ELSE failing_since END,
	    status = @status
	WHERE account_id = @account_id AND id = @id AND deleted_at IS NULL`

func (e *WebhookEndpoint) update(tx *phase.Tx) {
	tx.WriteOne(updateEndpoint, pgx.StrictNamedArgs{
		"account_id":     e.AccountID,
		"id":             e.ID,
		"url":            e.URL,
		"description":    e.Description,
		"enabled_events": e.EnabledEvents,
		"metadata":       e.Metadata,
		"status":         e.Status,
	})
}

const deleteEndpoint = `
	UPDATE webhook_endpoints SET deleted_at = @deleted_at
	WHERE account_id = @account_id AND id = @id AND deleted_at IS NULL`

const selectEndpoints = `
	SELECT account_id, id, livemode, request_id, url, description, enabled_events, metadata, api_version, status,
	       secret_generation, created_at
	FROM webhook_endpoints
	WHERE account_id = @account_id AND livemode = @livemode AND deleted_at IS NULL AND NOT listener`

const endpointByID = selectEndpoints + ` AND id = @id`

const lockEndpoint = endpointByID + ` FOR NO KEY UPDATE`

const (
	listEndpoints          = selectEndpoints + resource.NewestFirst
	listEndpointsBackwards = selectEndpoints + resource.OldestFirst
)

// RetrieveWebhookEndpoint answers GET /v1/webhook_endpoints/{webhook_endpoint}.
func RetrieveWebhookEndpoint(
	ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve,
) (any, error) {
	endpoint, err := existingEndpoint(ctx, db, endpointByID, v, in.ID)
	if err != nil {
		return nil, err
	}
	return resource.Expand(ctx, db, v, in.Expand, endpoint.Render())
}

// ListWebhookEndpointsParams are the parameters of GET /v1/webhook_endpoints.
type ListWebhookEndpointsParams struct {
	Limit         form.Limit  `form:"limit"`
	StartingAfter string      `form:"starting_after"`
	EndingBefore  string      `form:"ending_before"`
	Expand        form.Expand `form:"expand"`
}

// ListWebhookEndpoints answers GET /v1/webhook_endpoints.
func ListWebhookEndpoints(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListWebhookEndpointsParams,
) (any, error) {
	list := resource.List{
		Limit:         in.Limit,
		StartingAfter: in.StartingAfter,
		EndingBefore:  in.EndingBefore,
		Expand:        in.Expand,
	}
	return resource.ListPage[WebhookEndpoint](ctx, db, v, list, resource.Listing{
		URL:    "/v1/webhook_endpoints",
		Object: "webhook endpoint",
		Newest: listEndpoints,
		Oldest: listEndpointsBackwards,
		ByID:   endpointByID,
	})
}

// existingEndpoint reads an endpoint, or returns "not found". A deleted endpoint is not found.
func existingEndpoint(
	ctx context.Context, db phase.Reader, sql string, v resource.Principal, endpointID string,
) (*WebhookEndpoint, error) {
	endpoint, err := resource.Get[WebhookEndpoint](ctx, db, sql, v, endpointID)
	if err != nil {
		return nil, err
	}
	if endpoint == nil {
		return nil, apierror.NotFound("webhook endpoint", "id", endpointID)
	}
	return endpoint, nil
}

// eventTypes are the types of Stripe's events, those included that Ratchet never
// emits: an integration that lists them works all the same.
//
//go:embed event_types.txt
var eventTypes string

var knownEventTypes = knownTypes()

func knownTypes() map[string]bool {
	known := map[string]bool{"*": true, endpointWasDisabled: true}
	for line := range strings.Lines(eventTypes) {
		known[strings.TrimSpace(line)] = true
	}
	return known
}

// checkEndpoint verifies what an endpoint is given.
func checkEndpoint(ctx context.Context, address *string, events []string, metadata form.Metadata) error {
	if address != nil {
		if objection := webhook.Objection(*address, webhook.PrivateFrom(ctx)); objection != "" {
			return apierror.Invalid("url", "%s", objection).WithCode("url_invalid")
		}
	}
	for i, event := range events {
		if !knownEventTypes[event] {
			return apierror.Invalid("enabled_events["+strconv.Itoa(i)+"]",
				"Invalid enabled_events[%d]: %s is not an event type.", i, form.Quote(event))
		}
	}
	_, err := metadata.Apply(nil)
	return err
}

// endpointWasDisabled tells that an endpoint has been disabled because it did not
// answer. Stripe writes an email instead.
const endpointWasDisabled = "webhook_endpoint.disabled"

// EndpointDisabled tells the merchant's other endpoints that one was disabled.
func EndpointDisabled(ctx context.Context, tx pgx.Tx, key webhook.EndpointKey, requestID string) error {
	rows, err := tx.Query(ctx, endpointByKey, pgx.StrictNamedArgs{"account_id": key.AccountID, "id": key.EndpointID})
	if err != nil {
		return err
	}
	found, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[struct {
		WebhookEndpoint
		Now            time.Time
		DefaultVersion apiversion.Version
	}])
	if err != nil {
		return err
	}
	disabled := event.Event{
		ID:         id.New("evt", found.Now),
		Livemode:   found.Livemode,
		Type:       endpointWasDisabled,
		APIVersion: found.DefaultVersion,
		RequestID:  requestID,
		CreatedAt:  found.Now,
	}
	_, err = tx.Exec(ctx, event.Insert,
		event.Args(disabled, key.AccountID, key.EndpointID, event.Data{Object: found.Render()}))
	return err
}

const endpointByKey = `
	SELECT account_id, id, livemode, request_id, url, description, enabled_events, metadata, api_version, status,
	       secret_generation, created_at, clock_timestamp() AS now,
	       (SELECT api_version FROM accounts a WHERE a.id = account_id) AS default_version
	FROM webhook_endpoints
	WHERE account_id = @account_id AND id = @id`

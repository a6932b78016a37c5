package endpoint

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// UpdateWebhookEndpointParams are what POST /v1/webhook_endpoints/{webhook_endpoint} takes.
type UpdateWebhookEndpointParams struct {
	ID            string        `path:"webhook_endpoint"`
	URL           *string       `form:"url" max:"5000"`
	EnabledEvents []string      `form:"enabled_events"`
	Description   *string       `form:"description,unset" max:"5000"`
	Metadata      form.Metadata `form:"metadata"`
	Disabled      *bool         `form:"disabled"`
	Expand        form.Expand   `form:"expand"`
}

const endpointUpdated = "endpoint_updated"

// UpdateWebhookEndpoint changes what was sent and leaves the rest. A delivery that
// is due goes where the endpoint is then.
var UpdateWebhookEndpoint = phase.Define("webhook_endpoint.update", 1,
	phase.Atomic(endpointUpdated, changeEndpoint),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateWebhookEndpointParams) error {
	if _, err := existingEndpoint(ctx, db, endpointByID, resource.PrincipalOfCheck(caller), in.ID); err != nil {
		return err
	}
	if in.EnabledEvents != nil && len(in.EnabledEvents) == 0 {
		return apierror.Invalid("enabled_events", "You must provide at least one event type.").
			WithCode("parameter_missing")
	}
	return checkEndpoint(ctx, in.URL, in.EnabledEvents, in.Metadata)
})

func changeEndpoint(
	ctx context.Context, tx *phase.Tx, in UpdateWebhookEndpointParams, _ *struct{},
) (phase.Outcome, error) {
	endpoint, err := existingEndpoint(ctx, tx, lockEndpoint, resource.PrincipalOf(tx.Caller), in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if endpoint.Metadata, err = in.Metadata.Apply(endpoint.Metadata); err != nil {
		return phase.Outcome{}, err
	}
	endpoint.Description = resource.Patch(in.Description, endpoint.Description)
	if in.URL != nil {
		endpoint.URL = *in.URL
	}
	if in.EnabledEvents != nil {
		endpoint.EnabledEvents = in.EnabledEvents
	}
	if in.Disabled != nil {
		endpoint.Status = endpointEnabled
		if *in.Disabled {
			endpoint.Status = endpointDisabled
		}
	}
	endpoint.update(tx)
	return resource.Reply(ctx, tx, in.Expand, endpoint.ID, endpoint.Render())
}

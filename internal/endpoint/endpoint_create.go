package endpoint

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// CreateWebhookEndpointParams are what POST /v1/webhook_endpoints takes.
type CreateWebhookEndpointParams struct {
	URL           string        `form:"url,required" max:"5000"`
	EnabledEvents []string      `form:"enabled_events,required"`
	Description   *string       `form:"description,unset" max:"5000"`
	Metadata      form.Metadata `form:"metadata"`
	APIVersion    *string       `form:"api_version" max:"5000"`
	Connect       *bool         `form:"connect"`
	Expand        form.Expand   `form:"expand"`
}

const endpointCreated = "endpoint_created"

// CreateWebhookEndpoint starts telling a server of events.
//
//	(nothing) ──▶ endpoint_created
//	      claim + insert + answer
//
// The answer is the only place where the signing secret is shown. It is stored
// with the secret encrypted, and replayed with the secret.
var CreateWebhookEndpoint = phase.Define("webhook_endpoint.create", 1,
	phase.Atomic(endpointCreated, createEndpoint),
).Check(func(ctx context.Context, _ phase.Reader, _ phase.Check, in *CreateWebhookEndpointParams) error {
	if len(in.EnabledEvents) == 0 {
		return apierror.Invalid("enabled_events", "You must provide at least one event type.").
			WithCode("parameter_missing")
	}
	if in.APIVersion != nil {
		if _, known := apiversion.Parse(*in.APIVersion); !known {
			return apierror.Invalid("api_version", "Invalid API version: %s", form.Quote(*in.APIVersion))
		}
	}
	if in.Connect != nil && *in.Connect {
		return apierror.Invalid("connect", "There are no connected accounts to receive events from.")
	}
	return checkEndpoint(ctx, &in.URL, in.EnabledEvents, in.Metadata)
})

func createEndpoint(
	ctx context.Context, tx *phase.Tx, in CreateWebhookEndpointParams, _ *struct{},
) (phase.Outcome, error) {
	slot, err := freeSlot(ctx, tx)
	if err != nil {
		return phase.Outcome{}, err
	}
	metadata, err := in.Metadata.Apply(nil)
	if err != nil {
		return phase.Outcome{}, err
	}
	endpoint := WebhookEndpoint{
		AccountID:     tx.AccountID,
		ID:            tx.NewID("we"),
		Livemode:      tx.Livemode,
		RequestID:     tx.RequestID,
		URL:           in.URL,
		Description:   resource.Patch(in.Description, nil),
		EnabledEvents: in.EnabledEvents,
		Metadata:      metadata,
		APIVersion:    in.APIVersion,
		Status:        endpointEnabled,
		CreatedAt:     tx.Now(),
	}
	signing := endpoint.newSecret(tx)
	endpoint.insert(tx, slot)
	object := endpoint.object()
	if object.Secret, err = tx.EncryptInResponse(signing); err != nil {
		return phase.Outcome{}, err
	}
	return resource.Reply(ctx, tx, in.Expand, endpoint.ID, object)
}

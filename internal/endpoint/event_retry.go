package endpoint

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/webhook"
)

// RetryEventParams are what POST /v1/events/{id}/retry takes.
type RetryEventParams struct {
	ID              string      `path:"id"`
	WebhookEndpoint string      `form:"webhook_endpoint" max:"5000"`
	ForStripeCLI    bool        `form:"for_stripecli"`
	Expand          form.Expand `form:"expand"`
}

const eventSentAgain = "event_sent_again"

// RetryEvent sends an event again, to the endpoints it was sent to, to the one that is
// named, or to those who listen with the Stripe CLI. A receiver has to deduplicate by its ID.
//
//	(nothing) ──▶ event_sent_again
//	    claim + deliveries made due + jobs that wake a worker + answer
var RetryEvent = phase.Define("event.retry", 1,
	phase.Atomic(eventSentAgain, sendAgain),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *RetryEventParams) error {
	_, err := event.RetrieveEvent(ctx, db, resource.PrincipalOfCheck(caller), resource.Retrieve{ID: in.ID})
	if err != nil {
		return err
	}
	if in.WebhookEndpoint == "" {
		return nil
	}
	endpoint, err := existingEndpoint(ctx, db, endpointByID, resource.PrincipalOfCheck(caller), in.WebhookEndpoint)
	if err != nil {
		return resource.AsParam(err, "webhook_endpoint")
	}
	if endpoint.Status != endpointEnabled {
		return apierror.Invalid("webhook_endpoint",
			"This webhook endpoint is disabled. Enable it before you send events to it.")
	}
	return nil
})

func sendAgain(ctx context.Context, tx *phase.Tx, in RetryEventParams, _ *struct{}) (phase.Outcome, error) {
	resend := webhook.ResendIn
	if in.ForStripeCLI {
		resend = webhook.ResendToListeners
	}
	if _, err := resend(ctx, tx, in.ID, in.WebhookEndpoint); err != nil {
		return phase.Outcome{}, err
	}
	body, err := event.RetrieveEvent(ctx, tx, resource.PrincipalOf(tx.Caller),
		resource.Retrieve{ID: in.ID, Expand: in.Expand})
	if err != nil {
		return phase.Outcome{}, err
	}
	return phase.OK(in.ID, body), nil
}

package endpoint

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// DeleteWebhookEndpointParams are what DELETE /v1/webhook_endpoints/{webhook_endpoint} takes: nothing.
type DeleteWebhookEndpointParams struct {
	ID string `path:"webhook_endpoint"`
}

const endpointDeleted = "endpoint_deleted"

// DeleteWebhookEndpoint ends an endpoint. Its row stays, for the deliveries that
// name it; those that wait are written off when they are due.
var DeleteWebhookEndpoint = phase.Define("webhook_endpoint.delete", 1,
	phase.Atomic(endpointDeleted, removeEndpoint),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *DeleteWebhookEndpointParams) error {
	_, err := existingEndpoint(ctx, db, endpointByID, resource.PrincipalOfCheck(caller), in.ID)
	return err
})

func removeEndpoint(
	ctx context.Context, tx *phase.Tx, in DeleteWebhookEndpointParams, _ *struct{},
) (phase.Outcome, error) {
	endpoint, err := existingEndpoint(ctx, tx, lockEndpoint, resource.PrincipalOf(tx.Caller), in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	tx.WriteOne(deleteEndpoint,
		pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": endpoint.ID, "deleted_at": tx.Now()})
	return phase.OK(endpoint.ID, customer.Deleted{ID: endpoint.ID, Object: "webhook_endpoint", Deleted: true}), nil
}

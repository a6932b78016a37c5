package customer

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// DeleteCustomerParams are what DELETE /v1/customers/{customer} takes: nothing.
type DeleteCustomerParams struct {
	ID string `path:"customer"`
}

const customerDeleted = "customer_deleted"

// DeleteCustomer marks a customer deleted. Its charges keep referring to it, and
// a GET shows it as deleted; a second delete finds nothing. Its payment methods are
// detached.
var DeleteCustomer = phase.Define("customer.delete", 1,
	phase.Atomic(customerDeleted, removeCustomer),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *DeleteCustomerParams) error {
	return CustomerExists(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
})

func removeCustomer(ctx context.Context, tx *phase.Tx, in DeleteCustomerParams, _ *struct{}) (phase.Outcome, error) {
	customer, err := lockedCustomer(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if err := customer.remove(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	return phase.OK(customer.ID, Deleted{customer.ID, "customer", true}), nil
}

func (c *Customer) remove(ctx context.Context, tx *phase.Tx) error {
	methods, err := methodsOf(ctx, tx, c.ID)
	if err != nil {
		return err
	}
	for _, method := range methods {
		method.detach(tx)
	}
	tx.WriteOne(deleteCustomer, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": c.ID, "deleted_at": tx.Now()})
	event.Emit(tx, "customer.deleted", c.ID, c.object(), nil)
	return nil
}

const methodsToDetach = selectMethods + ` AND customer_id = @customer_id ORDER BY id FOR NO KEY UPDATE`

func methodsOf(ctx context.Context, tx *phase.Tx, customer string) ([]*PaymentMethod, error) {
	args := resource.PrincipalOf(tx.Caller).Args()
	args["customer_id"] = customer
	rows, err := tx.Query(ctx, methodsToDetach, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[PaymentMethod])
}

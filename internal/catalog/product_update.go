package catalog

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// UpdateProductParams are what POST /v1/products/{id} takes.
type UpdateProductParams struct {
	ID           string  `path:"id"`
	Name         string  `form:"name" max:"5000"`
	DefaultPrice *string `form:"default_price,unset" max:"5000"`
	ProductParams
}

const productUpdated = "product_updated"

// UpdateProduct changes what was sent and leaves the rest.
var UpdateProduct = phase.Define("product.update", 1,
	phase.Atomic(productUpdated, changeProduct),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateProductParams) error {
	if err := in.Check(); err != nil {
		return err
	}
	named := resource.Deref(in.DefaultPrice)
	if err := productExists(ctx, db, resource.PrincipalOfCheck(caller), in.ID); err != nil || named == "" {
		return err
	}
	price, err := resource.Get[Price](ctx, db, priceByID, resource.PrincipalOfCheck(caller), named)
	if err != nil {
		return err
	}
	if price == nil {
		return apierror.NoSuch("price", "default_price", named)
	}
	if price.ProductID != in.ID {
		return apierror.Invalid("default_price", "The price %s belongs to the product %s, not to %s.", price.ID,
			form.Quote(price.ProductID), form.Quote(in.ID))
	}
	return nil
})

func changeProduct(ctx context.Context, tx *phase.Tx, in UpdateProductParams, _ *struct{}) (phase.Outcome, error) {
	product, err := lockedProduct(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	before := product.Render()
	if in.Name != "" {
		product.Name = in.Name
	}
	product.DefaultPriceID = resource.Patch(in.DefaultPrice, product.DefaultPriceID)
	if err := product.Apply(in.ProductParams); err != nil {
		return phase.Outcome{}, err
	}
	previous, err := event.Changes(before, product.Render())
	if err != nil {
		return phase.Outcome{}, err
	}
	if len(previous) > 0 {
		previous["updated"], product.UpdatedAt = resource.Unix(product.UpdatedAt), tx.Now()
		product.update(tx)
		event.Emit(tx, "product.updated", product.ID, product.Render(), previous)
	}
	return replyWithProduct(ctx, tx, in.Expand, product)
}

// DeleteProductParams are what DELETE /v1/products/{id} takes: nothing.
type DeleteProductParams struct {
	ID string `path:"id"`
}

const productDeleted = "product_deleted"

// DeleteProduct takes a product away that has no price. One that has had any is
// made inactive instead: what was sold stays known.
var DeleteProduct = phase.Define("product.delete", 1,
	phase.Atomic(productDeleted, removeProduct),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *DeleteProductParams) error {
	return productExists(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
})

const firstPriceOf = selectPrices + ` AND product_id = @id ORDER BY id LIMIT 1`

func removeProduct(ctx context.Context, tx *phase.Tx, in DeleteProductParams, _ *struct{}) (phase.Outcome, error) {
	// A price that is being made holds the row of its product, too, so none is missed.
	product, err := lockedProduct(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	price, err := resource.Get[Price](ctx, tx, firstPriceOf, resource.PrincipalOf(tx.Caller), product.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if price != nil {
		return phase.Outcome{},
			apierror.Invalid("", "This product cannot be deleted because it has one or more user-created prices.")
	}
	tx.WriteOne(deleteProduct,
		pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": product.ID, "deleted_at": tx.Now()})
	event.Emit(tx, "product.deleted", product.ID, product.Render(), nil)
	return phase.OK(product.ID, customer.Deleted{ID: product.ID, Object: "product", Deleted: true}), nil
}

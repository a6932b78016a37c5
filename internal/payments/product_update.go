package payments

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// UpdateProductParams are what POST /v1/products/{id} takes.
type UpdateProductParams struct {
	ID           string `path:"id"`
	Name         string `form:"name" max:"5000"`
	DefaultPrice string `form:"default_price" max:"5000"`
	ProductParams
}

const productUpdated = "product_updated"

// UpdateProduct changes what was sent and leaves the rest.
var UpdateProduct = phase.Define("product.update", 1,
	phase.Atomic(productUpdated, changeProduct),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateProductParams) error {
	if err := in.check(); err != nil {
		return err
	}
	if err := productExists(ctx, db, viewerOf(caller), in.ID); err != nil || in.DefaultPrice == "" {
		return err
	}
	price, err := byID[Price](ctx, db, priceByID, viewerOf(caller), in.DefaultPrice)
	if err != nil {
		return err
	}
	if price == nil {
		return apierror.NoSuch("price", "default_price", in.DefaultPrice)
	}
	if price.ProductID != in.ID {
		return apierror.Invalid("default_price", "The price %s is of the product %s, not of %s.", price.ID, form.Quote(price.ProductID), form.Quote(in.ID))
	}
	return nil
})

func changeProduct(ctx context.Context, tx *phase.Tx, in UpdateProductParams, _ *struct{}) (phase.Outcome, error) {
	product, err := lockedProduct(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	before := product.wire()
	if in.Name != "" {
		product.Name = in.Name
	}
	product.DefaultPriceID = given(orNull(in.DefaultPrice), product.DefaultPriceID)
	if err := product.apply(in.ProductParams); err != nil {
		return phase.Outcome{}, err
	}
	previous, err := changes(before, product.wire())
	if err != nil {
		return phase.Outcome{}, err
	}
	if len(previous) > 0 {
		previous["updated"], product.UpdatedAt = unix(product.UpdatedAt), tx.Now()
		product.update(tx)
		emit(tx, "product.updated", product.ID, product.wire(), previous)
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
	return productExists(ctx, db, viewerOf(caller), in.ID)
})

const firstPriceOf = selectPrices + ` AND product_id = @id ORDER BY id LIMIT 1`

func removeProduct(ctx context.Context, tx *phase.Tx, in DeleteProductParams, _ *struct{}) (phase.Outcome, error) {
	// A price that is being made holds the row of its product, too, so none is missed.
	product, err := lockedProduct(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	price, err := byID[Price](ctx, tx, firstPriceOf, viewer(tx.Caller), product.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if price != nil {
		return phase.Outcome{}, apierror.Invalid("", "This product cannot be deleted because it has one or more user-created prices.")
	}
	tx.WriteOne(deleteProduct, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": product.ID, "deleted_at": tx.Now()})
	emit(tx, "product.deleted", product.ID, product.wire(), nil)
	return phase.OK(product.ID, Deleted{product.ID, "product", true}), nil
}

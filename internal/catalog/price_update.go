package catalog

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// UpdatePriceParams are what POST /v1/prices/{price} takes.
type UpdatePriceParams struct {
	ID                string        `path:"price"`
	Active            *bool         `form:"active"`
	LookupKey         *string       `form:"lookup_key,unset" max:"200"`
	Metadata          form.Metadata `form:"metadata"`
	Nickname          *string       `form:"nickname,unset" max:"5000"`
	TaxBehavior       string        `form:"tax_behavior" enum:"exclusive,inclusive,unspecified"`
	TransferLookupKey bool          `form:"transfer_lookup_key"`
	Expand            form.Expand   `form:"expand"`
}

const priceUpdated = "price_updated"

// UpdatePrice changes what may change of a price, which is all but what it costs.
var UpdatePrice = phase.Define("price.update", 1,
	phase.Atomic(priceUpdated, changePrice),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdatePriceParams) error {
	price, err := readPrice(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
	if err != nil {
		return err
	}
	if in.TaxBehavior != "" && in.TaxBehavior != price.TaxBehavior && price.TaxBehavior != "unspecified" {
		return apierror.Invalid("tax_behavior", "The tax behavior of a price cannot be changed once it is specified.")
	}
	if in.Active != nil && !*in.Active && price.Active {
		if err := price.checkArchive(ctx, db, resource.PrincipalOfCheck(caller)); err != nil {
			return err
		}
	}
	return checkLookupKey(ctx, db, resource.PrincipalOfCheck(caller), resource.Deref(in.LookupKey), price.ID,
		in.TransferLookupKey)
})

// checkArchive refuses to take away the price that its product is sold at.
func (p *Price) checkArchive(ctx context.Context, db phase.Reader, v resource.Principal) error {
	product, err := resource.Get[Product](ctx, db, productByID, v, p.ProductID)
	if err == nil && product != nil && resource.Deref(product.DefaultPriceID) == p.ID {
		return apierror.Invalid("active",
			"This price cannot be archived because it is the default price of its product.")
	}
	return err
}

func changePrice(ctx context.Context, tx *phase.Tx, in UpdatePriceParams, _ *struct{}) (phase.Outcome, error) {
	price, err := resource.Get[Price](ctx, tx, lockPrice, resource.PrincipalOf(tx.Caller), in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if price == nil {
		return phase.Outcome{}, apierror.NotFound("price", "price", in.ID)
	}
	before := price.Render()
	if in.Active != nil {
		price.Active = *in.Active
	}
	if in.TaxBehavior != "" {
		price.TaxBehavior = in.TaxBehavior
	}
	price.Nickname = resource.Patch(in.Nickname, price.Nickname)
	price.LookupKey = resource.Patch(in.LookupKey, price.LookupKey)
	if price.Metadata, err = in.Metadata.Apply(price.Metadata); err != nil {
		return phase.Outcome{}, err
	}
	if err := freeLookupKey(ctx, tx, resource.Deref(in.LookupKey), price.ID); err != nil {
		return phase.Outcome{}, err
	}
	previous, err := event.Changes(before, price.Render())
	if err != nil {
		return phase.Outcome{}, err
	}
	if len(previous) > 0 {
		price.update(tx)
		event.Emit(tx, "price.updated", price.ID, price.Render(), previous)
	}
	return replyWithPrice(ctx, tx, in.Expand, price)
}

package session

import (
	"context"
	"slices"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/catalog"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// LineItemAdjustment is the quantity that a customer chooses for an item; 0 removes the item.
type LineItemAdjustment struct {
	ID       string `form:"line_item_id,required" max:"5000"`
	Quantity int64  `form:"quantity,required" min:"0" max:"999999"`
	// Stripe's own front ends send it. Here a quantity that ends the discount always fails.
	FailOnDiscountError bool `form:"fail_update_on_discount_error"`
}

// adjust changes the quantity of one of the items, and what it costs.
func (s *CheckoutSession) adjust(items []CheckoutItem, to LineItemAdjustment) error {
	const param = "updated_line_item_quantity[line_item_id]"
	i := slices.IndexFunc(items, func(item CheckoutItem) bool { return item.ID == to.ID })
	if i < 0 {
		return apierror.NoSuch("line item", param, to.ID)
	}
	item := &items[i]
	others := slices.ContainsFunc(items, func(item CheckoutItem) bool { return item.ID != to.ID && item.Quantity > 0 })
	switch {
	case item.QuantityMinimum == nil:
		return apierror.Invalid(param, "The quantity of the line item %s cannot be adjusted.", item.ID)
	case to.Quantity < *item.QuantityMinimum || to.Quantity > *item.QuantityMaximum:
		return apierror.Invalid(itemQuantity, "The quantity of the line item %s must be between %d and %d.",
			item.ID, *item.QuantityMinimum, *item.QuantityMaximum)
	case to.Quantity == 0 && !others:
		return apierror.Invalid(itemQuantity, "The only line item of a Checkout Session cannot be removed.")
	}
	item.Quantity, item.Amount = to.Quantity, item.UnitAmount*to.Quantity
	return money.CheckMost(item.Amount, *s.Currency, itemQuantity)
}

// keepDiscount finds the discount that the session has, and verifies that the changed order still meets the conditions
// of the promotion code.
func (s *CheckoutSession) keepDiscount(
	ctx context.Context, db phase.Reader, v resource.Principal, o *changedOrder,
) error {
	if s.CouponID == nil {
		return nil
	}
	coupons, err := allByID[catalog.Coupon](ctx, db, catalog.CouponsByID, v, []string{*s.CouponID})
	if err != nil || len(coupons) != 1 {
		return err
	}
	o.coupon = coupons[0]
	if s.PromotionCodeID == nil {
		return nil
	}
	if o.code, err = catalog.PromotionCodes.Find(ctx, db, v, *s.PromotionCodeID); err != nil {
		return err
	}
	order := s.order()
	order.Subtotal, _ = o.total(*s.Currency)
	return o.code.CheckRedemption(ctx, db, v, promotionCode, order)
}

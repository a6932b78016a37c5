package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/catalog"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// UpdatePaymentPageParams are what POST /v1/payment_pages/{session} takes.
type UpdatePaymentPageParams struct {
	ID            string              `path:"session"`
	PromotionCode *string             `form:"promotion_code,unset" max:"500"` // as the customer types it; "" removes it
	Item          *LineItemAdjustment `form:"updated_line_item_quantity"`
}

const pageUpdated = "payment_page_updated"

// The parameters that errors about a new total name.
const (
	promotionCode = "promotion_code"
	itemQuantity  = "updated_line_item_quantity[quantity]"
)

// UpdatePaymentPage applies a promotion code that a customer has typed, instead of the present one, or removes it; or
// it changes the quantity of an item. Only paying reserves the redemption, as with a coupon that the merchant chose.
//
//	(nothing) ──▶ payment_page_updated
//	    claim + change items and total + answer
var UpdatePaymentPage = phase.Define("payment_page.update", 1,
	phase.Atomic(pageUpdated, func(
		ctx context.Context, tx *phase.Tx, in UpdatePaymentPageParams, _ *struct{},
	) (phase.Outcome, error) {
		session, err := lockedSession(ctx, tx, in.ID)
		if err != nil {
			return phase.Outcome{}, err
		}
		if err := session.checkChange(ctx, tx, in.param()); err != nil {
			return phase.Outcome{}, err
		}
		if in.PromotionCode == nil && in.Item == nil {
			return replyWithPage(ctx, tx, session, nil, nil)
		}
		order, err := session.changed(ctx, tx, resource.PrincipalOf(tx.Caller), in)
		if err != nil {
			return phase.Outcome{}, err
		}
		return session.take(ctx, tx, order)
	}),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdatePaymentPageParams) error {
	v := resource.PrincipalOfCheck(caller)
	if in.PromotionCode != nil && in.Item != nil {
		return apierror.Invalid("",
			"You may only specify one of these parameters: promotion_code, updated_line_item_quantity.").
			WithCode("parameters_exclusive")
	}
	session, err := readSession(ctx, db, v, in.ID)
	if err != nil {
		return err
	}
	if refusal := session.refuseConfirm(); refusal != nil {
		return refusal
	}
	if in.PromotionCode == nil && in.Item == nil {
		return nil
	}
	_, err = session.changed(ctx, db, v, *in)
	return err
})

// param is the parameter that an error about the new total names.
func (in *UpdatePaymentPageParams) param() string {
	if in.Item != nil {
		return itemQuantity
	}
	return promotionCode
}

// takesCodes says that the customer can apply a promotion code.
func (s *CheckoutSession) takesCodes() bool {
	return s.Mode == modePayment && s.Options.AllowPromotionCodes != nil && *s.Options.AllowPromotionCodes
}

// checkChange refuses another total for a session that is over, or that is being paid.
func (s *CheckoutSession) checkChange(ctx context.Context, tx *phase.Tx, param string) error {
	if s.Status == sessionOpen && s.ExpiresAt.Before(tx.Now()) { // and no worker has come by yet
		s.Status = sessionExpired
	}
	if refusal := s.refuseConfirm(); refusal != nil {
		return refusal
	}
	if s.PaymentIntentID == nil {
		return nil
	}
	intent, err := payment.LockIntent(ctx, tx, *s.PaymentIntentID)
	switch {
	case err != nil:
		return err
	case intent.LockedBy != nil:
		return apierror.Locked()
	case intent.Status == payment.IntentNeedsAction:
		return apierror.Invalid(param, "This Checkout Session is being paid.").
			WithCode("checkout_session_unexpected_state")
	}
	return nil
}

// changedOrder is the order that a change leads to.
type changedOrder struct {
	items  []CheckoutItem
	coupon *catalog.Coupon        // nil: no discount
	code   *catalog.PromotionCode // nil: no discount, or one that the merchant gave
}

// changed is the order after a change, which is verified to leave a total that can be paid.
func (s *CheckoutSession) changed(
	ctx context.Context, db phase.Reader, v resource.Principal, in UpdatePaymentPageParams,
) (o changedOrder, err error) {
	if o.items, err = s.items(ctx, db, v); err != nil {
		return o, err
	}
	if in.Item != nil {
		if err := s.adjust(o.items, *in.Item); err != nil {
			return o, err
		}
		err = s.keepDiscount(ctx, db, v, &o)
	} else {
		err = s.findCode(ctx, db, v, *in.PromotionCode, &o)
	}
	if err != nil {
		return o, err
	}
	subtotal, discount := o.total(*s.Currency)
	shipping := []int64{s.AmountShipping}
	for _, option := range s.ShippingOptions {
		shipping = append(shipping, option.ShippingAmount)
	}
	for _, amount := range shipping {
		if err := money.CheckTotal(subtotal-discount+amount, *s.Currency, in.param()); err != nil {
			return o, err
		}
	}
	return o, nil
}

// total is what the items cost, and what is taken off.
func (o *changedOrder) total(currency string) (subtotal, discount int64) {
	for _, item := range o.items {
		subtotal += item.Amount
	}
	if o.coupon != nil {
		discount = o.coupon.Reduction(subtotal, currency)
	}
	return subtotal, discount
}

// findCode finds the code that a customer has typed, and verifies that the session can be paid with it.
func (s *CheckoutSession) findCode(
	ctx context.Context, db phase.Reader, v resource.Principal, text string, o *changedOrder,
) (err error) {
	if !s.takesCodes() {
		return apierror.Invalid(promotionCode, "This Checkout Session does not accept promotion codes.")
	}
	if text == "" {
		return nil
	}
	if o.code, err = catalog.FindPromotionCode(ctx, db, v, promotionCode, text); err != nil {
		return err
	}
	if err := o.code.CheckRedemption(ctx, db, v, promotionCode, s.order()); err != nil {
		return err
	}
	o.coupon, err = usableCoupon(ctx, db, v, promotionCode, o.code.CouponID, *s.Currency)
	return err
}

// items are the session's lines, those that the customer has removed among them.
func (s *CheckoutSession) items(ctx context.Context, db phase.Reader, v resource.Principal) ([]CheckoutItem, error) {
	args := v.Args()
	args["session_id"] = s.ID
	rows, err := db.Query(ctx, itemsOfPage, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[CheckoutItem])
}

// take makes an order the session's, and answers with the page.
func (s *CheckoutSession) take(ctx context.Context, tx *phase.Tx, o changedOrder) (phase.Outcome, error) {
	subtotal, discount := o.total(*s.Currency)
	parts := make([]FoundItem, len(o.items))
	for i, item := range o.items {
		parts[i].Amount = item.Amount
	}
	divide(discount, parts)
	for i := range o.items {
		o.items[i].Discount = parts[i].Discount
	}
	s.CouponID, s.PromotionCodeID = nil, nil
	if o.coupon != nil {
		s.CouponID = &o.coupon.ID
	}
	if o.code != nil {
		s.PromotionCodeID = &o.code.ID
	}
	s.AmountSubtotal, s.AmountDiscount = &subtotal, discount
	s.AmountTotal = s.totalWith(ShippingOption{ShippingAmount: s.AmountShipping})
	tx.Write(updateItems, postgres.RowsOf(o.items...))
	s.update(tx)
	page, err := s.page(ctx, tx, resource.PrincipalOf(tx.Caller), nil, nil)
	if err != nil {
		return phase.Outcome{}, err
	}
	page.LineItems = forCustomer(o.items) // which the database does not show yet
	return phase.OK(s.ID, page), nil
}

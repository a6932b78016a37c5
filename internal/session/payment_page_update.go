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
	ID            string  `path:"session"`
	PromotionCode *string `form:"promotion_code,unset" max:"500"` // as the customer types it; "" removes it
}

const pageUpdated = "payment_page_updated"

// UpdatePaymentPage applies a promotion code that a customer has typed, instead of the present one, or removes it.
// Only paying reserves the redemption, as with a coupon that the merchant chose.
//
//	(nothing) ──▶ payment_page_updated
//	    claim + divide the discount among the items + answer
var UpdatePaymentPage = phase.Define("payment_page.update", 1,
	phase.Atomic(pageUpdated, func(
		ctx context.Context, tx *phase.Tx, in UpdatePaymentPageParams, _ *struct{},
	) (phase.Outcome, error) {
		session, err := lockedSession(ctx, tx, in.ID)
		if err != nil {
			return phase.Outcome{}, err
		}
		if err := session.checkChange(ctx, tx); err != nil {
			return phase.Outcome{}, err
		}
		if in.PromotionCode == nil {
			return replyWithPage(ctx, tx, session, nil, nil)
		}
		applied, err := session.findCode(ctx, tx, resource.PrincipalOf(tx.Caller), *in.PromotionCode)
		if err != nil {
			return phase.Outcome{}, err
		}
		return session.applyCode(ctx, tx, applied)
	}),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdatePaymentPageParams) error {
	v := resource.ViewerOf(caller)
	session, err := readSession(ctx, db, v, in.ID)
	if err != nil {
		return err
	}
	if refusal := session.refuseConfirm(); refusal != nil {
		return refusal
	}
	if in.PromotionCode == nil {
		return nil
	}
	_, err = session.findCode(ctx, db, v, *in.PromotionCode)
	return err
})

// takesCodes says that the customer can apply a promotion code.
func (s *CheckoutSession) takesCodes() bool {
	return s.Mode == modePayment && s.Options.AllowPromotionCodes != nil && *s.Options.AllowPromotionCodes
}

// checkChange refuses another total for a session that is over, or that is being paid.
func (s *CheckoutSession) checkChange(ctx context.Context, tx *phase.Tx) error {
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
		return apierror.Invalid("promotion_code", "This Checkout Session is being paid.").
			WithCode("checkout_session_unexpected_state")
	}
	return nil
}

// appliedCode is a promotion code that a session takes, and its coupon; neither if none is taken.
type appliedCode struct {
	code   *catalog.PromotionCode
	coupon *catalog.Coupon
}

// findCode finds the code that a customer has typed, and verifies that the session can be paid with it.
func (s *CheckoutSession) findCode(
	ctx context.Context, db phase.Reader, v resource.Principal, text string,
) (found appliedCode, err error) {
	const param = "promotion_code"
	if !s.takesCodes() {
		return found, apierror.Invalid(param, "This Checkout Session takes no promotion codes.")
	}
	if text == "" {
		return found, nil
	}
	if found.code, err = catalog.FindPromotionCode(ctx, db, v, param, text); err != nil {
		return found, err
	}
	if err := found.code.CheckRedemption(ctx, db, v, param, s.order()); err != nil {
		return found, err
	}
	if found.coupon, err = usableCoupon(ctx, db, v, param, found.code.CouponID, *s.Currency); err != nil {
		return found, err
	}
	left := *s.AmountSubtotal - found.coupon.Reduction(*s.AmountSubtotal, *s.Currency)
	shipping := []int64{s.AmountShipping}
	for _, option := range s.ShippingOptions {
		shipping = append(shipping, option.ShippingAmount)
	}
	for _, amount := range shipping {
		if err := money.Check(left+amount, *s.Currency); err != nil {
			return found, asOneOf(err, param)
		}
	}
	return found, nil
}

// applyCode gives the session the discount of a code, or none, and answers with the page.
func (s *CheckoutSession) applyCode(ctx context.Context, tx *phase.Tx, applied appliedCode) (phase.Outcome, error) {
	args := resource.PrincipalOf(tx.Caller).Args()
	args["session_id"] = s.ID
	rows, err := tx.Query(ctx, itemsOfPage, args)
	if err != nil {
		return phase.Outcome{}, err
	}
	items, err := pgx.CollectRows(rows, pgx.RowToStructByName[CheckoutItem])
	if err != nil {
		return phase.Outcome{}, err
	}
	parts := make([]FoundItem, len(items))
	for i, item := range items {
		parts[i].Amount = item.Amount
	}
	s.CouponID, s.PromotionCodeID, s.AmountDiscount = nil, nil, 0
	if applied.code != nil {
		s.CouponID, s.PromotionCodeID = &applied.coupon.ID, &applied.code.ID
		s.AmountDiscount = applied.coupon.Reduction(*s.AmountSubtotal, *s.Currency)
		divide(s.AmountDiscount, parts)
	}
	for i := range items {
		items[i].Discount = parts[i].Discount
	}
	s.AmountTotal = s.totalWith(ShippingOption{ShippingAmount: s.AmountShipping})
	tx.Write(updateItems, postgres.RowsOf(items...))
	s.update(tx)
	page, err := s.page(ctx, tx, resource.PrincipalOf(tx.Caller), nil, nil)
	if err != nil {
		return phase.Outcome{}, err
	}
	page.LineItems = forCustomer(items) // which the database does not show yet
	return phase.OK(s.ID, page), nil
}

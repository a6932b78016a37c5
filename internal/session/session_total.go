package session

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/catalog"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	// Parts of a session, and no objects with an id.
	resource.Register(
		resource.Kind{Object: "checkout.session.discount", Fields: map[string][]string{
			"coupon": {"coupon"}, "promotion_code": {"promotion_code"}}},
		resource.Kind{Object: "checkout.session.shipping", Fields: map[string][]string{
			"shipping_rate": {"shipping_rate"}}},
	)
}

// DiscountParam is a discount of a session, as a caller says it.
type DiscountParam struct {
	Coupon        string `form:"coupon" max:"5000"`
	PromotionCode string `form:"promotion_code" max:"5000"`
}

// ShippingOptionParam is one way to ship the order, as a caller says it: a shipping rate
// there is, or a new one.
type ShippingOptionParam struct {
	ShippingRate     string                    `form:"shipping_rate" max:"5000"`
	ShippingRateData *catalog.ShippingRateData `form:"shipping_rate_data"`
}

// FoundRate is the rate of a shipping option.
type FoundRate struct {
	Rate *catalog.ShippingRate     // one there is
	New  *catalog.ShippingRateData // or the new one
}

// ShippingOption is a shipping rate that the customer can choose.
type ShippingOption struct {
	ShippingAmount int64  `json:"shipping_amount"`
	ShippingRate   string `json:"shipping_rate"`
}

// findTotal reads the coupon and the shipping rates that are named, and verifies each
// total that the customer can end up with. The items have been found.
func (in *CreateCheckoutSessionParams) findTotal(ctx context.Context, db phase.Reader, v resource.Principal) error {
	if err := in.findCoupon(ctx, db, v); err != nil {
		return err
	}
	if err := in.findRates(ctx, db, v); err != nil {
		return err
	}
	subtotal, discount := totalOf(in.Found)
	shipping := []int64{0}
	if len(in.FoundRates) > 0 {
		shipping = nil
	}
	for _, f := range in.FoundRates {
		amount, _ := f.cost()
		shipping = append(shipping, amount)
	}
	for _, amount := range shipping {
		if err := money.CheckTotal(subtotal-discount+amount, in.Currency, "line_items"); err != nil {
			return err
		}
	}
	in.LineItems, in.Discounts, in.ShippingOptions = nil, nil, nil // what was found says it all
	return nil
}

// findCoupon finds the coupon, by its ID or by its promotion code, and divides what it takes off among the items.
func (in *CreateCheckoutSessionParams) findCoupon(ctx context.Context, db phase.Reader, v resource.Principal) error {
	for i, d := range in.Discounts {
		at := fmt.Sprintf("discounts[%d]", i)
		subtotal, _ := totalOf(in.Found)
		param, id := at+"[coupon]", d.Coupon
		switch {
		case d.Coupon != "" && d.PromotionCode != "":
			return apierror.Invalid("", "You may only specify one of these parameters: coupon, promotion_code.").
				WithCode("parameters_exclusive")
		case d.Coupon == "" && d.PromotionCode == "":
			return apierror.Missing(param)
		case d.PromotionCode != "":
			param = at + "[promotion_code]"
			code, err := catalog.PromotionCodes.Find(ctx, db, v, d.PromotionCode)
			if err != nil {
				return resource.AsParam(err, param)
			}
			order := catalog.Order{
				CustomerID: resource.NilIfEmpty(in.Customer), Subtotal: subtotal, Currency: in.Currency}
			if err := code.CheckRedemption(ctx, db, v, param, order); err != nil {
				return err
			}
			in.FoundCode, id = code.ID, code.CouponID
		}
		coupon, err := usableCoupon(ctx, db, v, param, id, in.Currency)
		if err != nil {
			return err
		}
		in.FoundCoupon = coupon.ID
		divide(coupon.Reduction(subtotal, in.Currency), in.Found)
	}
	return nil
}

// usableCoupon finds a coupon that a session in a currency can redeem.
func usableCoupon(
	ctx context.Context, db phase.Reader, v resource.Principal, param, id, currency string,
) (*catalog.Coupon, error) {
	coupon, err := catalog.Coupons.Find(ctx, db, v, id)
	if err != nil {
		return nil, resource.AsParam(err, param)
	}
	if refusal := coupon.RefuseRedemption(param); refusal != nil {
		return nil, refusal
	}
	if coupon.Currency != nil && *coupon.Currency != currency {
		return nil, apierror.Invalid(param, "The coupon %s is in %s, and the Checkout Session is in %s.",
			coupon.ID, *coupon.Currency, currency)
	}
	return coupon, nil
}

// divide divides a discount among items in proportion to their amounts. Each item takes
// its part of what those before it have left, so that the parts add up exactly.
func divide(discount int64, items []FoundItem) {
	of, _ := totalOf(items)
	for i := range items {
		if of == 0 {
			return
		}
		high, low := bits.Mul64(uint64(discount), uint64(items[i].Amount)) //nolint:gosec // none is negative
		part, _ := bits.Div64(high, low, uint64(of))                       //nolint:gosec // positive
		items[i].Discount = int64(part)                                    //nolint:gosec // at most the amount
		discount -= items[i].Discount
		of -= items[i].Amount
	}
}

// findRates finds what the shipping options stand for.
func (in *CreateCheckoutSessionParams) findRates(ctx context.Context, db phase.Reader, v resource.Principal) error {
	var named []string
	for _, option := range in.ShippingOptions {
		named = append(named, option.ShippingRate)
	}
	rates, err := allByID[catalog.ShippingRate](ctx, db, catalog.ShippingRatesByID, v, named)
	if err != nil {
		return err
	}
	for i, option := range in.ShippingOptions {
		found, err := option.find(fmt.Sprintf("shipping_options[%d]", i), rates)
		if err != nil {
			return err
		}
		if _, currency := found.cost(); currency != in.Currency {
			return apierror.Invalid(fmt.Sprintf("shipping_options[%d]", i),
				"All shipping options must have the currency of the Checkout Session: this one is in %s, the "+
					"session in %s.",
				currency, in.Currency)
		}
		in.FoundRates = append(in.FoundRates, found)
	}
	return nil
}

func (o *ShippingOptionParam) find(at string, rates []*catalog.ShippingRate) (FoundRate, error) {
	switch {
	case o.ShippingRate != "" && o.ShippingRateData != nil:
		return FoundRate{}, apierror.Invalid("",
			"You may only specify one of these parameters: shipping_rate, shipping_rate_data.").
			WithCode("parameters_exclusive")
	case o.ShippingRate == "" && o.ShippingRateData == nil:
		return FoundRate{}, apierror.Missing(at + "[shipping_rate]")
	case o.ShippingRateData != nil:
		return FoundRate{New: o.ShippingRateData}, o.ShippingRateData.Check(at + "[shipping_rate_data]")
	}
	at += "[shipping_rate]"
	i := slices.IndexFunc(rates, func(r *catalog.ShippingRate) bool { return r.ID == o.ShippingRate })
	if i < 0 {
		return FoundRate{}, apierror.NoSuch("shipping rate", at, o.ShippingRate)
	}
	if !rates[i].Active {
		return FoundRate{},
			apierror.Invalid(at, "The shipping rate %s is inactive. Only active shipping rates can be used.",
				rates[i].ID)
	}
	return FoundRate{Rate: rates[i]}, nil
}

func (f FoundRate) cost() (amount int64, currency string) {
	if f.Rate != nil {
		return f.Rate.Amount, f.Rate.Currency
	}
	return f.New.FixedAmount.Amount, f.New.FixedAmount.Currency
}

// setTotal makes the session's total what was found, and the shipping rates that are for
// it alone. It returns those.
func (s *CheckoutSession) setTotal(tx *phase.Tx, in *CreateCheckoutSessionParams) (
	made []resource.Renderer, err error,
) {
	subtotal, discount := totalOf(in.Found)
	s.AmountSubtotal, s.AmountDiscount, s.Currency = &subtotal, discount, &in.Found[0].Cost.Currency
	s.CouponID, s.PromotionCodeID = resource.NilIfEmpty(in.FoundCoupon), resource.NilIfEmpty(in.FoundCode)
	for _, f := range in.FoundRates {
		rate := f.Rate
		if rate == nil {
			if rate, err = f.New.Create(tx); err != nil {
				return nil, err
			}
			made = append(made, rate)
		}
		s.ShippingOptions = append(s.ShippingOptions, ShippingOption{rate.Amount, rate.ID})
	}
	if len(s.ShippingOptions) == 0 {
		s.AmountTotal = s.totalWith(ShippingOption{})
		return nil, nil
	}
	s.ship(s.ShippingOptions[0])
	return made, nil
}

// totalWith is what the session costs when it is shipped so.
func (s *CheckoutSession) totalWith(o ShippingOption) *int64 {
	total := *s.AmountSubtotal - s.AmountDiscount + o.ShippingAmount
	return &total
}

// ship makes an option the one that is paid for.
func (s *CheckoutSession) ship(o ShippingOption) {
	s.ShippingRateID, s.AmountShipping, s.AmountTotal = &o.ShippingRate, o.ShippingAmount, s.totalWith(o)
}

// option is the shipping option that a customer chooses: by default, the one chosen so far.
func (s *CheckoutSession) option(rate string) (ShippingOption, error) {
	if rate == "" {
		return ShippingOption{s.AmountShipping, resource.Deref(s.ShippingRateID)}, nil
	}
	i := slices.IndexFunc(s.ShippingOptions, func(o ShippingOption) bool { return o.ShippingRate == rate })
	if i < 0 {
		return ShippingOption{}, apierror.NoSuch("shipping rate", "shipping_rate", rate)
	}
	return s.ShippingOptions[i], nil
}

// reserveCoupon reserves the redemption of the session's coupon and of its promotion code,
// unless an earlier attempt did. The caller writes the session.
func (s *CheckoutSession) reserveCoupon(ctx context.Context, tx *phase.Tx) error {
	if s.CouponID == nil || s.CouponReserved {
		return nil
	}
	s.CouponReserved = true
	if s.PromotionCodeID != nil {
		if err := catalog.ReservePromotionCode(ctx, tx, *s.PromotionCodeID, s.order()); err != nil {
			return err
		}
	}
	return catalog.ReserveCoupon(ctx, tx, *s.CouponID)
}

// order is what a promotion code would be used for.
func (s *CheckoutSession) order() catalog.Order {
	return catalog.Order{Session: s.ID, CustomerID: s.CustomerID, Subtotal: *s.AmountSubtotal, Currency: *s.Currency}
}

// redeemCoupon makes the redemption that the session has reserved final.
func (s *CheckoutSession) redeemCoupon(tx *phase.Tx) {
	if s.PromotionCodeID != nil {
		catalog.RedeemPromotionCode(tx, *s.PromotionCodeID)
	}
	if s.CouponID != nil {
		catalog.RedeemCoupon(tx, *s.CouponID)
	}
}

// releaseCoupon gives up the redemption that the session has reserved. The caller writes
// the session.
func (s *CheckoutSession) releaseCoupon(tx *phase.Tx) {
	if !s.CouponReserved {
		return
	}
	s.CouponReserved = false
	if s.PromotionCodeID != nil {
		catalog.ReleasePromotionCode(tx, *s.PromotionCodeID)
	}
	catalog.ReleaseCoupon(tx, *s.CouponID)
}

const releaseReserved = `
	UPDATE checkout_sessions SET coupon_reserved = false
	WHERE account_id = @account_id AND id = @id AND status = 'open' AND coupon_reserved`

// Declined lets another session redeem the coupon: this one was not paid.
func (s *CheckoutSession) Declined(tx *phase.Tx) {
	if s.CouponReserved {
		s.releaseCoupon(tx)
		tx.WriteOne(releaseReserved, pgx.StrictNamedArgs{"account_id": s.AccountID, "id": s.ID})
	}
}

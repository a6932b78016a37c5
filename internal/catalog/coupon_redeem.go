package catalog

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// Reduction is what the coupon takes off a subtotal in a currency: at most all of it. A
// percentage is rounded to the nearest minor unit, and then down to what can be charged.
func (c *Coupon) Reduction(subtotal int64, currency string) int64 {
	if c.AmountOff != nil {
		return min(*c.AmountOff, subtotal)
	}
	return money.Floor((subtotal*int64(*c.PercentOff)+50_00)/100_00, currency)
}

// A redemption is reserved before the money is asked for, and redeemed with the session
// that the money has paid. coupons_redemptions_stay_below_the_maximum counts both.
const (
	lockAnyCoupon = allCoupons + ` AND id = @id FOR NO KEY UPDATE`

	reserveCoupon = `
	UPDATE coupons SET times_reserved = times_reserved + 1 WHERE account_id = @account_id AND id = @id`
	releaseCoupon = `
	UPDATE coupons SET times_reserved = times_reserved - 1 WHERE account_id = @account_id AND id = @id`
	redeemCoupon = `
	UPDATE coupons SET times_reserved = times_reserved - 1, times_redeemed = times_redeemed + 1
	WHERE account_id = @account_id AND id = @id`
)

// ReserveCoupon reserves a redemption of a coupon, or refuses a coupon that cannot be
// redeemed any more. The coupon stays locked until the transaction ends: of two that want
// the last redemption, the second waits and then finds it taken. A coupon is locked after
// everything else that the transaction locks.
func ReserveCoupon(ctx context.Context, tx *phase.Tx, id string) error {
	coupon, err := resource.Get[Coupon](ctx, tx, lockAnyCoupon, resource.PrincipalOf(tx.Caller), id)
	switch {
	case err != nil:
		return err
	case coupon == nil:
		return apierror.NoSuch("coupon", "", id)
	}
	if refusal := coupon.RefuseRedemption(""); refusal != nil {
		return refusal
	}
	moveCoupon(tx, reserveCoupon, id)
	return nil
}

// ReleaseCoupon gives up a redemption that was reserved.
func ReleaseCoupon(tx *phase.Tx, id string) { moveCoupon(tx, releaseCoupon, id) }

// RedeemCoupon counts a redemption that was reserved. The transaction fails unless one is reserved.
func RedeemCoupon(tx *phase.Tx, id string) { moveCoupon(tx, redeemCoupon, id) }

func moveCoupon(tx *phase.Tx, sql, id string) {
	tx.WriteOne(sql, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": id})
}

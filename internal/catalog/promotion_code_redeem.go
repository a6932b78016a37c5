package catalog

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// Order is what a customer wants to pay for with a promotion code.
type Order struct {
	Session    string  // that is paid; "" if there is none yet
	CustomerID *string // who pays, if they are known
	Subtotal   int64   // minor units, before the discount
	Currency   string
}

// FindPromotionCode finds the active code that a customer has typed.
func FindPromotionCode(
	ctx context.Context, db phase.Reader, v resource.Principal, param, text string,
) (*PromotionCode, error) {
	code, err := resource.Get[PromotionCode](ctx, db, activePromotionCode, v, text)
	if err == nil && code == nil {
		err = apierror.NoSuch("promotion code", param, text)
	}
	return code, err
}

// paidBefore says whether a customer has paid, or is paying with the same code in another session.
const paidBefore = `
	SELECT EXISTS (SELECT FROM charges
	               WHERE account_id = @account_id AND livemode = @livemode AND customer_id = @customer_id
	                 AND status = 'succeeded' AND captured)
	    OR EXISTS (SELECT FROM checkout_sessions
	               WHERE account_id = @account_id AND livemode = @livemode AND customer_id = @customer_id
	                 AND promotion_code_id = @id AND coupon_reserved AND id <> @session) AS paid`

// CheckRedemption refuses an order that the code cannot be used for. Its coupon has its own checks.
func (p *PromotionCode) CheckRedemption(
	ctx context.Context, db phase.Reader, v resource.Principal, param string, o Order,
) error {
	refuse := func(why string) *apierror.Error {
		return apierror.Invalid(param, "This promotion code cannot be redeemed because %s.", why)
	}
	switch {
	case !p.Active:
		return refuse("it is not active")
	case p.Expired:
		return refuse("it has expired").WithCode("coupon_expired")
	case p.MaxRedemptions != nil && p.TimesRedeemed+p.TimesReserved >= *p.MaxRedemptions:
		return refuse("it is used up").WithCode("coupon_expired")
	case p.CustomerID != nil && *p.CustomerID != resource.Deref(o.CustomerID):
		return refuse("it is for another customer")
	case p.MinimumAmount != nil && (*p.MinimumAmountCurrency != o.Currency || o.Subtotal < *p.MinimumAmount):
		return refuse("the associated purchase does not meet the minimum amount requirement")
	case !p.FirstTimeTransaction || o.CustomerID == nil: // a new customer has paid nothing yet
		return nil
	}
	args := v.Args()
	args["customer_id"], args["id"], args["session"] = *o.CustomerID, p.ID, o.Session
	type answer struct{ Paid bool }
	before, err := resource.QueryOne[answer](ctx, db, paidBefore, args)
	if err == nil && before.Paid {
		return refuse("the associated customer has prior transactions").
			WithCode("promotion_code_customer_not_first_time")
	}
	return err
}

// A code's redemptions are counted as its coupon's are, in the same transactions.
// promotion_codes_redemptions_stay_below_the_maximum counts those that are reserved, too.
const (
	reservePromotionCode = `
	UPDATE promotion_codes SET times_reserved = times_reserved + 1 WHERE account_id = @account_id AND id = @id`
	releasePromotionCode = `
	UPDATE promotion_codes SET times_reserved = times_reserved - 1 WHERE account_id = @account_id AND id = @id`
	redeemPromotionCode = `
	UPDATE promotion_codes SET times_reserved = times_reserved - 1, times_redeemed = times_redeemed + 1
	WHERE account_id = @account_id AND id = @id`
)

// ReservePromotionCode reserves a redemption of a code, or refuses a code that cannot be used for
// the order any more. The code stays locked until the transaction ends. It is locked before its coupon.
func ReservePromotionCode(ctx context.Context, tx *phase.Tx, id string, o Order) error {
	v := resource.PrincipalOf(tx.Caller)
	code, err := resource.Get[PromotionCode](ctx, tx, lockPromotionCode, v, id)
	switch {
	case err != nil:
		return err
	case code == nil:
		return apierror.NoSuch("promotion code", "", id)
	}
	if err := code.CheckRedemption(ctx, tx, v, "", o); err != nil {
		return err
	}
	movePromotionCode(tx, reservePromotionCode, id)
	return nil
}

// ReleasePromotionCode gives up a redemption that was reserved.
func ReleasePromotionCode(tx *phase.Tx, id string) { movePromotionCode(tx, releasePromotionCode, id) }

// RedeemPromotionCode makes a reserved redemption final.
func RedeemPromotionCode(tx *phase.Tx, id string) { movePromotionCode(tx, redeemPromotionCode, id) }

func movePromotionCode(tx *phase.Tx, sql, id string) {
	tx.WriteOne(sql, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": id})
}

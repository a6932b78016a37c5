package catalog

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{Object: "coupon", Table: "coupons", Load: resource.LoadWith[Coupon](CouponsByID),
		Fields: map[string][]string{"applies_to": nil, "currency_options": nil}})
}

// Coupon takes a percentage or an amount off the price of a checkout session.
type Coupon struct {
	AccountID        string            `db:"account_id"`
	ID               string            `db:"id"` // may be the merchant's own
	Livemode         bool              `db:"livemode"`
	RequestID        string            `db:"request_id"`
	Name             *string           `db:"name"`
	PercentOff       *Decimal          `db:"percent_off"`
	AmountOff        *int64            `db:"amount_off"` // minor units
	Currency         *string           `db:"currency"`
	Duration         string            `db:"duration"`
	DurationInMonths *int64            `db:"duration_in_months"`
	MaxRedemptions   *int64            `db:"max_redemptions"`
	RedeemBy         *time.Time        `db:"redeem_by"`
	Metadata         map[string]string `db:"metadata"`
	TimesRedeemed    int64             `db:"times_redeemed"`
	TimesReserved    int64             `db:"times_reserved"` // by sessions that are being paid
	CreatedAt        time.Time         `db:"created_at"`
	DeletedAt        *time.Time        `db:"deleted_at"`
	Validity
}

// Validity is what the database says of a coupon when it is read. No column stores it.
type Validity struct {
	Expired bool `db:"expired"`
}

// CouponObject is a coupon on the wire.
type CouponObject struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"`
	AmountOff        *int64            `json:"amount_off"`
	Created          int64             `json:"created"`
	Currency         *string           `json:"currency"`
	Duration         string            `json:"duration"`
	DurationInMonths *int64            `json:"duration_in_months"`
	Livemode         bool              `json:"livemode"`
	MaxRedemptions   *int64            `json:"max_redemptions"`
	Metadata         map[string]string `json:"metadata"`
	Name             *string           `json:"name"`
	PercentOff       *Decimal          `json:"percent_off"`
	RedeemBy         *int64            `json:"redeem_by"`
	TimesRedeemed    int64             `json:"times_redeemed"`
	Valid            bool              `json:"valid"`
}

// Render is the coupon as the API's JSON object.
func (c *Coupon) Render() any {
	return CouponObject{
		ID:               c.ID,
		Object:           "coupon",
		AmountOff:        c.AmountOff,
		Created:          resource.Unix(c.CreatedAt),
		Currency:         c.Currency,
		Duration:         c.Duration,
		DurationInMonths: c.DurationInMonths,
		Livemode:         c.Livemode,
		MaxRedemptions:   c.MaxRedemptions,
		Metadata:         c.Metadata,
		Name:             c.Name,
		PercentOff:       c.PercentOff,
		RedeemBy:         resource.UnixOrNil(c.RedeemBy),
		TimesRedeemed:    c.TimesRedeemed,
		Valid:            c.DeletedAt == nil && !c.Expired && !c.usedUp(c.TimesRedeemed),
	}
}

// usedUp says whether so many redemptions are all there are.
func (c *Coupon) usedUp(times int64) bool {
	return c.MaxRedemptions != nil && times >= *c.MaxRedemptions
}

// RefuseRedemption says why the coupon cannot be redeemed once more, or nil. param names it.
func (c *Coupon) RefuseRedemption(param string) *apierror.Error {
	switch {
	case c.DeletedAt != nil:
		return apierror.NoSuch("coupon", param, c.ID)
	case c.Expired:
		return apierror.Invalid(param, "Coupon %s is expired and cannot be applied.", form.Quote(c.ID)).
			WithCode("coupon_expired")
	case c.usedUp(c.TimesRedeemed + c.TimesReserved):
		return apierror.Invalid(param, "Coupon %s is used up and cannot be applied.", form.Quote(c.ID)).
			WithCode("coupon_expired")
	}
	return nil
}

const couponColumns = `account_id, id, livemode, request_id, name, percent_off, amount_off, currency, duration,
	duration_in_months, max_redemptions, redeem_by, metadata, times_redeemed, times_reserved, created_at, deleted_at`

var insertCoupons = postgres.InsertRows[Coupon]("coupons", couponColumns)

const updateCoupon = `
	UPDATE coupons SET name = @name, metadata = @metadata
	WHERE account_id = @account_id AND id = @id AND deleted_at IS NULL`

const deleteCoupon = `
	UPDATE coupons SET deleted_at = @deleted_at
	WHERE account_id = @account_id AND id = @id AND deleted_at IS NULL`

const allCoupons = `
	SELECT ` + couponColumns + `, coalesce(redeem_by <= now(), false) AS expired
	FROM coupons
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	// An id stays taken when its coupon is deleted, and in both modes.
	couponIDTaken = `SELECT id FROM coupons WHERE account_id = @account_id AND id = @id`

	// A session that was paid with a coupon shows it even after it is deleted.
	CouponsByID = allCoupons + ` AND id = ANY (@ids::text[])`

	selectCoupons = allCoupons + ` AND deleted_at IS NULL`
	couponByID    = selectCoupons + ` AND id = @id`
	lockCoupon    = couponByID + ` FOR NO KEY UPDATE`

	listCoupons          = selectCoupons + resource.NewestFirst
	listCouponsBackwards = selectCoupons + resource.OldestFirst
)

// Coupons are all coupons that are not deleted.
var Coupons = resource.Collection[Coupon, *Coupon]{
	Object: "coupon", Param: "coupon", URL: "/v1/coupons",
	ByID: couponByID, Lock: lockCoupon, Newest: listCoupons, Oldest: listCouponsBackwards,
}

// CreateCouponParams are what POST /v1/coupons takes.
type CreateCouponParams struct {
	ID               string        `form:"id" max:"255"`
	AmountOff        *int64        `form:"amount_off" min:"1"`
	Currency         string        `form:"currency"`
	Duration         string        `form:"duration" enum:"forever,once,repeating"`
	DurationInMonths *int64        `form:"duration_in_months" min:"1"`
	MaxRedemptions   *int64        `form:"max_redemptions" min:"1"`
	Metadata         form.Metadata `form:"metadata"`
	Name             *string       `form:"name" max:"40"`
	PercentOff       *Decimal      `form:"percent_off"`
	RedeemBy         *int64        `form:"redeem_by" min:"0" max:"253402300799"`
	Expand           form.Expand   `form:"expand"`
}

const couponCreated = "coupon_created"

// CreateCoupon makes a coupon.
//
//	(nothing) ──▶ coupon_created
//	     claim + insert + answer
var CreateCoupon = phase.Define("coupon.create", 1, phase.Atomic(couponCreated, createCoupon)).Check(checkCoupon)

func checkCoupon(ctx context.Context, db phase.Reader, caller phase.Check, in *CreateCouponParams) error {
	if err := in.checkReduction(); err != nil {
		return err
	}
	switch {
	case in.Duration == "repeating" && in.DurationInMonths == nil:
		return apierror.Missing("duration_in_months")
	case in.Duration != "repeating" && in.DurationInMonths != nil:
		return apierror.Invalid("duration_in_months",
			"You can only pass `duration_in_months` if `duration` is `repeating`.")
	case in.RedeemBy != nil && !time.Unix(*in.RedeemBy, 0).After(caller.At):
		return apierror.Invalid("redeem_by", "Invalid timestamp: must be in the future.")
	case in.ID == "":
		return nil
	}
	return checkOwnID(ctx, db, resource.PrincipalOfCheck(caller), "coupon", couponIDTaken, in.ID,
		"Coupon already exists.")
}

// checkReduction verifies that the coupon takes off a percentage or an amount of money.
func (in *CreateCouponParams) checkReduction() (err error) {
	switch {
	case in.PercentOff != nil && in.AmountOff != nil:
		return apierror.Invalid("", "You may only specify one of these parameters: amount_off, percent_off.").
			WithCode("parameters_exclusive")
	case in.PercentOff == nil && in.AmountOff == nil:
		return apierror.Invalid("", "One of the following params should be provided for this request: "+
			"percent_off or amount_off.").WithCode("parameter_missing")
	case in.PercentOff != nil && (*in.PercentOff < 1 || *in.PercentOff > 100_00):
		return apierror.Invalid("percent_off", "Invalid percent_off: it must be greater than 0 and at most 100.")
	case in.AmountOff != nil && in.Currency == "":
		return apierror.Missing("currency")
	case in.Currency == "":
		return nil
	}
	if in.Currency, err = money.Parse(in.Currency); err != nil || in.AmountOff == nil {
		return err
	}
	return money.CheckMost(*in.AmountOff, in.Currency, "amount_off")
}

func createCoupon(ctx context.Context, tx *phase.Tx, in CreateCouponParams, _ *struct{}) (phase.Outcome, error) {
	metadata, err := in.Metadata.Apply(nil)
	if err != nil {
		return phase.Outcome{}, err
	}
	coupon := &Coupon{
		AccountID:        tx.AccountID,
		ID:               in.ID,
		Livemode:         tx.Livemode,
		RequestID:        tx.RequestID,
		Name:             in.Name,
		PercentOff:       in.PercentOff,
		AmountOff:        in.AmountOff,
		Duration:         in.Duration,
		DurationInMonths: in.DurationInMonths,
		MaxRedemptions:   in.MaxRedemptions,
		Metadata:         metadata,
		CreatedAt:        tx.Now(),
	}
	if in.ID == "" {
		coupon.ID = id.New("coupon", tx.Now())
	}
	if in.Duration == "" {
		coupon.Duration = "once"
	}
	if in.AmountOff != nil { // a percentage is in no currency
		coupon.Currency = &in.Currency
	}
	if in.RedeemBy != nil {
		end := time.Unix(*in.RedeemBy, 0)
		coupon.RedeemBy = &end
	}
	tx.Write(insertCoupons, postgres.RowsOf(*coupon))
	event.Emit(tx, "coupon.created", coupon.ID, coupon.Render(), nil)
	return resource.Reply(ctx, tx, in.Expand, coupon.ID, coupon.Render())
}

// UpdateCouponParams are what POST /v1/coupons/{coupon} takes.
type UpdateCouponParams struct {
	ID       string        `path:"coupon"`
	Metadata form.Metadata `form:"metadata"`
	Name     *string       `form:"name" max:"40"`
	Expand   form.Expand   `form:"expand"`
}

const couponUpdated = "coupon_updated"

// UpdateCoupon changes the name and the metadata. What a coupon takes off never changes.
var UpdateCoupon = phase.Define("coupon.update", 1, phase.Atomic(couponUpdated, changeCoupon)).
	Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateCouponParams) error {
		_, err := Coupons.Find(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
		return err
	})

func changeCoupon(ctx context.Context, tx *phase.Tx, in UpdateCouponParams, _ *struct{}) (phase.Outcome, error) {
	coupon, err := Coupons.Locked(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	before := coupon.Render()
	coupon.Name = resource.Patch(in.Name, coupon.Name)
	if coupon.Metadata, err = in.Metadata.Apply(coupon.Metadata); err != nil {
		return phase.Outcome{}, err
	}
	previous, err := event.Changes(before, coupon.Render())
	if err != nil {
		return phase.Outcome{}, err
	}
	if len(previous) > 0 {
		tx.WriteOne(updateCoupon, pgx.StrictNamedArgs{
			"account_id": coupon.AccountID, "id": coupon.ID, "name": coupon.Name, "metadata": coupon.Metadata})
		event.Emit(tx, "coupon.updated", coupon.ID, coupon.Render(), previous)
	}
	return resource.Reply(ctx, tx, in.Expand, coupon.ID, coupon.Render())
}

// DeleteCouponParams are what DELETE /v1/coupons/{coupon} takes: nothing.
type DeleteCouponParams struct {
	ID string `path:"coupon"`
}

const couponDeleted = "coupon_deleted"

// DeleteCoupon keeps a coupon from being redeemed again. Sessions that were paid with it
// stay as they are.
var DeleteCoupon = phase.Define("coupon.delete", 1, phase.Atomic(couponDeleted, removeCoupon)).
	Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *DeleteCouponParams) error {
		_, err := Coupons.Find(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
		return err
	})

func removeCoupon(ctx context.Context, tx *phase.Tx, in DeleteCouponParams, _ *struct{}) (phase.Outcome, error) {
	coupon, err := Coupons.Locked(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	now := tx.Now()
	coupon.DeletedAt = &now
	tx.WriteOne(deleteCoupon, pgx.StrictNamedArgs{"account_id": coupon.AccountID, "id": coupon.ID, "deleted_at": now})
	event.Emit(tx, "coupon.deleted", coupon.ID, coupon.Render(), nil)
	return phase.OK(coupon.ID, customer.Deleted{ID: coupon.ID, Object: "coupon", Deleted: true}), nil
}

package catalog

import (
	"context"
	"regexp"
	"strings"
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
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

func init() {
	resource.Register(
		resource.Kind{Object: "promotion_code", Prefix: "promo", Table: "promotion_codes",
			Load: resource.LoadWith[PromotionCode](promotionCodesByID),
			Fields: map[string][]string{
				"customer": {"customer"}, "promotion": {"promotion_code.promotion"}}},
		// A part of a promotion code, and no object with an ID.
		resource.Kind{Object: "promotion_code.promotion", Fields: map[string][]string{"coupon": {"coupon"}}},
	)
}

// PromotionCode is a code with which customers use a coupon.
type PromotionCode struct {
	AccountID             string            `db:"account_id"`
	ID                    string            `db:"id"`
	Livemode              bool              `db:"livemode"`
	RequestID             string            `db:"request_id"`
	CouponID              string            `db:"coupon_id"`
	Code                  string            `db:"code"`
	Active                bool              `db:"active"` // as the merchant wants it
	CustomerID            *string           `db:"customer_id"`
	ExpiresAt             *time.Time        `db:"expires_at"`
	MaxRedemptions        *int64            `db:"max_redemptions"`
	FirstTimeTransaction  bool              `db:"first_time_transaction"`
	MinimumAmount         *int64            `db:"minimum_amount"` // minor units
	MinimumAmountCurrency *string           `db:"minimum_amount_currency"`
	Metadata              map[string]string `db:"metadata"`
	TimesRedeemed         int64             `db:"times_redeemed"`
	TimesReserved         int64             `db:"times_reserved"` // by sessions that are being paid
	CreatedAt             time.Time         `db:"created_at"`
	Redeemability
}

// Redeemability is what the database says of a promotion code when it is read. No column stores it.
type Redeemability struct {
	Redeemable bool `db:"redeemable"` // neither the code nor its coupon is expired, deleted or used up
	Expired    bool `db:"expired"`
}

// PromotionCodeObject is a promotion code on the wire.
type PromotionCodeObject struct {
	ID              string            `json:"id"`
	Object          string            `json:"object"`
	Active          bool              `json:"active"`
	Code            string            `json:"code"`
	Created         int64             `json:"created"`
	Customer        *string           `json:"customer"`
	CustomerAccount *string           `json:"customer_account"`
	ExpiresAt       *int64            `json:"expires_at"`
	Livemode        bool              `json:"livemode"`
	MaxRedemptions  *int64            `json:"max_redemptions"`
	Metadata        map[string]string `json:"metadata"`
	Promotion       promotion         `json:"promotion"`
	Restrictions    restrictions      `json:"restrictions"`
	TimesRedeemed   int64             `json:"times_redeemed"`
}

type promotion struct {
	Coupon string `json:"coupon"`
	Type   string `json:"type"`
}

type restrictions struct {
	FirstTimeTransaction  bool    `json:"first_time_transaction"`
	MinimumAmount         *int64  `json:"minimum_amount"`
	MinimumAmountCurrency *string `json:"minimum_amount_currency"`
}

func (p *PromotionCode) Render() any {
	return PromotionCodeObject{
		ID:             p.ID,
		Object:         "promotion_code",
		Active:         p.Active && p.Redeemable,
		Code:           p.Code,
		Created:        resource.Unix(p.CreatedAt),
		Customer:       p.CustomerID,
		ExpiresAt:      resource.UnixOrNil(p.ExpiresAt),
		Livemode:       p.Livemode,
		MaxRedemptions: p.MaxRedemptions,
		Metadata:       p.Metadata,
		Promotion:      promotion{Coupon: p.CouponID, Type: "coupon"},
		Restrictions:   restrictions{p.FirstTimeTransaction, p.MinimumAmount, p.MinimumAmountCurrency},
		TimesRedeemed:  p.TimesRedeemed,
	}
}

const promotionCodeColumns = `account_id, id, livemode, request_id, coupon_id, code, active, customer_id, expires_at,
	max_redemptions, first_time_transaction, minimum_amount, minimum_amount_currency, metadata,
	times_redeemed, times_reserved, created_at`

var (
	insertPromotionCodes = postgres.InsertRows[PromotionCode]("promotion_codes", promotionCodeColumns)
	updatePromotionCodes = postgres.UpdateRows[PromotionCode]("promotion_codes", `active, metadata`, `true`)
)

const selectPromotionCodes = `
	SELECT * FROM (
		SELECT ` + promotionCodeColumns + `, coalesce(expires_at > now(), true)
			AND coalesce(times_redeemed < max_redemptions, true) AND EXISTS (
			SELECT FROM coupons c
			WHERE c.account_id = promotion_codes.account_id AND c.id = promotion_codes.coupon_id
			  AND c.deleted_at IS NULL AND coalesce(c.redeem_by > now(), true)
			  AND coalesce(c.times_redeemed < c.max_redemptions, true)) AS redeemable,
			coalesce(expires_at <= now(), false) AS expired
		FROM promotion_codes) AS p
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	promotionCodeByID  = selectPromotionCodes + ` AND id = @id`
	promotionCodesByID = selectPromotionCodes + ` AND id = ANY (@ids::text[])`
	lockPromotionCode  = promotionCodeByID + ` FOR NO KEY UPDATE`

	// Case does not matter. At most one code is found (promotion_codes_active_code_is_unique).
	activePromotionCode = selectPromotionCodes + ` AND lower(code) = lower(@id) AND active`

	promotionCodeFilters = ` AND (@active::boolean IS NULL OR (active AND redeemable) = @active)
	AND (@code::text IS NULL OR lower(code) = lower(@code))
	AND (@coupon::text IS NULL OR coupon_id = @coupon)
	AND (@customer::text IS NULL OR customer_id = @customer)`
	listPromotionCodes          = selectPromotionCodes + promotionCodeFilters + resource.NewestFirst
	listPromotionCodesBackwards = selectPromotionCodes + promotionCodeFilters + resource.OldestFirst
)

// PromotionCodes are all promotion codes.
var PromotionCodes = resource.Collection[PromotionCode, *PromotionCode]{
	Object: "promotion code", Param: "promotion_code", URL: "/v1/promotion_codes", Prefix: "promo",
	ByID: promotionCodeByID, Lock: lockPromotionCode,
	Newest: listPromotionCodes, Oldest: listPromotionCodesBackwards,
}

// ListPromotionCodesParams are the parameters of GET /v1/promotion_codes.
type ListPromotionCodesParams struct {
	resource.List
	Active   *bool   `form:"active"`
	Code     *string `form:"code"`
	Coupon   *string `form:"coupon"`
	Customer *string `form:"customer"`
}

// ListPromotionCodes answers GET /v1/promotion_codes.
func ListPromotionCodes(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListPromotionCodesParams,
) (any, error) {
	return PromotionCodes.ListWith(ctx, db, v, in.List, pgx.StrictNamedArgs{
		"active": in.Active, "code": in.Code, "coupon": in.Coupon, "customer": in.Customer})
}

// CreatePromotionCodeParams are what POST /v1/promotion_codes takes.
type CreatePromotionCodeParams struct {
	Active         *bool             `form:"active"`
	Code           string            `form:"code" max:"500"`
	Customer       string            `form:"customer" max:"5000"`
	ExpiresAt      *int64            `form:"expires_at" min:"0" max:"253402300799"`
	MaxRedemptions *int64            `form:"max_redemptions" min:"1"`
	Metadata       form.Metadata     `form:"metadata"`
	Promotion      *PromotionParam   `form:"promotion"`
	Restrictions   RestrictionParams `form:"restrictions"`
	Expand         form.Expand       `form:"expand"`
}

// PromotionParam names the coupon of a promotion code.
type PromotionParam struct {
	Coupon string `form:"coupon" max:"5000"`
	Type   string `form:"type,required" enum:"coupon"`
}

// RestrictionParams say when a promotion code can be used.
type RestrictionParams struct {
	FirstTimeTransaction  bool   `form:"first_time_transaction"`
	MinimumAmount         *int64 `form:"minimum_amount" min:"1"`
	MinimumAmountCurrency string `form:"minimum_amount_currency"`
}

const promotionCodeCreated = "promotion_code_created"

// CreatePromotionCode makes a code for a coupon.
//
//	(nothing) ──▶ promotion_code_created
//	         claim + insert + answer
var CreatePromotionCode = phase.Define("promotion_code.create", 1,
	phase.Atomic(promotionCodeCreated, createPromotionCode),
).Check(checkPromotionCode)

var codeShape = regexp.MustCompile(`^[A-Za-z0-9-]*$`)

func checkPromotionCode(
	ctx context.Context, db phase.Reader, caller phase.Check, in *CreatePromotionCodeParams,
) error {
	v := resource.PrincipalOfCheck(caller)
	switch {
	case in.Promotion == nil:
		return apierror.Missing("promotion")
	case in.Promotion.Coupon == "":
		return apierror.Missing("promotion[coupon]")
	case !codeShape.MatchString(in.Code) || testcard.IsNumber(in.Code):
		return apierror.Invalid("code", "Invalid promotion code: %s. It may have letters, digits and dashes.",
			form.Quote(in.Code))
	case in.ExpiresAt != nil && !time.Unix(*in.ExpiresAt, 0).After(caller.At):
		return apierror.Invalid("expires_at", "Invalid timestamp: must be in the future.")
	}
	if _, err := in.Metadata.New(); err != nil {
		return err
	}
	if err := in.Restrictions.check(); err != nil {
		return err
	}
	coupon, err := Coupons.Find(ctx, db, v, in.Promotion.Coupon)
	if err != nil {
		return resource.AsParam(err, "promotion[coupon]")
	}
	if err := in.checkAgainst(coupon); err != nil {
		return err
	}
	if in.Customer != "" {
		if err := customer.CustomerExists(ctx, db, v, in.Customer); err != nil {
			return resource.AsParam(err, "customer")
		}
	}
	_, err = in.former(ctx, db, v)
	return err
}

func (r *RestrictionParams) check() (err error) {
	switch {
	case r.MinimumAmount == nil && r.MinimumAmountCurrency == "":
		return nil
	case r.MinimumAmount == nil:
		return apierror.Missing("restrictions[minimum_amount]")
	case r.MinimumAmountCurrency == "":
		return apierror.Missing("restrictions[minimum_amount_currency]")
	}
	if r.MinimumAmountCurrency, err = money.Parse(r.MinimumAmountCurrency); err != nil {
		return resource.AsParam(err, "restrictions[minimum_amount_currency]")
	}
	return money.CheckMost(*r.MinimumAmount, r.MinimumAmountCurrency, "restrictions[minimum_amount]")
}

// checkAgainst verifies that the code promises no more than its coupon keeps.
func (in *CreatePromotionCodeParams) checkAgainst(coupon *Coupon) error {
	if refusal := coupon.RefuseRedemption("promotion[coupon]"); refusal != nil {
		return refusal
	}
	switch {
	case in.ExpiresAt != nil && coupon.RedeemBy != nil && time.Unix(*in.ExpiresAt, 0).After(*coupon.RedeemBy):
		return apierror.Invalid("expires_at", "A promotion code cannot expire after its coupon's `redeem_by`.")
	case in.MaxRedemptions != nil && coupon.MaxRedemptions != nil && *in.MaxRedemptions > *coupon.MaxRedemptions:
		return apierror.Invalid("max_redemptions",
			"A promotion code cannot be redeemed more often than its coupon's `max_redemptions`.")
	}
	return nil
}

// former finds an active code of the same text that can no longer be redeemed.
func (in *CreatePromotionCodeParams) former(
	ctx context.Context, db phase.Reader, v resource.Principal,
) (*PromotionCode, error) {
	if in.Code == "" || in.Active != nil && !*in.Active {
		return nil, nil
	}
	return formerOf(ctx, db, v, in.Code)
}

// formerOf refuses a text that a code which can be redeemed has. It returns another code that has it.
func formerOf(ctx context.Context, db phase.Reader, v resource.Principal, code string) (*PromotionCode, error) {
	other, err := resource.Get[PromotionCode](ctx, db, activePromotionCode, v, code)
	if err == nil && other != nil && other.Redeemable {
		return nil, apierror.Invalid("code", "An active promotion code with `code: %s` already exists.", code).
			WithCode("resource_already_exists")
	}
	return other, err
}

// retire takes the text from a code that cannot be redeemed any more.
func (p *PromotionCode) retire(tx *phase.Tx) {
	if p != nil {
		p.Active = false
		tx.Write(updatePromotionCodes, postgres.RowsOf(*p))
	}
}

func createPromotionCode(
	ctx context.Context, tx *phase.Tx, in CreatePromotionCodeParams, _ *struct{},
) (phase.Outcome, error) {
	metadata, err := in.Metadata.Apply(nil)
	if err != nil {
		return phase.Outcome{}, err
	}
	former, err := in.former(ctx, tx, resource.PrincipalOf(tx.Caller))
	if err != nil {
		return phase.Outcome{}, err
	}
	code := &PromotionCode{
		AccountID:             tx.AccountID,
		ID:                    id.New("promo", tx.Now()),
		Livemode:              tx.Livemode,
		RequestID:             tx.RequestID,
		CouponID:              in.Promotion.Coupon,
		Code:                  in.Code,
		Active:                in.Active == nil || *in.Active,
		CustomerID:            resource.NilIfEmpty(in.Customer),
		MaxRedemptions:        in.MaxRedemptions,
		FirstTimeTransaction:  in.Restrictions.FirstTimeTransaction,
		MinimumAmount:         in.Restrictions.MinimumAmount,
		MinimumAmountCurrency: resource.NilIfEmpty(in.Restrictions.MinimumAmountCurrency),
		Metadata:              metadata,
		CreatedAt:             tx.Now(),
		Redeemability:         Redeemability{Redeemable: true},
	}
	if in.Code == "" {
		code.Code = strings.ToUpper(id.Random(8))
	}
	if in.ExpiresAt != nil {
		end := time.Unix(*in.ExpiresAt, 0)
		code.ExpiresAt = &end
	}
	former.retire(tx)
	tx.Write(insertPromotionCodes, postgres.RowsOf(*code))
	event.Emit(tx, "promotion_code.created", code.ID, code.Render(), nil)
	return resource.Reply(ctx, tx, in.Expand, code.ID, code.Render())
}

// UpdatePromotionCodeParams are what POST /v1/promotion_codes/{promotion_code} takes.
type UpdatePromotionCodeParams struct {
	ID       string        `path:"promotion_code"`
	Active   *bool         `form:"active"`
	Metadata form.Metadata `form:"metadata"`
	Expand   form.Expand   `form:"expand"`
}

const promotionCodeUpdated = "promotion_code_updated"

// UpdatePromotionCode changes whether a code can be used, and its metadata.
var UpdatePromotionCode = phase.Define("promotion_code.update", 1,
	phase.Atomic(promotionCodeUpdated, changePromotionCode),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdatePromotionCodeParams) error {
	v := resource.PrincipalOfCheck(caller)
	code, err := PromotionCodes.Find(ctx, db, v, in.ID)
	if err != nil {
		return err
	}
	_, err = in.activates(ctx, db, v, code)
	return err
})

// activates verifies that the code can be used again, if that is what the change does. It
// returns the code that has its text by then and cannot be redeemed any more.
func (in *UpdatePromotionCodeParams) activates(
	ctx context.Context, db phase.Reader, v resource.Principal, code *PromotionCode,
) (*PromotionCode, error) {
	if in.Active == nil || !*in.Active || code.Active && code.Redeemable {
		return nil, nil
	}
	if !code.Redeemable {
		return nil, apierror.Invalid("active",
			"This promotion code cannot be activated: it has expired or is used up, or its coupon is no longer valid.")
	}
	return formerOf(ctx, db, v, code.Code)
}

func changePromotionCode(
	ctx context.Context, tx *phase.Tx, in UpdatePromotionCodeParams, _ *struct{},
) (phase.Outcome, error) {
	code, err := PromotionCodes.Locked(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	former, err := in.activates(ctx, tx, resource.PrincipalOf(tx.Caller), code)
	if err != nil {
		return phase.Outcome{}, err
	}
	before := code.Render()
	if in.Active != nil {
		code.Active = *in.Active
	}
	if code.Metadata, err = in.Metadata.Apply(code.Metadata); err != nil {
		return phase.Outcome{}, err
	}
	previous, err := event.Changes(before, code.Render())
	if err != nil {
		return phase.Outcome{}, err
	}
	former.retire(tx)
	tx.Write(updatePromotionCodes, postgres.RowsOf(*code))
	if len(previous) > 0 {
		event.Emit(tx, "promotion_code.updated", code.ID, code.Render(), previous)
	}
	return resource.Reply(ctx, tx, in.Expand, code.ID, code.Render())
}

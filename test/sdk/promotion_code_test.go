//go:build unix

package sdk_test

import (
	"regexp"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestPromotionCodes(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("a code is unique in any case while it is active", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		coupon := a.tenPercent()
		spring := a.promotionCode(coupon, "Spring")
		equal(t, "code", []any{spring.Active, spring.Code, spring.Promotion.Coupon.ID, spring.TimesRedeemed},
			[]any{true, "Spring", coupon, int64(0)})
		equal(t, "event", a.onlyEvent("promotion_code.created").GetObjectValue("id"), spring.ID)
		taken := invalid("resource_already_exists", "code",
			"An active promotion code with `code: SPRING` already exists.")
		_, err := a.V1PromotionCodes.Create(t.Context(), codeOf(coupon, "SPRING"))
		refused(t, err, taken)

		stopped, err := a.V1PromotionCodes.Update(t.Context(), spring.ID,
			&stripe.PromotionCodeUpdateParams{Active: stripe.Bool(false)})
		noError(t, err)
		equal(t, "active", stopped.Active, false)
		equal(t, "what changed", a.onlyEvent("promotion_code.updated").Data.PreviousAttributes,
			map[string]any{"active": true})
		again := a.promotionCode(coupon, "SPRING")
		_, err = a.V1PromotionCodes.Update(t.Context(), spring.ID,
			&stripe.PromotionCodeUpdateParams{Active: stripe.Bool(true)})
		refused(t, err, invalid("resource_already_exists", "code",
			"An active promotion code with `code: Spring` already exists."))

		for _, c := range []struct {
			filter *stripe.PromotionCodeListParams
			want   []string
		}{
			{&stripe.PromotionCodeListParams{Code: stripe.String("spring")}, []string{again.ID, spring.ID}},
			{&stripe.PromotionCodeListParams{Active: stripe.Bool(true)}, []string{again.ID}},
			{&stripe.PromotionCodeListParams{Active: stripe.Bool(false), Coupon: &coupon}, []string{spring.ID}},
			{&stripe.PromotionCodeListParams{Customer: stripe.String("cus_none")}, []string{}},
		} {
			equal(t, "codes", ids(collect(t, a.V1PromotionCodes.List(t.Context(), c.filter)),
				func(p *stripe.PromotionCode) string { return p.ID }), c.want)
		}
	})

	t.Run("a code that is not given is made up", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		params := codeOf(a.tenPercent(), "")
		params.Code = nil
		made, err := a.V1PromotionCodes.Create(t.Context(), params)
		noError(t, err)
		equal(t, "eight letters and digits", regexp.MustCompile(`^[A-Z0-9]{8}$`).MatchString(made.Code), true)
	})

	t.Run("a code ends with its coupon, and then gives way to another", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		old := a.promotionCode(a.tenPercent(), "WINTER")
		_, err := a.V1Coupons.Delete(t.Context(), old.Promotion.Coupon.ID, nil)
		noError(t, err)
		ended, err := a.V1PromotionCodes.Retrieve(t.Context(), old.ID, nil)
		noError(t, err)
		equal(t, "active", ended.Active, false)
		_, err = a.V1PromotionCodes.Update(t.Context(), old.ID, &stripe.PromotionCodeUpdateParams{
			Active: stripe.Bool(true)})
		refused(t, err, invalid("", "active",
			"This promotion code cannot be activated: it has expired or is used up, or its coupon is no longer valid."))
		equal(t, "another", a.promotionCode(a.tenPercent(), "winter").Active, true)
	})
}

func codeOf(coupon, code string) *stripe.PromotionCodeCreateParams {
	return &stripe.PromotionCodeCreateParams{
		Code: &code, Promotion: &stripe.PromotionCodeCreatePromotionParams{
			Type: stripe.String("coupon"), Coupon: &coupon},
	}
}

func (a *account) promotionCode(coupon, code string) *stripe.PromotionCode {
	a.t.Helper()
	made, err := a.V1PromotionCodes.Create(a.t.Context(), codeOf(coupon, code))
	noError(a.t, err)
	return made
}

func (a *account) tenPercent() string {
	a.t.Helper()
	coupon, err := a.V1Coupons.Create(a.t.Context(), &stripe.CouponCreateParams{PercentOff: stripe.Float64(10)})
	noError(a.t, err)
	return coupon.ID
}

//go:build unix

package sdk_test

import (
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"
)

func TestCoupons(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("a coupon with an id of the merchant's own lives until it is deleted", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		own := &stripe.CouponCreateParams{
			ID:             stripe.String("WELCOME"),
			PercentOff:     stripe.Float64(33.33),
			MaxRedemptions: stripe.Int64(10),
		}
		made, err := a.V1Coupons.Create(t.Context(), own)
		noError(t, err)
		equal(t, "coupon", []any{made.ID, made.PercentOff, made.Duration, made.Valid, made.TimesRedeemed},
			[]any{"WELCOME", 33.33, stripe.CouponDurationOnce, true, int64(0)})
		_, err = a.V1Coupons.Create(t.Context(), own)
		refused(t, err, invalid("resource_already_exists", "id", "Coupon already exists."))

		_, err = a.V1Coupons.Update(t.Context(), "WELCOME",
			&stripe.CouponUpdateParams{Name: stripe.String("Welcome"), Metadata: map[string]string{"campaign": "7"}})
		noError(t, err)
		changed := a.onlyEvent("coupon.updated").Data.PreviousAttributes
		equal(t, "what changed", []any{changed["name"], changed["metadata"]},
			[]any{nil, map[string]any{"campaign": nil}})

		gone, err := a.V1Coupons.Delete(t.Context(), "WELCOME", nil)
		noError(t, err)
		equal(t, "deleted", []any{gone.ID, gone.Deleted}, []any{"WELCOME", true})
		equal(t, "event", a.onlyEvent("coupon.deleted").GetObjectValue("id"), "WELCOME")
		equal(t, "coupons", len(collect(t, a.V1Coupons.List(t.Context(), nil))), 0)
		_, err = a.V1Coupons.Retrieve(t.Context(), "WELCOME", nil)
		refused(t, err, missing("coupon", "No such coupon: 'WELCOME'"))
		_, err = a.V1Coupons.Update(t.Context(), "WELCOME", &stripe.CouponUpdateParams{Name: stripe.String("Again")})
		refused(t, err, missing("coupon", "No such coupon: 'WELCOME'"))
	})

	t.Run("a coupon is no longer valid when its time is over", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		end := time.Now().Add(time.Hour)
		made, err := a.V1Coupons.Create(t.Context(), &stripe.CouponCreateParams{
			AmountOff: stripe.Int64(500), Currency: stripe.String("USD"), RedeemBy: stripe.Int64(end.Unix()),
			Duration: stripe.String("repeating"), DurationInMonths: stripe.Int64(3)})
		noError(t, err)
		equal(t, "coupon", []any{made.AmountOff, made.Currency, made.RedeemBy, made.DurationInMonths, made.Valid},
			[]any{int64(500), stripe.CurrencyUSD, end.Unix(), int64(3), true})
		in.expireCoupon(t, made.ID)
		over, err := a.V1Coupons.Retrieve(t.Context(), made.ID, nil)
		noError(t, err)
		equal(t, "valid", over.Valid, false)
	})
}

// expireCoupon moves the end of a coupon into the past.
func (in *installation) expireCoupon(t *testing.T, id string) {
	t.Helper()
	_, err := in.db.Exec(t.Context(), `UPDATE coupons SET redeem_by = now() - interval '1 second' WHERE id = $1`, id)
	noError(t, err)
}

func TestShippingRates(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("a shipping rate changes in everything but what it costs", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		standard := a.shippingRate("Standard", 500)
		equal(t, "rate",
			[]any{standard.Active, standard.DisplayName, standard.FixedAmount.Amount, standard.FixedAmount.Currency,
				standard.Type},
			[]any{true, "Standard", int64(500), stripe.CurrencyUSD, stripe.ShippingRateTypeFixedAmount})
		estimate := standard.DeliveryEstimate
		equal(t, "estimate", []any{estimate.Minimum.Unit, estimate.Minimum.Value, estimate.Maximum == nil},
			[]any{stripe.ShippingRateDeliveryEstimateMinimumUnitBusinessDay, int64(2), true})
		express := a.shippingRate("Express", 1500)
		_, err := a.V1ShippingRates.Update(t.Context(), express.ID,
			&stripe.ShippingRateUpdateParams{Active: stripe.Bool(false), Metadata: map[string]string{"carrier": "DHL"}})
		noError(t, err)
		active := &stripe.ShippingRateListParams{Active: stripe.Bool(true), Currency: stripe.String("USD")}
		equal(t, "active rates", ids(collect(t, a.V1ShippingRates.List(t.Context(), active)),
			func(r *stripe.ShippingRate) string { return r.ID }), []string{standard.ID})
		retired, err := a.V1ShippingRates.Retrieve(t.Context(), express.ID, nil)
		noError(t, err)
		equal(t, "retired", []any{retired.Active, retired.Metadata["carrier"], retired.FixedAmount.Amount},
			[]any{false, "DHL", int64(1500)})
		_, err = a.V1ShippingRates.Retrieve(t.Context(), "shr_none", nil)
		refused(t, err, missing("shipping_rate_token", "No such shipping rate: 'shr_none'"))
	})
}

func (a *account) shippingRate(name string, amount int64) *stripe.ShippingRate {
	a.t.Helper()
	rate, err := a.V1ShippingRates.Create(a.t.Context(), &stripe.ShippingRateCreateParams{
		DisplayName: &name, Type: stripe.String("fixed_amount"),
		FixedAmount: &stripe.ShippingRateCreateFixedAmountParams{Amount: &amount, Currency: stripe.String("usd")},
		DeliveryEstimate: &stripe.ShippingRateCreateDeliveryEstimateParams{
			Minimum: &stripe.ShippingRateCreateDeliveryEstimateMinimumParams{
				Unit:  stripe.String("business_day"),
				Value: stripe.Int64(2),
			}},
	})
	noError(a.t, err)
	return rate
}

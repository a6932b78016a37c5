//go:build unix

package sdk_test

import (
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestDiscountedCheckout(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("session, charge and balance have the total with discount and shipping", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		coupon := a.coupon(&stripe.CouponCreateParams{
			PercentOff: stripe.Float64(33.33),
			Name:       stripe.String("Spring sale"),
		})
		standard, express := a.shippingRate("Standard", 500), a.shippingRate("Express", 1500)
		params := discounted(coupon.ID, standard.ID, express.ID)
		params.LineItems = []*stripe.CheckoutSessionCreateLineItemParams{item("Sledge", 1000), item("Kite", 999)}
		params.AddExpand("discounts.coupon")
		params.AddExpand("shipping_cost.shipping_rate")
		params.AddExpand("shipping_options.shipping_rate")
		params.AddExpand("line_items")
		session := a.session(params)
		// 33.33 % of 19.99 is 6.66; 10.00 has 3.33 of it, and 9.99 the rest.
		equal(t, "session",
			[]any{session.AmountSubtotal, session.AmountTotal, session.TotalDetails.AmountDiscount,
				session.TotalDetails.AmountShipping},
			[]any{int64(1999), int64(1833), int64(666), int64(500)})
		equal(t, "discount", session.Discounts[0].Coupon.Name, "Spring sale")
		equal(t, "shipping", []any{session.ShippingCost.AmountTotal, session.ShippingCost.ShippingRate.DisplayName,
			len(session.ShippingOptions),
			session.ShippingOptions[1].ShippingRate.DisplayName, session.ShippingOptions[1].ShippingAmount},
			[]any{int64(500), "Standard", 2, "Express", int64(1500)})
		first, second := session.LineItems.Data[0], session.LineItems.Data[1]
		equal(t, "items", []any{first.AmountDiscount, first.AmountTotal, second.AmountDiscount, second.AmountTotal},
			[]any{int64(333), int64(667), int64(333), int64(666)})

		choice := url.Values{
			"payment_method":  {"pm_card_visa"},
			"shipping_rate":   {express.ID},
			"expected_amount": {"1833"},
		}
		refused(t, a.press(session.ID, choice, nil), invalid("checkout_amount_mismatch", "expected_amount", ""))
		choice.Set("expected_amount", "2833")
		paid := a.page(http.MethodPost, session.ID, choice)
		equal(t, "page", []any{paid.Status, paid.AmountTotal, paid.PaymentIntent.AmountReceived},
			[]any{"complete", int64(2833), int64(2833)})
		complete := a.retrieveSession(session.ID, "payment_intent.latest_charge.balance_transaction")
		equal(t, "session",
			[]any{complete.AmountTotal, complete.ShippingCost.ShippingRate.ID, complete.TotalDetails.AmountShipping},
			[]any{int64(2833), express.ID, int64(1500)})
		equal(t, "booked", complete.PaymentIntent.LatestCharge.BalanceTransaction.Amount, int64(2833))
		a.wantRedeemed(coupon.ID, 1)
	})

	t.Run("the discounts of a session and of its items are shown if they are expanded", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		coupon := a.coupon(&stripe.CouponCreateParams{PercentOff: stripe.Float64(33.33)})
		params := discounted(coupon.ID)
		params.LineItems = []*stripe.CheckoutSessionCreateLineItemParams{item("Sledge", 1000), item("Kite", 1001)}
		paths := []string{"total_details.breakdown.discounts.discount", "line_items.data.discounts",
			"line_items.taxes"}
		for _, path := range paths {
			params.AddExpand(path)
		}
		made := a.session(params)
		for _, shown := range []*stripe.CheckoutSession{made, a.retrieveSession(made.ID, paths...)} {
			total := shown.TotalDetails.Breakdown
			equal(t, "breakdown", []any{len(total.Discounts), total.Discounts[0].Amount, len(total.Taxes)},
				[]any{1, int64(667), 0})
			d := total.Discounts[0].Discount
			equal(t, "discount", []any{d.Object, d.CheckoutSession, d.Source.Coupon.ID, d.Start},
				[]any{"discount", made.ID, coupon.ID, made.Created})
			for i, amount := range []int64{333, 334} {
				of := shown.LineItems.Data[i]
				equal(t, "item", []any{len(of.Discounts), of.Discounts[0].Amount, of.Discounts[0].Discount.ID,
					of.Discounts[0].Discount.Source.Coupon.ID, of.Taxes != nil, len(of.Taxes)},
					[]any{1, amount, d.ID, coupon.ID, true, 0})
			}
		}
		list := &stripe.CheckoutSessionListLineItemsParams{Session: &made.ID}
		list.AddExpand("data.discounts")
		for _, of := range collect(t, a.V1CheckoutSessions.ListLineItems(t.Context(), list)) {
			equal(t, "item of the list", []any{of.Discounts[0].Amount, of.Taxes == nil}, []any{of.AmountDiscount, true})
		}
		none := a.retrieveSession(a.session(nil).ID, "total_details.breakdown", "line_items.data.discounts")
		equal(t, "no discount", []any{none.TotalDetails.Breakdown.Discounts, none.LineItems.Data[0].Discounts},
			[]any{[]*stripe.CheckoutSessionTotalDetailsBreakdownDiscount{}, []*stripe.LineItemDiscount{}})
		plain := a.retrieveSession(made.ID, "line_items")
		equal(t, "not expanded", []any{plain.TotalDetails.Breakdown == nil, plain.LineItems.Data[0].Discounts == nil},
			[]any{true, true})
	})

	t.Run("a session that is declined can be shipped otherwise and is paid with the same intent", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		coupon := a.coupon(&stripe.CouponCreateParams{
			AmountOff:      stripe.Int64(9999),
			Currency:       stripe.String("usd"),
			MaxRedemptions: stripe.Int64(1),
		})
		standard, express := a.shippingRate("Standard", 500), a.shippingRate("Express", 1500)
		session := a.session(discounted(coupon.ID, standard.ID, express.ID))
		equal(t, "a coupon takes off the items at most", session.AmountTotal, int64(500))
		refused(t, a.press(session.ID, url.Values{"payment_method": {"pm_card_chargeDeclined"}}, nil),
			refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard, "card_declined", "generic_decline",
				"try_again_later", "", "Your card was declined."})
		a.wantRedeemed(coupon.ID, 0)
		a.session(discounted(coupon.ID, standard.ID)) // the last redemption is free again
		tried := a.page(http.MethodGet, session.ID, nil).PaymentIntent.ID
		paid := a.page(http.MethodPost, session.ID,
			url.Values{"payment_method": {"pm_card_visa"}, "shipping_rate": {express.ID}})
		equal(t, "page", []any{paid.Status, paid.PaymentIntent.ID, paid.PaymentIntent.AmountReceived},
			[]any{"complete", tried, int64(1500)})
		a.wantRedeemed(coupon.ID, 1)
	})

	t.Run("of sessions that race for the last redemption one is paid, and no other is charged", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		coupon := a.coupon(&stripe.CouponCreateParams{PercentOff: stripe.Float64(10), MaxRedemptions: stripe.Int64(1)})
		var sessions []*stripe.CheckoutSession
		for range 5 {
			sessions = append(sessions, a.session(discounted(coupon.ID)))
		}
		errs := make([]error, len(sessions))
		var pressing sync.WaitGroup
		for i, session := range sessions {
			pressing.Go(func() { errs[i] = a.press(session.ID, url.Values{"payment_method": {"pm_card_visa"}}, nil) })
		}
		pressing.Wait()
		paid := 0
		for _, err := range errs {
			if err == nil {
				paid++
				continue
			}
			refused(t, err, invalid("coupon_expired", "", "Coupon "+coupon.ID+" is used up and cannot be applied."))
		}
		equal(t, "paid", paid, 1)
		equal(t, "charges", len(collect(t, a.V1Charges.List(t.Context(), nil))), 1)
		a.wantRedeemed(coupon.ID, 1)
	})

	t.Run("a challenge reserves the last redemption, and expiry gives it up", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		coupon := a.coupon(&stripe.CouponCreateParams{PercentOff: stripe.Float64(10), MaxRedemptions: stripe.Int64(1)})
		first, second := a.session(discounted(coupon.ID)), a.session(discounted(coupon.ID))
		a.page(http.MethodPost, first.ID, url.Values{"payment_method": {"pm_card_authenticationRequired"}})
		usedUp := invalid("coupon_expired", "", "Coupon "+coupon.ID+" is used up and cannot be applied.")
		refused(t, a.press(second.ID, url.Values{"payment_method": {"pm_card_visa"}}, nil), usedUp)
		_, err := a.V1CheckoutSessions.Expire(t.Context(), first.ID, nil)
		noError(t, err)
		equal(t, "page", a.page(http.MethodPost, second.ID, url.Values{"payment_method": {"pm_card_visa"}}).Status,
			"complete")
		a.wantRedeemed(coupon.ID, 1)
		usedUp.Param = "discounts[0][coupon]"
		refused(t, a.trySession(coupon.ID), usedUp)
	})

	t.Run("an expired or deleted coupon is refused, at creation and at payment", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		old := a.coupon(&stripe.CouponCreateParams{ID: stripe.String("OLD"), PercentOff: stripe.Float64(10)})
		gone := a.coupon(&stripe.CouponCreateParams{ID: stripe.String("GONE"), PercentOff: stripe.Float64(10)})
		unpaid, alsoUnpaid := a.session(discounted(old.ID)), a.session(discounted(gone.ID))
		in.expireCoupon(t, old.ID)
		_, err := a.V1Coupons.Delete(t.Context(), gone.ID, nil)
		noError(t, err)
		visa := url.Values{"payment_method": {"pm_card_visa"}}
		refused(t, a.press(unpaid.ID, visa, nil),
			invalid("coupon_expired", "", "Coupon OLD is expired and cannot be applied."))
		refused(t, a.press(alsoUnpaid.ID, visa, nil), invalid("resource_missing", "", "No such coupon: 'GONE'"))
		refused(t, a.trySession(old.ID),
			invalid("coupon_expired", "discounts[0][coupon]", "Coupon OLD is expired and cannot be applied."))
		refused(t, a.trySession(gone.ID), invalid("resource_missing", "discounts[0][coupon]", "No such coupon: 'GONE'"))
		equal(t, "charges", len(collect(t, a.V1Charges.List(t.Context(), nil))), 0)
	})

	t.Run("another account's coupon does not exist", func(t *testing.T) {
		inTurn(t)
		a, other := in.account(t), in.account(t)
		theirs := other.coupon(&stripe.CouponCreateParams{PercentOff: stripe.Float64(10)})
		refused(t, a.trySession(theirs.ID),
			invalid("resource_missing", "discounts[0][coupon]", "No such coupon: '"+theirs.ID+"'"))
	})
}

// discounted are the parameters of a session with a coupon, shipped at one of some rates.
func discounted(coupon string, rates ...string) *stripe.CheckoutSessionCreateParams {
	params := &stripe.CheckoutSessionCreateParams{
		Discounts: []*stripe.CheckoutSessionCreateDiscountParams{{Coupon: &coupon}},
	}
	for _, rate := range rates {
		params.ShippingOptions = append(params.ShippingOptions,
			&stripe.CheckoutSessionCreateShippingOptionParams{ShippingRate: &rate})
	}
	return params
}

// trySession tries to make a session with a coupon.
func (a *account) trySession(coupon string) error {
	params := discounted(coupon)
	params.Mode, params.SuccessURL = stripe.String("payment"), stripe.String("https://example.com")
	params.LineItems = []*stripe.CheckoutSessionCreateLineItemParams{item("T-shirt", 2000)}
	_, err := a.V1CheckoutSessions.Create(a.t.Context(), params)
	return err
}

func (a *account) coupon(params *stripe.CouponCreateParams) *stripe.Coupon {
	a.t.Helper()
	coupon, err := a.V1Coupons.Create(a.t.Context(), params)
	noError(a.t, err)
	return coupon
}

func (a *account) wantRedeemed(coupon string, times int64) {
	a.t.Helper()
	found, err := a.V1Coupons.Retrieve(a.t.Context(), coupon, nil)
	noError(a.t, err)
	equal(a.t, "times redeemed", found.TimesRedeemed, times)
}

//go:build unix

package sdk_test

import (
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestRedemption(t *testing.T) {
	inTurn(t)
	in := install(t)
	visa := url.Values{"payment_method": {"pm_card_visa"}}
	const cannot = "This promotion code cannot be redeemed because "

	t.Run("a session is paid with a code, which is redeemed once with its coupon", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		code := a.promotionCode(a.tenPercent(), "SPRING")
		params := redeeming(code.ID)
		params.AddExpand("discounts.promotion_code")
		session := a.session(params)
		equal(t, "session", []any{session.AmountTotal, session.TotalDetails.AmountDiscount,
			session.Discounts[0].PromotionCode.Code, session.Discounts[0].Coupon.ID},
			[]any{int64(1800), int64(200), "SPRING", code.Promotion.Coupon.ID})
		a.wantUsed(code, 0)
		equal(t, "page", a.page(http.MethodPost, session.ID, visa).Status, "complete")
		paid := a.retrieveSession(session.ID, "payment_intent.latest_charge.balance_transaction")
		equal(t, "booked", paid.PaymentIntent.LatestCharge.BalanceTransaction.Amount, int64(1800))
		a.wantUsed(code, 1)
	})

	t.Run("the customer applies a code on the page, another one, and none", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		ten := a.promotionCode(a.tenPercent(), "TEN")
		half := a.promotionCode(a.coupon(&stripe.CouponCreateParams{PercentOff: stripe.Float64(50)}).ID, "HALF")
		session := a.session(&stripe.CheckoutSessionCreateParams{
			AllowPromotionCodes: stripe.Bool(true),
			LineItems: []*stripe.CheckoutSessionCreateLineItemParams{
				item("Sledge", 1000), item("Kite", 1005)},
		})
		for _, c := range []struct {
			code  string
			total int64
		}{{"ten", 1804}, {"", 2005}, {"Half", 1002}} {
			equal(t, "total with "+c.code, a.apply(session.ID, c.code).AmountTotal, c.total)
		}
		refused(t, a.send(session.ID, url.Values{"promotion_code": {"NONE"}}, nil),
			invalid("resource_missing", "promotion_code", "No such promotion code: 'NONE'"))
		a.promotionCode(a.coupon(&stripe.CouponCreateParams{PercentOff: stripe.Float64(100)}).ID, "FREE")
		refused(t, a.send(session.ID, url.Values{"promotion_code": {"FREE"}}, nil),
			invalid("amount_too_small", "promotion_code", "Amount must be at least $0.50 usd"))
		shown := a.retrieveSession(session.ID, "line_items")
		equal(t, "a wrong code leaves the other one", []any{shown.AmountTotal, shown.Discounts[0].PromotionCode.ID,
			shown.LineItems.Data[0].AmountTotal, shown.LineItems.Data[1].AmountTotal},
			[]any{int64(1002), half.ID, int64(500), int64(502)})
		paid := a.page(http.MethodPost, session.ID, visa)
		equal(t, "paid", []any{paid.Status, paid.PaymentIntent.AmountReceived}, []any{"complete", int64(1002)})
		a.wantUsed(ten, 0)
		a.wantUsed(half, 1)
		refused(t, a.send(session.ID, url.Values{"promotion_code": {""}}, nil),
			invalid("checkout_session_unexpected_state", "", ""))
	})

	t.Run("a session without a field for codes takes none", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		a.promotionCode(a.tenPercent(), "TEN")
		refused(t, a.send(a.session(nil).ID, url.Values{"promotion_code": {"TEN"}}, nil),
			invalid("", "promotion_code", "This Checkout Session does not accept promotion codes."))
	})

	t.Run("of sessions that race for the last redemption of a code one is paid, and no other is charged",
		func(t *testing.T) {
			inTurn(t)
			a := in.account(t)
			params := codeOf(a.tenPercent(), "LAST")
			params.MaxRedemptions = stripe.Int64(1)
			code, err := a.V1PromotionCodes.Create(t.Context(), params)
			noError(t, err)
			var sessions []*stripe.CheckoutSession
			for range 5 {
				sessions = append(sessions, a.session(redeeming(code.ID)))
			}
			errs := make([]error, len(sessions))
			var pressing sync.WaitGroup
			for i, session := range sessions {
				pressing.Go(func() { errs[i] = a.press(session.ID, visa, nil) })
			}
			pressing.Wait()
			paid := 0
			for _, err := range errs {
				if err == nil {
					paid++
					continue
				}
				refused(t, err, invalid("coupon_expired", "", cannot+"it is used up."))
			}
			equal(t, "paid", paid, 1)
			equal(t, "charges", len(collect(t, a.V1Charges.List(t.Context(), nil))), 1)
			a.wantUsed(code, 1)
			used, err := a.V1PromotionCodes.Retrieve(t.Context(), code.ID, nil)
			noError(t, err)
			equal(t, "a code that is used up is not active", used.Active, false)
		})

	t.Run("a declined card and an expired session give the redemption up", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		params := codeOf(a.tenPercent(), "LAST")
		params.MaxRedemptions = stripe.Int64(1)
		code, err := a.V1PromotionCodes.Create(t.Context(), params)
		noError(t, err)
		first, second := a.session(redeeming(code.ID)), a.session(redeeming(code.ID))
		refused(t, a.press(first.ID, url.Values{"payment_method": {"pm_card_chargeDeclined"}}, nil),
			refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard, "card_declined", "generic_decline",
				"try_again_later", "", "Your card was declined."})
		a.page(http.MethodPost, second.ID, url.Values{"payment_method": {"pm_card_authenticationRequired"}})
		refused(t, a.press(first.ID, visa, nil), invalid("coupon_expired", "", cannot+"it is used up."))
		_, err = a.V1CheckoutSessions.Expire(t.Context(), second.ID, nil)
		noError(t, err)
		equal(t, "page", a.page(http.MethodPost, first.ID, visa).Status, "complete")
		a.wantUsed(code, 1)
	})

	t.Run("a code that a challenge is pending with stays", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		a.promotionCode(a.tenPercent(), "TEN")
		session := a.session(&stripe.CheckoutSessionCreateParams{AllowPromotionCodes: stripe.Bool(true)})
		a.apply(session.ID, "TEN")
		a.page(http.MethodPost, session.ID, url.Values{"payment_method": {"pm_card_authenticationRequired"}})
		refused(t, a.send(session.ID, url.Values{"promotion_code": {""}}, nil),
			invalid("checkout_session_unexpected_state", "promotion_code", "This Checkout Session is being paid."))
	})

	t.Run("restrictions", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		coupon := a.tenPercent()
		owner, other := a.customer(nil).ID, a.customer(nil).ID
		restricted := func(code string, change func(*stripe.PromotionCodeCreateParams)) *stripe.PromotionCode {
			params := codeOf(coupon, code)
			params.Restrictions = &stripe.PromotionCodeCreateRestrictionsParams{}
			change(params)
			made, err := a.V1PromotionCodes.Create(t.Context(), params)
			noError(t, err)
			return made
		}
		first := restricted("FIRST", func(p *stripe.PromotionCodeCreateParams) {
			p.Restrictions.FirstTimeTransaction = stripe.Bool(true)
		})
		dear := restricted("DEAR", func(p *stripe.PromotionCodeCreateParams) {
			p.Restrictions.MinimumAmount, p.Restrictions.MinimumAmountCurrency =
				stripe.Int64(2001), stripe.String("usd")
		})
		theirs := restricted("THEIRS", func(p *stripe.PromotionCodeCreateParams) { p.Customer = &owner })
		inactive := restricted("INACTIVE", func(p *stripe.PromotionCodeCreateParams) { p.Active = stripe.Bool(false) })

		open := a.session(ofCustomer(redeeming(first.ID), owner))
		equal(t, "first", a.page(http.MethodPost, a.session(ofCustomer(redeeming(first.ID), owner)).ID, visa).Status,
			"complete")
		notFirst := invalid("promotion_code_customer_not_first_time", "",
			cannot+"the associated customer has prior transactions.")
		refused(t, a.press(open.ID, visa, nil), notFirst)
		const at = "discounts[0][promotion_code]"
		notFirst.Param = at
		for _, c := range []struct {
			code     *stripe.PromotionCode
			customer string
			want     refusal
		}{
			{first, owner, notFirst},
			{dear, other, invalid("", at,
				cannot+"the associated purchase does not meet the minimum amount requirement.")},
			{theirs, other, invalid("", at, cannot+"it is for another customer.")},
			{inactive, other, invalid("", at, cannot+"it is not active.")},
		} {
			_, err := a.V1CheckoutSessions.Create(t.Context(), payable(ofCustomer(redeeming(c.code.ID), c.customer)))
			refused(t, err, c.want)
		}
		equal(t, "their code", a.session(ofCustomer(redeeming(theirs.ID), owner)).AmountTotal, int64(1800))
	})
}

func redeeming(code string) *stripe.CheckoutSessionCreateParams {
	return &stripe.CheckoutSessionCreateParams{
		Discounts: []*stripe.CheckoutSessionCreateDiscountParams{{PromotionCode: &code}},
	}
}

func ofCustomer(params *stripe.CheckoutSessionCreateParams, customer string) *stripe.CheckoutSessionCreateParams {
	params.Customer = &customer
	return params
}

// payable are the parameters with what every session needs.
func payable(params *stripe.CheckoutSessionCreateParams) *stripe.CheckoutSessionCreateParams {
	params.Mode, params.SuccessURL = stripe.String("payment"), stripe.String("https://example.com")
	params.LineItems = []*stripe.CheckoutSessionCreateLineItemParams{item("T-shirt", 2000)}
	return params
}

// apply applies a code as the customer's page does.
func (a *account) apply(session, code string) *pageObject {
	a.t.Helper()
	var shown pageObject
	noError(a.t, a.send(session, url.Values{"promotion_code": {code}}, &shown))
	return &shown
}

func (a *account) wantUsed(code *stripe.PromotionCode, times int64) {
	a.t.Helper()
	found, err := a.V1PromotionCodes.Retrieve(a.t.Context(), code.ID, nil)
	noError(a.t, err)
	equal(a.t, "times redeemed", found.TimesRedeemed, times)
	a.wantRedeemed(code.Promotion.Coupon.ID, times)
}

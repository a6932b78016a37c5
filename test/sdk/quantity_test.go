//go:build unix

package sdk_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestAdjustableQuantity(t *testing.T) {
	inTurn(t)
	in := install(t)
	visa := url.Values{"payment_method": {"pm_card_visa"}}

	t.Run("the customer changes quantities, removes an item, and pays the new total", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		session := a.session(&stripe.CheckoutSessionCreateParams{
			LineItems: []*stripe.CheckoutSessionCreateLineItemParams{
				adjustable(item("Sledge", 2000), nil, nil),
				adjustable(item("Kite", 500), stripe.Int64(1), stripe.Int64(3)), item("Mug", 300)},
		})
		items := a.itemsOf(session.ID)
		equal(t, "limits", []stripe.LineItemAdjustableQuantity{
			*items[0].AdjustableQuantity, *items[1].AdjustableQuantity},
			[]stripe.LineItemAdjustableQuantity{
				{Enabled: true, Maximum: 99}, {Enabled: true, Minimum: 1, Maximum: 3}})
		equal(t, "limits of an item that has none", items[2].AdjustableQuantity, nil)
		equal(t, "total with 3 kites", a.adjust(session.ID, items[1].ID, "3").AmountTotal, int64(3800))
		equal(t, "total with 12 sledges", a.adjust(session.ID, items[0].ID, "12").AmountTotal, int64(25800))
		equal(t, "total without sledges", a.adjust(session.ID, items[0].ID, "0").AmountTotal, int64(1800))

		left := a.itemsOf(session.ID)
		equal(t, "items that are left", ids(left, func(i *stripe.LineItem) string { return i.Description }),
			[]string{"Kite", "Mug"})
		equal(t, "kites", []int64{left[0].Quantity, left[0].AmountSubtotal, left[0].AmountTotal},
			[]int64{3, 1500, 1500})
		stale := url.Values{"payment_method": {"pm_card_visa"}, "expected_amount": {"3800"}}
		refused(t, a.press(session.ID, stale, nil), invalid("checkout_amount_mismatch", "expected_amount", ""))
		equal(t, "page", a.page(http.MethodPost, session.ID, visa).Status, "complete")
		paid := a.retrieveSession(session.ID, "line_items", "payment_intent.latest_charge.balance_transaction")
		equal(t, "paid", []any{paid.AmountSubtotal, paid.AmountTotal, len(paid.LineItems.Data),
			paid.PaymentIntent.AmountReceived, paid.PaymentIntent.LatestCharge.BalanceTransaction.Amount},
			[]any{int64(1800), int64(1800), 2, int64(1800), int64(1800)})
		refused(t, a.send(session.ID, quantity(left[0].ID, "1"), nil),
			invalid("checkout_session_unexpected_state", "", ""))
	})

	t.Run("a removed item can be taken back, but the only one cannot be removed", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		session := a.session(&stripe.CheckoutSessionCreateParams{
			LineItems: []*stripe.CheckoutSessionCreateLineItemParams{
				adjustable(item("Sledge", 2000), nil, nil), adjustable(item("Kite", 500), nil, nil)}})
		items := a.itemsOf(session.ID)
		a.adjust(session.ID, items[0].ID, "0")
		refused(t, a.send(session.ID, quantity(items[1].ID, "0"), nil), invalid("",
			"updated_line_item_quantity[quantity]", "The only line item of a Checkout Session cannot be removed."))
		equal(t, "total with the sledge", a.adjust(session.ID, items[0].ID, "1").AmountTotal, int64(2500))
		equal(t, "total without the kite", a.adjust(session.ID, items[1].ID, "0").AmountTotal, int64(2000))
	})

	t.Run("a discount follows the quantity, and a quantity below the code's minimum is rejected", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		params := codeOf(a.tenPercent(), "SPRING")
		params.Restrictions = &stripe.PromotionCodeCreateRestrictionsParams{
			MinimumAmount: stripe.Int64(2000), MinimumAmountCurrency: stripe.String("usd")}
		code, err := a.V1PromotionCodes.Create(t.Context(), params)
		noError(t, err)
		session := a.session(&stripe.CheckoutSessionCreateParams{
			AllowPromotionCodes: stripe.Bool(true),
			LineItems: []*stripe.CheckoutSessionCreateLineItemParams{
				adjustable(item("Kite", 1005), nil, nil)}})
		kite := a.itemsOf(session.ID)[0].ID
		a.adjust(session.ID, kite, "3")
		equal(t, "total of 3", a.apply(session.ID, "SPRING").AmountTotal, int64(2713))
		equal(t, "total of 2", a.adjust(session.ID, kite, "2").AmountTotal, int64(1809))
		refused(t, a.send(session.ID, quantity(kite, "1"), nil), invalid("", "promotion_code",
			"This promotion code cannot be redeemed because the associated purchase does not meet the minimum amount "+
				"requirement."))
		shown := a.retrieveSession(session.ID, "line_items")
		equal(t, "a rejected quantity changes nothing", []int64{shown.AmountTotal, shown.TotalDetails.AmountDiscount,
			shown.LineItems.Data[0].Quantity, shown.LineItems.Data[0].AmountDiscount}, []int64{1809, 201, 2, 201})
		equal(t, "page", a.page(http.MethodPost, session.ID, visa).Status, "complete")
		a.wantUsed(code, 1)
	})

	t.Run("of quantities outside the limits nothing is changed", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		session := a.session(&stripe.CheckoutSessionCreateParams{
			LineItems: []*stripe.CheckoutSessionCreateLineItemParams{
				adjustable(item("Sledge", 2000), stripe.Int64(1), stripe.Int64(3)), item("Mug", 300),
				adjustable(item("Yacht", 60_000_000), nil, nil)}})
		items := a.itemsOf(session.ID)
		const param = "updated_line_item_quantity"
		for _, c := range []struct {
			item, quantity string
			want           refusal
		}{
			{items[0].ID, "4", invalid("", param+"[quantity]",
				"The quantity of the line item "+items[0].ID+" must be between 1 and 3.")},
			{items[0].ID, "0", invalid("", param+"[quantity]", "")},
			{items[0].ID, "-1", invalid("parameter_invalid_integer", param+"[quantity]", "")},
			{items[0].ID, "two", invalid("parameter_invalid_integer", param+"[quantity]", "")},
			{items[1].ID, "2", invalid("", param+"[line_item_id]",
				"The quantity of the line item "+items[1].ID+" cannot be adjusted.")},
			{items[2].ID, "2", invalid("amount_too_large", param+"[quantity]", "")},
			{"li_none", "2", invalid("resource_missing", param+"[line_item_id]", "No such line item: 'li_none'")},
		} {
			refused(t, a.send(session.ID, quantity(c.item, c.quantity), nil), c.want)
		}
		equal(t, "total", a.retrieveSession(session.ID).AmountTotal, session.AmountTotal)
	})
}

func TestAdjustableQuantityIsChecked(t *testing.T) {
	inTurn(t)
	in := install(t)

	for name, c := range map[string]struct {
		quantity      int64
		least, most   *int64
		param, reason string
	}{
		"more than the default maximum": {100, nil, nil, "line_items[0][quantity]",
			"The quantity of an item with an adjustable quantity must be between its minimum, 0, and its maximum, 99."},
		"less than the minimum": {1, stripe.Int64(2), nil, "line_items[0][quantity]", ""},
		"a minimum above the maximum": {3, stripe.Int64(4), stripe.Int64(3),
			"line_items[0][adjustable_quantity][minimum]",
			"The minimum of an adjustable quantity, 4, must not be greater than its maximum, 3."},
	} {
		t.Run(name+" is rejected", func(t *testing.T) {
			inTurn(t)
			a := in.account(t)
			sold := adjustable(item("Sledge", 2000), c.least, c.most)
			sold.Quantity = &c.quantity
			params := payable(&stripe.CheckoutSessionCreateParams{})
			params.LineItems = []*stripe.CheckoutSessionCreateLineItemParams{sold}
			_, err := a.V1CheckoutSessions.Create(t.Context(), params)
			refused(t, err, invalid("", c.param, c.reason))
		})
	}

	t.Run("a payment link gives its sessions the limits", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		price, err := a.V1Prices.Create(t.Context(), &stripe.PriceCreateParams{
			Currency: stripe.String("usd"), UnitAmount: stripe.Int64(700),
			ProductData: &stripe.PriceCreateProductDataParams{Name: stripe.String("Kite")}})
		noError(t, err)
		params := &stripe.PaymentLinkCreateParams{LineItems: []*stripe.PaymentLinkCreateLineItemParams{{
			Price: &price.ID, Quantity: stripe.Int64(2),
			AdjustableQuantity: &stripe.PaymentLinkCreateLineItemAdjustableQuantityParams{
				Enabled: stripe.Bool(true), Minimum: stripe.Int64(1), Maximum: stripe.Int64(5)}}}}
		params.AddExpand("line_items")
		link, err := a.V1PaymentLinks.Create(t.Context(), params)
		noError(t, err)
		limits := stripe.LineItemAdjustableQuantity{Enabled: true, Minimum: 1, Maximum: 5}
		equal(t, "limits of the link", *link.LineItems.Data[0].AdjustableQuantity, limits)
		equal(t, "what the merchant did not ask for", []any{link.PaymentMethodTypes == nil,
			link.InvoiceCreation.Enabled, link.InvoiceCreation.InvoiceData != nil}, []any{true, false, true})
		changed, err := a.V1PaymentLinks.Update(t.Context(), link.ID,
			&stripe.PaymentLinkUpdateParams{PaymentMethodTypes: stripe.StringSlice([]string{"card"})})
		noError(t, err)
		equal(t, "types", changed.PaymentMethodTypes,
			[]stripe.PaymentLinkPaymentMethodType{stripe.PaymentLinkPaymentMethodTypeCard})
		var opened struct {
			stripe.APIResource
			ID string `json:"id"`
		}
		noError(t, a.backend.Call(http.MethodPost, "/v1/payment_links/"+link.ID+"/open", a.key, nil, &opened))
		sold := a.itemsOf(opened.ID)[0]
		equal(t, "limits of the session", *sold.AdjustableQuantity, limits)
		equal(t, "total of 5", a.adjust(opened.ID, sold.ID, "5").AmountTotal, int64(3500))
		params.LineItems[0].Quantity = stripe.Int64(6)
		_, err = a.V1PaymentLinks.Create(t.Context(), params)
		refused(t, err, invalid("", "line_items[0][quantity]", ""))
	})
}

// adjustable is an item whose quantity the customer can change.
func adjustable(
	of *stripe.CheckoutSessionCreateLineItemParams, least, most *int64,
) *stripe.CheckoutSessionCreateLineItemParams {
	of.AdjustableQuantity = &stripe.CheckoutSessionCreateLineItemAdjustableQuantityParams{
		Enabled: stripe.Bool(true), Minimum: least, Maximum: most}
	return of
}

// quantity is what Stripe's front ends send.
func quantity(item, quantity string) url.Values {
	return url.Values{
		"updated_line_item_quantity[line_item_id]":                  {item},
		"updated_line_item_quantity[quantity]":                      {quantity},
		"updated_line_item_quantity[fail_update_on_discount_error]": {"true"},
	}
}

// adjust chooses a quantity as the customer.
func (a *account) adjust(session, item, to string) *pageObject {
	a.t.Helper()
	var shown pageObject
	noError(a.t, a.send(session, quantity(item, to), &shown))
	return &shown
}

func (a *account) itemsOf(session string) []*stripe.LineItem {
	a.t.Helper()
	list := &stripe.CheckoutSessionListLineItemsParams{Session: &session}
	return collect(a.t, a.V1CheckoutSessions.ListLineItems(a.t.Context(), list))
}

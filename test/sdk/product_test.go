//go:build unix

package sdk_test

import (
	"net/http"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestProductsAndPrices(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("a product lives until it has a price", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		own := &stripe.ProductCreateParams{
			ID:     stripe.String("sledge.red"),
			Name:   stripe.String("Sledge"),
			Images: stripe.StringSlice([]string{"https://example.com/a.png"}),
		}
		sledge, err := a.V1Products.Create(t.Context(), own)
		noError(t, err)
		equal(t, "product", []any{sledge.ID, sledge.Active, sledge.Images, sledge.Type},
			[]any{"sledge.red", true, []string{"https://example.com/a.png"}, stripe.ProductTypeService})
		_, err = a.V1Products.Create(t.Context(), own)
		refused(t, err, invalid("resource_already_exists", "id", "Product already exists: sledge.red"))
		_, err = a.V1Products.Update(t.Context(), sledge.ID,
			&stripe.ProductUpdateParams{Active: stripe.Bool(false), Metadata: map[string]string{"shelf": "7"}})
		noError(t, err)
		changed := a.onlyEvent("product.updated").Data.PreviousAttributes
		equal(t, "what changed", []any{changed["active"], changed["metadata"], changed["updated"] != nil},
			[]any{true, map[string]any{"shelf": nil}, true})
		inactive := collect(t, a.V1Products.List(t.Context(), &stripe.ProductListParams{Active: stripe.Bool(false)}))
		equal(t, "inactive products", ids(inactive, func(p *stripe.Product) string { return p.ID }),
			[]string{"sledge.red"})

		kite, err := a.V1Products.Create(t.Context(), &stripe.ProductCreateParams{Name: stripe.String("Kite"),
			DefaultPriceData: &stripe.ProductCreateDefaultPriceDataParams{
				Currency:   stripe.String("usd"),
				UnitAmount: stripe.Int64(900),
			}})
		noError(t, err)
		_, err = a.V1Products.Delete(t.Context(), kite.ID, nil)
		refused(t, err, invalid("", "", ""))
		archived := &stripe.PriceUpdateParams{Active: stripe.Bool(false)}
		_, err = a.V1Prices.Update(t.Context(), kite.DefaultPrice.ID, archived)
		refused(t, err, invalid("", "active",
			"This price cannot be archived because it is the default price of its product."))
		unset := &stripe.ProductUpdateParams{DefaultPrice: stripe.String("")}
		kept, err := a.V1Products.Update(t.Context(), kite.ID, unset)
		noError(t, err)
		equal(t, "default price", kept.DefaultPrice, nil)
		_, err = a.V1Prices.Update(t.Context(), kite.DefaultPrice.ID, archived)
		noError(t, err)
		gone, err := a.V1Products.Delete(t.Context(), sledge.ID, nil)
		noError(t, err)
		equal(t, "deleted", gone.Deleted, true)
		_, err = a.V1Products.Retrieve(t.Context(), sledge.ID, nil)
		refused(t, err, missing("id", "No such product: 'sledge.red'"))
	})

	t.Run("a package is measured in hundredths", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		measures := func(height float64) *stripe.ProductCreatePackageDimensionsParams {
			return &stripe.ProductCreatePackageDimensionsParams{Height: &height, Length: stripe.Float64(12),
				Weight: stripe.Float64(0.5), Width: stripe.Float64(3.1)}
		}
		made, err := a.V1Products.Create(t.Context(),
			&stripe.ProductCreateParams{Name: stripe.String("Sledge"), PackageDimensions: measures(2.23)})
		noError(t, err)
		kept, err := a.V1Products.Retrieve(t.Context(), made.ID, nil)
		noError(t, err)
		for _, p := range []*stripe.Product{made, kept} {
			equal(t, "dimensions", *p.PackageDimensions,
				stripe.ProductPackageDimensions{Height: 2.23, Length: 12, Weight: 0.5, Width: 3.1})
		}
		changed, err := a.V1Products.Update(t.Context(), made.ID, &stripe.ProductUpdateParams{
			PackageDimensions: &stripe.ProductUpdatePackageDimensionsParams{Height: stripe.Float64(10.01),
				Length: stripe.Float64(1), Weight: stripe.Float64(1), Width: stripe.Float64(1)}})
		noError(t, err)
		equal(t, "height after the update", changed.PackageDimensions.Height, 10.01)
		_, err = a.V1Products.Create(t.Context(),
			&stripe.ProductCreateParams{Name: stripe.String("Sledge"), PackageDimensions: measures(2.235)})
		refused(t, err, invalid("", "package_dimensions[height]", ""))
	})

	t.Run("a price changes in everything but what it costs", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		price := &stripe.PriceCreateParams{
			Currency:   stripe.String("usd"),
			UnitAmount: stripe.Int64(1500),
			LookupKey:  stripe.String("standard"),
			ProductData: &stripe.PriceCreateProductDataParams{
				ID:   stripe.String("sledge"),
				Name: stripe.String("Sledge"),
			},
		}
		price.AddExpand("product")
		first, err := a.V1Prices.Create(t.Context(), price)
		noError(t, err)
		equal(t, "price", []any{first.UnitAmount, first.UnitAmountDecimal, first.Type, first.Product.Name},
			[]any{int64(1500), 1500.0, stripe.PriceTypeOneTime, "Sledge"})
		next := &stripe.PriceCreateParams{
			Currency:   stripe.String("usd"),
			UnitAmount: stripe.Int64(1700),
			LookupKey:  stripe.String("standard"),
			Product:    &first.Product.ID,
		}
		_, err = a.V1Prices.Create(t.Context(), next)
		refused(t, err,
			invalid("resource_already_exists", "lookup_key", "A price (`"+first.ID+"`) already uses that lookup key."))
		next.TransferLookupKey = stripe.Bool(true)
		second, err := a.V1Prices.Create(t.Context(), next)
		noError(t, err)
		found := collect(t,
			a.V1Prices.List(t.Context(), &stripe.PriceListParams{
				LookupKeys: stripe.StringSlice([]string{"standard"}),
				Currency:   stripe.String("USD"),
			}))
		equal(t, "found by its key", ids(found, func(p *stripe.Price) string { return p.ID }), []string{second.ID})

		_, err = a.V1Prices.Update(t.Context(), second.ID, &stripe.PriceUpdateParams{Active: stripe.Bool(false)})
		noError(t, err)
		_, err = a.V1CheckoutSessions.Create(t.Context(), &stripe.CheckoutSessionCreateParams{
			Mode:       stripe.String("payment"),
			SuccessURL: stripe.String("https://example.com"),
			LineItems:  []*stripe.CheckoutSessionCreateLineItemParams{{Price: &second.ID, Quantity: stripe.Int64(1)}},
		})
		refused(t, err, invalid("", "line_items[0][price]",
			"The price specified is inactive. This field only accepts active prices."))
	})

	t.Run("an archived product is not sold, at a session or at a link", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		product, err := a.V1Products.Create(t.Context(), &stripe.ProductCreateParams{Name: stripe.String("Kite"),
			DefaultPriceData: &stripe.ProductCreateDefaultPriceDataParams{
				Currency: stripe.String("usd"), UnitAmount: stripe.Int64(900)}})
		noError(t, err)
		price := product.DefaultPrice.ID
		link := &stripe.PaymentLinkCreateParams{LineItems: []*stripe.PaymentLinkCreateLineItemParams{
			{Price: &price, Quantity: stripe.Int64(1)}}}
		older, err := a.V1PaymentLinks.Create(t.Context(), link)
		noError(t, err)
		_, err = a.V1Products.Update(t.Context(), product.ID, &stripe.ProductUpdateParams{Active: stripe.Bool(false)})
		noError(t, err)

		notActive := invalid("", "line_items[0][price]",
			"Price `"+price+"` is not available to be purchased because its product is not active.")
		_, err = a.V1PaymentLinks.Create(t.Context(), link)
		refused(t, err, notActive)
		var opened stripe.APIResource
		err = a.backend.Call(http.MethodPost, "/v1/payment_links/"+older.ID+"/open", a.key, nil, &opened)
		refused(t, err, notActive)
		sell := func(item stripe.CheckoutSessionCreateLineItemParams) error {
			item.Quantity = stripe.Int64(1)
			_, err := a.V1CheckoutSessions.Create(t.Context(), &stripe.CheckoutSessionCreateParams{
				Mode: stripe.String("payment"), SuccessURL: stripe.String("https://example.com"),
				LineItems: []*stripe.CheckoutSessionCreateLineItemParams{&item}})
			return err
		}
		refused(t, sell(stripe.CheckoutSessionCreateLineItemParams{Price: &price}), notActive)
		refused(t, sell(stripe.CheckoutSessionCreateLineItemParams{
			PriceData: &stripe.CheckoutSessionCreateLineItemPriceDataParams{
				Product: &product.ID, Currency: stripe.String("usd"), UnitAmount: stripe.Int64(900)}}),
			invalid("", "line_items[0][price_data][product]",
				"Product `"+product.ID+"` is not available to be purchased because it is not active."))
	})

	t.Run("a price that recurs is kept and shown, and starts no subscription", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		price, err := a.V1Prices.Create(t.Context(), &stripe.PriceCreateParams{
			Currency:    stripe.String("usd"),
			UnitAmount:  stripe.Int64(1500),
			ProductData: &stripe.PriceCreateProductDataParams{Name: stripe.String("Rink")},
			Recurring: &stripe.PriceCreateRecurringParams{
				Interval:      stripe.String("month"),
				IntervalCount: stripe.Int64(3),
			},
		})
		noError(t, err)
		equal(t, "type", price.Type, stripe.PriceTypeRecurring)
		kept, err := a.V1Prices.Retrieve(t.Context(), price.ID, nil)
		noError(t, err)
		equal(t, "recurring", []any{kept.Recurring.Interval, kept.Recurring.IntervalCount, kept.Recurring.UsageType},
			[]any{stripe.PriceRecurringIntervalMonth, int64(3), stripe.PriceRecurringUsageTypeLicensed})
		for kind, want := range map[string][]string{"recurring": {price.ID}, "one_time": {}} {
			found := collect(t, a.V1Prices.List(t.Context(), &stripe.PriceListParams{Type: &kind}))
			equal(t, kind, ids(found, func(p *stripe.Price) string { return p.ID }), want)
		}
		_, err = a.V1CheckoutSessions.Create(t.Context(), &stripe.CheckoutSessionCreateParams{
			Mode:       stripe.String("payment"),
			SuccessURL: stripe.String("https://example.com"),
			LineItems:  []*stripe.CheckoutSessionCreateLineItemParams{{Price: &price.ID, Quantity: stripe.Int64(1)}},
		})
		refused(t, err,
			invalid("", "line_items[0][price]",
				"This installation has no subscriptions: a session takes prices that are paid once."))
	})

	t.Run("a price that recurs can be the default of a product and be linked to, but not be opened",
		func(t *testing.T) {
			inTurn(t)
			a := in.account(t)
			product, err := a.V1Products.Create(t.Context(), &stripe.ProductCreateParams{Name: stripe.String("Rink"),
				DefaultPriceData: &stripe.ProductCreateDefaultPriceDataParams{
					Currency: stripe.String("usd"), UnitAmount: stripe.Int64(1500),
					Recurring: &stripe.ProductCreateDefaultPriceDataRecurringParams{Interval: stripe.String("week")}}})
			noError(t, err)
			link, err := a.V1PaymentLinks.Create(t.Context(), &stripe.PaymentLinkCreateParams{
				LineItems: []*stripe.PaymentLinkCreateLineItemParams{
					{Price: &product.DefaultPrice.ID, Quantity: stripe.Int64(1)}}})
			noError(t, err)
			var opened stripe.APIResource
			err = a.backend.Call(http.MethodPost, "/v1/payment_links/"+link.ID+"/open", a.key, nil, &opened)
			refused(t, err, invalid("", "line_items[0][price]", ""))
			session := func(mode string) error {
				_, err := a.V1CheckoutSessions.Create(t.Context(), &stripe.CheckoutSessionCreateParams{
					Mode: &mode, SuccessURL: stripe.String("https://example.com"),
					LineItems: []*stripe.CheckoutSessionCreateLineItemParams{{Quantity: stripe.Int64(1),
						PriceData: &stripe.CheckoutSessionCreateLineItemPriceDataParams{Product: &product.ID,
							Currency: stripe.String("usd"), UnitAmount: stripe.Int64(1500),
							Recurring: &stripe.CheckoutSessionCreateLineItemPriceDataRecurringParams{
								Interval: stripe.String("month")}}}}})
				return err
			}
			refused(t, session("payment"), invalid("", "line_items[0][price_data][recurring]", ""))
			refused(t, session("subscription"), invalid("", "mode", ""))
		})
}

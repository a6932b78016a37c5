package session

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/catalog"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// LineItem is one line of what a session is to pay for, as a caller says it: a
// price there is, or one made for this session.
type LineItem struct {
	AdjustableQuantity *AdjustableQuantity `form:"adjustable_quantity"`
	Metadata           form.Metadata       `form:"metadata"`
	Price              string              `form:"price" max:"5000"`
	PriceData          *PriceData          `form:"price_data"`
	Quantity           *int64              `form:"quantity" min:"1" max:"999999"`
}

// AdjustableQuantity lets the customer choose the quantity of an item.
type AdjustableQuantity struct {
	Enabled bool   `form:"enabled,required"`
	Maximum *int64 `form:"maximum" min:"1" max:"999999"`
	Minimum *int64 `form:"minimum" min:"0" max:"999999"`
}

// mostByDefault is how many units a customer can choose if the merchant sets no maximum.
const mostByDefault = 99

// PriceData describe a price for one session.
type PriceData struct {
	Product     string              `form:"product" max:"5000"`
	ProductData *SessionProductData `form:"product_data"`
	catalog.Cost
}

// SessionProductData describe a product for one session.
type SessionProductData struct {
	Name        string        `form:"name,required" max:"5000"`
	Description *string       `form:"description" max:"40000"`
	Images      *[]string     `form:"images" max:"8"`
	Metadata    form.Metadata `form:"metadata"`
	TaxCode     *string       `form:"tax_code" max:"5000"`
	UnitLabel   *string       `form:"unit_label" max:"12"`
}

// FoundItem is the price and product of a line item. Amounts are minor units.
type FoundItem struct {
	Price    *catalog.Price      // one there is
	Product  *catalog.Product    // the one it is of, or is to be of; nil if that is new, too
	New      *SessionProductData // the new one
	Cost     catalog.Cost        // of a price for this session
	Quantity int64
	Limits   *QuantityLimits // nil: the customer cannot change the quantity
	Amount   int64
	Discount int64 // part of the amount
	Metadata map[string]string
}

// QuantityLimits are the smallest and the largest quantity that a customer can choose.
type QuantityLimits struct{ Minimum, Maximum int64 }

// findItems reads the prices and products that are named, in two queries however
// many there are.
func (in *CreateCheckoutSessionParams) findItems(ctx context.Context, db phase.Reader, v resource.Principal) error {
	prices, products, err := in.readGoods(ctx, db, v)
	if err != nil {
		return err
	}
	for i, item := range in.LineItems {
		at := fmt.Sprintf("line_items[%d]", i)
		found, err := item.find(at, prices, products)
		if err != nil {
			return err
		}
		if found.Price != nil && found.Price.Recurring != nil && !in.Offered {
			return refuseRecurring(at + "[price]")
		}
		if in.Currency == "" {
			in.Currency = found.Cost.Currency
		}
		if found.Cost.Currency != in.Currency {
			return apierror.Invalid(at,
				"All line items of a Checkout Session must have the same currency: this one is in %s, the session "+
					"in %s.",
				found.Cost.Currency, apierror.Excerpt(in.Currency))
		}
		found.Amount = *found.Cost.UnitAmount * found.Quantity
		if err := money.CheckMost(found.Amount, in.Currency, at); err != nil {
			return err
		}
		in.Found = append(in.Found, *found)
	}
	return in.findTotal(ctx, db, v)
}

func totalOf(items []FoundItem) (amount, discount int64) {
	for _, item := range items {
		amount, discount = amount+item.Amount, discount+item.Discount
	}
	return amount, discount
}

// readGoods reads all prices and products the items name.
func (in *CreateCheckoutSessionParams) readGoods(
	ctx context.Context, db phase.Reader, v resource.Principal,
) (prices map[string]*catalog.Price, products map[string]*catalog.Product, err error) {
	var named []string
	for _, item := range in.LineItems {
		named = append(named, item.Price)
	}
	found, err := allByID[catalog.Price](ctx, db, catalog.PricesByID, v, named)
	if err != nil {
		return nil, nil, err
	}
	prices, named = map[string]*catalog.Price{}, nil
	for _, price := range found {
		prices[price.ID], named = price, append(named, price.ProductID)
	}
	for _, item := range in.LineItems {
		if item.PriceData != nil {
			named = append(named, item.PriceData.Product)
		}
	}
	of, err := allByID[catalog.Product](ctx, db, catalog.ProductsByID, v, named)
	products = map[string]*catalog.Product{}
	for _, product := range of {
		products[product.ID] = product
	}
	return prices, products, err
}

func allByID[Row any](
	ctx context.Context, db phase.Reader, sql string, v resource.Principal, ids []string,
) ([]*Row, error) {
	args := v.Args()
	args["ids"] = ids
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Row])
}

// find finds the price and product of one item.
func (l *LineItem) find(
	at string, prices map[string]*catalog.Price, products map[string]*catalog.Product,
) (*FoundItem, error) {
	found := &FoundItem{Quantity: 1}
	if l.Quantity == nil {
		return nil, apierror.Missing(at + "[quantity]")
	}
	found.Quantity = *l.Quantity
	var err error
	if found.Limits, err = l.limits(at); err != nil {
		return nil, err
	}
	if found.Metadata, err = l.Metadata.Apply(nil); err != nil {
		return nil, resource.WithinParam(at, err)
	}
	switch {
	case l.Price != "" && l.PriceData != nil:
		return nil, apierror.Invalid("", "You may only specify one of these parameters: price, price_data.").
			WithCode("parameters_exclusive")
	case l.Price == "" && l.PriceData == nil:
		return nil, apierror.Invalid(at, "You must provide `price` or `price_data`.").
			WithCode("parameter_missing")
	case l.PriceData != nil:
		return found, l.PriceData.find(found, at+"[price_data]", products)
	}
	price := prices[l.Price]
	if price == nil {
		return nil, apierror.NoSuch("price", at+"[price]", l.Price)
	}
	found.Price, found.Product = price, products[price.ProductID]
	switch {
	case !price.Active:
		return nil, apierror.Invalid(at+"[price]",
			"The price specified is inactive. This field only accepts active prices.")
	case !found.Product.Active:
		return nil, apierror.Invalid(at+"[price]",
			"Price `%s` is not available to be purchased because its product is not active.", price.ID)
	}
	found.Cost = catalog.Cost{Currency: price.Currency, UnitAmount: &price.UnitAmount}
	return found, nil
}

// limits are those of an item whose quantity the customer can change.
func (l *LineItem) limits(at string) (*QuantityLimits, error) {
	a := l.AdjustableQuantity
	if a == nil || !a.Enabled {
		return nil, nil
	}
	limits := QuantityLimits{0, mostByDefault}
	if a.Minimum != nil {
		limits.Minimum = *a.Minimum
	}
	if a.Maximum != nil {
		limits.Maximum = *a.Maximum
	}
	switch {
	case limits.Minimum > limits.Maximum:
		return nil, apierror.Invalid(at+"[adjustable_quantity][minimum]",
			"The minimum of an adjustable quantity, %d, must not be greater than its maximum, %d.",
			limits.Minimum, limits.Maximum)
	case *l.Quantity < limits.Minimum || *l.Quantity > limits.Maximum:
		return nil, apierror.Invalid(at+"[quantity]",
			"The quantity of an item with an adjustable quantity must be between its minimum, %d, and its maximum, %d.",
			limits.Minimum, limits.Maximum)
	}
	return &limits, nil
}

// refuseRecurring is for a price that would begin a subscription.
func refuseRecurring(param string) *apierror.Error {
	return apierror.Invalid(param, "This installation has no subscriptions: a session takes prices that are paid once.")
}

func (d *PriceData) find(found *FoundItem, at string, products map[string]*catalog.Product) error {
	switch {
	case d.Product != "" && d.ProductData != nil:
		return apierror.Invalid("", "You may only specify one of these parameters: product, product_data.").
			WithCode("parameters_exclusive")
	case d.Product != "" && products[d.Product] == nil:
		return apierror.NoSuch("product", at+"[product]", d.Product)
	case d.Product != "" && !products[d.Product].Active:
		return apierror.Invalid(at+"[product]",
			"Product `%s` is not available to be purchased because it is not active.", d.Product)
	case d.Product == "" && d.ProductData == nil:
		return apierror.Missing(at + "[product_data]")
	}
	if d.Recurring != nil {
		return refuseRecurring(at + "[recurring]")
	}
	if err := d.Cost.Check(at); err != nil {
		return err
	}
	if d.ProductData != nil {
		params := catalog.ProductParams{Metadata: d.ProductData.Metadata, Images: d.ProductData.Images}
		if err := params.Check(); err != nil {
			return resource.WithinParam(at+"[product_data]", err)
		}
	}
	found.Product, found.New, found.Cost = products[d.Product], d.ProductData, d.Cost
	return nil
}

// sellItems makes the items of a session or a link, and the prices and products that are
// for it alone, which a link's sessions sell later if they are active. It returns the items,
// which the caller inserts behind their owner, and the products they are of.
func sellItems(
	tx *phase.Tx, found []FoundItem, owner string, active bool,
) (items []CheckoutItem, products []resource.Renderer, err error) {
	items = make([]CheckoutItem, 0, len(found))
	for _, f := range found {
		price, product, err := f.price(tx, active)
		if err != nil {
			return nil, nil, err
		}
		products = append(products, product)
		item := CheckoutItem{
			AccountID:      tx.AccountID,
			SessionID:      owner,
			Livemode:       tx.Livemode,
			Description:    product.Name,
			Quantity:       f.Quantity,
			Amount:         f.Amount,
			Discount:       f.Discount,
			Metadata:       f.Metadata,
			CreatedAt:      tx.Now(),
			PriceID:        price.ID,
			ProductID:      price.ProductID,
			PriceActive:    price.Active,
			Currency:       price.Currency,
			UnitAmount:     price.UnitAmount,
			LookupKey:      price.LookupKey,
			PriceMetadata:  price.Metadata,
			Nickname:       price.Nickname,
			TaxBehavior:    price.TaxBehavior,
			PriceCreatedAt: price.CreatedAt,
		}
		if f.Limits != nil {
			item.QuantityMinimum, item.QuantityMaximum = &f.Limits.Minimum, &f.Limits.Maximum
		}
		items = append(items, item)
	}
	// Lists show the newest first. The last item gets the oldest id, so that the
	// items are listed as they were given.
	for i := range items {
		items[len(items)-1-i].ID = tx.NewID("li")
	}
	return items, products, nil
}

// price is the item's price and what it is for. A price or product that was created for one
// session is inactive: it is not for sale elsewhere.
func (f *FoundItem) price(tx *phase.Tx, active bool) (price *catalog.Price, product *catalog.Product, err error) {
	if f.Price != nil {
		return f.Price, f.Product, nil
	}
	product = f.Product
	if f.New != nil {
		product = catalog.NewProduct(tx, f.New.Name)
		err := product.Apply(catalog.ProductParams{
			Active:      &active,
			Description: f.New.Description,
			Images:      f.New.Images,
			Metadata:    f.New.Metadata,
			TaxCode:     f.New.TaxCode,
			UnitLabel:   f.New.UnitLabel,
		})
		if err != nil {
			return nil, nil, err
		}
		product.Create(tx)
	}
	price, err = catalog.NewPrice(tx, product.ID, f.Cost, form.Metadata{})
	if err != nil {
		return nil, nil, err
	}
	price.Active = active
	price.Create(tx)
	return price, product, nil
}

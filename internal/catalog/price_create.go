package catalog

import (
	"context"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// Cost is what something costs, as a caller says it.
type Cost struct {
	Currency          string     `form:"currency,required"`
	UnitAmount        *int64     `form:"unit_amount" min:"0"`
	UnitAmountDecimal *string    `form:"unit_amount_decimal" max:"30"`
	TaxBehavior       string     `form:"tax_behavior" enum:"exclusive,inclusive,unspecified"`
	Recurring         *Recurring `form:"recurring"`
}

// Recurring says how often something is paid.
type Recurring struct {
	Interval      string `form:"interval,required" enum:"day,month,week,year"`
	IntervalCount *int64 `form:"interval_count" min:"1"`
	UsageType     string `form:"usage_type" enum:"licensed,metered"`
}

// longest are the intervals of three years, which is as long as one can be.
var longest = map[string]int64{"day": 1096, "week": 156, "month": 36, "year": 3}

func (r *Recurring) check(at string) error {
	if r == nil || r.IntervalCount == nil || *r.IntervalCount <= longest[r.Interval] {
		return nil
	}
	return apierror.Invalid(resource.NestedParam(at, "recurring[interval_count]"),
		"A price can be paid every %d %ss at most.", longest[r.Interval], r.Interval)
}

func (r *Recurring) recurrence() *Recurrence {
	if r == nil {
		return nil
	}
	kept := &Recurrence{Interval: r.Interval, IntervalCount: 1, UsageType: "licensed"}
	if r.IntervalCount != nil {
		kept.IntervalCount = *r.IntervalCount
	}
	if r.UsageType != "" {
		kept.UsageType = r.UsageType
	}
	return kept
}

// ProductData describe the product of a price, which is made with it.
type ProductData struct {
	Name                string        `form:"name,required" max:"5000"`
	Active              *bool         `form:"active"`
	ID                  string        `form:"id" max:"255"`
	Metadata            form.Metadata `form:"metadata"`
	StatementDescriptor *string       `form:"statement_descriptor" max:"22"`
	TaxCode             *string       `form:"tax_code" max:"5000"`
	UnitLabel           *string       `form:"unit_label" max:"12"`
}

// CreatePriceParams are what POST /v1/prices takes.
type CreatePriceParams struct {
	Active            *bool         `form:"active"`
	BillingScheme     string        `form:"billing_scheme" enum:"per_unit,tiered"`
	LookupKey         string        `form:"lookup_key" max:"200"`
	Metadata          form.Metadata `form:"metadata"`
	Nickname          *string       `form:"nickname" max:"5000"`
	Product           string        `form:"product" max:"5000"`
	ProductData       *ProductData  `form:"product_data"`
	TiersMode         string        `form:"tiers_mode" enum:"graduated,volume"`
	TransferLookupKey bool          `form:"transfer_lookup_key"`
	Expand            form.Expand   `form:"expand"`
	Cost
}

const priceCreated = "price_created"

// CreatePrice says what one of a product costs.
//
//	(nothing) ──▶ price_created
//	      claim + insert + answer
var CreatePrice = phase.Define("price.create", 1,
	phase.Atomic(priceCreated, createPrice),
).Check(checkPrice)

func checkPrice(ctx context.Context, db phase.Reader, caller phase.Check, in *CreatePriceParams) error {
	if in.BillingScheme == "tiered" || in.TiersMode != "" {
		return apierror.Invalid("billing_scheme",
			"This installation has no tiered prices. Use a `billing_scheme` of `per_unit`.")
	}
	if err := in.Cost.Check(""); err != nil {
		return err
	}
	if _, err := in.Metadata.New(); err != nil {
		return err
	}
	switch {
	case in.Product != "" && in.ProductData != nil:
		return apierror.Invalid("", "You may only specify one of these parameters: product, product_data.").
			WithCode("parameters_exclusive")
	case in.Product != "":
		err := resource.AsParam(productExists(ctx, db, resource.PrincipalOfCheck(caller), in.Product), "product")
		if err != nil {
			return err
		}
	case in.ProductData == nil:
		return apierror.Missing("product")
	default:
		if err := in.ProductData.check(ctx, db, resource.PrincipalOfCheck(caller)); err != nil {
			return err
		}
	}
	return checkLookupKey(ctx, db, resource.PrincipalOfCheck(caller), in.LookupKey, "", in.TransferLookupKey)
}

func (d *ProductData) check(ctx context.Context, db phase.Reader, v resource.Principal) error {
	params := ProductParams{Metadata: d.Metadata, StatementDescriptor: d.StatementDescriptor}
	if err := params.Check(); err != nil || d.ID == "" {
		return err
	}
	return checkProductID(ctx, db, v, d.ID)
}

// Check verifies what something costs, and reads a decimal as the whole number it
// has to be. at is its place among the parameters, "" for the top.
func (c *Cost) Check(at string) (err error) {
	if err := c.Recurring.check(at); err != nil {
		return err
	}
	if c.Currency, err = money.Parse(c.Currency); err != nil {
		return err
	}
	switch {
	case c.UnitAmount != nil && c.UnitAmountDecimal != nil:
		return apierror.Invalid("", "You may only specify one of these parameters: unit_amount, unit_amount_decimal.").
			WithCode("parameters_exclusive")
	case c.UnitAmountDecimal != nil:
		integer, fraction, _ := strings.Cut(*c.UnitAmountDecimal, ".") // Stripe's SDKs send 19 as "19.0000"
		whole, err := strconv.ParseInt(integer, 10, 64)
		if err != nil || whole < 0 || strings.Trim(fraction, "0") != "" {
			return apierror.Invalid(resource.NestedParam(at, "unit_amount_decimal"),
				"Invalid decimal: %s. This installation takes whole minor units only.",
				form.Quote(*c.UnitAmountDecimal)).
				WithCode("parameter_invalid_integer")
		}
		c.UnitAmount, c.UnitAmountDecimal = &whole, nil
	case c.UnitAmount == nil:
		return apierror.Missing(resource.NestedParam(at, "unit_amount"))
	}
	return money.CheckMost(*c.UnitAmount, c.Currency, resource.NestedParam(at, "unit_amount"))
}

// checkLookupKey refuses a key that finds another price, unless it is to be taken
// from that one. own is the price that may have it already.
func checkLookupKey(ctx context.Context, db phase.Reader, v resource.Principal, key, own string, transfer bool) error {
	if key == "" {
		return nil
	}
	price, err := resource.Get[Price](ctx, db, priceByLookupKey, v, key)
	if err != nil {
		return err
	}
	if price != nil && price.ID != own && !transfer {
		return apierror.Invalid("lookup_key", "A price (`%s`) already uses that lookup key.", price.ID).
			WithCode("resource_already_exists")
	}
	return nil
}

func createPrice(ctx context.Context, tx *phase.Tx, in CreatePriceParams, _ *struct{}) (phase.Outcome, error) {
	product, err := in.product(ctx, tx)
	if err != nil {
		return phase.Outcome{}, err
	}
	price, err := NewPrice(tx, product.ID, in.Cost, in.Metadata)
	if err != nil {
		return phase.Outcome{}, err
	}
	if in.Active != nil {
		price.Active = *in.Active
	}
	price.LookupKey, price.Nickname = resource.NilIfEmpty(in.LookupKey), in.Nickname
	if err := freeLookupKey(ctx, tx, in.LookupKey, price.ID); err != nil {
		return phase.Outcome{}, err
	}
	if in.ProductData != nil {
		product.Create(tx)
	}
	price.Create(tx)
	return replyWithPrice(ctx, tx, in.Expand, price, product)
}

// product is the price's product, which is not deleted meanwhile, or a new one.
func (in *CreatePriceParams) product(ctx context.Context, tx *phase.Tx) (*Product, error) {
	if in.ProductData != nil {
		return in.ProductData.product(tx)
	}
	return lockedProduct(ctx, tx, in.Product)
}

func (d *ProductData) product(tx *phase.Tx) (*Product, error) {
	product := NewProduct(tx, d.Name)
	if d.ID != "" {
		product.ID = d.ID
	}
	return product, product.Apply(ProductParams{
		Active:              d.Active,
		Metadata:            d.Metadata,
		StatementDescriptor: d.StatementDescriptor,
		TaxCode:             d.TaxCode,
		UnitLabel:           d.UnitLabel,
	})
}

// freeLookupKey takes a key from the price that has it.
func freeLookupKey(ctx context.Context, tx *phase.Tx, key, own string) error {
	if key == "" {
		return nil
	}
	other, err := resource.Get[Price](ctx, tx, priceByLookupKey, resource.PrincipalOf(tx.Caller), key)
	if err != nil || other == nil || other.ID == own {
		return err
	}
	other.LookupKey = nil
	other.update(tx)
	event.Emit(tx, "price.updated", other.ID, other.Render(), map[string]any{"lookup_key": key})
	return nil
}

// NewPrice is a price of a product. The caller writes it.
func NewPrice(tx *phase.Tx, product string, cost Cost, metadata form.Metadata) (*Price, error) {
	kept, err := metadata.Apply(nil)
	if err != nil {
		return nil, err
	}
	price := &Price{
		AccountID:   tx.AccountID,
		ID:          id.New("price", tx.Now()),
		Livemode:    tx.Livemode,
		RequestID:   tx.RequestID,
		ProductID:   product,
		Active:      true,
		Currency:    cost.Currency,
		UnitAmount:  *cost.UnitAmount,
		Metadata:    kept,
		Recurring:   cost.Recurring.recurrence(),
		TaxBehavior: "unspecified",
		CreatedAt:   tx.Now(),
	}
	if cost.TaxBehavior != "" {
		price.TaxBehavior = cost.TaxBehavior
	}
	return price, nil
}

// Create writes a new price and emits its event.
func (p *Price) Create(tx *phase.Tx) {
	p.insert(tx)
	event.Emit(tx, "price.created", p.ID, p.Render(), nil)
}

func replyWithPrice(
	ctx context.Context, tx *phase.Tx, paths form.Expand, price *Price, fresh ...resource.Renderer,
) (phase.Outcome, error) {
	return resource.Reply(ctx, tx, paths, price.ID, price.Render(), fresh...)
}

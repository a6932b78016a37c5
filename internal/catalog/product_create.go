package catalog

import (
	"context"
	"regexp"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// ProductParams are what a product can be created or updated with.
type ProductParams struct {
	Active              *bool               `form:"active"`
	Description         *string             `form:"description,unset" max:"40000"`
	Images              *[]string           `form:"images" max:"8"`
	MarketingFeatures   *[]MarketingFeature `form:"marketing_features" max:"15"`
	Metadata            form.Metadata       `form:"metadata"`
	PackageDimensions   *PackageDimensions  `form:"package_dimensions,unset"`
	Shippable           *bool               `form:"shippable"`
	StatementDescriptor *string             `form:"statement_descriptor" max:"22"`
	TaxCode             *string             `form:"tax_code,unset" max:"5000"`
	UnitLabel           *string             `form:"unit_label,unset" max:"12"`
	URL                 *string             `form:"url,unset" max:"2048"`
	Expand              form.Expand         `form:"expand"`
}

// CreateProductParams are what POST /v1/products takes.
type CreateProductParams struct {
	ID               string            `form:"id" max:"255"`
	Name             string            `form:"name,required" max:"5000"`
	Type             string            `form:"type" enum:"good,service"` // taken and not kept: a word of older versions
	DefaultPriceData *DefaultPriceData `form:"default_price_data"`
	ProductParams
}

// DefaultPriceData describe a product's first price.
type DefaultPriceData struct {
	Metadata form.Metadata `form:"metadata"`
	Cost
}

const productCreated = "product_created"

// CreateProduct puts something on sale.
//
//	(nothing) ──▶ product_created
//	      claim + insert + answer
var CreateProduct = phase.Define("product.create", 1,
	phase.Atomic(productCreated, createProduct),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *CreateProductParams) error {
	if in.DefaultPriceData != nil {
		if err := in.DefaultPriceData.Check("default_price_data"); err != nil {
			return err
		}
	}
	if _, err := in.Metadata.New(); err != nil {
		return err
	}
	if err := in.Check(); err != nil || in.ID == "" {
		return err
	}
	return checkProductID(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
})

// checkProductID refuses an id that cannot be one, or is one already.
func checkProductID(ctx context.Context, db phase.Reader, v resource.Principal, id string) error {
	return checkOwnID(ctx, db, v, "product", productIDTaken, id, "Product already exists: "+form.Quote(id))
}

var ownIDShape = regexp.MustCompile(`^\.*[A-Za-z0-9_:-][A-Za-z0-9_.:-]*$`)

// checkOwnID refuses an id of the merchant's choice that cannot be one, or that an object
// already has: taken is the statement that finds it, and exists the message.
func checkOwnID(ctx context.Context, db phase.Reader, v resource.Principal, object, taken, id, exists string) error {
	if !ownIDShape.MatchString(id) || testcard.IsNumber(id) {
		return apierror.Invalid("id",
			"Invalid %s id: %s. It may have letters, digits, dots, colons, dashes and underscores.",
			object, form.Quote(id))
	}
	type row struct{ ID string }
	found, err := resource.QueryOne[row](ctx, db, taken, pgx.StrictNamedArgs{"account_id": v.AccountID, "id": id})
	if err == nil && found != nil {
		return apierror.Invalid("id", "%s", exists).WithCode("resource_already_exists")
	}
	return err
}

// Check verifies what is the same for a new product and a change of one.
func (in *ProductParams) Check() error {
	if _, err := in.Metadata.Apply(nil); err != nil {
		return err
	}
	if in.URL != nil && *in.URL != "" && !resource.IsWebAddress(*in.URL) {
		return apierror.Invalid("url", "Not a valid URL").WithCode("url_invalid")
	}
	if in.Images != nil {
		for _, image := range *in.Images {
			if !resource.IsWebAddress(image) {
				return apierror.Invalid("images", "Not a valid URL").WithCode("url_invalid")
			}
		}
	}
	return resource.CheckDescriptors(in.StatementDescriptor)
}

func createProduct(ctx context.Context, tx *phase.Tx, in CreateProductParams, _ *struct{}) (phase.Outcome, error) {
	product := NewProduct(tx, in.Name)
	if in.ID != "" {
		product.ID = in.ID
	}
	if err := product.Apply(in.ProductParams); err != nil {
		return phase.Outcome{}, err
	}
	if in.DefaultPriceData == nil {
		product.Create(tx)
		return replyWithProduct(ctx, tx, in.Expand, product)
	}
	price, err := NewPrice(tx, product.ID, in.DefaultPriceData.Cost, in.DefaultPriceData.Metadata)
	if err != nil {
		return phase.Outcome{}, err
	}
	product.DefaultPriceID = &price.ID
	product.Create(tx)
	price.Create(tx)
	return replyWithProduct(ctx, tx, in.Expand, product, price)
}

// NewProduct is an active product of the account of tx, not yet inserted.
func NewProduct(tx *phase.Tx, name string) *Product {
	return &Product{
		AccountID:         tx.AccountID,
		ID:                id.New("prod", tx.Now()),
		Livemode:          tx.Livemode,
		RequestID:         tx.RequestID,
		Name:              name,
		Active:            true,
		Images:            []string{},
		MarketingFeatures: []MarketingFeature{},
		CreatedAt:         tx.Now(),
		UpdatedAt:         tx.Now(),
	}
}

// Create writes a new product and emits its event.
func (p *Product) Create(tx *phase.Tx) {
	p.insert(tx)
	event.Emit(tx, "product.created", p.ID, p.Render(), nil)
}

func replyWithProduct(
	ctx context.Context, tx *phase.Tx, paths form.Expand, product *Product, fresh ...resource.Renderer,
) (phase.Outcome, error) {
	return resource.Reply(ctx, tx, paths, product.ID, product.Render(), fresh...)
}

// Apply changes the product as the caller asked.
func (p *Product) Apply(in ProductParams) (err error) {
	if in.Active != nil {
		p.Active = *in.Active
	}
	p.Description, p.URL = resource.Patch(in.Description, p.Description), resource.Patch(in.URL, p.URL)
	p.StatementDescriptor = resource.Patch(in.StatementDescriptor, p.StatementDescriptor)
	p.TaxCode, p.UnitLabel = resource.Patch(in.TaxCode, p.TaxCode), resource.Patch(in.UnitLabel, p.UnitLabel)
	if in.Images != nil {
		p.Images = append([]string{}, *in.Images...)
	}
	if in.MarketingFeatures != nil {
		p.MarketingFeatures = append([]MarketingFeature{}, *in.MarketingFeatures...)
	}
	if in.PackageDimensions != nil {
		p.PackageDimensions = resource.NilIfZero(in.PackageDimensions)
	}
	if in.Shippable != nil {
		p.Shippable = in.Shippable
	}
	p.Metadata, err = in.Metadata.Apply(p.Metadata)
	return err
}

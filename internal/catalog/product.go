// Package catalog holds what a merchant sells: products and prices.
package catalog

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{
		Object: "product",
		Prefix: "prod",
		Table:  "products",
		Load:   resource.LoadWith[Product](ProductsByID),
		Search: &searchableProducts,
		Fields: map[string][]string{"default_price": {"price"}, "tax_code": nil},
	})
}

// Product is what is sold. What it costs is in its prices.
type Product struct {
	AccountID           string
	ID                  string // may be the merchant's own
	Livemode            bool
	RequestID           string
	Name                string
	Active              bool
	Description         *string
	DefaultPriceID      *string
	Images              []string
	MarketingFeatures   []MarketingFeature
	Metadata            map[string]string
	PackageDimensions   *PackageDimensions
	Shippable           *bool
	StatementDescriptor *string
	TaxCode             *string
	UnitLabel           *string
	URL                 *string
	CreatedAt           time.Time
	UpdatedAt           time.Time
	DeletedAt           *time.Time
}

// MarketingFeature is one line of what speaks for a product.
type MarketingFeature struct {
	Name string `json:"name" form:"name,required" max:"5000"`
}

// ProductObject is a product on the wire.
type ProductObject struct {
	ID                  string             `json:"id"`
	Object              string             `json:"object"`
	Active              bool               `json:"active"`
	Created             int64              `json:"created"`
	DefaultPrice        *string            `json:"default_price"`
	Description         *string            `json:"description"`
	Images              []string           `json:"images"`
	Livemode            bool               `json:"livemode"`
	MarketingFeatures   []MarketingFeature `json:"marketing_features"`
	Metadata            map[string]string  `json:"metadata"`
	Name                string             `json:"name"`
	PackageDimensions   *PackageDimensions `json:"package_dimensions"`
	Shippable           *bool              `json:"shippable"`
	StatementDescriptor *string            `json:"statement_descriptor"`
	TaxCode             *string            `json:"tax_code"`
	Type                string             `json:"type"` // which the parameter does not change
	UnitLabel           *string            `json:"unit_label"`
	Updated             int64              `json:"updated"`
	URL                 *string            `json:"url"`
}

// Render is the product as the API's JSON object.
func (p *Product) Render() any {
	return ProductObject{
		ID:                  p.ID,
		Object:              "product",
		Active:              p.Active,
		Created:             resource.Unix(p.CreatedAt),
		DefaultPrice:        p.DefaultPriceID,
		Description:         p.Description,
		Images:              p.Images,
		Livemode:            p.Livemode,
		MarketingFeatures:   p.MarketingFeatures,
		Metadata:            p.Metadata,
		Name:                p.Name,
		PackageDimensions:   p.PackageDimensions,
		Shippable:           p.Shippable,
		StatementDescriptor: p.StatementDescriptor,
		TaxCode:             p.TaxCode,
		Type:                "service",
		UnitLabel:           p.UnitLabel,
		Updated:             resource.Unix(p.UpdatedAt),
		URL:                 p.URL,
	}
}

const productColumns = `account_id, id, livemode, request_id, name, active, description, default_price_id, images,
	marketing_features, metadata, package_dimensions, shippable, statement_descriptor, tax_code, unit_label, url,
	created_at, updated_at`

var (
	insertProducts = postgres.InsertRows[Product]("products", productColumns)
	updateProducts = postgres.UpdateRows[Product]("products", `name, active, description, default_price_id, images,
		marketing_features, metadata, package_dimensions, shippable, statement_descriptor, tax_code, unit_label,
		url, updated_at`,
		`t.deleted_at IS NULL`)
)

const deleteProduct = `
	UPDATE products SET deleted_at = @deleted_at WHERE account_id = @account_id AND id = @id AND deleted_at IS NULL`

func (p *Product) insert(tx *phase.Tx) { tx.Write(insertProducts, postgres.RowsOf(*p)) }

func (p *Product) update(tx *phase.Tx) { tx.Write(updateProducts, postgres.RowsOf(*p)) }

const allProducts = `
	SELECT ` + productColumns + `, deleted_at
	FROM products
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	// An id stays taken when its product is gone, and in both modes.
	productIDTaken = `SELECT id FROM products WHERE account_id = @account_id AND id = @id`

	selectProducts = allProducts + ` AND deleted_at IS NULL`
	productByID    = selectProducts + ` AND id = @id`
	// ProductsByID selects the products @ids of one account and mode, in any order. A deleted product has no row.
	ProductsByID = selectProducts + ` AND id = ANY (@ids::text[])`
	lockProduct  = productByID + ` FOR NO KEY UPDATE`

	productFilters = ` AND (@active::boolean IS NULL OR active = @active) AND (@ids::text[] IS NULL OR id = ANY (@ids))
	AND (@shippable::boolean IS NULL OR shippable = @shippable) AND (@url::text IS NULL OR url = @url)`
	listProducts          = selectProducts + productFilters + resource.NewestFirst
	listProductsBackwards = selectProducts + productFilters + resource.OldestFirst
)

// lockedProduct reads a product for a change and keeps others from changing it.
func lockedProduct(ctx context.Context, tx *phase.Tx, id string) (*Product, error) {
	product, err := resource.Get[Product](ctx, tx, lockProduct, resource.PrincipalOf(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	if product == nil {
		return nil, apierror.NotFound("product", "id", id)
	}
	return product, nil
}

func productExists(ctx context.Context, db phase.Reader, v resource.Principal, id string) error {
	product, err := resource.Get[Product](ctx, db, productByID, v, id)
	if err != nil {
		return err
	}
	if product == nil {
		return apierror.NotFound("product", "id", id)
	}
	return nil
}

// RetrieveProduct answers GET /v1/products/{id}. A deleted product is not found.
func RetrieveProduct(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve) (any, error) {
	product, err := resource.Get[Product](ctx, db, productByID, v, in.ID)
	if err != nil {
		return nil, err
	}
	if product == nil {
		return nil, apierror.NotFound("product", "id", in.ID)
	}
	return resource.Expand(ctx, db, v, in.Expand, product.Render())
}

// ListProductsParams are the parameters of GET /v1/products.
type ListProductsParams struct {
	resource.List
	Active    *bool    `form:"active"`
	IDs       []string `form:"ids" max:"100"`
	Shippable *bool    `form:"shippable"`
	URL       *string  `form:"url" max:"2048"`
}

// ListProducts answers GET /v1/products. Products with ids of the merchant's own
// stand where those ids sort.
func ListProducts(ctx context.Context, db phase.Reader, v resource.Principal, in ListProductsParams) (any, error) {
	return resource.ListPage[Product](ctx, db, v, in.List, resource.Listing{
		URL: "/v1/products", Object: "product", Newest: listProducts, Oldest: listProductsBackwards, ByID: productByID,
		Filters: pgx.StrictNamedArgs{"active": in.Active, "ids": in.IDs, "shippable": in.Shippable, "url": in.URL},
	})
}

const olderProduct = `
	SELECT id FROM products WHERE account_id = @account_id AND id < @before ORDER BY id DESC OFFSET @over LIMIT 1`

var searchableProducts = resource.Searchable{Plural: "products", Rows: selectProducts, Metadata: "metadata",
	Index: &resource.TextIndex{Fields: []string{"description", "name", "url"}, Older: olderProduct},
	Fields: map[string]resource.SearchField{
		"active":      {Kind: resource.SearchBool, SQL: "active"},
		"description": {Kind: resource.SearchText, SQL: "description"},
		"name":        {Kind: resource.SearchText, SQL: "name"},
		"shippable":   {Kind: resource.SearchBool, SQL: "shippable"},
		"url":         {Kind: resource.SearchText, SQL: "url"},
	}}

// SearchProducts answers GET /v1/products/search.
func SearchProducts(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Search) (any, error) {
	return resource.RunSearch[Product](ctx, db, v, in, searchableProducts)
}

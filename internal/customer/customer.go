// Package customer holds customers and what they pay with: cards, tokens and payment
// methods. It holds test clocks as well, which move a customer's time ahead.
package customer

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
		Object: "customer",
		Prefix: "cus",
		Table:  "customers",
		Load:   resource.LoadWith[Customer](customersByID),
		Search: &searchableCustomers,
		Fields: map[string][]string{
			"default_source":         {"card"},
			"invoice_settings":       {"invoice_settings"},
			"sources":                {"card"},
			"subscriptions":          nil,
			"tax":                    nil,
			"tax_ids":                nil,
			"cash_balance":           nil,
			"test_clock":             {"test_helpers.test_clock"},
			"invoice_credit_balance": nil,
		},
		Lists: map[string]resource.Lister{"sources": cardsOfCustomers},
	}, resource.Kind{
		Object: "invoice_settings", // a part of a customer, and no object with an id
		Fields: map[string][]string{"default_payment_method": {"payment_method"}},
	})
}

// Customer is a person or company that pays more than once.
type Customer struct {
	AccountID           string
	ID                  string
	Livemode            bool
	RequestID           string
	Name                *string
	Email               *string
	Phone               *string
	Description         *string
	Address             *resource.Address
	Shipping            *resource.CustomerShipping
	Metadata            map[string]string
	Balance             int64
	DefaultSource       *string
	InvoicePrefix       string
	NextInvoiceSequence int64
	InvoiceSettings     InvoiceSettings
	PreferredLocales    []string
	TaxExempt           string
	TestClock           *string // it goes when the clock goes
	CreatedAt           time.Time
	DeletedAt           *time.Time
}

// InvoiceSettings are kept for the integrations that send them; Ratchet makes no invoices.
type InvoiceSettings struct {
	CustomFields         []CustomField     `json:"custom_fields" form:"custom_fields" max:"4"`
	DefaultPaymentMethod *string           `json:"default_payment_method" form:"default_payment_method,unset"`
	Footer               *string           `json:"footer" form:"footer,unset" max:"5000"`
	RenderingOptions     *RenderingOptions `json:"rendering_options" form:"rendering_options,unset"`
}

// CustomField is a line of an invoice's header.
type CustomField struct {
	Name  string `json:"name" form:"name,required" max:"40"`
	Value string `json:"value" form:"value,required" max:"140"`
}

// RenderingOptions say how an invoice looks.
type RenderingOptions struct {
	AmountTaxDisplay *string `json:"amount_tax_display" form:"amount_tax_display,unset" enum:"exclude_tax,include_inclusive_tax"`
	Template         *string `json:"template" form:"template" max:"5000"`
}

// CustomerObject is a customer on the wire.
type CustomerObject struct {
	ID                  string                     `json:"id"`
	Object              string                     `json:"object"`
	Address             *resource.Address          `json:"address"`
	Balance             int64                      `json:"balance"`
	Created             int64                      `json:"created"`
	Currency            *string                    `json:"currency"`
	CustomerAccount     *string                    `json:"customer_account"`
	DefaultSource       *string                    `json:"default_source"`
	Delinquent          bool                       `json:"delinquent"`
	Description         *string                    `json:"description"`
	Discount            *string                    `json:"discount"`
	Email               *string                    `json:"email"`
	InvoicePrefix       string                     `json:"invoice_prefix"`
	InvoiceSettings     InvoiceSettings            `json:"invoice_settings"`
	Livemode            bool                       `json:"livemode"`
	Metadata            map[string]string          `json:"metadata"`
	Name                *string                    `json:"name"`
	NextInvoiceSequence int64                      `json:"next_invoice_sequence"`
	Phone               *string                    `json:"phone"`
	PreferredLocales    []string                   `json:"preferred_locales"`
	Shipping            *resource.CustomerShipping `json:"shipping"`
	TaxExempt           string                     `json:"tax_exempt"`
	TestClock           *string                    `json:"test_clock"`
}

// Deleted is what is left of a deleted object on the wire.
type Deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// Render is the customer as API responses show it; of a deleted one only that it is deleted.
func (c *Customer) Render() any {
	if c.DeletedAt != nil {
		return Deleted{c.ID, "customer", true}
	}
	return c.object()
}

func (c *Customer) object() CustomerObject {
	return CustomerObject{
		ID:                  c.ID,
		Object:              "customer",
		Address:             c.Address,
		Balance:             c.Balance,
		Created:             resource.Unix(c.CreatedAt),
		DefaultSource:       c.DefaultSource,
		Description:         c.Description,
		Email:               c.Email,
		InvoicePrefix:       c.InvoicePrefix,
		InvoiceSettings:     c.InvoiceSettings,
		Livemode:            c.Livemode,
		Metadata:            c.Metadata,
		Name:                c.Name,
		NextInvoiceSequence: c.NextInvoiceSequence,
		Phone:               c.Phone,
		PreferredLocales:    c.PreferredLocales,
		Shipping:            c.Shipping,
		TaxExempt:           c.TaxExempt,
		TestClock:           c.TestClock,
	}
}

var (
	insertCustomers = postgres.InsertRows[Customer]("customers", `account_id, id, livemode, request_id, name, email,
		phone, description, address, shipping, metadata, balance, default_source, invoice_prefix,
		next_invoice_sequence, invoice_settings, preferred_locales, tax_exempt, test_clock, created_at`)

	updateCustomers = postgres.UpdateRows[Customer]("customers", `name, email, phone, description, address,
		shipping, metadata, balance, default_source, invoice_prefix, next_invoice_sequence, invoice_settings,
		preferred_locales, tax_exempt`,
		`t.deleted_at IS NULL`)
)

const deleteCustomer = `
	UPDATE customers SET deleted_at = @deleted_at WHERE account_id = @account_id AND id = @id AND deleted_at IS NULL`

const selectCustomers = `
	SELECT account_id, id, livemode, request_id, name, email, phone, description, address, shipping, metadata, balance,
	       default_source, invoice_prefix, next_invoice_sequence, invoice_settings, preferred_locales, tax_exempt,
	       test_clock, created_at, deleted_at
	FROM customers
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	// CustomerByID selects one customer (@id) of an account and mode, or no row.
	CustomerByID  = selectCustomers + ` AND id = @id`
	notDeleted    = selectCustomers + ` AND deleted_at IS NULL`
	customersByID = selectCustomers + ` AND id = ANY (@ids::text[])`
)

const lockCustomer = CustomerByID + ` AND deleted_at IS NULL FOR NO KEY UPDATE`

// A clock's customers are listed with the clock, and not otherwise. With IS NOT DISTINCT
// FROM the planner expects one row, and sorts all there are instead of reading a page.
const customerFilters = ` AND deleted_at IS NULL AND (@email::text IS NULL OR email = @email)
	AND (@test_clock::text IS NULL AND test_clock IS NULL OR test_clock = @test_clock)`

const (
	listCustomers          = selectCustomers + customerFilters + resource.NewestFirst
	listCustomersBackwards = selectCustomers + customerFilters + resource.OldestFirst
)

// Insert queues the INSERT of the customer. It runs with the transaction's commit, and a conflict fails that.
func (c *Customer) Insert(tx *phase.Tx) { tx.Write(insertCustomers, postgres.RowsOf(*c)) }

func (c *Customer) update(tx *phase.Tx) { tx.Write(updateCustomers, postgres.RowsOf(*c)) }

// lockedCustomer reads a customer for a change. A deleted one is not found.
func lockedCustomer(ctx context.Context, tx *phase.Tx, id string) (*Customer, error) {
	customer, err := resource.Get[Customer](ctx, tx, lockCustomer, resource.PrincipalOf(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	if customer == nil {
		return nil, apierror.NotFound("customer", "id", id)
	}
	return customer, nil
}

// RetrieveCustomer answers GET /v1/customers/{customer}. A deleted customer is
// shown as deleted.
func RetrieveCustomer(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve) (any, error) {
	customer, err := resource.Get[Customer](ctx, db, CustomerByID, v, in.ID)
	if err != nil {
		return nil, err
	}
	if customer == nil {
		return nil, apierror.NotFound("customer", "id", in.ID)
	}
	return resource.Expand(ctx, db, v, in.Expand, customer.Render())
}

// ListCustomersParams are the parameters of GET /v1/customers.
type ListCustomersParams struct {
	resource.List
	Email     *string `form:"email" max:"512"`
	TestClock *string `form:"test_clock" max:"5000"`
}

// ListCustomers answers GET /v1/customers.
func ListCustomers(ctx context.Context, db phase.Reader, v resource.Principal, in ListCustomersParams) (any, error) {
	return resource.ListPage[Customer](ctx, db, v, in.List, resource.Listing{
		URL:     "/v1/customers",
		Object:  "customer",
		Newest:  listCustomers,
		Oldest:  listCustomersBackwards,
		ByID:    CustomerByID,
		Prefix:  "cus",
		Filters: pgx.StrictNamedArgs{"email": in.Email, "test_clock": in.TestClock},
	})
}

// ListCards answers GET /v1/customers/{customer}/sources.
func ListCards(ctx context.Context, db phase.Reader, v resource.Principal, in ListCardsParams) (any, error) {
	if err := CustomerExists(ctx, db, v, in.Customer); err != nil {
		return nil, err
	}
	return resource.ListPage[CustomerCard](ctx, db, v, in.List, resource.Listing{
		URL:     "/v1/customers/" + in.Customer + "/sources",
		Object:  "source",
		Newest:  listCards,
		Oldest:  listCardsBackwards,
		ByID:    CardByID,
		Filters: pgx.StrictNamedArgs{"customer_id": in.Customer},
	})
}

// ListCardsParams are the parameters of GET /v1/customers/{customer}/sources.
type ListCardsParams struct {
	resource.List
	Customer string `path:"customer" json:"-"`
	Kind     string `form:"object" enum:"card"`
}

// RetrieveCardParams are the parameters of GET /v1/customers/{customer}/sources/{id}.
type RetrieveCardParams struct {
	resource.Retrieve
	Customer string `path:"customer" json:"-"`
}

// RetrieveCard answers GET /v1/customers/{customer}/sources/{id}.
func RetrieveCard(ctx context.Context, db phase.Reader, v resource.Principal, in RetrieveCardParams) (any, error) {
	if err := CustomerExists(ctx, db, v, in.Customer); err != nil {
		return nil, err
	}
	card, err := resource.Get[CustomerCard](ctx, db, CardByID, v, in.ID)
	if err != nil {
		return nil, err
	}
	if card == nil || card.CustomerID != in.Customer {
		return nil, apierror.NotFound("source", "id", in.ID)
	}
	return resource.Expand(ctx, db, v, in.Expand, card.Render())
}

// CustomerExists returns a 404 for a customer that the account does not have in this mode, or has deleted.
func CustomerExists(ctx context.Context, db phase.Reader, v resource.Principal, id string) error {
	customer, err := resource.Get[Customer](ctx, db, CustomerByID, v, id)
	if err != nil {
		return err
	}
	if customer == nil || customer.DeletedAt != nil {
		return apierror.NotFound("customer", "id", id)
	}
	return nil
}

// NamedCustomer is the filter customer of a list. A list rejects one that does not exist.
func NamedCustomer(id *string) resource.Reference {
	return resource.Reference{Param: "customer", ID: id, Object: "customer", ByID: CustomerByID}
}

var searchableCustomers = resource.Searchable{
	Plural:   "customers",
	Rows:     notDeleted,
	Metadata: "metadata",
	Prefix:   "cus",
	Index: &resource.TextIndex{Fields: []string{"email", "name", "phone"},
		Older: `SELECT id FROM customers WHERE account_id = @account_id AND id < @before
			ORDER BY id DESC OFFSET @over LIMIT 1`},
	Fields: map[string]resource.SearchField{
		"created": {Kind: resource.SearchNumber, SQL: resource.CreatedSeconds},
		"email":   {Kind: resource.SearchText, SQL: "email"},
		"name":    {Kind: resource.SearchText, SQL: "name"},
		"phone":   {Kind: resource.SearchText, SQL: "phone"},
	},
}

// SearchCustomers answers GET /v1/customers/search.
func SearchCustomers(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Search) (any, error) {
	return resource.RunSearch[Customer](ctx, db, v, in, searchableCustomers)
}

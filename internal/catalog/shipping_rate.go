package catalog

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{Object: "shipping_rate", Prefix: "shr", Table: "shipping_rates",
		Load:   resource.LoadWith[ShippingRate](ShippingRatesByID),
		Fields: map[string][]string{"tax_code": nil}})
}

// ShippingRate is what it costs to ship an order. What it costs never changes: a merchant
// makes another rate instead.
type ShippingRate struct {
	AccountID        string            `db:"account_id"`
	ID               string            `db:"id"`
	Livemode         bool              `db:"livemode"`
	RequestID        string            `db:"request_id"`
	Active           bool              `db:"active"`
	DisplayName      string            `db:"display_name"`
	Amount           int64             `db:"amount"` // minor units
	Currency         string            `db:"currency"`
	DeliveryEstimate *DeliveryEstimate `db:"delivery_estimate"`
	Metadata         map[string]string `db:"metadata"`
	TaxBehavior      string            `db:"tax_behavior"`
	TaxCode          *string           `db:"tax_code"`
	CreatedAt        time.Time         `db:"created_at"`
}

// DeliveryEstimate is how long shipping takes, as far as the merchant says.
type DeliveryEstimate struct {
	Maximum *DeliveryBound `json:"maximum" form:"maximum"`
	Minimum *DeliveryBound `json:"minimum" form:"minimum"`
}

// DeliveryBound is one end of a delivery estimate.
type DeliveryBound struct {
	Unit  string `json:"unit" form:"unit,required" enum:"business_day,day,hour,month,week"`
	Value int64  `json:"value" form:"value,required" min:"1"`
}

// ShippingRateObject is a shipping rate on the wire.
type ShippingRateObject struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"`
	Active           bool              `json:"active"`
	Created          int64             `json:"created"`
	DeliveryEstimate *DeliveryEstimate `json:"delivery_estimate"`
	DisplayName      string            `json:"display_name"`
	FixedAmount      fixedAmount       `json:"fixed_amount"`
	Livemode         bool              `json:"livemode"`
	Metadata         map[string]string `json:"metadata"`
	TaxBehavior      string            `json:"tax_behavior"`
	TaxCode          *string           `json:"tax_code"`
	Type             string            `json:"type"`
}

type fixedAmount struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// Render is the shipping rate as the API's JSON object.
func (r *ShippingRate) Render() any {
	return ShippingRateObject{
		ID:               r.ID,
		Object:           "shipping_rate",
		Active:           r.Active,
		Created:          resource.Unix(r.CreatedAt),
		DeliveryEstimate: r.DeliveryEstimate,
		DisplayName:      r.DisplayName,
		FixedAmount:      fixedAmount{r.Amount, r.Currency},
		Livemode:         r.Livemode,
		Metadata:         r.Metadata,
		TaxBehavior:      r.TaxBehavior,
		TaxCode:          r.TaxCode,
		Type:             "fixed_amount",
	}
}

const shippingRateColumns = `account_id, id, livemode, request_id, active, display_name, amount, currency,
	delivery_estimate, metadata, tax_behavior, tax_code, created_at`

var (
	insertShippingRates = postgres.InsertRows[ShippingRate]("shipping_rates", shippingRateColumns)
	updateShippingRates = postgres.UpdateRows[ShippingRate]("shipping_rates", `active, metadata, tax_behavior`, `true`)
)

const selectShippingRates = `
	SELECT ` + shippingRateColumns + `
	FROM shipping_rates
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	shippingRateByID = selectShippingRates + ` AND id = @id`
	// ShippingRatesByID selects the shipping rates @ids of an account and mode, in any order; an unknown ID has no row.
	ShippingRatesByID = selectShippingRates + ` AND id = ANY (@ids::text[])`
	lockShippingRate  = shippingRateByID + ` FOR NO KEY UPDATE`

	shippingRateFilters = ` AND (@active::boolean IS NULL OR active = @active)
	AND (@currency::text IS NULL OR currency = @currency)`
	listShippingRates          = selectShippingRates + shippingRateFilters + resource.NewestFirst
	listShippingRatesBackwards = selectShippingRates + shippingRateFilters + resource.OldestFirst
)

// ShippingRates are all shipping rates.
var ShippingRates = resource.Collection[ShippingRate, *ShippingRate]{
	Object: "shipping rate", Param: "shipping_rate_token", URL: "/v1/shipping_rates", Prefix: "shr",
	ByID: shippingRateByID, Lock: lockShippingRate, Newest: listShippingRates, Oldest: listShippingRatesBackwards,
}

// ListShippingRatesParams are the parameters of GET /v1/shipping_rates.
type ListShippingRatesParams struct {
	resource.List
	Active   *bool   `form:"active"`
	Currency *string `form:"currency"`
}

// ListShippingRates answers GET /v1/shipping_rates.
func ListShippingRates(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListShippingRatesParams,
) (any, error) {
	return ShippingRates.ListWith(ctx, db, v, in.List,
		pgx.StrictNamedArgs{"active": in.Active, "currency": resource.LowerCase(in.Currency)})
}

// ShippingRateData describe a new shipping rate.
type ShippingRateData struct {
	DeliveryEstimate *DeliveryEstimate `form:"delivery_estimate"`
	DisplayName      string            `form:"display_name,required" max:"100"`
	FixedAmount      *FixedAmount      `form:"fixed_amount"`
	Metadata         form.Metadata     `form:"metadata"`
	TaxBehavior      string            `form:"tax_behavior" enum:"exclusive,inclusive,unspecified"`
	TaxCode          *string           `form:"tax_code" max:"5000"`
	Type             string            `form:"type" enum:"fixed_amount"`
}

// FixedAmount is what shipping costs, as a caller says it.
type FixedAmount struct {
	Amount   int64  `form:"amount,required" min:"0"`
	Currency string `form:"currency,required"`
}

// Check verifies a description. at is its place among the parameters, "" for the top.
func (d *ShippingRateData) Check(at string) (err error) {
	at = resource.NestedParam(at, "fixed_amount")
	if d.FixedAmount == nil {
		return apierror.Missing(at)
	}
	if d.FixedAmount.Currency, err = money.Parse(d.FixedAmount.Currency); err != nil {
		return resource.WithinParam(at, err)
	}
	return money.CheckMost(d.FixedAmount.Amount, d.FixedAmount.Currency, resource.NestedParam(at, "amount"))
}

// Create makes and writes the shipping rate that was described.
func (d *ShippingRateData) Create(tx *phase.Tx) (*ShippingRate, error) {
	metadata, err := d.Metadata.Apply(nil)
	if err != nil {
		return nil, err
	}
	rate := &ShippingRate{
		AccountID:        tx.AccountID,
		ID:               id.New("shr", tx.Now()),
		Livemode:         tx.Livemode,
		RequestID:        tx.RequestID,
		Active:           true,
		DisplayName:      d.DisplayName,
		Amount:           d.FixedAmount.Amount,
		Currency:         d.FixedAmount.Currency,
		DeliveryEstimate: d.DeliveryEstimate,
		Metadata:         metadata,
		TaxBehavior:      "unspecified",
		TaxCode:          d.TaxCode,
		CreatedAt:        tx.Now(),
	}
	if d.TaxBehavior != "" {
		rate.TaxBehavior = d.TaxBehavior
	}
	tx.Write(insertShippingRates, postgres.RowsOf(*rate))
	return rate, nil
}

// CreateShippingRateParams are what POST /v1/shipping_rates takes.
type CreateShippingRateParams struct {
	ShippingRateData
	Expand form.Expand `form:"expand"`
}

const shippingRateCreated = "shipping_rate_created"

// CreateShippingRate says what it costs to ship an order.
//
//	(nothing) ──▶ shipping_rate_created
//	        claim + insert + answer
var CreateShippingRate = phase.Define("shipping_rate.create", 1,
	phase.Atomic(shippingRateCreated, createShippingRate),
).Check(func(_ context.Context, _ phase.Reader, _ phase.Check, in *CreateShippingRateParams) error {
	if _, err := in.Metadata.New(); err != nil {
		return err
	}
	return in.Check("")
})

func createShippingRate(
	ctx context.Context, tx *phase.Tx, in CreateShippingRateParams, _ *struct{},
) (phase.Outcome, error) {
	rate, err := in.Create(tx)
	if err != nil {
		return phase.Outcome{}, err
	}
	return resource.Reply(ctx, tx, in.Expand, rate.ID, rate.Render())
}

// UpdateShippingRateParams are what POST /v1/shipping_rates/{shipping_rate_token} takes.
type UpdateShippingRateParams struct {
	ID          string        `path:"shipping_rate_token"`
	Active      *bool         `form:"active"`
	Metadata    form.Metadata `form:"metadata"`
	TaxBehavior string        `form:"tax_behavior" enum:"exclusive,inclusive,unspecified"`
	Expand      form.Expand   `form:"expand"`
}

const shippingRateUpdated = "shipping_rate_updated"

// UpdateShippingRate changes what may change of a shipping rate, which is all but what
// it costs. Stripe has no event for it.
var UpdateShippingRate = phase.Define("shipping_rate.update", 1,
	phase.Atomic(shippingRateUpdated, changeShippingRate),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateShippingRateParams) error {
	rate, err := ShippingRates.Find(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
	if err != nil {
		return err
	}
	if in.TaxBehavior != "" && in.TaxBehavior != rate.TaxBehavior && rate.TaxBehavior != "unspecified" {
		return apierror.Invalid("tax_behavior",
			"The tax behavior of a shipping rate cannot be changed once it is specified.")
	}
	return nil
})

func changeShippingRate(
	ctx context.Context, tx *phase.Tx, in UpdateShippingRateParams, _ *struct{},
) (phase.Outcome, error) {
	rate, err := ShippingRates.Locked(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if in.Active != nil {
		rate.Active = *in.Active
	}
	if in.TaxBehavior != "" {
		rate.TaxBehavior = in.TaxBehavior
	}
	if rate.Metadata, err = in.Metadata.Apply(rate.Metadata); err != nil {
		return phase.Outcome{}, err
	}
	tx.Write(updateShippingRates, postgres.RowsOf(*rate))
	return resource.Reply(ctx, tx, in.Expand, rate.ID, rate.Render())
}

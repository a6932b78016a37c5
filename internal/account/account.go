// Package account holds merchants: their rows, their settings and how they are opened.
package account

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{Object: "account"})
}

// Account is a merchant.
type Account struct {
	ID                  string
	Name                string
	Country             string
	DefaultCurrency     string
	StatementDescriptor string
	PayoutDelayDays     int
	APIVersion          apiversion.Version
	CreatedAt           time.Time
}

const selectAccounts = `
	SELECT id, name, country, default_currency, statement_descriptor, payout_delay_days, api_version, created_at
	FROM accounts`

const (
	// AccountByID selects one account (@id), or no row.
	AccountByID  = selectAccounts + ` WHERE id = @id`
	listAccounts = selectAccounts + ` ORDER BY created_at, id`
)

// AccountObject is an account on the wire, as far as Ratchet has one.
type AccountObject struct {
	ID               string          `json:"id"`
	Object           string          `json:"object"`
	BusinessProfile  businessProfile `json:"business_profile"`
	ChargesEnabled   bool            `json:"charges_enabled"`
	Country          string          `json:"country"`
	Created          int64           `json:"created"`
	DefaultCurrency  string          `json:"default_currency"`
	DetailsSubmitted bool            `json:"details_submitted"`
	Email            *string         `json:"email"`
	PayoutsEnabled   bool            `json:"payouts_enabled"`
	Type             string          `json:"type"`
}

type businessProfile struct {
	MCC                *string `json:"mcc"`
	Name               string  `json:"name"`
	ProductDescription *string `json:"product_description"`
	SupportAddress     *string `json:"support_address"`
	SupportEmail       *string `json:"support_email"`
	SupportPhone       *string `json:"support_phone"`
	SupportURL         *string `json:"support_url"`
	URL                *string `json:"url"`
}

// Render is the account as the API's JSON object.
func (a *Account) Render() any {
	return AccountObject{
		ID:               a.ID,
		Object:           "account",
		BusinessProfile:  businessProfile{Name: a.Name},
		ChargesEnabled:   true,
		Country:          a.Country,
		Created:          resource.Unix(a.CreatedAt),
		DefaultCurrency:  a.DefaultCurrency,
		DetailsSubmitted: true,
		PayoutsEnabled:   true,
		Type:             "standard",
	}
}

// RetrieveAccountParams are the parameters of GET /v1/account.
type RetrieveAccountParams struct {
	Expand form.Expand `form:"expand"`
}

// RetrieveAccount answers GET /v1/account: the one whose key was used.
func RetrieveAccount(
	ctx context.Context, db phase.Reader, v resource.Principal, in RetrieveAccountParams,
) (any, error) {
	account, err := resource.QueryOne[Account](ctx, db, AccountByID, pgx.StrictNamedArgs{"id": v.AccountID})
	if err != nil {
		return nil, err
	}
	return resource.Expand(ctx, db, v, in.Expand, account.Render())
}

// RetrieveAccountByID answers GET /v1/accounts/{account}: a key has no access to
// any account but its own.
func RetrieveAccountByID(
	ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve,
) (any, error) {
	if in.ID != v.AccountID {
		return nil, apierror.NoAccess(v.Key, in.ID)
	}
	return RetrieveAccount(ctx, db, v, RetrieveAccountParams{Expand: in.Expand})
}

package payment

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// NamedIntent is the filter payment_intent of a list. A list rejects one that does not exist.
func NamedIntent(id *string) resource.Reference {
	return resource.Reference{Param: "payment_intent", ID: id, Object: "payment_intent", ByID: IntentByID}
}

func init() {
	resource.Register(resource.Kind{
		Object: "payment_intent",
		Prefix: "pi",
		Table:  "payment_intents",
		Load:   resource.LoadWith[PaymentIntent](intentsByID),
		Search: &searchableIntents,
		Fields: map[string][]string{
			"customer": {"customer"}, "latest_charge": {"charge"}, "payment_method": {"payment_method"},
			"application": nil, "on_behalf_of": nil, "review": nil, "transfer_data": nil,
		},
		Former: map[string][]string{"charges": {"charge"}},
		Lists:  map[string]resource.Lister{"charges": chargesOfIntents},
	})
}

// PaymentIntent is a payment from the wish to the money: tried as often as it
// takes, paid once. Amounts are minor units.
type PaymentIntent struct {
	AccountID                 string
	ID                        string
	Livemode                  bool
	RequestID                 string
	Amount                    int64
	AmountCapturable          int64 // held and not taken yet
	AmountReceived            int64 // taken
	Currency                  string
	Status                    string
	LockedBy                  *string // the request that is asking the acquirer about it right now
	ClientSecret              string
	CaptureMethod             string
	ConfirmationMethod        string
	AutomaticPaymentMethods   *AutomaticPaymentMethods
	PaymentMethodTypes        []string
	PaymentMethodOptions      PaymentMethodOptions
	CustomerID                *string
	PaymentMethodID           *string
	SetupFutureUsage          *string
	Description               *string
	Metadata                  map[string]string
	ReceiptEmail              *string
	Shipping                  *resource.Shipping
	StatementDescriptor       *string
	StatementDescriptorSuffix *string
	TransferGroup             *string // the merchant's name for payments that belong together
	LatestCharge              *string
	LastPaymentError          json.RawMessage
	Challenge                 *string // names the last 3-D Secure page
	NextAction                *NextAction
	ReturnURL                 *string // where that page leads back to
	Authenticated             bool    // the cardholder has passed 3-D Secure for the method it has now
	CanceledAt                *time.Time
	CancellationReason        *string
	CheckoutSession           *string // the session it pays
	CreatedAt                 time.Time
}

// The states of an intent, as Stripe names them. A processing one waits for the
// acquirer's answer.
const (
	IntentNeedsMethod       = "requires_payment_method"
	IntentNeedsConfirmation = "requires_confirmation"
	IntentNeedsAction       = "requires_action"
	IntentProcessing        = "processing"
	IntentNeedsCapture      = "requires_capture"
	IntentSucceeded         = "succeeded"
	IntentCanceled          = "canceled"
)

// How and when the money is taken.
const (
	captureAutomatic      = "automatic"
	captureAutomaticAsync = "automatic_async" // the default: the balance transaction shows when the acquirer has paid
	captureManual         = "manual"
)

// AutomaticPaymentMethods says that the installation's methods are offered, and
// whether one may send the customer to another page.
type AutomaticPaymentMethods struct {
	AllowRedirects string `json:"allow_redirects" form:"allow_redirects" enum:"always,never"`
	Enabled        bool   `json:"enabled" form:"enabled,required"`
}

// PaymentMethodOptions are what an intent wants of a kind of method.
type PaymentMethodOptions struct {
	Card CardOptions `json:"card"`
}

// CardOptions are what an intent wants of a card.
type CardOptions struct {
	Installments        *string `json:"installments"`
	MandateOptions      *string `json:"mandate_options"`
	Network             *string `json:"network"`
	RequestThreeDSecure string  `json:"request_three_d_secure"`
}

// NextAction is what the cardholder has to do.
type NextAction struct {
	RedirectToURL *RedirectToURL `json:"redirect_to_url,omitempty"`
	Type          string         `json:"type"`
	UseStripeSDK  *UseStripeSDK  `json:"use_stripe_sdk,omitempty"`
}

// RedirectToURL is a page to visit, and where it leads back to.
type RedirectToURL struct {
	ReturnURL string `json:"return_url"`
	URL       string `json:"url"`
}

// UseStripeSDK is the same page for an integration that named no way back.
type UseStripeSDK struct {
	StripeJS string `json:"stripe_js"`
	Type     string `json:"type"`
}

const intentColumns = `account_id, id, livemode, request_id, amount, amount_capturable, amount_received, currency,
	status, locked_by, client_secret, capture_method, confirmation_method, automatic_payment_methods,
	payment_method_types, payment_method_options, customer_id, payment_method_id, setup_future_usage, description,
	metadata, receipt_email, shipping, statement_descriptor, statement_descriptor_suffix, latest_charge,
	last_payment_error, challenge, next_action, return_url, authenticated, canceled_at, cancellation_reason,
	checkout_session, transfer_group, created_at`

var (
	insertIntents = postgres.InsertRows[PaymentIntent]("payment_intents", intentColumns)

	// A finished intent stays as it is, no matter what the caller asks for.
	updateIntents = postgres.UpdateRows[PaymentIntent]("payment_intents", `amount, amount_capturable,
		amount_received, currency, status, locked_by, capture_method, payment_method_types, payment_method_options,
		customer_id, payment_method_id, setup_future_usage, description, metadata, receipt_email, shipping,
		statement_descriptor, statement_descriptor_suffix, latest_charge, last_payment_error, challenge,
		next_action, return_url, authenticated, canceled_at, cancellation_reason,
		transfer_group`,
		`t.status NOT IN ('succeeded', 'canceled') OR t.status = m.status`)

	// An attempt writes only what it decides. The rest may have changed since it began.
	concludeIntents = postgres.UpdateRows[PaymentIntent]("payment_intents", `amount_capturable, amount_received,
		status, locked_by = NULL, payment_method_id, latest_charge, last_payment_error, challenge, next_action,
		authenticated`,
		`t.locked_by = m.locked_by`)
)

// isBeingCreated says whether the request that creates the intent is under way.
func (p *PaymentIntent) isBeingCreated() bool { return p.LockedBy != nil && *p.LockedBy == p.RequestID }

// conclude writes what the attempt of tx has come to.
func (p *PaymentIntent) conclude(tx *phase.Tx) {
	row := *p
	row.LockedBy = &tx.RequestID
	tx.Write(concludeIntents, postgres.RowsOf(row))
}

// Insert queues the INSERT of the intent. It runs with the transaction's commit, and a conflict fails that.
func (p *PaymentIntent) Insert(tx *phase.Tx) { tx.Write(insertIntents, postgres.RowsOf(*p)) }

// Update queues the UPDATE of all columns that can change. It changes no row of an intent that has succeeded or was
// canceled, unless the status stays the same.
func (p *PaymentIntent) Update(tx *phase.Tx) { tx.Write(updateIntents, postgres.RowsOf(*p)) }

const selectIntents = `
	SELECT ` + intentColumns + `
	FROM payment_intents
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	// IntentByID selects one payment intent (@id) of an account and mode, or no row.
	IntentByID  = selectIntents + ` AND id = @id`
	intentsByID = selectIntents + ` AND id = ANY (@ids::text[])`
	lockIntent  = IntentByID + ` FOR NO KEY UPDATE`

	intentFilters        = ` AND (@customer_id::text IS NULL OR customer_id = @customer_id)`
	listIntents          = selectIntents + intentFilters + resource.NewestFirst
	listIntentsBackwards = selectIntents + intentFilters + resource.OldestFirst
)

// LockIntent reads an intent for a change and keeps others from changing it.
func LockIntent(ctx context.Context, tx *phase.Tx, id string) (*PaymentIntent, error) {
	intent, err := resource.Get[PaymentIntent](ctx, tx, lockIntent, resource.PrincipalOf(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	if intent == nil {
		return nil, apierror.NotFound("payment_intent", "intent", id)
	}
	return intent, nil
}

// readIntent reads an intent before its key is claimed. A caller with a
// publishable key has to show the intent's client secret.
func readIntent(
	ctx context.Context, db phase.Reader, v resource.Principal, id, clientSecret string,
) (*PaymentIntent, error) {
	intent, err := resource.Get[PaymentIntent](ctx, db, IntentByID, v, id)
	if err != nil {
		return nil, err
	}
	if intent == nil || !v.MayUse(intent.ClientSecret, clientSecret) {
		return nil, apierror.NotFound("payment_intent", "intent", id)
	}
	return intent, nil
}

// RetrievePaymentIntentParams are the parameters of GET /v1/payment_intents/{intent}.
type RetrievePaymentIntentParams struct {
	resource.Retrieve
	ClientSecret string `form:"client_secret" json:"-"`
}

// RetrievePaymentIntent answers GET /v1/payment_intents/{intent}. With a
// publishable key it needs client_secret.
func RetrievePaymentIntent(
	ctx context.Context, db phase.Reader, v resource.Principal, in RetrievePaymentIntentParams,
) (any, error) {
	intent, err := readIntent(ctx, db, v, in.ID, in.ClientSecret)
	if err != nil {
		return nil, err
	}
	if v.Publishable {
		return intent.Public(), nil
	}
	return resource.Expand(ctx, db, v, in.Expand, intent.Render())
}

// ListPaymentIntentsParams are the parameters of GET /v1/payment_intents.
type ListPaymentIntentsParams struct {
	resource.List
	Customer *string `form:"customer" max:"5000"`
}

// ListPaymentIntents answers GET /v1/payment_intents.
func ListPaymentIntents(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListPaymentIntentsParams,
) (any, error) {
	return resource.ListPage[PaymentIntent](ctx, db, v, in.List, resource.Listing{
		URL:     "/v1/payment_intents",
		Object:  "payment_intent",
		Newest:  listIntents,
		Oldest:  listIntentsBackwards,
		ByID:    IntentByID,
		Prefix:  "pi",
		Filters: pgx.StrictNamedArgs{"customer_id": in.Customer},
		Named:   []resource.Reference{customer.NamedCustomer(in.Customer)},
	})
}

func replyWithIntent(
	ctx context.Context, tx *phase.Tx, paths form.Expand, intent *PaymentIntent, fresh ...resource.Renderer,
) (phase.Outcome, error) {
	if apirequest.Of(tx.Caller).Publishable {
		return phase.OK(intent.ID, intent.Public()), nil
	}
	return resource.Reply(ctx, tx, paths, intent.ID, intent.Render(), fresh...)
}

var searchableIntents = resource.Searchable{Plural: "payment_intents", Rows: selectIntents, Metadata: "metadata",
	Prefix: "pi",
	Index: &resource.TextIndex{Fields: []string{"amount", "currency", "customer"},
		Older: `SELECT id FROM payment_intents WHERE account_id = @account_id AND id < @before
			ORDER BY id DESC OFFSET @over LIMIT 1`},
	Fields: map[string]resource.SearchField{
		"amount":   {Kind: resource.SearchNumber, SQL: "amount"},
		"created":  {Kind: resource.SearchNumber, SQL: resource.CreatedSeconds},
		"currency": {Kind: resource.SearchToken, SQL: "currency"},
		"customer": {Kind: resource.SearchToken, SQL: "customer_id"},
		"status":   {Kind: resource.SearchToken, SQL: "status"},
	}}

// SearchPaymentIntents answers GET /v1/payment_intents/search.
func SearchPaymentIntents(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Search) (any, error) {
	return resource.RunSearch[PaymentIntent](ctx, db, v, in, searchableIntents)
}

// Package payment moves money: charges, refunds and payment intents. These objects
// refer to each other, so they share a package.
//
// Each operation with a foreign phase has its own file, such as charge_create.go. A
// charge is followed from the route to the ledger in four files: internal/api/routes.go,
// charge_create.go, charge.go and internal/ledger/posting.go.
package payment

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{
		Object: "charge",
		Prefix: "ch",
		Table:  "charges",
		Load:   resource.LoadWith[Charge](chargesByID),
		Search: &searchableCharges,
		Fields: map[string][]string{
			"balance_transaction":         {"balance_transaction"},
			"customer":                    {"customer"},
			"payment_intent":              {"payment_intent"},
			"refunds":                     {"refund"},
			"application":                 nil,
			"application_fee":             nil,
			"failure_balance_transaction": nil,
			"on_behalf_of":                nil,
			"review":                      nil,
			"source_transfer":             nil,
			"transfer":                    nil,
			"transfer_data":               nil,
		},
		Lists: map[string]resource.Lister{"refunds": refundsOfCharges},
	})
}

// Charge is money taken from a card, or held on it. Amounts are minor units.
type Charge struct {
	AccountID                 string
	ID                        string
	Livemode                  bool
	RequestID                 string
	Amount                    int64
	AmountCaptured            int64
	AmountRefunded            int64 // counts refunds from the moment they are asked for
	Currency                  string
	Status                    string
	Captured                  bool
	CaptureBefore             *time.Time // an authorization that is not captured expires then
	CustomerID                *string
	PaymentIntentID           *string // nil for a charge without an intent
	Card                      ChargedCard
	Description               *string
	Metadata                  map[string]string
	ReceiptEmail              *string
	ReceiptURL                *string // nil until it has succeeded
	Shipping                  *resource.Shipping
	FraudDetails              map[string]string
	StatementDescriptor       *string
	StatementDescriptorSuffix *string
	TransferGroup             *string // the merchant's name for payments that belong together
	AcquirerReference         *string
	Outcome                   *ChargeOutcome
	FailureCode               *string
	FailureMessage            *string
	BalanceTransaction        *string
	SettlementPending         bool // does not show its balance transaction yet
	LockedBy                  *string
	Disputed                  bool
	AmountChargedBack         int64 // withdrawn by disputes that are not won
	CreatedAt                 time.Time
}

// The states of a charge. A pending one waits for the acquirer's answer.
const (
	chargePending   = "pending"
	chargeSucceeded = "succeeded"
	chargeFailed    = "failed"
)

// authorizationTime is how long a card's issuer keeps a hold.
const authorizationTime = 7 * 24 * time.Hour

// ChargedCard is the card as it was when it was charged, and what the issuer said of it.
type ChargedCard struct {
	customer.Card
	ID                string            `json:"id"`
	Customer          *string           `json:"customer,omitzero"` // whose card it is, if it is kept
	Metadata          map[string]string `json:"metadata,omitempty"`
	AuthorizationCode *string           `json:"authorization_code,omitzero"`
	AddressLine1Check *string           `json:"address_line1_check,omitzero"`
	PostalCodeCheck   *string           `json:"postal_code_check,omitzero"`
	Descriptor        string            `json:"descriptor"` // what the statement shows
	// of a payment method; a source has them in the card
	Billing       *customer.BillingDetails `json:"billing,omitempty"`
	Authenticated bool                     `json:"authenticated,omitempty"` // by 3-D Secure
}

// ChargeOutcome says how a charge was decided.
type ChargeOutcome struct {
	AdviceCode         *string `json:"advice_code"`
	NetworkAdviceCode  *string `json:"network_advice_code"`
	NetworkDeclineCode *string `json:"network_decline_code"`
	NetworkStatus      *string `json:"network_status"`
	Reason             *string `json:"reason"`
	RiskLevel          string  `json:"risk_level,omitempty"`
	RiskScore          int     `json:"risk_score,omitempty"`
	SellerMessage      *string `json:"seller_message"`
	Type               string  `json:"type"`
}

func outcomeOf(a acquirer.Result) *ChargeOutcome {
	return &ChargeOutcome{
		AdviceCode:    resource.NilIfEmpty(a.AdviceCode),
		NetworkStatus: resource.NilIfEmpty(a.NetworkStatus),
		Reason:        resource.NilIfEmpty(a.Reason),
		RiskLevel:     a.RiskLevel,
		RiskScore:     a.RiskScore,
		SellerMessage: resource.NilIfEmpty(a.SellerMessage),
		Type:          a.Outcome,
	}
}

const chargeColumns = `account_id, id, livemode, request_id, amount, amount_captured, amount_refunded, currency, status,
	captured, capture_before, customer_id, payment_intent_id, card, description, metadata, receipt_email, shipping,
	fraud_details, statement_descriptor, statement_descriptor_suffix, acquirer_reference, outcome, failure_code,
	failure_message, balance_transaction, settlement_pending, locked_by, disputed, amount_charged_back, receipt_url,
	transfer_group, created_at`

var (
	insertCharges = postgres.InsertRows[Charge]("charges", `account_id, id, livemode, request_id, amount, currency,
		status, customer_id, payment_intent_id, card, description, metadata, receipt_email, shipping,
		statement_descriptor, statement_descriptor_suffix, transfer_group, created_at`)

	// The acquirer's answer is written once: only a pending charge takes it.
	finalizeCharges = postgres.UpdateRows[Charge]("charges", `status, captured, amount_captured, capture_before, card,
		acquirer_reference, outcome, failure_code, failure_message, balance_transaction, settlement_pending,
		receipt_url`,
		`t.status = 'pending'`)
)

func (c *Charge) insert(tx *phase.Tx) { tx.Write(insertCharges, postgres.RowsOf(*c)) }

// finalize queues the UPDATE that makes a pending charge final. The statement fails, and with it the transaction, if
// the charge is not pending. A charge that succeeded gets its receipt's URL.
func (c *Charge) finalize(tx *phase.Tx) {
	if c.Status == chargeSucceeded {
		c.ReceiptURL = receiptURL(tx, c.ID)
	}
	tx.Write(finalizeCharges, postgres.RowsOf(*c))
}

// SelectCharges selects the charges of one account and mode. A caller appends its filter and order.
const SelectCharges = `
	SELECT ` + chargeColumns + `
	FROM charges
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	chargeByID  = SelectCharges + ` AND id = @id`
	chargesByID = SelectCharges + ` AND id = ANY (@ids::text[])`
	lockCharge  = chargeByID + ` FOR NO KEY UPDATE`

	chargeFilters = ` AND (@customer_id::text IS NULL OR customer_id = @customer_id)
	AND (@payment_intent::text IS NULL OR payment_intent_id = @payment_intent)
	AND (@transfer_group::text IS NULL OR transfer_group = @transfer_group)`
	listCharges          = SelectCharges + chargeFilters + resource.NewestFirst
	listChargesBackwards = SelectCharges + chargeFilters + resource.OldestFirst
)

const chargesOf = `SELECT c.* FROM unnest(@parents::text[]) AS parent (id) CROSS JOIN LATERAL (` +
	SelectCharges + ` AND payment_intent_id = parent.id ORDER BY id DESC LIMIT @limit) AS c ORDER BY c.id DESC`

// chargesOfIntents are the lists that intents show in old versions of the API.
func chargesOfIntents(
	ctx context.Context, db phase.Reader, v resource.Principal, intents []string,
) (map[string]resource.ListObject, error) {
	return resource.ListInside(ctx, db, chargesOf, v, intents, func(c *Charge) string { return *c.PaymentIntentID },
		func(intent string) string { return "/v1/charges?payment_intent=" + intent })
}

// lockedCharge reads a charge for a change and keeps others from changing it.
func lockedCharge(ctx context.Context, tx *phase.Tx, id string) (*Charge, error) {
	charge, err := resource.Get[Charge](ctx, tx, lockCharge, resource.PrincipalOf(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	if charge == nil {
		return nil, apierror.NotFound("charge", "charge", id)
	}
	return charge, nil
}

// ChargeExists returns a 404 for a charge that the account does not have in this mode.
func ChargeExists(ctx context.Context, db phase.Reader, v resource.Principal, id string) error {
	charge, err := resource.Get[Charge](ctx, db, chargeByID, v, id)
	if err != nil {
		return err
	}
	if charge == nil {
		return apierror.NotFound("charge", "charge", id)
	}
	return nil
}

// RetrieveCharge answers GET /v1/charges/{charge}.
func RetrieveCharge(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve) (any, error) {
	charge, err := resource.Get[Charge](ctx, db, chargeByID, v, in.ID)
	if err != nil {
		return nil, err
	}
	if charge == nil {
		return nil, apierror.NotFound("charge", "charge", in.ID)
	}
	return resource.Expand(ctx, db, v, in.Expand, charge.Render())
}

// ListChargesParams are the parameters of GET /v1/charges.
type ListChargesParams struct {
	resource.List
	Customer      *string `form:"customer"`
	PaymentIntent *string `form:"payment_intent"`
	TransferGroup *string `form:"transfer_group" max:"5000"`
}

// ListCharges answers GET /v1/charges, failed ones included.
func ListCharges(ctx context.Context, db phase.Reader, v resource.Principal, in ListChargesParams) (any, error) {
	return resource.ListPage[Charge](ctx, db, v, in.List, resource.Listing{
		URL: "/v1/charges", Object: "charge", Newest: listCharges, Oldest: listChargesBackwards, ByID: chargeByID,
		Prefix: "ch",
		Filters: pgx.StrictNamedArgs{
			"customer_id": in.Customer, "payment_intent": in.PaymentIntent, "transfer_group": in.TransferGroup,
		},
		Named: []resource.Reference{customer.NamedCustomer(in.Customer), NamedIntent(in.PaymentIntent)},
	})
}

// refundable is the amount that has not been refunded yet. The part that a partial capture
// released counts as refunded, unless the charge belongs to an intent.
func (c *Charge) refundable() int64 { return c.taken() - c.AmountRefunded }

// released is the amount that a partial capture of an intent released. Unlike that of a
// charge without an intent it creates no refund, but the charge shows it in the same way.
func (c *Charge) released() int64 { return c.Amount - c.taken() }

func (c *Charge) taken() int64 {
	if c.PaymentIntentID != nil && c.Captured {
		return c.AmountCaptured
	}
	return c.Amount
}

// statement is what the cardholder's bank shows: the merchant's descriptor, or
// the charge's own, and the suffix.
func statement(merchant string, own, suffix *string) string {
	shown := merchant
	if own != nil {
		shown = *own
	}
	if suffix != nil {
		shown += "* " + *suffix
	}
	const longest = 22 // characters, set by the card networks
	characters := []rune(strings.ToUpper(shown))
	return string(characters[:min(len(characters), longest)])
}

// What of a charge is charged back is counted on its row, where a CHECK holds it
// to what was captured.
const chargeBack = `
	UPDATE charges SET disputed = true, amount_charged_back = amount_charged_back + @amount
	WHERE account_id = @account_id AND id = @id`

// NamedCharge is the filter charge of a list. A list rejects one that does not exist.
func NamedCharge(id *string) resource.Reference {
	return resource.Reference{Param: "charge", ID: id, Object: "charge", ByID: chargeByID}
}

var searchableCharges = resource.Searchable{Plural: "charges", Rows: SelectCharges, Metadata: "metadata",
	Prefix: "ch",
	Index: &resource.TextIndex{
		Fields: []string{"amount", "currency", "customer", "billing_details.address.postal_code",
			"payment_method_details.card.brand", "payment_method_details.card.fingerprint",
			"payment_method_details.card.last4"},
		Older: `SELECT id FROM charges WHERE account_id = @account_id AND id < @before
			ORDER BY id DESC OFFSET @over LIMIT 1`},
	Fields: map[string]resource.SearchField{
		"amount":   {Kind: resource.SearchNumber, SQL: "amount"},
		"created":  {Kind: resource.SearchNumber, SQL: resource.CreatedSeconds},
		"currency": {Kind: resource.SearchToken, SQL: "currency"},
		"customer": {Kind: resource.SearchToken, SQL: "customer_id"},
		"disputed": {Kind: resource.SearchBool, SQL: "disputed"},
		"refunded": {
			Kind: resource.SearchBool,
			SQL: "(amount_refunded = CASE WHEN payment_intent_id IS NOT NULL AND captured THEN amount_captured " +
				"ELSE amount END)",
		},
		"status": {Kind: resource.SearchToken, SQL: "status"},
		"billing_details.address.postal_code": {
			Kind: resource.SearchToken,
			SQL: "(CASE WHEN card -> 'billing' IS NULL THEN card ->> 'address_zip' ELSE card #>> " +
				"'{billing,address,postal_code}' END)",
		},
		"payment_method_details.card.brand":       {Kind: resource.SearchToken, SQL: "(card ->> 'brand')"},
		"payment_method_details.card.exp_month":   {Kind: resource.SearchNumber, SQL: "(card ->> 'exp_month')::bigint"},
		"payment_method_details.card.exp_year":    {Kind: resource.SearchNumber, SQL: "(card ->> 'exp_year')::bigint"},
		"payment_method_details.card.fingerprint": {Kind: resource.SearchToken, SQL: "(card ->> 'fingerprint')"},
		"payment_method_details.card.last4":       {Kind: resource.SearchToken, SQL: "(card ->> 'last4')"},
	}}

// SearchCharges answers GET /v1/charges/search.
func SearchCharges(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Search) (any, error) {
	return resource.RunSearch[Charge](ctx, db, v, in, searchableCharges)
}

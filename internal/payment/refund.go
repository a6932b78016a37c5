package payment

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
		Object: "refund",
		Prefix: "re",
		Table:  "refunds",
		Load:   resource.LoadWith[Refund](refundsByID),
		Fields: map[string][]string{
			"balance_transaction": {"balance_transaction"}, "charge": {"charge"}, "payment_intent": {"payment_intent"},
			"failure_balance_transaction": {"balance_transaction"}, "customer": nil, "payment_method": nil,
			"source_transfer_reversal": nil, "transfer_reversal": nil,
		},
	})
}

// Refund is money, or a hold, given back.
type Refund struct {
	AccountID          string
	ID                 string
	Livemode           bool
	RequestID          string
	ChargeID           string
	PaymentIntentID    *string
	Amount             int64
	Currency           string
	Status             string
	Reason             *string
	Kind               string
	Metadata           map[string]string
	AcquirerReference  *string
	FailureReason      *string
	BalanceTransaction *string
	FailureTransaction *string `db:"failure_balance_transaction"` // gave the money back that the refund took
	CreatedAt          time.Time
}

// The states of a refund. A pending one waits for the acquirer's answer.
const (
	refundPending   = "pending"
	refundSucceeded = "succeeded"
	refundFailed    = "failed"
)

// The kinds of refunds.
const (
	refundOfMoney     = "refund"    // captured money
	refundOfHold      = "void"      // an authorization that was not captured
	refundOfRemainder = "remainder" // the part that a partial capture released
)

// RefundObject is a refund on the wire.
type RefundObject struct {
	ID                     string             `json:"id"`
	Object                 string             `json:"object"`
	Amount                 int64              `json:"amount"`
	BalanceTransaction     *string            `json:"balance_transaction"`
	Charge                 string             `json:"charge"`
	Created                int64              `json:"created"`
	Currency               string             `json:"currency"`
	Customer               *string            `json:"customer"`
	CustomerAccount        *string            `json:"customer_account"`
	DestinationDetails     destinationDetails `json:"destination_details"`
	FailureTransaction     *string            `json:"failure_balance_transaction,omitempty"`
	FailureReason          *string            `json:"failure_reason,omitempty"`
	Metadata               map[string]string  `json:"metadata"`
	PaymentIntent          *string            `json:"payment_intent"`
	PaymentMethod          *string            `json:"payment_method"`
	PendingReason          *string            `json:"pending_reason,omitempty"`
	Reason                 *string            `json:"reason"`
	ReceiptNumber          *string            `json:"receipt_number"`
	SourceTransferReversal *string            `json:"source_transfer_reversal"`
	Status                 string             `json:"status"`
	TransferReversal       *string            `json:"transfer_reversal"`
}

type destinationDetails struct {
	Card cardDestination `json:"card"`
	Type string          `json:"type"`
}

type cardDestination struct {
	Reference       *string `json:"reference,omitempty"`
	ReferenceStatus string  `json:"reference_status,omitempty"`
	ReferenceType   string  `json:"reference_type,omitempty"`
	Type            string  `json:"type"`
}

// Render is the object as API responses show it, before anything in it is expanded.
func (r *Refund) Render() any { return r.object() }

func (r *Refund) object() RefundObject {
	o := RefundObject{
		ID:                 r.ID,
		Object:             "refund",
		Amount:             r.Amount,
		BalanceTransaction: r.BalanceTransaction,
		Charge:             r.ChargeID,
		Created:            resource.Unix(r.CreatedAt),
		Currency:           r.Currency,
		FailureTransaction: r.FailureTransaction,
		FailureReason:      r.FailureReason,
		Metadata:           r.Metadata,
		PaymentIntent:      r.PaymentIntentID,
		Reason:             r.Reason,
		Status:             r.Status,
		DestinationDetails: destinationDetails{Type: "card", Card: cardDestination{Type: "reversal"}},
	}
	if r.Kind == refundOfMoney {
		o.DestinationDetails.Card = cardDestination{
			ReferenceStatus: "pending",
			ReferenceType:   "acquirer_reference_number",
			Type:            "refund",
		}
	}
	if r.Status == refundPending {
		o.PendingReason = resource.NilIfEmpty("processing")
	}
	return o
}

var (
	insertRefunds = postgres.InsertRows[Refund]("refunds", `account_id, id, livemode, request_id, charge_id,
		payment_intent_id, amount, currency, status, reason, kind, metadata, created_at`)

	// A refund's answer is written once: only a pending refund takes it.
	finalizeRefunds = postgres.UpdateRows[Refund]("refunds",
		`status, acquirer_reference, failure_reason, balance_transaction`,
		`t.status = 'pending'`)
)

func (r *Refund) insert(tx *phase.Tx) { tx.Write(insertRefunds, postgres.RowsOf(*r)) }

func (r *Refund) finalize(tx *phase.Tx) { tx.Write(finalizeRefunds, postgres.RowsOf(*r)) }

const selectRefunds = `
	SELECT account_id, id, livemode, request_id, charge_id, payment_intent_id, amount, currency, status, reason, kind,
	       metadata, acquirer_reference, failure_reason, balance_transaction, failure_balance_transaction, created_at
	FROM refunds
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	refundByID  = selectRefunds + ` AND id = @id`
	refundsByID = selectRefunds + ` AND id = ANY (@ids::text[])`
	lockRefund  = refundByID + ` FOR NO KEY UPDATE`
	refundsOf   = `SELECT r.* FROM unnest(@parents::text[]) AS parent (id) CROSS JOIN LATERAL (` +
		selectRefunds + ` AND charge_id = parent.id ORDER BY id DESC LIMIT @limit) AS r ORDER BY r.id DESC`

	refundFilters = `
		 AND (@charge_id::text IS NULL OR charge_id = @charge_id)
		 AND (@payment_intent::text IS NULL OR payment_intent_id = @payment_intent)`
	listRefunds          = selectRefunds + refundFilters + resource.NewestFirst
	listRefundsBackwards = selectRefunds + refundFilters + resource.OldestFirst
)

// refundsOfCharges are the lists that charges show when they are asked for.
func refundsOfCharges(
	ctx context.Context, db phase.Reader, v resource.Principal, charges []string,
) (map[string]resource.ListObject, error) {
	return resource.ListInside(ctx, db, refundsOf, v, charges, func(r *Refund) string { return r.ChargeID },
		func(charge string) string { return "/v1/charges/" + charge + "/refunds" })
}

func findRefund(ctx context.Context, db phase.Reader, v resource.Principal, id string) (*Refund, error) {
	refund, err := resource.Get[Refund](ctx, db, refundByID, v, id)
	if err == nil && refund == nil {
		err = apierror.NotFound("refund", "refund", id)
	}
	return refund, err
}

// lockedRefund reads a refund for a change and keeps others from changing it.
func lockedRefund(ctx context.Context, tx *phase.Tx, id string) (*Refund, error) {
	refund, err := resource.Get[Refund](ctx, tx, lockRefund, resource.PrincipalOf(tx.Caller), id)
	if err == nil && refund == nil {
		err = apierror.NotFound("refund", "refund", id)
	}
	return refund, err
}

// findRefundOf finds a refund at its charge's address. At another charge's it is
// not there.
func findRefundOf(ctx context.Context, db phase.Reader, v resource.Principal, charge, id string) (*Refund, error) {
	refund, err := findRefund(ctx, db, v, id)
	if err == nil && refund.ChargeID != charge {
		err = apierror.NotFound("refund", "refund", id)
	}
	return refund, err
}

// RetrieveRefund answers GET /v1/refunds/{refund}.
func RetrieveRefund(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve) (any, error) {
	refund, err := findRefund(ctx, db, v, in.ID)
	if err != nil {
		return nil, err
	}
	return resource.Expand(ctx, db, v, in.Expand, refund.Render())
}

// RetrieveChargeRefundParams are the parameters of GET /v1/charges/{charge}/refunds/{refund}.
type RetrieveChargeRefundParams struct {
	resource.Retrieve
	Charge string `path:"charge" json:"-"`
}

// RetrieveChargeRefund answers GET /v1/charges/{charge}/refunds/{refund}.
func RetrieveChargeRefund(
	ctx context.Context, db phase.Reader, v resource.Principal, in RetrieveChargeRefundParams,
) (any, error) {
	refund, err := findRefundOf(ctx, db, v, in.Charge, in.ID)
	if err != nil {
		return nil, err
	}
	return resource.Expand(ctx, db, v, in.Expand, refund.Render())
}

// ListRefundsParams are the parameters of GET /v1/refunds.
type ListRefundsParams struct {
	resource.List
	Charge        *string `form:"charge"`
	PaymentIntent *string `form:"payment_intent"`
}

// ListRefunds answers GET /v1/refunds.
func ListRefunds(ctx context.Context, db phase.Reader, v resource.Principal, in ListRefundsParams) (any, error) {
	return resource.ListPage[Refund](ctx, db, v, in.List, resource.Listing{
		URL: "/v1/refunds", Object: "refund", Newest: listRefunds, Oldest: listRefundsBackwards, ByID: refundByID,
		Prefix:  "re",
		Filters: pgx.StrictNamedArgs{"charge_id": in.Charge, "payment_intent": in.PaymentIntent},
		Named:   []resource.Reference{NamedCharge(in.Charge), NamedIntent(in.PaymentIntent)},
	})
}

// ListChargeRefundsParams are the parameters of GET /v1/charges/{charge}/refunds.
type ListChargeRefundsParams struct {
	resource.List
	Charge string `path:"charge" json:"-"`
}

// ListChargeRefunds answers GET /v1/charges/{charge}/refunds.
func ListChargeRefunds(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListChargeRefundsParams,
) (any, error) {
	if err := ChargeExists(ctx, db, v, in.Charge); err != nil {
		return nil, err
	}
	return resource.ListPage[Refund](ctx, db, v, in.List, resource.Listing{
		URL:     "/v1/charges/" + in.Charge + "/refunds",
		Object:  "refund",
		Newest:  listRefunds,
		Oldest:  listRefundsBackwards,
		ByID:    refundByID,
		Filters: pgx.StrictNamedArgs{"charge_id": in.Charge, "payment_intent": nil},
	})
}

// Package payout moves money from the ledger to the merchant's bank, and books what the
// acquirer settles.
package payout

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{
		Object: "payout",
		Prefix: "po",
		Table:  "payouts",
		Load:   resource.LoadWith[Payout](payoutsByID),
		Fields: map[string][]string{
			"balance_transaction":         {"balance_transaction"},
			"failure_balance_transaction": {"balance_transaction"},
			"original_payout":             {"payout"},
			"reversed_by":                 {"payout"},
			"application_fee":             nil,
			"destination":                 {},
		},
	})
}

// Payout is money on its way to a merchant's bank account. A negative amount is
// money fetched back from there: the reversal of OriginalPayout.
type Payout struct {
	AccountID                 string
	ID                        string
	Livemode                  bool
	RequestID                 string
	Amount                    int64
	Currency                  string
	Status                    string
	AutomaticOn               *time.Time // the day of an automatic payout
	Method                    string
	Destination               string
	Description               *string
	StatementDescriptor       *string
	Metadata                  map[string]string
	BankReference             *string
	BalanceTransaction        string
	FailureBalanceTransaction *string
	FailureCode               *string
	FailureMessage            *string
	OriginalPayout            *string
	ReversedBy                *string
	LockedBy                  *string
	DepartsAt                 time.Time
	ArrivesAt                 time.Time
	CreatedAt                 time.Time
}

// The states of a payout. A new one waits for the bank's answer and looks
// pending; the clock takes it on from there.
const (
	payoutNew       = "new"
	payoutPending   = "pending"
	payoutInTransit = "in_transit"
	payoutPaid      = "paid"
	payoutFailed    = "failed"
	payoutCanceled  = "canceled"
)

const (
	payoutStandard = "standard"
	payoutInstant  = "instant"
)

// PayoutObject is a payout on the wire.
type PayoutObject struct {
	ID                        string            `json:"id"`
	Object                    string            `json:"object"`
	Amount                    int64             `json:"amount"`
	ApplicationFee            *string           `json:"application_fee"`
	ApplicationFeeAmount      *int64            `json:"application_fee_amount"`
	ArrivalDate               int64             `json:"arrival_date"`
	Automatic                 bool              `json:"automatic"`
	BalanceTransaction        string            `json:"balance_transaction"`
	Created                   int64             `json:"created"`
	Currency                  string            `json:"currency"`
	Description               *string           `json:"description"`
	Destination               string            `json:"destination"`
	FailureBalanceTransaction *string           `json:"failure_balance_transaction"`
	FailureCode               *string           `json:"failure_code"`
	FailureMessage            *string           `json:"failure_message"`
	Livemode                  bool              `json:"livemode"`
	Metadata                  map[string]string `json:"metadata"`
	Method                    string            `json:"method"`
	OriginalPayout            *string           `json:"original_payout"`
	PayoutMethod              *string           `json:"payout_method"`
	ReconciliationStatus      string            `json:"reconciliation_status"`
	ReversedBy                *string           `json:"reversed_by"`
	SourceType                string            `json:"source_type"`
	StatementDescriptor       *string           `json:"statement_descriptor"`
	Status                    string            `json:"status"`
	TraceID                   *string           `json:"trace_id"`
	Type                      string            `json:"type"`
}

// Render is the payout as the API's JSON object. Amounts are in the currency's smallest unit.
func (p *Payout) Render() any { return p.object() }

func (p *Payout) object() PayoutObject {
	o := PayoutObject{
		ID:                        p.ID,
		Object:                    "payout",
		Amount:                    p.Amount,
		ArrivalDate:               resource.Unix(p.ArrivesAt),
		Automatic:                 p.AutomaticOn != nil,
		BalanceTransaction:        p.BalanceTransaction,
		Created:                   resource.Unix(p.CreatedAt),
		Currency:                  p.Currency,
		Description:               p.Description,
		Destination:               p.Destination,
		FailureBalanceTransaction: p.FailureBalanceTransaction,
		FailureCode:               p.FailureCode,
		FailureMessage:            p.FailureMessage,
		Livemode:                  p.Livemode,
		Metadata:                  p.Metadata,
		Method:                    p.Method,
		OriginalPayout:            p.OriginalPayout,
		ReconciliationStatus:      "not_applicable",
		ReversedBy:                p.ReversedBy,
		SourceType:                "card",
		StatementDescriptor:       p.StatementDescriptor,
		Status:                    p.Status,
		Type:                      "bank_account",
	}
	if p.Status == payoutNew {
		o.Status = payoutPending
	}
	if o.Automatic {
		o.ReconciliationStatus = "completed" // what it consists of was noted when it was made
	}
	return o
}

// bankAccountOf is the bank account a merchant is paid to.
func bankAccountOf(accountID string) string { return "ba_" + strings.TrimPrefix(accountID, "acct_") }

const insertPayout = `
	INSERT INTO payouts (account_id, id, livemode, request_id, amount, currency, status, automatic_on, method,
		destination, description, statement_descriptor, metadata, balance_transaction, original_payout, departs_at,
		arrives_at, created_at)
	VALUES (@account_id, @id, @livemode, @request_id, @amount, @currency, 'new', @automatic_on, @method, @destination,
		@description, @statement_descriptor, @metadata, @balance_transaction, @original_payout, @departs_at,
		@arrives_at, @created_at)`

func (p *Payout) insert(tx *phase.Tx) {
	tx.Write(insertPayout, pgx.StrictNamedArgs{
		"account_id":           p.AccountID,
		"id":                   p.ID,
		"livemode":             p.Livemode,
		"request_id":           p.RequestID,
		"amount":               p.Amount,
		"currency":             p.Currency,
		"automatic_on":         p.AutomaticOn,
		"method":               p.Method,
		"destination":          p.Destination,
		"description":          p.Description,
		"statement_descriptor": p.StatementDescriptor,
		"metadata":             p.Metadata,
		"balance_transaction":  p.BalanceTransaction,
		"original_payout":      p.OriginalPayout,
		"departs_at":           p.DepartsAt,
		"arrives_at":           p.ArrivesAt,
		"created_at":           p.CreatedAt,
	})
}

// A payout goes from one state to another once: only one that is where it is
// believed to be, and not locked by another request, takes the step.
const movePayout = `
	UPDATE payouts
	SET status = @status, bank_reference = @bank_reference, failure_balance_transaction = @failure_balance_transaction,
	    failure_code = @failure_code, failure_message = @failure_message, locked_by = NULL
	WHERE account_id = @account_id AND id = @id AND status = @from AND (locked_by IS NULL OR locked_by = @request_id)`

func (p *Payout) move(tx *phase.Tx, from string) {
	tx.WriteOne(movePayout, pgx.StrictNamedArgs{
		"account_id":                  p.AccountID,
		"id":                          p.ID,
		"request_id":                  tx.RequestID,
		"from":                        from,
		"status":                      p.Status,
		"bank_reference":              p.BankReference,
		"failure_balance_transaction": p.FailureBalanceTransaction,
		"failure_code":                p.FailureCode,
		"failure_message":             p.FailureMessage,
	})
}

const selectPayouts = `
	SELECT account_id, id, livemode, request_id, amount, currency, status, automatic_on, method, destination,
	       description, statement_descriptor, metadata, bank_reference, balance_transaction,
	       failure_balance_transaction, failure_code, failure_message, original_payout, reversed_by, locked_by,
	       departs_at, arrives_at, created_at
	FROM payouts
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	payoutByID  = selectPayouts + ` AND id = @id`
	payoutsByID = selectPayouts + ` AND id = ANY (@ids::text[])`
	lockPayout  = payoutByID + ` FOR NO KEY UPDATE`

	// A payout that the acquirer has not confirmed yet is new, and shown as pending.
	payoutFilters = ` AND (@status::text IS NULL OR status = @status OR @status = 'pending' AND status = 'new')
		AND (@destination::text IS NULL OR destination = @destination)
		AND arrives_at >= @arrives_from AND arrives_at < @arrives_to`
	listPayouts          = selectPayouts + payoutFilters + resource.NewestFirst
	listPayoutsBackwards = selectPayouts + payoutFilters + resource.OldestFirst
)

// lockedPayout reads a payout for a change and keeps others from changing it.
func lockedPayout(ctx context.Context, tx *phase.Tx, id string) (*Payout, error) {
	payout, err := resource.Get[Payout](ctx, tx, lockPayout, resource.PrincipalOf(tx.Caller), id)
	if err == nil && payout == nil {
		return nil, apierror.NotFound("payout", "payout", id)
	}
	return payout, err
}

func payoutExists(ctx context.Context, db phase.Reader, v resource.Principal, id string) error {
	payout, err := resource.Get[Payout](ctx, db, payoutByID, v, id)
	if err == nil && payout == nil {
		return apierror.NotFound("payout", "payout", id)
	}
	return err
}

// RetrievePayout answers GET /v1/payouts/{payout}.
func RetrievePayout(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve) (any, error) {
	payout, err := resource.Get[Payout](ctx, db, payoutByID, v, in.ID)
	if err != nil {
		return nil, err
	}
	if payout == nil {
		return nil, apierror.NotFound("payout", "payout", in.ID)
	}
	return resource.Expand(ctx, db, v, in.Expand, payout.Render())
}

// ListPayoutsParams are the parameters of GET /v1/payouts.
type ListPayoutsParams struct {
	resource.List
	ArrivalDate form.Created `form:"arrival_date"`
	Destination *string      `form:"destination"`
	Status      *string      `form:"status"`
}

// ListPayouts answers GET /v1/payouts.
func ListPayouts(ctx context.Context, db phase.Reader, v resource.Principal, in ListPayoutsParams) (any, error) {
	from, to := in.ArrivalDate.Between()
	if from == nil {
		from = &resource.FirstTime
	}
	if to == nil {
		to = &resource.LastTime
	}
	return resource.ListPage[Payout](ctx, db, v, in.List, resource.Listing{
		URL: "/v1/payouts", Object: "payout", Newest: listPayouts, Oldest: listPayoutsBackwards, ByID: payoutByID,
		Prefix: "po",
		Filters: pgx.StrictNamedArgs{
			"status":       in.Status,
			"destination":  in.Destination,
			"arrives_from": *from,
			"arrives_to":   *to,
		},
	})
}

func replyWithPayout(
	ctx context.Context, tx *phase.Tx, paths form.Expand, payout *Payout, fresh ...resource.Renderer,
) (phase.Outcome, error) {
	return resource.Reply(ctx, tx, paths, payout.ID, payout.Render(), fresh...)
}

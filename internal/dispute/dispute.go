// Package dispute holds disputes: what the acquirer reports of them, the merchant's
// evidence, and the money that a chargeback withdraws.
package dispute

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/balance"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{
		Object: "dispute",
		Prefix: "du",
		Table:  "disputes",
		Load:   resource.LoadWith[Dispute](disputesByID),
		Fields: map[string][]string{
			"charge": {"charge"}, "payment_intent": {"payment_intent"},
		},
	})
}

// Dispute is a cardholder's complaint about a charge.
type Dispute struct {
	AccountID         string
	ID                string
	Livemode          bool
	RequestID         string
	ChargeID          string
	AcquirerReference string
	Amount            int64
	Currency          string
	CaseType          string
	Reason            string
	NetworkCode       string
	Eligibility       []string
	Status            string
	Evidence          DisputeEvidence
	Submissions       int64
	RespondBy         time.Time
	Metadata          map[string]string
	Withdrawal        *string // posting that took the money; none of an inquiry
	Reinstatement     *string // posting that gave it back
	LockedBy          *string // the request that is answering or accepting it right now
	Brand             string  // of the charge's card
	PaymentIntentID   *string // of the charge
	Postings          []balance.BalanceTransaction
	CreatedAt         time.Time
}

// The states of a dispute. An inquiry's begin with "warning".
const (
	inquiryNeedsResponse = "warning_needs_response"
	inquiryUnderReview   = "warning_under_review"
	inquiryClosed        = "warning_closed"
	disputeNeedsResponse = "needs_response"
	disputeUnderReview   = "under_review"
	disputeWon           = "won"
	disputeLost          = "lost"
)

// isInquiry says that the cardholder's bank only asks: no money has moved.
func (d *Dispute) isInquiry() bool { return d.Withdrawal == nil }

func (d *Dispute) isClosed() bool {
	return d.Status == disputeWon || d.Status == disputeLost || d.Status == inquiryClosed
}

func (d *Dispute) needsResponse() bool {
	return d.Status == disputeNeedsResponse || d.Status == inquiryNeedsResponse
}

// withdraw takes the money of a dispute, and the fee, from the merchant.
func (d *Dispute) withdraw(tx *phase.Tx) {
	posting := ledger.DisputeWithdrawal(id.New("txn", tx.Now()), d.ID, d.Currency, d.Amount,
		money.DisputeFee(d.Currency), tx.Now())
	d.Withdrawal = d.post(tx, posting, "Chargeback withdrawal for "+d.ChargeID)
}

// reinstate gives both back.
func (d *Dispute) reinstate(tx *phase.Tx) {
	posting := ledger.DisputeReinstatement(id.New("txn", tx.Now()), d.ID, d.Currency, d.Amount,
		money.DisputeFee(d.Currency), tx.Now())
	d.Reinstatement = d.post(tx, posting, "Chargeback reversal for "+d.ChargeID)
}

func (d *Dispute) post(tx *phase.Tx, posting ledger.Posting, description string) *string {
	posting.Description = &description
	ledger.Post(tx, posting)
	d.Postings = append(d.Postings, *balance.BalanceTransactionOf(tx, posting))
	return &posting.ID
}

const insertDispute = `
	INSERT INTO disputes (account_id, id, livemode, request_id, charge_id, acquirer_reference, amount, currency,
		case_type, reason, network_code, eligibility, status, respond_by, withdrawal, created_at)
	VALUES (@account_id, @id, @livemode, @request_id, @charge_id, @acquirer_reference, @amount, @currency, @case_type,
		@reason, @network_code, @eligibility, @status, @respond_by, @withdrawal, @created_at)`

func (d *Dispute) insert(tx *phase.Tx) {
	tx.Write(insertDispute, pgx.StrictNamedArgs{
		"account_id":         d.AccountID,
		"id":                 d.ID,
		"livemode":           d.Livemode,
		"request_id":         d.RequestID,
		"charge_id":          d.ChargeID,
		"acquirer_reference": d.AcquirerReference,
		"amount":             d.Amount,
		"currency":           d.Currency,
		"case_type":          d.CaseType,
		"reason":             d.Reason,
		"network_code":       d.NetworkCode,
		"eligibility":        d.Eligibility,
		"status":             d.Status,
		"respond_by":         d.RespondBy,
		"withdrawal":         d.Withdrawal,
		"created_at":         d.CreatedAt,
	})
}

// The row is locked, and was in the state before: regardless of what happened to it since
// it was read ends the transaction.
const updateDisputeRow = `
	UPDATE disputes
	SET status = @status, case_type = @case_type, evidence = @evidence, submissions = @submissions,
	    metadata = @metadata, withdrawal = @withdrawal, reinstatement = @reinstatement, locked_by = @locked_by
	WHERE account_id = @account_id AND id = @id AND status = @before`

// change writes a dispute that was in the state before.
func (d *Dispute) change(tx *phase.Tx, before string) {
	tx.WriteOne(updateDisputeRow, pgx.StrictNamedArgs{
		"account_id":    d.AccountID,
		"id":            d.ID,
		"before":        before,
		"status":        d.Status,
		"case_type":     d.CaseType,
		"evidence":      d.Evidence,
		"submissions":   d.Submissions,
		"metadata":      d.Metadata,
		"withdrawal":    d.Withdrawal,
		"reinstatement": d.Reinstatement,
		"locked_by":     d.LockedBy,
	})
}

// Its balance transactions are shown whole, so they are read along, under the
// names of BalanceTransaction's fields.
const selectDisputes = `
	SELECT d.account_id, d.id, d.livemode, d.request_id, d.charge_id, d.acquirer_reference, d.amount, d.currency,
	       d.case_type, d.reason, d.network_code, d.eligibility, d.status, d.evidence, d.submissions, d.respond_by,
	       d.metadata, d.withdrawal, d.reinstatement, d.locked_by, d.created_at,
	       c.brand, c.payment_intent_id,
	       (SELECT coalesce(json_agg(json_build_object('ID', b.id, 'Currency', b.currency, 'Source', b.source, 'Kind',
	               b.kind, 'Description', b.description, 'AvailableOn', b.available_on, 'CreatedAt', b.created_at,
	               'Amount', b.amount, 'Fee', b.fee, 'Available', b.available_on <= now()) ORDER BY b.created_at), '[]')
	        FROM balance_transactions b
	        WHERE b.account_id = d.account_id AND b.livemode = d.livemode AND b.source = d.id) AS postings
	FROM disputes d JOIN LATERAL (
		SELECT c.card->>'brand' AS brand, c.payment_intent_id FROM charges c
		WHERE c.account_id = d.account_id AND c.id = d.charge_id) c ON true
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	disputeByID       = selectDisputes + ` AND id = @id`
	disputesByID      = selectDisputes + ` AND id = ANY (@ids::text[])`
	lockDispute       = disputeByID + ` FOR NO KEY UPDATE OF d`
	lockDisputeByName = selectDisputes + ` AND acquirer_reference = @reference FOR NO KEY UPDATE OF d`
	newestOfCharge    = selectDisputes + ` AND charge_id = @id ORDER BY id DESC LIMIT 1`
	disputeFilters    = `
		 AND (@charge_id::text IS NULL OR charge_id = @charge_id)
		 AND (@payment_intent::text IS NULL OR payment_intent_id = @payment_intent)`
	listDisputes       = selectDisputes + disputeFilters + resource.NewestFirst
	listDisputesOldest = selectDisputes + disputeFilters + resource.OldestFirst
)

func lockedDispute(ctx context.Context, tx *phase.Tx, id string) (*Dispute, error) {
	return disputeOr404(resource.Get[Dispute](ctx, tx, lockDispute, resource.PrincipalOf(tx.Caller), id))(id)
}

func disputeOr404(dispute *Dispute, err error) func(id string) (*Dispute, error) {
	return func(id string) (*Dispute, error) {
		if err == nil && dispute == nil {
			err = apierror.NotFound("dispute", "dispute", id)
		}
		return dispute, err
	}
}

// RetrieveDispute answers GET /v1/disputes/{dispute}.
func RetrieveDispute(ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve) (any, error) {
	dispute, err := disputeOr404(resource.Get[Dispute](ctx, db, disputeByID, v, in.ID))(in.ID)
	if err != nil {
		return nil, err
	}
	return resource.Expand(ctx, db, v, in.Expand, dispute.Render())
}

// RetrieveChargeDispute answers GET /v1/charges/{charge}/dispute, with the latest.
func RetrieveChargeDispute(
	ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve,
) (any, error) {
	dispute, err := disputeOfCharge(ctx, db, v, in.ID)
	if err != nil {
		return nil, err
	}
	return resource.Expand(ctx, db, v, in.Expand, dispute.Render())
}

func disputeOfCharge(ctx context.Context, db phase.Reader, v resource.Principal, charge string) (*Dispute, error) {
	if err := payment.ChargeExists(ctx, db, v, charge); err != nil {
		return nil, err
	}
	dispute, err := resource.Get[Dispute](ctx, db, newestOfCharge, v, charge)
	if err == nil && dispute == nil {
		err = apierror.NotFound("dispute for charge", "charge", charge)
	}
	return dispute, err
}

// ListDisputesParams are the parameters of GET /v1/disputes.
type ListDisputesParams struct {
	resource.List
	Charge        *string `form:"charge"`
	PaymentIntent *string `form:"payment_intent"`
}

// ListDisputes answers GET /v1/disputes.
func ListDisputes(ctx context.Context, db phase.Reader, v resource.Principal, in ListDisputesParams) (any, error) {
	return resource.ListPage[Dispute](ctx, db, v, in.List, resource.Listing{
		URL: "/v1/disputes", Object: "dispute", Newest: listDisputes, Oldest: listDisputesOldest, ByID: disputeByID,
		Prefix:  "du",
		Filters: pgx.StrictNamedArgs{"charge_id": in.Charge, "payment_intent": in.PaymentIntent},
		Named:   []resource.Reference{payment.NamedCharge(in.Charge), payment.NamedIntent(in.PaymentIntent)},
	})
}

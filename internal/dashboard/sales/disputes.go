package sales

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// dispute is a cardholder's complaint.
type dispute struct {
	AccountID         string
	ID                string
	Livemode          bool
	ChargeID          string
	PaymentID         string // where its charge is shown
	AcquirerReference string
	Amount            int64
	Currency          string
	Reason            string
	NetworkCode       string
	CaseType          string
	Status            string
	Evidence          json.RawMessage
	Submissions       int32
	RespondBy         time.Time
	Withdrawal        *string
	Reinstatement     *string
	RequestID         string
	CreatedAt         time.Time
}

// Inquiry is a question that has not cost anything yet.
func (d dispute) Inquiry() bool { return strings.HasPrefix(d.Status, "warning") }

// Waits is whether the merchant has something to say until RespondBy.
func (d dispute) Waits() bool { return strings.HasSuffix(d.Status, "needs_response") }

// Said is the evidence that was given, by name.
func (d dispute) Said() (all []evidenceText) {
	var given map[string]any
	if json.Unmarshal(d.Evidence, &given) != nil {
		return nil
	}
	for _, name := range ui.Sorted(given) {
		if text, is := given[name].(string); is && text != "" {
			all = append(all, evidenceText{name, labelOf(name), text})
		}
	}
	return all
}

const disputeColumns = `
	SELECT d.account_id, d.id, d.livemode, d.charge_id, coalesce(c.payment_intent_id, c.id) AS payment_id,
	       d.acquirer_reference, d.amount, d.currency, d.reason, d.network_code, d.case_type, d.status, d.evidence,
	       d.submissions, d.respond_by, d.withdrawal, d.reinstatement, d.request_id, d.created_at
	FROM disputes d JOIN charges c ON c.account_id = d.account_id AND c.id = d.charge_id`

const selectDisputes = disputeColumns + `
	WHERE d.account_id = @account_id AND d.livemode = @livemode
	  AND (@state = '' OR d.status = @state
	      OR @state = 'waits' AND d.status IN ('needs_response', 'warning_needs_response')
	      OR @state = 'review' AND d.status IN ('under_review', 'warning_under_review'))`

const (
	disputesEdgeDown = `SELECT id FROM disputes` + ui.EdgeDown
	disputesEdgeUp   = `SELECT id FROM disputes` + ui.EdgeUp

	disputesDown = selectDisputes + ` AND (@before = '' OR d.id < @before)
		AND d.id >= @edge ORDER BY d.id DESC LIMIT @limit`
	disputesUp       = selectDisputes + ` AND d.id > @after AND d.id <= @edge ORDER BY d.id LIMIT @limit`
	selectDisputesOf = disputeColumns + ` WHERE d.charge_id = @charge_id AND d.account_id = @account_id ORDER BY d.id`
	selectDispute    = disputeColumns + ` WHERE d.id = @id
		AND d.account_id = ` + ui.AccountWith + `disputes` + ui.ThatID
)

var disputes = ui.StateList[dispute]{
	Lister: ui.Lister[dispute]{Down: disputesDown, Up: disputesUp, Prefix: "du_",
		ID:   func(d dispute) string { return d.ID },
		Edge: ui.Edge{Down: disputesEdgeDown, Up: disputesEdgeUp}},
	Template: "dashboard/disputes", Here: "disputes", Title: "Disputes",
	Columns: disputeFile,
	OnClock: true,
	States: [][2]string{
		{"", "All"}, {"waits", "Needs response"}, {"review", "Under review"}, {"won", "Won"},
		{"lost", "Lost"},
	},
}

type disputePage struct {
	dispute
	ui.History
	Key   string // of the forms that answer it
	Payer payer  // fills in the form for evidence
}

func (s Pages) findDispute(r *http.Request) (*dispute, error) {
	return ui.ReadOne[dispute](r.Context(), s.Pool, selectDispute, postgres.Args{"id": r.PathValue("id")})
}

func (s Pages) dispute(r *http.Request) (*ui.Page, error) {
	found, err := ui.Found(s.findDispute(r))
	if err != nil {
		return nil, err
	}
	history, err := s.History(r, inspect.Subject{Kind: "dispute", AccountID: found.AccountID, ID: found.ID})
	if err != nil {
		return nil, err
	}
	page := disputePage{dispute: *found, History: history, Key: ui.NewIdempotencyKey("dispute")}
	payment, err := s.paymentOf(r, found.ChargeID)
	if err != nil {
		return nil, err
	}
	if payment != nil {
		page.Payer = payment.Payer()
	}
	of := ui.Scope{AccountID: found.AccountID, Livemode: found.Livemode}
	return s.OnClock(r, of, ui.Show("dashboard/dispute",
		web.Page{Title: "Dispute " + page.ID, Here: "disputes", Data: page}))
}

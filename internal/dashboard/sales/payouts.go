package sales

import (
	"net/http"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// payout is money on its way to the merchant's bank, or fetched back from there.
type payout struct {
	AccountID      string
	ID             string
	Livemode       bool
	Amount         int64 // negative: a reversal
	Currency       string
	Status         string
	Automatic      bool
	Method         string
	Destination    string
	Description    *string
	BankReference  *string
	BalanceTx      string
	ReturnTx       *string
	FailureCode    *string
	FailureMessage *string
	OriginalPayout *string
	ReversedBy     *string
	DepartsAt      time.Time
	ArrivesAt      time.Time
	RequestID      string
	CreatedAt      time.Time
}

// CanCancel is of a payout that has not left yet.
func (p payout) CanCancel() bool {
	return p.Status == "pending" && !p.Automatic && p.OriginalPayout == nil
}

const payoutColumns = `
	SELECT o.account_id, o.id, o.livemode, o.amount, o.currency,
	       CASE o.status WHEN 'new' THEN 'pending' ELSE o.status END AS status, o.automatic_on IS NOT NULL AS automatic,
	       o.method, o.destination, o.description, o.bank_reference, o.balance_transaction AS balance_tx,
	       o.failure_balance_transaction AS return_tx, o.failure_code, o.failure_message, o.original_payout,
	       o.reversed_by, o.departs_at, o.arrives_at, o.request_id, o.created_at
	FROM payouts o`

const selectPayouts = payoutColumns + `
	WHERE o.account_id = @account_id AND o.livemode = @livemode
	  AND (@state = '' OR o.status = @state OR @state = 'pending' AND o.status = 'new')`

const (
	payoutsEdgeDown = `SELECT id FROM payouts` + ui.EdgeDown
	payoutsEdgeUp   = `SELECT id FROM payouts` + ui.EdgeUp

	payoutsDown = selectPayouts + ` AND (@before = '' OR o.id < @before)
		AND o.id >= @edge ORDER BY o.id DESC LIMIT @limit`
	payoutsUp    = selectPayouts + ` AND o.id > @after AND o.id <= @edge ORDER BY o.id LIMIT @limit`
	selectPayout = payoutColumns + ` JOIN accounts a ON a.id = o.account_id WHERE o.id = @id`
)

var payouts = ui.StateList[payout]{
	Lister: ui.Lister[payout]{Down: payoutsDown, Up: payoutsUp, Prefix: "po_",
		ID:   func(p payout) string { return p.ID },
		Edge: ui.Edge{Down: payoutsEdgeDown, Up: payoutsEdgeUp}},
	Template: "dashboard/payouts", Here: "payouts", Title: "Payouts",
	Columns: payoutFile,
	States: [][2]string{
		{"", "All"}, {"pending", "Pending"}, {"in_transit", "In transit"}, {"paid", "Paid"},
		{"failed", "Failed"}, {"canceled", "Canceled"},
	},
}

type payoutPage struct {
	payout
	ui.History
	Key string // of the form that cancels it
}

func (s Pages) findPayout(r *http.Request) (*payout, error) {
	return ui.ReadOne[payout](r.Context(), s.Pool, selectPayout, postgres.Args{"id": r.PathValue("id")})
}

func (s Pages) payout(r *http.Request) (*ui.Page, error) {
	found, err := ui.Found(s.findPayout(r))
	if err != nil {
		return nil, err
	}
	history, err := s.History(r, inspect.Subject{Kind: "payout", AccountID: found.AccountID, ID: found.ID})
	if err != nil {
		return nil, err
	}
	page := payoutPage{payout: *found, History: history, Key: ui.NewIdempotencyKey("payout")}
	return ui.Show("dashboard/payout",
		web.Page{Title: "Payout " + page.ID, Here: "payouts", Data: page}), nil
}

// postPayoutCancel takes a payout back before it leaves.
func (s Pages) postPayoutCancel(r *http.Request) (*ui.Page, error) {
	p, err := ui.Found(s.findPayout(r))
	if err != nil {
		return nil, err
	}
	a, err := s.Call(r, p.AccountID, p.Livemode, http.MethodPost, "/v1/payouts/"+p.ID+"/cancel", r.PostFormValue("key"),
		nil)
	return ui.RespondTo(a, err, "Payout canceled. The money is back in your balance.", "/dashboard/payouts/"+p.ID)
}

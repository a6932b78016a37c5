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

// CanCancel is true for a payout that has not left yet.
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
	selectPayout = payoutColumns + ` WHERE o.id = @id
		AND o.account_id = ` + ui.AccountWith + `payouts` + ui.ThatID
)

var payouts = ui.StateList[payout]{
	Lister: ui.Lister[payout]{Down: payoutsDown, Up: payoutsUp, Prefix: "po_",
		ID:   func(p payout) string { return p.ID },
		Edge: ui.Edge{Down: payoutsEdgeDown, Up: payoutsEdgeUp}},
	Template: "dashboard/payouts", Here: "payouts", Title: "Payouts",
	Columns: payoutFile,
	OnClock: true,
	States: [][2]string{
		{"", "All"}, {"pending", "Pending"}, {"in_transit", "In transit"}, {"paid", "Paid"},
		{"failed", "Failed"}, {"canceled", "Canceled"},
	},
}

type payoutPage struct {
	payout
	ui.History
	Key       string // of the form that cancels it
	Movements movementTable
	Pager     ui.Pager
	Opening   *opening
}

// opening is what the first automatic payout took as one amount: the movements before a time.
type opening struct {
	Until  time.Time
	Amount int64
}

// A payout has one currency, so its movements are in one book. The payout's own posting was swept with them.
const (
	paidOutColumns = ` b.id, b.kind, b.source, b.currency, b.amount, b.fee, b.net, b.available_on,
		b.created_at, true AS available FROM`
	paidOut = ` ledger_books k CROSS JOIN LATERAL (
			SELECT s.posting_id FROM ledger_swept s
			WHERE s.payout = @payout AND s.book_id = k.id AND s.posting_id <> @own`
	ofBalance = `) AS t
		JOIN balance_transactions b ON b.account_id = @account_id AND b.book_id = k.id AND b.id = t.posting_id
		WHERE k.account_id = @account_id AND k.livemode = @livemode AND k.currency = @currency`

	paidOutDown = `SELECT` + paidOutColumns + paidOut + ` AND (@before = '' OR s.posting_id < @before)
		ORDER BY s.posting_id DESC LIMIT @limit` + ofBalance + ` ORDER BY b.id DESC`
	paidOutUp = `SELECT` + paidOutColumns + paidOut + ` AND s.posting_id > @after ORDER BY s.posting_id LIMIT @limit` +
		ofBalance + ` ORDER BY b.id`

	selectOpening = `
		SELECT o.until, o.amount
		FROM ledger_books k
		JOIN swept_before o ON o.book_id = k.id AND o.payout = @payout
		WHERE k.account_id = @account_id AND k.livemode = @livemode AND k.currency = @currency`
)

var paidOutMovements = ui.Lister[movement]{Down: paidOutDown, Up: paidOutUp,
	ID: func(m movement) string { return m.ID }}

// readMovements reads what an automatic payout consists of. A payout that the merchant requested is just an amount.
func (s Pages) readMovements(r *http.Request, page *payoutPage) (err error) {
	if !page.Automatic {
		return nil
	}
	args := func() postgres.Args {
		return postgres.Args{"account_id": page.AccountID, "livemode": page.Livemode, "currency": page.Currency,
			"payout": page.ID}
	}
	page.Opening, err = ui.ReadOne[opening](r.Context(), s.Pool, selectOpening, args())
	if err != nil {
		return err
	}
	list := args()
	list["own"] = page.BalanceTx
	page.Movements.PaidOut = true
	page.Movements.Rows, page.Pager, err = paidOutMovements.Page(s.Env, r, list)
	return err
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
	if err := s.readMovements(r, &page); err != nil {
		return nil, err
	}
	of := ui.Scope{AccountID: found.AccountID, Livemode: found.Livemode}
	return s.OnClock(r, of, ui.Show("dashboard/payout",
		web.Page{Title: "Payout " + page.ID, Here: "payouts", Data: page}))
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

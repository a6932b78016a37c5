package dashboard

import (
	"net/http"
	"time"

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
	  AND (@state = '' OR CASE o.status WHEN 'new' THEN 'pending' ELSE o.status END = @state)`

const (
	payoutsDown  = selectPayouts + ` AND (@before = '' OR o.id < @before) ORDER BY o.id DESC LIMIT @limit`
	payoutsUp    = selectPayouts + ` AND o.id > @after ORDER BY o.id LIMIT @limit`
	selectPayout = payoutColumns + ` JOIN accounts a ON a.id = o.account_id WHERE o.id = @id`
)

var payouts = stateList[payout]{
	lister:   lister[payout]{payoutsDown, payoutsUp, func(p payout) string { return p.ID }},
	template: "dashboard/payouts", here: "payouts", title: "Payouts",
	states: [][2]string{
		{"", "All"}, {"pending", "Pending"}, {"in_transit", "In transit"}, {"paid", "Paid"},
		{"failed", "Failed"}, {"canceled", "Canceled"},
	},
}

type payoutPage struct {
	payout
	story
	Key string // of the form that cancels it
}

func (s *Server) findPayout(r *http.Request) (*payout, error) {
	return readOne[payout](r, s, selectPayout, postgres.Args{"id": r.PathValue("id")})
}

func (s *Server) payout(w http.ResponseWriter, r *http.Request) {
	found, ok := lookUp(s, w, r, s.findPayout)
	if !ok {
		return
	}
	story, err := s.story(r, inspect.Subject{Kind: "payout", AccountID: found.AccountID, ID: found.ID})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page := payoutPage{payout: *found, story: story, Key: newKey("payout")}
	s.render(w, r, http.StatusOK, "dashboard/payout",
		web.Page{Title: "Payout " + page.ID, Here: "payouts", Desk: true, Data: page})
}

// postPayoutCancel takes a payout back before it leaves.
func (s *Server) postPayoutCancel(w http.ResponseWriter, r *http.Request) {
	p, ok := lookUp(s, w, r, s.findPayout)
	if !ok {
		return
	}
	a, err := s.ask(r, p.AccountID, p.Livemode, http.MethodPost, "/v1/payouts/"+p.ID+"/cancel", r.PostFormValue("key"),
		nil)
	s.settle(w, r, a, err, "Payout canceled. The money is back in your balance.", "/dashboard/payouts/"+p.ID)
}

package dashboard

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/web"
)

// paymentDetail is all that the charge's row says.
type paymentDetail struct {
	AccountID         string
	ID                string
	Livemode          bool
	State             string
	Amount            int64
	AmountCaptured    int64
	AmountRefunded    int64
	Currency          string
	Description       *string
	CustomerID        *string
	PaymentIntentID   *string
	Card              json.RawMessage
	Brand             string
	Last4             string
	Expiry            string
	Country           string
	FailureCode       *string
	FailureMessage    *string
	AcquirerReference *string
	RequestID         string
	BalanceTx         *string
	CaptureBefore     *time.Time
	CreatedAt         time.Time
}

// Refundable is what can still be given back.
func (p paymentDetail) Refundable() int64 { return p.Amount - p.AmountRefunded }

// CanRefund and CanCapture say what is left to do.
func (p paymentDetail) CanRefund() bool {
	return p.State == "succeeded" || p.State == "partly_refunded"
}

// CanCapture also stands for letting the hold go.
func (p paymentDetail) CanCapture() bool { return p.State == "uncaptured" }

const selectPayment = `
	SELECT c.account_id, c.id, c.livemode, p.state, c.amount, c.amount_captured, c.amount_refunded, c.currency, c.description, c.customer_id,
	       c.payment_intent_id, c.card, c.card->>'brand' AS brand, c.card->>'last4' AS last4,
	       concat(lpad(c.card->>'exp_month', 2, '0'), ' / ', right(c.card->>'exp_year', 2)) AS expiry, c.card->>'country' AS country,
	       c.failure_code, c.failure_message, c.acquirer_reference, c.request_id, c.balance_transaction AS balance_tx, c.capture_before, c.created_at
	FROM accounts a
	JOIN charges c ON c.account_id = a.id AND c.id = @id
	CROSS JOIN LATERAL (SELECT ` + paymentState + ` AS state) p`

type refund struct {
	ID        string
	Amount    int64
	Currency  string
	Status    string
	Kind      string
	Reason    *string
	RequestID string
	CreatedAt time.Time
}

const selectRefunds = `
	SELECT id, amount, currency, status, kind, reason, request_id, created_at FROM refunds
	WHERE charge_id = @id AND account_id = @account_id ORDER BY id`

type paymentPage struct {
	Payment  paymentDetail
	Refunds  []refund
	Requests []*inspect.Request
	Lines    []inspect.Line
	CSRF     string
	Key      string // of the form on this page
	Typed    string // what was typed into it
	Wrong    string // what the API said against it
	Open     bool   // the fate of the request is not known yet
}

func (s *Server) payment(w http.ResponseWriter, r *http.Request) {
	s.showPayment(w, r, http.StatusOK, paymentPage{Key: newKey("payment"), Typed: ""})
}

// showPayment fills the rest of the page in.
func (s *Server) showPayment(w http.ResponseWriter, r *http.Request, status int, page paymentPage) {
	found, err := s.findPayment(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if found == nil {
		s.notFound(w, r)
		return
	}
	page.Payment = *found
	page.Refunds, err = read[refund](r.Context(), s, selectRefunds, pgx.StrictNamedArgs{"id": found.ID, "account_id": found.AccountID})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page.Requests, err = inspect.Story(r.Context(), s.Pool, s.books(), inspect.Subject{Kind: "charge", AccountID: found.AccountID, ID: found.ID})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page.Lines, page.CSRF = inspect.Timeline(page.Requests...), s.guard.token(r)
	if page.Typed == "" {
		page.Typed = decimal(found.Refundable(), found.Currency)
	}
	s.render(w, r, status, "dashboard/payment", web.Page{Title: "Payment " + found.ID, Here: "payments", Desk: true, Data: page})
}

func (s *Server) findPayment(r *http.Request) (*paymentDetail, error) {
	found, err := read[paymentDetail](r.Context(), s, selectPayment, pgx.StrictNamedArgs{"id": r.PathValue("id")})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// books is the acquirer's, or nothing that can be asked.
func (s *Server) books() inspect.Books {
	if s.Acquirer == nil {
		return nil
	}
	return s.Acquirer
}

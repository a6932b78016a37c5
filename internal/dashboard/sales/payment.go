package sales

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// paymentDetail is a payment as its page shows it: an intent with the latest of
// its charges, or a charge that was made without one.
type paymentDetail struct {
	AccountID         string
	ID                string // of the intent, or of the charge that has none
	IntentID          *string
	ChargeID          *string // nil before the first attempt to pay
	Livemode          bool
	State             string
	Status            string  // the API's own word
	Dispute           *string // its status, if the payment is disputed
	Amount            int64
	AmountCaptured    int64
	AmountRefunded    int64
	AmountChargedBack int64
	Currency          string
	Description       *string
	Metadata          json.RawMessage
	CustomerID        *string
	Brand             string
	Last4             string
	Expiry            string
	Country           string
	Billing           json.RawMessage // as the API shows it
	ReceiptEmail      *string
	FailureCode       *string
	FailureMessage    *string
	AcquirerReference *string
	RequestID         string
	BalanceTx         *string
	CaptureBefore     *time.Time
	CheckoutSession   *string
	ReceiptURL        *string
	SessionOpen       bool // the session decides about its intent
	CouponID          *string
	Discount          int64
	Shipping          *int64 // nil: nothing is shipped
	CreatedAt         time.Time
}

// Refundable is what can still be given back, or captured.
func (p paymentDetail) Refundable() int64 { return p.Amount - p.AmountRefunded - p.AmountChargedBack }

// CanRefund, CanCapture and CanCancel say what is left to do.
func (p paymentDetail) CanRefund() bool {
	return (p.State == "succeeded" || p.State == "partly_refunded") && p.Refundable() > 0
}

// Unfinished is whether the customer, the bank or the merchant still has to do something.
func (p paymentDetail) Unfinished() bool {
	return p.State == "incomplete" || p.State == "pending" || p.State == "uncaptured"
}

// CanCapture reports whether the authorization can be captured or voided.
func (p paymentDetail) CanCapture() bool { return p.State == "uncaptured" }

// CanCancel reports whether an unpaid intent can be canceled.
func (p paymentDetail) CanCancel() bool {
	return p.IntentID != nil && (p.State == "incomplete" || p.State == "failed") && !p.SessionOpen
}

// Receipt is the path of the receipt, or "" if there is none.
func (p paymentDetail) Receipt() string {
	if p.Status != "succeeded" && p.Status != "requires_capture" {
		return ""
	}
	return receiptPath(p.ReceiptURL)
}

// receiptPath is the path of a receipt's address, or "" if there is none. The dashboard and the receipt have the same
// host, so the path is enough.
func receiptPath(url *string) string {
	if url == nil {
		return ""
	}
	_, end, found := strings.Cut(*url, apirequest.ReceiptPath)
	if !found {
		return ""
	}
	return apirequest.ReceiptPath + end
}

// Prefilled is whether the page asks for an amount.
func (p paymentDetail) Prefilled() bool { return p.CanRefund() || p.CanCapture() }

const ofCard = `coalesce(x.card->>'brand', '') AS brand, coalesce(x.card->>'last4', '') AS last4,
	       concat(lpad(x.card->>'exp_month', 2, '0'), ' / ', right(x.card->>'exp_year', 2)) AS expiry,
	       coalesce(x.card->>'country', '') AS country`

// A source has its billing details in the card.
const selectPlainPayment = `
	SELECT c.account_id, c.id, c.payment_intent_id AS intent_id, c.id AS charge_id, c.livemode, p.state, c.status,
	       ` + disputeState + `, c.amount, c.amount_captured, c.amount_refunded, c.amount_charged_back, c.currency,
	       c.description, c.metadata, c.customer_id, ` + ofCard + `,
	       coalesce(c.card->'billing', json_build_object('name', c.card->>'name', 'address', json_build_object(
	           'line1', c.card->>'address_line1', 'line2', c.card->>'address_line2', 'city', c.card->>'address_city',
	           'state', c.card->>'address_state', 'postal_code', c.card->>'address_zip',
	           'country', c.card->>'address_country'))) AS billing, c.receipt_email,
	       c.failure_code, c.failure_message, c.acquirer_reference, c.request_id, c.balance_transaction AS balance_tx,
	       c.capture_before, NULL::text AS checkout_session, c.receipt_url, false AS session_open,
	       NULL::text AS coupon_id, 0::bigint AS discount, NULL::bigint AS shipping, c.created_at
	FROM charges c
	CROSS JOIN LATERAL (SELECT c.card) x
	CROSS JOIN LATERAL (SELECT ` + chargeState + ` AS state) p
	WHERE c.id = @id AND c.account_id = ` + ui.AccountWith + `charges` + ui.ThatID

const selectIntentPayment = `
	SELECT i.account_id, i.id, i.id AS intent_id, c.id AS charge_id, i.livemode, p.state, i.status,
	       ` + disputeState + `, i.amount, coalesce(c.amount_captured, 0) AS amount_captured,
	       coalesce(c.amount_refunded, 0) AS amount_refunded, coalesce(c.amount_charged_back, 0) AS amount_charged_back,
	       i.currency, i.description, i.metadata, i.customer_id, ` + ofCard + `,
	       CASE WHEN c.status <> 'failed' THEN c.card->'billing'
	       ELSE coalesce(m.billing_details, i.last_payment_error #> '{payment_method,billing_details}',
	           c.card->'billing') END AS billing,
	       coalesce(i.receipt_email, v.customer_details->>'email', v.customer_email) AS receipt_email,
	       coalesce(c.failure_code, i.last_payment_error->>'code') AS failure_code,
	       coalesce(c.failure_message, i.last_payment_error->>'message') AS failure_message, c.acquirer_reference,
	       i.request_id, c.balance_transaction AS balance_tx, c.capture_before, i.checkout_session, c.receipt_url,
	       coalesce(v.status = 'open', false) AS session_open, v.coupon_id, coalesce(v.amount_discount, 0) AS discount,
	       CASE WHEN v.shipping_rate_id IS NOT NULL THEN v.amount_shipping END AS shipping, i.created_at
	FROM payment_intents i
	LEFT JOIN charges c ON c.account_id = i.account_id AND c.id = i.latest_charge
	LEFT JOIN payment_methods m ON m.account_id = i.account_id AND m.id = i.payment_method_id
	LEFT JOIN cards k ON k.account_id = i.account_id AND k.id = i.payment_method_id
	LEFT JOIN checkout_sessions v ON v.account_id = i.account_id AND v.id = i.checkout_session
	CROSS JOIN LATERAL (SELECT ` + intentCard + ` AS card) x
	CROSS JOIN LATERAL (SELECT ` + intentState + ` AS state) p
	WHERE i.id = @id AND i.account_id = ` + ui.AccountWith + `payment_intents` + ui.ThatID

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

// try is a charge of an intent: all but the last were declined.
type try struct {
	ID          string
	State       string
	Brand       string
	Last4       string
	FailureCode *string
	RequestID   string
	CreatedAt   time.Time
}

const selectTries = `
	SELECT c.id, p.state, c.card->>'brand' AS brand, c.card->>'last4' AS last4, c.failure_code, c.request_id,
	       c.created_at
	FROM charges c
	CROSS JOIN LATERAL (SELECT ` + chargeState + ` AS state) p
	WHERE c.payment_intent_id = @id AND c.account_id = @account_id
	ORDER BY c.id`

// settlement is a movement of a charge that the acquirer has paid, or taken.
type settlement struct {
	Movement  string
	Amount    int64
	Currency  string
	Batch     string
	Part      int
	RequestID string
	SettledAt time.Time
}

const selectSettlementsOf = `
	SELECT movement, amount, currency, batch, part, request_id, settled_at FROM settlements
	WHERE charge_id = @charge_id AND account_id = @account_id ORDER BY created_at, acquirer_reference, movement`

type paymentPage struct {
	Payment     paymentDetail
	Refunds     []refund
	Tries       []try
	Disputes    []dispute
	Settlements []settlement
	ui.History
	CSRF  string
	Key   string // of the form on this page
	Typed string // what was typed into it
	Wrong string // what the API said against it
	Open  bool   // the fate of the request is not known yet
}

func (s Pages) payment(r *http.Request) (*ui.Page, error) {
	return s.showPayment(r, http.StatusOK, paymentPage{Key: ui.NewIdempotencyKey("payment"), Typed: ""})
}

// showPayment fills the rest of the page in.
func (s Pages) showPayment(r *http.Request, status int, page paymentPage) (*ui.Page, error) {
	found, err := ui.Found(s.findPayment(r))
	if err != nil {
		return nil, err
	}
	if found.ID != r.PathValue("id") && r.Method == http.MethodGet { // a charge is shown with its intent
		return ui.Redirect("/dashboard/payments/" + found.ID), nil
	}
	page.Payment = *found
	if err := s.around(r, &page); err != nil {
		return nil, err
	}
	page.CSRF = s.Token(r)
	if page.Typed == "" {
		page.Typed = ui.Decimal(found.Refundable(), found.Currency)
	}
	return ui.ShowAs(status, "dashboard/payment", web.Page{
		Title:     money.Format(found.Amount, found.Currency) + " " + web.StateWord(found.State),
		Here:      "payments",
		Dashboard: true,
		Data:      page,
	}), nil
}

// around reads what belongs to a payment.
func (s Pages) around(r *http.Request, page *paymentPage) (err error) {
	p, kind := page.Payment, "charge"
	if p.IntentID != nil {
		kind = "payment_intent"
		page.Tries, err = ui.Read[try](r.Context(), s.Pool, selectTries,
			postgres.Args{"id": p.ID, "account_id": p.AccountID})
		if err != nil {
			return err
		}
	}
	if p.ChargeID != nil {
		page.Refunds, err = ui.Read[refund](r.Context(), s.Pool, selectRefunds,
			postgres.Args{"id": *p.ChargeID, "account_id": p.AccountID})
		if err != nil {
			return err
		}
		page.Settlements, err = ui.Read[settlement](r.Context(), s.Pool, selectSettlementsOf,
			postgres.Args{"charge_id": *p.ChargeID, "account_id": p.AccountID})
		if err != nil {
			return err
		}
		page.Disputes, err = ui.Read[dispute](r.Context(), s.Pool, selectDisputesOf,
			postgres.Args{"charge_id": *p.ChargeID, "account_id": p.AccountID})
		if err != nil {
			return err
		}
	}
	page.History, err = s.History(r, inspect.Subject{Kind: kind, AccountID: p.AccountID, ID: p.ID})
	return err
}

// findPayment reads the payment that an address names, by its intent or a charge.
func (s Pages) findPayment(r *http.Request) (*paymentDetail, error) {
	return s.paymentOf(r, r.PathValue("id"))
}

func (s Pages) paymentOf(r *http.Request, id string) (*paymentDetail, error) {
	args := postgres.Args{"id": id}
	found, err := ui.Read[paymentDetail](r.Context(), s.Pool, selectPlainPayment, args)
	if err == nil && len(found) == 1 && found[0].IntentID != nil {
		args["id"] = *found[0].IntentID
		found = nil
	}
	if err == nil && len(found) == 0 {
		found, err = ui.Read[paymentDetail](r.Context(), s.Pool, selectIntentPayment, args)
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

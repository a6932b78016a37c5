package checkout

import (
	"context"
	"crypto/subtle"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/locale"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/web"
)

// receipt is a charge as its cardholder may see it.
type receipt struct {
	URL             string
	Business        string
	Livemode        bool
	Amount          int64
	AmountCaptured  int64
	Captured        bool
	Currency        string
	Brand           string
	Last4           string
	Description     *string
	CheckoutSession *string // which has the items
	ChargeID        string
	CreatedAt       time.Time
	Refunds         []receiptRefund `db:"-"`
}

// receiptRefund is money that went back to the card, or that was never taken from it.
type receiptRefund struct {
	Amount    int64
	Kind      string
	CreatedAt time.Time
}

const (
	receiptOfCharge = `
	SELECT c.receipt_url AS url, a.name AS business, c.livemode, c.amount, c.amount_captured, c.captured, c.currency,
	       c.card->>'brand' AS brand, c.card->>'last4' AS last4, c.description, i.checkout_session, c.id AS charge_id,
	       c.created_at
	FROM charges c
	JOIN accounts a ON a.id = c.account_id
	LEFT JOIN payment_intents i ON i.account_id = c.account_id AND i.id = c.payment_intent_id
	WHERE c.account_id = @account_id AND c.id = @id AND c.status = 'succeeded' AND c.receipt_url IS NOT NULL`

	refundsOnReceipt = `
	SELECT amount, kind, created_at FROM refunds
	WHERE charge_id = @id AND account_id = @account_id AND status <> 'failed' ORDER BY id`
)

// findReceipt reads the receipt that an address names; nil if the token is not the charge's.
func findReceipt(ctx context.Context, db phase.Reader, account, charge, token string) (*receipt, error) {
	args := pgx.StrictNamedArgs{"account_id": account, "id": charge}
	found, err := resource.QueryOne[receipt](ctx, db, receiptOfCharge, args)
	if err != nil || found == nil {
		return nil, err
	}
	kept := found.URL[strings.LastIndexByte(found.URL, '/')+1:]
	if subtle.ConstantTimeCompare([]byte(kept), []byte(token)) == 0 {
		return nil, nil
	}
	rows, err := db.Query(ctx, refundsOnReceipt, args)
	if err != nil {
		return nil, err
	}
	found.Refunds, err = pgx.CollectRows(rows, pgx.RowToStructByName[receiptRefund])
	return found, err
}

// Taken is what was taken, or is held as long as nothing was taken.
func (r *receipt) Taken() int64 {
	if r.Captured {
		return r.AmountCaptured
	}
	return r.Amount
}

// Returned is how much of it went back or was released.
func (r *receipt) Returned() (sum int64) {
	for _, refund := range r.Given() {
		sum += refund.Amount
	}
	return sum
}

// Left is what was paid minus what was refunded, in minor units.
func (r *receipt) Left() int64 { return r.Taken() - r.Returned() }

// Given are the refunds of what was paid. The part of a hold that a capture did not take was
// never paid.
func (r *receipt) Given() (all []receiptRefund) {
	for _, refund := range r.Refunds {
		if refund.Kind != "remainder" {
			all = append(all, refund)
		}
	}
	return all
}

// receiptPage is the receipt of one charge. Sold is what it paid for, nil for a charge that
// no checkout session made.
type receiptPage struct {
	*receipt
	Sold *paymentPage
	lang *locale.Language
}

// Released says that the money was only held, and the hold is released.
func (p receiptPage) Released() bool { return !p.Captured && p.Left() == 0 }

// Paid is what was taken, as people write it.
func (p receiptPage) Paid() string { return p.lang.Money(p.Taken(), p.Currency) }

// Rest is what the merchant keeps of it.
func (p receiptPage) Rest() string { return p.lang.Money(p.Left(), p.Currency) }

// Off writes what a refund takes off the amount.
func (p receiptPage) Off(amount int64) string { return p.lang.Money(-amount, p.Currency) }

var chargeShape = regexp.MustCompile(`^acct_[0-9A-Za-z_]+/ch_[0-9A-Za-z]+$`)

// receipt shows what a charge took and what went back. The address is the permission, so the
// page names the card by its brand and last four digits only, and the cardholder not at all.
func (s *Server) receipt(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Robots-Tag", "noindex")
	page := receiptPage{lang: langOf(r)}
	var err error
	if chargeShape.MatchString(r.PathValue("account") + "/" + r.PathValue("charge")) {
		page.receipt, err = findReceipt(r.Context(), s.DB, r.PathValue("account"), r.PathValue("charge"),
			r.PathValue("token"))
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if page.receipt == nil {
		s.render(w, r, http.StatusNotFound, "checkout/noreceipt",
			web.Page{Title: page.lang.Say("receipt_not_found"), Language: page.lang})
		return
	}
	if page.CheckoutSession != nil {
		r.SetPathValue("session", *page.CheckoutSession)
		if page.Sold, err = s.find(r); err != nil {
			s.fail(w, r, err)
			return
		}
		page.lang = page.Sold.lang
	}
	s.render(w, r, http.StatusOK, "checkout/charge",
		web.Page{Title: page.lang.Say("receipt_from", "shop", page.Business), Data: page, Language: page.lang})
}

package sales

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// Payment is a line of the list of payments: an intent with the charge that pays
// it, or a charge that was made without one.
type Payment struct {
	ID             string
	State          string
	Dispute        *string // its status, if the payment is disputed
	Amount         int64
	AmountRefunded int64
	Currency       string
	Description    *string
	CustomerID     *string
	Email          *string // of the payer, or else of the customer
	Name           *string
	Brand          string
	Last4          string
	FailureCode    *string
	RequestID      string
	Takeovers      int64
	CreatedAt      time.Time
}

// Payer is the email or the name that the list shows, or "".
func (p Payment) Payer() string {
	for _, text := range []*string{p.Email, p.Name} {
		if text != nil && *text != "" {
			return *text
		}
	}
	return ""
}

// chargeState is a charge's state in a word. The part that a partial capture released
// is in amount_refunded, but was never captured.
const chargeState = `CASE
	WHEN c.status = 'failed' THEN 'failed' WHEN c.status = 'pending' THEN 'pending'
	WHEN NOT c.captured AND c.amount_refunded >= c.amount THEN 'released' WHEN NOT c.captured THEN 'uncaptured'
	WHEN c.amount_refunded >= c.amount THEN 'refunded'
	WHEN c.amount_refunded > c.amount - c.amount_captured THEN 'partly_refunded'
	ELSE 'succeeded' END`

// intentState is an intent's state. Once it is paid, the state is its charge's. An
// incomplete intent had no attempt to pay yet; a failed one had.
const intentState = `CASE i.status
	WHEN 'succeeded' THEN ` + chargeState + ` WHEN 'requires_capture' THEN 'uncaptured' WHEN 'processing' THEN 'pending'
	    WHEN 'canceled' THEN 'canceled'
	WHEN 'requires_payment_method'
	THEN CASE WHEN i.last_payment_error IS NULL AND i.latest_charge IS NULL THEN 'incomplete' ELSE 'failed' END
	ELSE 'incomplete' END`

// disputeState is the status of a charge's dispute. Of several it is the one that needs the merchant most.
const disputeState = `CASE WHEN c.disputed THEN (
	SELECT d.status FROM disputes d WHERE d.account_id = c.account_id AND d.charge_id = c.id
	ORDER BY d.status LIKE '%needs_response' DESC, d.status LIKE '%under_review' DESC, d.status = 'lost' DESC
	LIMIT 1) END AS dispute`

// intentCard is the card that the page of an intent shows: the one that paid, the one that would pay now, or the last
// one that was tried.
const intentCard = `CASE WHEN c.status <> 'failed' THEN c.card
	ELSE coalesce(m.card, k.card, i.last_payment_error #> '{payment_method,card}', c.card) END`

// Both halves of the list are filtered, sorted and cut separately, along their primary
// keys, and then merged. The part of an id after the prefix encodes its time. Only an intent that no charge pays needs
// its payment method; OFFSET 0 looks it up by its key. For a filter PostgreSQL would otherwise read all of the
// account's payment methods, which grow with the payments.
const (
	intentPayments = `
	SELECT i.id, p.state, ` + disputeState + `, i.amount,
	       coalesce(c.amount_refunded, 0) AS amount_refunded, i.currency, i.description, i.customer_id,
	       coalesce(c.card #>> '{billing,email}', m.billing_details->>'email', i.receipt_email, (
	           SELECT email FROM customers u WHERE u.account_id = i.account_id AND u.id = i.customer_id)) AS email,
	       coalesce(c.card #>> '{billing,name}', m.billing_details->>'name', (
	           SELECT name FROM customers u WHERE u.account_id = i.account_id AND u.id = i.customer_id)) AS name,
	       p.brand, p.last4, coalesce(c.failure_code, i.last_payment_error->>'code') AS failure_code, i.request_id,
	       i.created_at,
	       (SELECT count(*) FROM takeovers t
	           WHERE t.account_id = i.account_id AND t.request_id IN (i.request_id, c.request_id)
	             AND ` + crashed + `) AS takeovers
	FROM payment_intents i
	LEFT JOIN charges c ON c.account_id = i.account_id AND c.id = i.latest_charge
	LEFT JOIN LATERAL (SELECT card, billing_details FROM payment_methods
	    WHERE account_id = i.account_id AND id = i.payment_method_id
	      AND coalesce(c.status, 'failed') = 'failed' OFFSET 0) m ON true
	LEFT JOIN LATERAL (SELECT card FROM cards
	    WHERE account_id = i.account_id AND id = i.payment_method_id
	      AND coalesce(c.status, 'failed') = 'failed' OFFSET 0) k ON true
	CROSS JOIN LATERAL (SELECT ` + intentCard + ` AS card) x
	CROSS JOIN LATERAL (SELECT ` + intentState + ` AS state, i.amount, i.currency, i.customer_id,
	       coalesce(x.card->>'brand', '') AS brand, coalesce(x.card->>'last4', '') AS last4) p
	WHERE i.account_id = @account_id AND i.livemode = @livemode` + paymentFilters + `
	  AND (NOT @crashed::boolean OR EXISTS (
	      SELECT FROM takeovers t WHERE t.account_id = i.account_id AND t.request_id IN (i.request_id, c.request_id)
	          AND ` + crashed + `))`

	plainPayments = `
	SELECT c.id, p.state, ` + disputeState + `, c.amount, c.amount_refunded, c.currency, c.description,
	       c.customer_id, coalesce(c.card #>> '{billing,email}', c.receipt_email, (
	           SELECT email FROM customers u WHERE u.account_id = c.account_id AND u.id = c.customer_id)) AS email,
	       coalesce(c.card #>> '{billing,name}', c.card->>'name', (
	           SELECT name FROM customers u WHERE u.account_id = c.account_id AND u.id = c.customer_id)) AS name,
	       p.brand, p.last4, c.failure_code, c.request_id, c.created_at,
	       (SELECT count(*) FROM takeovers t
	           WHERE t.account_id = c.account_id AND t.request_id = c.request_id AND ` + crashed + `) AS takeovers
	FROM charges c
	CROSS JOIN LATERAL (SELECT ` + chargeState + ` AS state, c.amount, c.currency, c.customer_id,
	    c.card->>'brand' AS brand, c.card->>'last4' AS last4) p
	WHERE c.account_id = @account_id AND c.livemode = @livemode AND c.payment_intent_id IS NULL` + paymentFilters + `
	  AND (NOT @crashed::boolean OR EXISTS (
	      SELECT FROM takeovers t WHERE t.account_id = c.account_id AND t.request_id = c.request_id
	          AND ` + crashed + `))`

	// A process that came back after the takeover had only stalled.
	crashed = `t.was = 'running' AND NOT EXISTS (
	    SELECT FROM fence_refusals f
	    WHERE f.account_id = t.account_id AND f.request_id = t.request_id AND f.epoch = t.epoch)`

	// The filter has amounts in units of their currency; the database stores minor units.
	paymentFilters = `
	  AND (@state = '' OR p.state = @state)
	  AND (@customer = '' OR p.customer_id = @customer)
	  AND (@brand = '' OR p.brand = @brand)
	  AND (@ends_in = '' OR p.last4 = @ends_in)
	  AND (@currency = '' OR p.currency = @currency)
	  AND (@least::numeric IS NULL
	      OR p.amount >= @least * CASE WHEN p.currency = ANY (@whole::text[]) THEN 1
	      WHEN p.currency = ANY (@mills::text[]) THEN 1000 ELSE 100 END)
	  AND (@most::numeric IS NULL
	      OR p.amount <= @most * CASE WHEN p.currency = ANY (@whole::text[]) THEN 1
	      WHEN p.currency = ANY (@mills::text[]) THEN 1000 ELSE 100 END)`

	paymentsDown = `SELECT * FROM (
		(` + intentPayments + ` AND (@before = '' OR i.id < 'pi_' || substr(@before, 4))
		AND i.id >= 'pi_' || substr(@edge, 4) ORDER BY i.id DESC
		LIMIT @limit)
		UNION ALL
		(` + plainPayments + ` AND (@before = '' OR c.id < 'ch_' || substr(@before, 4))
		AND c.id >= 'ch_' || substr(@edge, 4) ORDER BY c.id DESC
		LIMIT @limit)) merged
		ORDER BY substr(id, 4) DESC LIMIT @limit`
	paymentsUp = `SELECT * FROM (
		(` + intentPayments + ` AND i.id > 'pi_' || substr(@after, 4)
		AND i.id <= 'pi_' || substr(@edge, 4) ORDER BY i.id LIMIT @limit)
		UNION ALL
		(` + plainPayments + ` AND c.id > 'ch_' || substr(@after, 4)
		AND c.id <= 'ch_' || substr(@edge, 4) ORDER BY c.id LIMIT @limit)) merged
		ORDER BY substr(id, 4) LIMIT @limit`

	// No more than so many rows of either table are searched.
	paymentsEdgeDown = `SELECT max('ch_' || substr(id, 4)) AS id FROM (
		(SELECT id FROM payment_intents
		 WHERE account_id = @account_id AND (@before = '' OR id < 'pi_' || substr(@before, 4))
		 ORDER BY id DESC OFFSET @over LIMIT 1)
		UNION ALL
		(SELECT id FROM charges WHERE account_id = @account_id AND (@before = '' OR id < 'ch_' || substr(@before, 4))
		 ORDER BY id DESC OFFSET @over LIMIT 1)) edges
		HAVING count(*) > 0`
	paymentsEdgeUp = `SELECT min('ch_' || substr(id, 4)) AS id FROM (
		(SELECT id FROM payment_intents WHERE account_id = @account_id AND id > 'pi_' || substr(@after, 4)
		 ORDER BY id OFFSET @over LIMIT 1)
		UNION ALL
		(SELECT id FROM charges WHERE account_id = @account_id AND id > 'ch_' || substr(@after, 4)
		 ORDER BY id OFFSET @over LIMIT 1)) edges
		HAVING count(*) > 0`
)

var payments = ui.Lister[Payment]{Down: paymentsDown, Up: paymentsUp, Prefix: "pi_",
	ID:   func(p Payment) string { return p.ID },
	Edge: ui.Edge{Down: paymentsEdgeDown, Up: paymentsEdgeUp}}

// paymentsOf is the list for a filter. Indexes have the payments of a customer. Without a filter, too, a shop may have
// many charges of intents and few others.
func paymentsOf(f paymentFilter) ui.Lister[Payment] {
	list := payments
	list.Whole = f.Customer != ""
	return list
}

// paymentFilter is what the address asks for, as it was written there.
type paymentFilter struct {
	State, Customer, Brand, Last4, Currency, Least, Most, From, To string
	Crashed                                                        bool
}

func paymentFilterOf(r *http.Request) paymentFilter {
	field := func(name string) string { return strings.TrimSpace(r.FormValue(name)) }
	return paymentFilter{
		State:    field("state"),
		Customer: field("customer"),
		Brand:    field("brand"),
		Last4:    field("last4"),
		Currency: strings.ToLower(field("currency")),
		Least:    field("min"),
		Most:     field("max"),
		From:     field("from"),
		To:       field("to"),
		Crashed:  field("crashed") == "yes",
	}
}

// Any reports whether any filter is set.
func (f paymentFilter) Any() bool { return f != paymentFilter{} }

// Narrowed reports whether more than the state is filtered, which has separate chips.
func (f paymentFilter) Narrowed() bool { return f != paymentFilter{State: f.State} }

// Wrong says what in the filter cannot be read; it filters nothing.
func (f paymentFilter) Wrong() string {
	for _, amount := range []string{f.Least, f.Most} {
		if _, wrong := units(amount); wrong != "" {
			return fmt.Sprintf("“%s” isn’t an amount. %s", amount, wrong)
		}
	}
	for _, day := range []string{f.From, f.To} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			return fmt.Sprintf("“%s” isn’t a date. Enter a date like 2026-11-30.", day)
		}
	}
	return ""
}

// units reads an amount in a currency's units, whichever it is. "" is none.
func units(text string) (amount *string, wrong string) {
	if text == "" {
		return nil, ""
	}
	whole, fraction, wrong := digitsOf(text, "20 or 20.00")
	if wrong == "" && len(fraction) > 3 {
		wrong = "Enter at most three decimal places."
	}
	if wrong != "" {
		return nil, wrong
	}
	written := strings.TrimSuffix(whole+"."+fraction, ".")
	return &written, ""
}

func (f paymentFilter) args(of ui.Scope) postgres.Args {
	least, _ := units(f.Least)
	most, _ := units(f.Most)
	args := of.Args(postgres.Args{
		"state":    f.State,
		"customer": f.Customer,
		"brand":    f.Brand,
		"ends_in":  f.Last4,
		"currency": f.Currency,
		"least":    least,
		"most":     most,
		"whole":    ui.CurrenciesOf(0),
		"mills":    ui.CurrenciesOf(3),
		"crashed":  f.Crashed,
	})
	return args
}

// resolved is the filter with the ID of a customer who is named otherwise. It leaves no payments if there is none.
func (s Pages) resolved(r *http.Request, of ui.Scope, f paymentFilter) (_ paymentFilter, wrong string, err error) {
	id, wrong, err := s.customerCalled(r, of, f.Customer)
	if id != "" {
		f.Customer = id
	}
	if wrong != "" && !strings.Contains(f.Customer, "@") {
		wrong = "No customer, or more than one, has this name. Enter an email or an ID."
	}
	return f, wrong, err
}

type paymentsPage struct {
	Payments []Payment
	Filter   paymentFilter
	Unknown  string // what is wrong with the customer of the filter
	States   []ui.Chip
	Brands   []string
	Pager    ui.Pager
	CSV      string
	Dates    ui.Dates
}

var brands = []string{"visa", "mastercard", "amex", "discover", "diners", "jcb", "unionpay"}

func (s Pages) payments(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	page := paymentsPage{
		Filter: paymentFilterOf(r),
		Brands: brands,
		CSV:    ui.FileOf(r),
		Dates:  ui.DatesOf(r),
	}
	filter, unknown, err := s.resolved(r, of, page.Filter)
	if err != nil {
		return nil, err
	}
	page.Unknown = unknown
	page.Payments, page.Pager, err = paymentsOf(filter).Page(s.Env, r, filter.args(of))
	if err != nil {
		return nil, err
	}
	page.States = ui.Chips(r, "state", [2]string{"", "All"}, [2]string{"succeeded", "Succeeded"},
		[2]string{"uncaptured", "Uncaptured"},
		[2]string{"partly_refunded", "Partially refunded"}, [2]string{"refunded", "Refunded"},
		[2]string{"failed", "Failed"},
		[2]string{"incomplete", "Incomplete"}, [2]string{"canceled", "Canceled"}, [2]string{"pending", "Pending"})
	return ui.List(of, "dashboard/payments", "payments", "Payments", page), nil
}

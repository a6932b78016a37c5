package sales

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// email is what a shop with a mail server would send because of an event. Nothing is sent and
// nothing is stored: each page renders it again.
type email struct {
	ID        string // the event's
	AccountID string
	Type      string
	Data      json.RawMessage
	Shop      string
	Address   *string // of the event's customer, which a charge may not have
	CreatedAt time.Time
}

// emailed are the objects of the events, as far as an email needs them.
type emailed struct {
	Object struct {
		ID             string
		Amount         int64
		Captured       bool
		AmountCaptured int64 `json:"amount_captured"`
		AmountRefunded int64 `json:"amount_refunded"`
		Currency       string
		Charge         string
		Reason         string
		Status         string
		Description    *string
		ReceiptEmail   *string                       `json:"receipt_email"`
		ReceiptURL     *string                       `json:"receipt_url"`
		BillingDetails struct{ Email, Name *string } `json:"billing_details"`
		Method         struct {
			Card struct{ Brand, Last4 string }
		} `json:"payment_method_details"`
		Evidence struct {
			DueBy int64 `json:"due_by"`
		} `json:"evidence_details"`
		ArrivalDate    int64   `json:"arrival_date"`
		FailureMessage *string `json:"failure_message"`
	}
	Previous struct {
		AmountRefunded int64 `json:"amount_refunded"`
	} `json:"previous_attributes"`
}

// A page is read of each type, which an index has in the list's order, and then the page of those.
const emailedEvents = `
	FROM unnest(ARRAY['charge.succeeded', 'charge.captured', 'charge.refunded', 'charge.dispute.created',
	                  'charge.dispute.closed', 'payout.paid', 'payout.failed']) AS emailed (type)
	CROSS JOIN LATERAL (
		SELECT id, account_id, type, data, created_at FROM events
		WHERE account_id = @account_id AND livemode = @livemode AND type = emailed.type AND id >= @first
		  AND (type <> 'charge.succeeded' OR data->'object'->>'captured' = 'true')`

const (
	emailColumns = `e.id, e.account_id, e.type, e.data, a.name AS shop, c.email AS address, e.created_at`

	ofShops = `) AS e
	JOIN accounts a ON a.id = e.account_id
	LEFT JOIN customers c ON c.account_id = e.account_id AND c.id = e.data->'object'->>'customer'`

	emailsDown = `SELECT ` + emailColumns + emailedEvents +
		` AND (@before = '' OR id < @before) AND id >= @edge ORDER BY id DESC LIMIT @limit` +
		ofShops + ` ORDER BY e.id DESC LIMIT @limit`
	emailsUp = `SELECT ` + emailColumns + emailedEvents + ` AND id > @after AND id <= @edge ORDER BY id LIMIT @limit` +
		ofShops + ` ORDER BY e.id LIMIT @limit`

	// A shop may hold all cards first: then no event of this type causes an email.
	emailsEdgeDown = `SELECT id FROM events
		WHERE account_id = @account_id AND type = 'charge.succeeded' AND id >= @first
		  AND (@before = '' OR id < @before)
		ORDER BY id DESC OFFSET @over LIMIT 1`
	emailsEdgeUp = `SELECT id FROM events
		WHERE account_id = @account_id AND type = 'charge.succeeded' AND id >= @first AND id > @after
		ORDER BY id OFFSET @over LIMIT 1`

	emailOfEvent = `
	SELECT ` + emailColumns + `
	FROM events e
	JOIN accounts a ON a.id = e.account_id
	LEFT JOIN customers c ON c.account_id = e.account_id AND c.id = e.data->'object'->>'customer'
	WHERE e.id = @id AND e.account_id = ` + ui.AccountWith + `events` + ui.ThatID
)

var emails = ui.Lister[email]{Down: emailsDown, Up: emailsUp, Prefix: "evt_",
	ID:   func(m email) string { return m.ID },
	Edge: ui.Edge{Down: emailsEdgeDown, Up: emailsEdgeUp, Args: []string{"first"}}}

const emailDays = 30

// message is an email as it is shown.
type message struct {
	ID         string
	To         string
	Missing    bool // the customer has no address
	ToMerchant bool
	Subject    string
	Lines      []string
	Facts      [][2]string
	Receipt    string // the path of the receipt, "" for none
	Link       string // of the dashboard, for the merchant
	CreatedAt  time.Time
	Shop       string
}

type emailsPage struct {
	Emails []message
	Pager  ui.Pager
	Days   int
	Dates  ui.Dates
}

func (s Pages) emails(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	found, pager, err := emails.Page(s.Env, r,
		of.Args(postgres.Args{"first": "evt_" + id.EncodeTime(time.Now().AddDate(0, 0, -emailDays))}))
	if err != nil {
		return nil, err
	}
	page := emailsPage{Pager: pager, Days: emailDays, Dates: ui.DatesOf(r)}
	page.Dates.Presets[0].Word = fmt.Sprintf("Last %d days", emailDays) // there are no older ones
	page.Dates.Presets = slices.DeleteFunc(page.Dates.Presets, func(c ui.Chip) bool { return c.Word == "30 days" })
	for _, m := range found {
		if shown, is := m.message(); is {
			page.Emails = append(page.Emails, shown)
		}
	}
	return ui.List(of, "dashboard/emails", "emails", "Emails", page), nil
}

func (s Pages) email(r *http.Request) (*ui.Page, error) {
	found, err := ui.Read[email](r.Context(), s.Pool, emailOfEvent, postgres.Args{"id": r.PathValue("id")})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ui.ErrNotFound
	}
	shown, is := found[0].message()
	if !is {
		return nil, ui.ErrNotFound
	}
	return ui.Show("dashboard/email", web.Page{Title: shown.Subject, Here: "emails", Data: shown}), nil
}

// message renders the email; false says that the event causes none.
func (m email) message() (message, bool) {
	var emitted emailed
	if json.Unmarshal(m.Data, &emitted) != nil {
		return message{}, false
	}
	if m.Type == "charge.succeeded" && !emitted.Object.Captured { // a hold: its capture has the receipt
		return message{}, false
	}
	shown := message{ID: m.ID, CreatedAt: m.CreatedAt, Shop: m.Shop}
	switch m.Type {
	case "charge.succeeded", "charge.captured":
		m.receipt(&shown, emitted)
	case "charge.refunded":
		m.refund(&shown, emitted)
	case "charge.dispute.created", "charge.dispute.closed":
		m.dispute(&shown, emitted)
	case "payout.paid", "payout.failed":
		m.payout(&shown, emitted)
	default:
		return message{}, false
	}
	return shown, true
}

// toCustomer addresses the email to whom the charge names.
func (m email) toCustomer(shown *message, emitted emailed) {
	for _, address := range []*string{emitted.Object.ReceiptEmail, emitted.Object.BillingDetails.Email, m.Address} {
		if address != nil && *address != "" {
			shown.To = *address
			break
		}
	}
	shown.Missing = shown.To == ""
	shown.Receipt = receiptPath(emitted.Object.ReceiptURL)
	card := emitted.Object.Method.Card
	shown.Facts = append(shown.Facts, [2]string{"Card", web.Brand(card.Brand) + " ending in " + card.Last4},
		[2]string{"Date", day(m.CreatedAt)}, [2]string{"Reference", emitted.Object.ID})
	if text := emitted.Object.Description; text != nil {
		shown.Facts = append(shown.Facts, [2]string{"Description", *text})
	}
}

func (m email) receipt(shown *message, emitted emailed) {
	amount := money.Format(emitted.Object.AmountCaptured, emitted.Object.Currency)
	shown.Subject = "Your receipt from " + m.Shop
	shown.Lines = []string{fmt.Sprintf("Thank you. You paid %s to %s.", amount, m.Shop)}
	shown.Facts = [][2]string{{"Amount paid", amount}}
	m.toCustomer(shown, emitted)
}

func (m email) refund(shown *message, emitted emailed) {
	back := emitted.Object.AmountRefunded - emitted.Previous.AmountRefunded
	amount := money.Format(back, emitted.Object.Currency)
	shown.Subject = "Your refund from " + m.Shop
	shown.Lines = []string{
		fmt.Sprintf("%s refunded %s to your card.", m.Shop, amount),
		"Your bank may take 5 to 10 days to show it.",
	}
	if emitted.Object.AmountCaptured == 0 {
		shown.Subject = "Your order with " + m.Shop + " was canceled"
		shown.Lines = []string{
			fmt.Sprintf("%s released the hold of %s on your card. You weren’t charged.", m.Shop, amount),
		}
	}
	shown.Facts = [][2]string{{"Amount", amount}}
	m.toCustomer(shown, emitted)
}

func (m email) dispute(shown *message, emitted emailed) {
	amount := money.Format(emitted.Object.Amount, emitted.Object.Currency)
	shown.ToMerchant, shown.To = true, "The owner of "+m.Shop
	shown.Link = "/dashboard/disputes/" + emitted.Object.ID
	shown.Facts = [][2]string{{"Amount", amount}, {"Reason", web.Words(emitted.Object.Reason)},
		{"Charge", emitted.Object.Charge}}
	switch {
	case m.Type == "charge.dispute.closed":
		shown.Subject = fmt.Sprintf("A dispute of %s is closed: %s", amount, web.Words(emitted.Object.Status))
		shown.Lines = []string{"The cardholder’s bank decided."}
		if emitted.Object.Status == "won" {
			shown.Lines = append(shown.Lines, "The money is back in your balance.")
		}
	case strings.HasPrefix(emitted.Object.Status, "warning"):
		shown.Subject = "A bank asks about a payment of " + amount
		shown.Lines = []string{"No money was withdrawn. Answer the inquiry, or refund the payment to end it."}
	default:
		shown.Subject = "A customer disputed a payment of " + amount
		shown.Lines = []string{
			"The bank withdrew the amount and a fee from your balance. Answer with evidence, or accept the dispute.",
		}
	}
	if due := emitted.Object.Evidence.DueBy; due > 0 && m.Type == "charge.dispute.created" {
		shown.Facts = append(shown.Facts, [2]string{"Respond by", day(time.Unix(due, 0))})
	}
}

func (m email) payout(shown *message, emitted emailed) {
	amount := money.Format(emitted.Object.Amount, emitted.Object.Currency)
	shown.ToMerchant, shown.To = true, "The owner of "+m.Shop
	shown.Link = "/dashboard/payouts/" + emitted.Object.ID
	shown.Facts = [][2]string{{"Amount", amount}, {"Arrival", day(time.Unix(emitted.Object.ArrivalDate, 0))},
		{"Payout", emitted.Object.ID}}
	shown.Subject, shown.Lines = "Your payout of "+amount+" arrived", []string{"The money is in your bank account."}
	if m.Type == "payout.failed" {
		shown.Subject = "Your payout of " + amount + " failed"
		shown.Lines = []string{"The money is back in your balance."}
		if why := emitted.Object.FailureMessage; why != nil {
			shown.Lines = append([]string{*why}, shown.Lines...)
		}
	}
}

// day writes a date as emails do.
func day(at time.Time) string { return at.UTC().Format("January 2, 2006") }

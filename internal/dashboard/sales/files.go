package sales

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
)

var paymentColumns = slices.Concat(
	[]ui.Column[Payment]{
		{Name: "id", Cell: func(p Payment) string { return p.ID }},
		{Name: "created (UTC)", Cell: func(p Payment) string { return ui.InTime(p.CreatedAt) }},
		{Name: "state", Cell: func(p Payment) string { return p.State }},
	},
	ui.Money("amount", func(p Payment) (int64, string) { return p.Amount, p.Currency }),
	[]ui.Column[Payment]{
		{Name: "refunded in minor units", Cell: func(p Payment) string { return ui.InCount(p.AmountRefunded) }},
		{Name: "customer", Cell: func(p Payment) string { return ui.InText(p.CustomerID) }},
		{Name: "card", Cell: func(p Payment) string { return strings.TrimSpace(p.Brand + " " + p.Last4) }},
		{Name: "description", Cell: func(p Payment) string { return ui.InText(p.Description) }},
		{Name: "failure", Cell: func(p Payment) string { return ui.InText(p.FailureCode) }},
		{Name: "request", Cell: func(p Payment) string { return p.RequestID }},
		{Name: "email", Cell: func(p Payment) string { return ui.InText(p.Email) }},
		{Name: "name", Cell: func(p Payment) string { return ui.InText(p.Name) }},
		{Name: "dispute", Cell: func(p Payment) string { return ui.InText(p.Dispute) }},
	})

func (s Pages) paymentsCSV(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	filter, _, err := s.resolved(r, of, paymentFilterOf(r))
	if err != nil {
		return nil, err
	}
	return paymentsOf(filter).File(s.Env, r, "payments", paymentColumns, filter.args(of))
}

var customerFile = []ui.Column[customer]{
	{Name: "id", Cell: func(c customer) string { return c.ID }},
	{Name: "created (UTC)", Cell: func(c customer) string { return ui.InTime(c.CreatedAt) }},
	{Name: "name", Cell: func(c customer) string { return ui.InText(c.Name) }},
	{Name: "email", Cell: func(c customer) string { return ui.InText(c.Email) }},
	{Name: "phone", Cell: func(c customer) string { return ui.InText(c.Phone) }},
	{Name: "description", Cell: func(c customer) string { return ui.InText(c.Description) }},
	{Name: "payments", Cell: func(c customer) string { return ui.InCount(c.Payments) }},
	{Name: "request", Cell: func(c customer) string { return c.RequestID }},
}

func (s Pages) customersCSV(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	list, args, err := s.customersWith(r, of, strings.TrimSpace(r.FormValue("email")))
	if err != nil {
		return nil, err
	}
	return list.File(s.Env, r, "customers", customerFile, args)
}

// refundRow is a line of the file of refunds, which no page lists.
type refundRow struct {
	ID        string
	ChargeID  string
	Amount    int64
	Currency  string
	Status    string
	Reason    *string
	RequestID string
	CreatedAt time.Time
}

const refundsDown = `
	SELECT id, charge_id, amount, currency, status, reason, request_id, created_at FROM refunds
	WHERE account_id = @account_id AND livemode = @livemode AND (@before = '' OR id < @before)
	ORDER BY id DESC LIMIT @limit`

var (
	refunds    = ui.Lister[refundRow]{Down: refundsDown, ID: func(r refundRow) string { return r.ID }}
	refundFile = slices.Concat(
		[]ui.Column[refundRow]{
			{Name: "id", Cell: func(r refundRow) string { return r.ID }},
			{Name: "created (UTC)", Cell: func(r refundRow) string { return ui.InTime(r.CreatedAt) }},
			{Name: "status", Cell: func(r refundRow) string { return r.Status }},
		},
		ui.Money("amount", func(r refundRow) (int64, string) { return r.Amount, r.Currency }),
		[]ui.Column[refundRow]{
			{Name: "charge", Cell: func(r refundRow) string { return r.ChargeID }},
			{Name: "reason", Cell: func(r refundRow) string { return ui.InText(r.Reason) }},
			{Name: "request", Cell: func(r refundRow) string { return r.RequestID }},
		})
)

func (s Pages) refundsCSV(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	return refunds.File(s.Env, r, "refunds", refundFile, of.Args(nil))
}

var movementFile = slices.Concat(
	[]ui.Column[movement]{
		{Name: "id", Cell: func(m movement) string { return m.ID }},
		{Name: "created (UTC)", Cell: func(m movement) string { return ui.InTime(m.CreatedAt) }},
		{Name: "type", Cell: func(m movement) string { return m.Kind }},
		{Name: "source", Cell: func(m movement) string { return m.Source }},
	},
	ui.Money("amount", func(m movement) (int64, string) { return m.Amount, m.Currency }),
	[]ui.Column[movement]{
		{Name: "fee in minor units", Cell: func(m movement) string { return ui.InCount(m.Fee) }},
		{Name: "net in minor units", Cell: func(m movement) string { return ui.InCount(m.Net) }},
		{Name: "available (UTC)", Cell: func(m movement) string { return ui.InTime(m.AvailableOn) }},
	})

func (s Pages) balanceCSV(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	return movements.File(s.Env, r, "balance", movementFile, of.Args(nil))
}

var payoutFile = slices.Concat(
	[]ui.Column[payout]{
		{Name: "id", Cell: func(p payout) string { return p.ID }},
		{Name: "created (UTC)", Cell: func(p payout) string { return ui.InTime(p.CreatedAt) }},
		{Name: "status", Cell: func(p payout) string { return p.Status }},
	},
	ui.Money("amount", func(p payout) (int64, string) { return p.Amount, p.Currency }),
	[]ui.Column[payout]{
		{Name: "arrives (UTC)", Cell: func(p payout) string { return ui.InTime(p.ArrivesAt) }},
		{Name: "method", Cell: func(p payout) string { return p.Method }},
		{Name: "destination", Cell: func(p payout) string { return p.Destination }},
		{Name: "bank reference", Cell: func(p payout) string { return ui.InText(p.BankReference) }},
		{Name: "description", Cell: func(p payout) string { return ui.InText(p.Description) }},
		{Name: "failure", Cell: func(p payout) string { return ui.InText(p.FailureCode) }},
		{Name: "balance transaction", Cell: func(p payout) string { return p.BalanceTx }},
		{Name: "request", Cell: func(p payout) string { return p.RequestID }},
	})

var disputeFile = slices.Concat(
	[]ui.Column[dispute]{
		{Name: "id", Cell: func(d dispute) string { return d.ID }},
		{Name: "opened (UTC)", Cell: func(d dispute) string { return ui.InTime(d.CreatedAt) }},
		{Name: "status", Cell: func(d dispute) string { return d.Status }},
	},
	ui.Money("amount", func(d dispute) (int64, string) { return d.Amount, d.Currency }),
	[]ui.Column[dispute]{
		{Name: "reason", Cell: func(d dispute) string { return d.Reason }},
		{Name: "payment", Cell: func(d dispute) string { return d.PaymentID }},
		{Name: "respond by (UTC)", Cell: func(d dispute) string { return ui.InTime(d.RespondBy) }},
		{Name: "acquirer reference", Cell: func(d dispute) string { return d.AcquirerReference }},
		{Name: "request", Cell: func(d dispute) string { return d.RequestID }},
	})

// defaultPrice is a product's, in no currency where it has none.
func defaultPrice(p product) (amount int64, currency string) {
	if p.Amount == nil || p.Currency == nil {
		return 0, ""
	}
	return *p.Amount, *p.Currency
}

var productFile = slices.Concat(
	[]ui.Column[product]{
		{Name: "id", Cell: func(p product) string { return p.ID }},
		{Name: "created (UTC)", Cell: func(p product) string { return ui.InTime(p.CreatedAt) }},
		{Name: "state", Cell: func(p product) string { return p.State() }},
		{Name: "name", Cell: func(p product) string { return p.Name }},
		{Name: "description", Cell: func(p product) string { return ui.InText(p.Description) }},
	},
	ui.Money("default price", defaultPrice),
	[]ui.Column[product]{
		{Name: "prices", Cell: func(p product) string { return ui.InCount(p.Prices) }},
		{Name: "request", Cell: func(p product) string { return p.RequestID }},
	})

// sessionTotal is a session's, 0 if it only sets a card up.
func sessionTotal(v session) (amount int64, currency string) {
	if v.Amount == nil {
		return 0, v.Currency
	}
	return *v.Amount, v.Currency
}

var sessionFile = slices.Concat(
	[]ui.Column[session]{
		{Name: "id", Cell: func(v session) string { return v.ID }},
		{Name: "created (UTC)", Cell: func(v session) string { return ui.InTime(v.CreatedAt) }},
		{Name: "status", Cell: func(v session) string { return v.Status }},
		{Name: "payment status", Cell: func(v session) string { return v.PaymentStatus }},
	},
	ui.Money("amount", sessionTotal),
	[]ui.Column[session]{
		{Name: "reference", Cell: func(v session) string { return ui.InText(v.Reference) }},
		{Name: "email", Cell: func(v session) string { return ui.InText(v.Email) }},
		{Name: "customer", Cell: func(v session) string { return ui.InText(v.CustomerID) }},
		{Name: "payment", Cell: func(v session) string { return ui.InText(v.IntentID) }},
		{Name: "request", Cell: func(v session) string { return v.RequestID }},
	})

var linkFile = slices.Concat(
	[]ui.Column[paymentLink]{
		{Name: "id", Cell: func(l paymentLink) string { return l.ID }},
		{Name: "created (UTC)", Cell: func(l paymentLink) string { return ui.InTime(l.CreatedAt) }},
		{Name: "state", Cell: func(l paymentLink) string { return l.State() }},
		{Name: "sells", Cell: func(l paymentLink) string { return l.Sells }},
	},
	ui.Money("amount", func(l paymentLink) (int64, string) { return l.Amount, l.Currency }),
	[]ui.Column[paymentLink]{
		{Name: "address", Cell: func(l paymentLink) string { return l.URL }},
		{Name: "request", Cell: func(l paymentLink) string { return l.RequestID }},
	})

package sales

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/desk"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

var paymentColumns = slices.Concat(
	[]desk.Column[Payment]{
		{Name: "id", Cell: func(p Payment) string { return p.ID }},
		{Name: "created (UTC)", Cell: func(p Payment) string { return desk.InTime(p.CreatedAt) }},
		{Name: "state", Cell: func(p Payment) string { return p.State }},
	},
	desk.Money("amount", func(p Payment) (int64, string) { return p.Amount, p.Currency }),
	[]desk.Column[Payment]{
		{Name: "refunded in minor units", Cell: func(p Payment) string { return desk.InCount(p.AmountRefunded) }},
		{Name: "customer", Cell: func(p Payment) string { return desk.InText(p.CustomerID) }},
		{Name: "card", Cell: func(p Payment) string { return strings.TrimSpace(p.Brand + " " + p.Last4) }},
		{Name: "description", Cell: func(p Payment) string { return desk.InText(p.Description) }},
		{Name: "failure", Cell: func(p Payment) string { return desk.InText(p.FailureCode) }},
		{Name: "request", Cell: func(p Payment) string { return p.RequestID }},
	})

func (s Pages) paymentsCSV(r *http.Request) (*desk.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	filter := paymentFilterOf(r)
	return paymentsOf(filter).File(s.Desk, r, "payments", paymentColumns, filter.args(of))
}

var customerFile = []desk.Column[customer]{
	{Name: "id", Cell: func(c customer) string { return c.ID }},
	{Name: "created (UTC)", Cell: func(c customer) string { return desk.InTime(c.CreatedAt) }},
	{Name: "name", Cell: func(c customer) string { return desk.InText(c.Name) }},
	{Name: "email", Cell: func(c customer) string { return desk.InText(c.Email) }},
	{Name: "phone", Cell: func(c customer) string { return desk.InText(c.Phone) }},
	{Name: "description", Cell: func(c customer) string { return desk.InText(c.Description) }},
	{Name: "payments", Cell: func(c customer) string { return desk.InCount(c.Payments) }},
	{Name: "request", Cell: func(c customer) string { return c.RequestID }},
}

func (s Pages) customersCSV(r *http.Request) (*desk.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	return customers.File(s.Desk, r, "customers", customerFile,
		of.Args(postgres.Args{"email": r.FormValue("email")}))
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
	refunds    = desk.Lister[refundRow]{Down: refundsDown, ID: func(r refundRow) string { return r.ID }}
	refundFile = slices.Concat(
		[]desk.Column[refundRow]{
			{Name: "id", Cell: func(r refundRow) string { return r.ID }},
			{Name: "created (UTC)", Cell: func(r refundRow) string { return desk.InTime(r.CreatedAt) }},
			{Name: "status", Cell: func(r refundRow) string { return r.Status }},
		},
		desk.Money("amount", func(r refundRow) (int64, string) { return r.Amount, r.Currency }),
		[]desk.Column[refundRow]{
			{Name: "charge", Cell: func(r refundRow) string { return r.ChargeID }},
			{Name: "reason", Cell: func(r refundRow) string { return desk.InText(r.Reason) }},
			{Name: "request", Cell: func(r refundRow) string { return r.RequestID }},
		})
)

func (s Pages) refundsCSV(r *http.Request) (*desk.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	return refunds.File(s.Desk, r, "refunds", refundFile, of.Args(nil))
}

var movementFile = slices.Concat(
	[]desk.Column[movement]{
		{Name: "id", Cell: func(m movement) string { return m.ID }},
		{Name: "created (UTC)", Cell: func(m movement) string { return desk.InTime(m.CreatedAt) }},
		{Name: "type", Cell: func(m movement) string { return m.Kind }},
		{Name: "source", Cell: func(m movement) string { return m.Source }},
	},
	desk.Money("amount", func(m movement) (int64, string) { return m.Amount, m.Currency }),
	[]desk.Column[movement]{
		{Name: "fee in minor units", Cell: func(m movement) string { return desk.InCount(m.Fee) }},
		{Name: "net in minor units", Cell: func(m movement) string { return desk.InCount(m.Net) }},
		{Name: "available (UTC)", Cell: func(m movement) string { return desk.InTime(m.AvailableOn) }},
	})

func (s Pages) balanceCSV(r *http.Request) (*desk.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	return movements.File(s.Desk, r, "balance", movementFile, of.Args(nil))
}

var payoutFile = slices.Concat(
	[]desk.Column[payout]{
		{Name: "id", Cell: func(p payout) string { return p.ID }},
		{Name: "created (UTC)", Cell: func(p payout) string { return desk.InTime(p.CreatedAt) }},
		{Name: "status", Cell: func(p payout) string { return p.Status }},
	},
	desk.Money("amount", func(p payout) (int64, string) { return p.Amount, p.Currency }),
	[]desk.Column[payout]{
		{Name: "arrives (UTC)", Cell: func(p payout) string { return desk.InTime(p.ArrivesAt) }},
		{Name: "method", Cell: func(p payout) string { return p.Method }},
		{Name: "destination", Cell: func(p payout) string { return p.Destination }},
		{Name: "bank reference", Cell: func(p payout) string { return desk.InText(p.BankReference) }},
		{Name: "description", Cell: func(p payout) string { return desk.InText(p.Description) }},
		{Name: "failure", Cell: func(p payout) string { return desk.InText(p.FailureCode) }},
		{Name: "balance transaction", Cell: func(p payout) string { return p.BalanceTx }},
		{Name: "request", Cell: func(p payout) string { return p.RequestID }},
	})

var disputeFile = slices.Concat(
	[]desk.Column[dispute]{
		{Name: "id", Cell: func(d dispute) string { return d.ID }},
		{Name: "opened (UTC)", Cell: func(d dispute) string { return desk.InTime(d.CreatedAt) }},
		{Name: "status", Cell: func(d dispute) string { return d.Status }},
	},
	desk.Money("amount", func(d dispute) (int64, string) { return d.Amount, d.Currency }),
	[]desk.Column[dispute]{
		{Name: "reason", Cell: func(d dispute) string { return d.Reason }},
		{Name: "payment", Cell: func(d dispute) string { return d.PaymentID }},
		{Name: "respond by (UTC)", Cell: func(d dispute) string { return desk.InTime(d.RespondBy) }},
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
	[]desk.Column[product]{
		{Name: "id", Cell: func(p product) string { return p.ID }},
		{Name: "created (UTC)", Cell: func(p product) string { return desk.InTime(p.CreatedAt) }},
		{Name: "state", Cell: func(p product) string { return p.State() }},
		{Name: "name", Cell: func(p product) string { return p.Name }},
		{Name: "description", Cell: func(p product) string { return desk.InText(p.Description) }},
	},
	desk.Money("default price", defaultPrice),
	[]desk.Column[product]{
		{Name: "prices", Cell: func(p product) string { return desk.InCount(p.Prices) }},
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
	[]desk.Column[session]{
		{Name: "id", Cell: func(v session) string { return v.ID }},
		{Name: "created (UTC)", Cell: func(v session) string { return desk.InTime(v.CreatedAt) }},
		{Name: "status", Cell: func(v session) string { return v.Status }},
		{Name: "payment status", Cell: func(v session) string { return v.PaymentStatus }},
	},
	desk.Money("amount", sessionTotal),
	[]desk.Column[session]{
		{Name: "reference", Cell: func(v session) string { return desk.InText(v.Reference) }},
		{Name: "email", Cell: func(v session) string { return desk.InText(v.Email) }},
		{Name: "customer", Cell: func(v session) string { return desk.InText(v.CustomerID) }},
		{Name: "payment", Cell: func(v session) string { return desk.InText(v.IntentID) }},
		{Name: "request", Cell: func(v session) string { return v.RequestID }},
	})

var linkFile = slices.Concat(
	[]desk.Column[paymentLink]{
		{Name: "id", Cell: func(l paymentLink) string { return l.ID }},
		{Name: "created (UTC)", Cell: func(l paymentLink) string { return desk.InTime(l.CreatedAt) }},
		{Name: "state", Cell: func(l paymentLink) string { return l.State() }},
		{Name: "sells", Cell: func(l paymentLink) string { return l.Sells }},
	},
	desk.Money("amount", func(l paymentLink) (int64, string) { return l.Amount, l.Currency }),
	[]desk.Column[paymentLink]{
		{Name: "address", Cell: func(l paymentLink) string { return l.URL }},
		{Name: "request", Cell: func(l paymentLink) string { return l.RequestID }},
	})

package sales

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

type customer struct {
	AccountID   string
	ID          string
	Livemode    bool
	Name        *string
	Email       *string
	Phone       *string
	Description *string
	RequestID   string
	Metadata    json.RawMessage
	Payments    int64
	CreatedAt   time.Time
	DeletedAt   *time.Time
}

const customerColumns = `c.account_id, c.id, c.livemode, c.name, c.email, c.phone, c.description, c.request_id,
	c.metadata, c.created_at, c.deleted_at,
	(SELECT count(*) FROM charges p
	    WHERE p.customer_id = c.id AND p.account_id = c.account_id AND p.payment_intent_id IS NULL)
	+ (SELECT count(*) FROM payment_intents i WHERE i.customer_id = c.id AND i.account_id = c.account_id) AS payments`

// A page is read of each of two indexes, which leave out deleted customers, and then the page of those.
const (
	someCustomers = `(SELECT id FROM customers
		WHERE account_id = @account_id AND livemode = @livemode AND (@email = '' OR email = @email)
		  AND (@text = '' OR concat_ws(' ', name, email) ILIKE @text) AND deleted_at IS NULL`
	downToPage = ` AND (@before = '' OR id < @before) AND id >= @edge ORDER BY id DESC LIMIT @limit)`
	upToPage   = ` AND id > @after AND id <= @edge ORDER BY id LIMIT @limit)`
	noClock    = ` AND test_clock IS NULL`
	aClock     = ` AND test_clock IS NOT NULL`

	customersDown = `SELECT ` + customerColumns + `
	FROM (` + someCustomers + noClock + downToPage + ` UNION ALL ` + someCustomers + aClock + downToPage + `) AS page
	JOIN customers c ON c.account_id = @account_id AND c.id = page.id
	ORDER BY c.id DESC LIMIT @limit`
	customersUp = `SELECT ` + customerColumns + `
	FROM (` + someCustomers + noClock + upToPage + ` UNION ALL ` + someCustomers + aClock + upToPage + `) AS page
	JOIN customers c ON c.account_id = @account_id AND c.id = page.id
	ORDER BY c.id LIMIT @limit`

	customersEdgeDown = `SELECT id FROM customers` + ui.EdgeDown
	customersEdgeUp   = `SELECT id FROM customers` + ui.EdgeUp
)

var customers = ui.Lister[customer]{Down: customersDown, Up: customersUp, Prefix: "cus_",
	ID:   func(c customer) string { return c.ID },
	Edge: ui.Edge{Down: customersEdgeDown, Up: customersEdgeUp}}

// literally escapes a text, so that as a pattern it matches only itself.
var literally = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

const emailIsKnown = `
	SELECT true AS known FROM customers
	WHERE account_id = @account_id AND livemode = @livemode AND email = @email AND deleted_at IS NULL LIMIT 1`

// customersWith is the list of those with a text in their name or email. An index finds a whole email; for any other
// text the page searches the rows.
func (s Pages) customersWith(r *http.Request, of ui.Scope, text string) (ui.Lister[customer], postgres.Args, error) {
	list, args := customers, of.Args(postgres.Args{"email": "", "text": ""})
	list.Whole = text == ""
	if strings.Contains(text, "@") {
		known, err := ui.ReadOne[struct{ Known bool }](r.Context(), s.Pool, emailIsKnown,
			of.Args(postgres.Args{"email": text}))
		if err != nil {
			return list, nil, err
		}
		if known != nil {
			list.Whole, args["email"] = true, text
			return list, args, nil
		}
	}
	if text != "" {
		args["text"] = "%" + literally.Replace(text) + "%"
	}
	return list, args, nil
}

type customersPage struct {
	Customers []customer
	Email     string // a part of the email or of the name
	Pager     ui.Pager
	CSV       string
	Dates     ui.Dates
}

func (s Pages) customers(r *http.Request) (*ui.Page, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	page := customersPage{Email: strings.TrimSpace(r.FormValue("email")), CSV: ui.FileOf(r), Dates: ui.DatesOf(r)}
	list, args, err := s.customersWith(r, of, page.Email)
	if err != nil {
		return nil, err
	}
	page.Customers, page.Pager, err = list.Page(s.Env, r, args)
	if err != nil {
		return nil, err
	}
	return ui.List(of, "dashboard/customers", "customers", "Customers", page), nil
}

// method is a card that a customer has left.
type method struct {
	ID        string
	Brand     string
	Last4     string
	Expiry    string
	CreatedAt time.Time
}

const selectMethods = `
	SELECT m.id, m.card->>'brand' AS brand, m.card->>'last4' AS last4,
	       concat(lpad(m.card->>'exp_month', 2, '0'), ' / ', right(m.card->>'exp_year', 2)) AS expiry, m.created_at
	FROM (SELECT id, card, created_at FROM cards
	    WHERE customer_id = @id AND account_id = @account_id AND deleted_at IS NULL
	      UNION ALL
	      SELECT id, card, created_at FROM payment_methods WHERE customer_id = @id AND account_id = @account_id) m
	ORDER BY m.id DESC`

const selectCustomer = `
	SELECT ` + customerColumns + `
	FROM customers c WHERE c.id = @id AND c.account_id = ` + ui.AccountWith + `customers` + ui.ThatID

type customerPage struct {
	Customer customer
	Methods  []method
	Payments []Payment
	Key      string // of the form that edits it
}

// Title is what the browser's tab shows: a name, if there is one.
func (p customerPage) Title() string {
	for _, name := range []*string{p.Customer.Name, p.Customer.Email} {
		if name != nil && *name != "" {
			return *name
		}
	}
	return "Customer " + p.Customer.ID
}

func (s Pages) findCustomer(r *http.Request) (*customer, error) {
	return ui.ReadOne[customer](r.Context(), s.Pool, selectCustomer, postgres.Args{"id": r.PathValue("id")})
}

func (s Pages) customer(r *http.Request) (*ui.Page, error) {
	found, err := ui.Found(s.findCustomer(r))
	if err != nil {
		return nil, err
	}
	methods, err := ui.Read[method](r.Context(), s.Pool, selectMethods,
		postgres.Args{"id": found.ID, "account_id": found.AccountID})
	if err != nil {
		return nil, err
	}
	of := ui.Scope{AccountID: found.AccountID, Livemode: found.Livemode}
	filter := paymentFilter{Customer: found.ID}
	latest, err := paymentsOf(filter).Latest(s.Env, r, filter.args(of), ui.PageSize)
	if err != nil {
		return nil, err
	}
	page := customerPage{Customer: *found, Methods: methods, Payments: latest, Key: ui.NewIdempotencyKey("customer")}
	return ui.Show("dashboard/customer",
		web.Page{Title: page.Title(), Here: "customers", Data: page}), nil
}

package dashboard

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

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

const selectCustomers = `
	SELECT ` + customerColumns + `
	FROM customers c
	WHERE c.account_id = @account_id AND c.livemode = @livemode AND (@email = '' OR c.email = @email)
	  AND c.deleted_at IS NULL`

const (
	customersDown = selectCustomers + ` AND (@before = '' OR c.id < @before) ORDER BY c.id DESC LIMIT @limit`
	customersUp   = selectCustomers + ` AND c.id > @after ORDER BY c.id LIMIT @limit`
)

var customers = lister[customer]{customersDown, customersUp, func(c customer) string { return c.ID }}

type customersPage struct {
	Customers []customer
	Email     string
	Pager     pager
}

func (s *Server) customers(w http.ResponseWriter, r *http.Request) {
	of, err := s.scope(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page := customersPage{Email: r.FormValue("email")}
	page.Customers, page.Pager, err = customers.page(s, r, of.args(postgres.Args{"email": page.Email}))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.list(w, r, of, "dashboard/customers", "customers", "Customers", page)
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
	FROM accounts a JOIN customers c ON c.account_id = a.id AND c.id = @id`

type customerPage struct {
	Customer customer
	Methods  []method
	Payments []payment
	Key      string // of the form that edits it
}

func (s *Server) findCustomer(r *http.Request) (*customer, error) {
	return readOne[customer](r, s, selectCustomer, postgres.Args{"id": r.PathValue("id")})
}

func (s *Server) customer(w http.ResponseWriter, r *http.Request) {
	found, ok := lookUp(s, w, r, s.findCustomer)
	if !ok {
		return
	}
	methods, err := read[method](r.Context(), s, selectMethods,
		postgres.Args{"id": found.ID, "account_id": found.AccountID})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	of := scope{AccountID: found.AccountID, Livemode: found.Livemode}
	latest, err := payments.latest(s, r, paymentFilter{Customer: found.ID}.args(of), pageSize)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page := customerPage{Customer: *found, Methods: methods, Payments: latest, Key: newKey("customer")}
	s.render(w, r, http.StatusOK, "dashboard/customer",
		web.Page{Title: "Customer " + page.Customer.ID, Here: "customers", Desk: true, Data: page})
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

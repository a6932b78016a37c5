package shop

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// origin is the address under which the customer's browser sees the shop: the host that
// the browser asked the proxy for, or the API's address if no proxy names one.
func (s *Server) origin(r *http.Request) string {
	host := r.Header.Get("X-Forwarded-Host")
	if host == "" {
		return strings.TrimSuffix(s.API, "/")
	}
	scheme := "http"
	if r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return (&url.URL{Scheme: scheme, Host: host}).String()
}

func hostOf(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return ""
	}
	return u.Host
}

func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, name string, page web.Page) {
	page.Here = "shop"
	s.site.Render(w, r, status, "shop/"+name, page)
}

// shelfPage is what is for sale.
type shelfPage struct {
	Goods []product
	Count int // of things in the cart
}

func (s *Server) getShelf(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, http.StatusOK, "shelf", web.Page{Title: "Shop", Data: shelfPage{goods, s.cartOf(r).Count()}})
}

type cartPage struct {
	Lines    []line
	Total    int64
	Currency string
	Count    int
	Most     int
	Left     *order // whose payment page the visitor has just left
}

func (s *Server) getCart(w http.ResponseWriter, r *http.Request) {
	c := s.cartOf(r)
	page := cartPage{Lines: c.lines, Total: c.Total(), Currency: currency, Count: c.Count(), Most: mostOfOne}
	if left := r.FormValue("left"); left != "" {
		o, err := s.orderByID(r.Context(), left)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if o != nil && o.State == paid { // the customer has paid and pressed Back
			http.Redirect(w, r, o.path(), http.StatusSeeOther)
			return
		}
		page.Left = o
	}
	s.render(w, r, http.StatusOK, "cart", web.Page{Title: "Cart", Data: page})
}

// orderPage is an order and all that the shop knows of how it was paid.
type orderPage struct {
	*order
	Back       bool // the customer has come back from the payment page
	Event      *processed
	Deliveries []delivery
	Receipt    string // its path on the API, "" if the API does not tell
	Page       string // this drawing of the page: what is asked for from it is asked for once
}

// Asking reports whether the page polls for the state of the order.
func (p orderPage) Asking() bool { return p.State == waiting }

// processed is a row of the table that keeps an event from being processed twice.
type processed struct {
	ID            string
	Type          string
	Did           string
	Reason        *string
	RequestID     *string
	PaymentIntent *string
	ProcessedAt   time.Time
}

type delivery struct {
	Processed bool
	At        time.Time
}

const selectProcessed = `
	SELECT id, type, did, reason, request_id, payment_intent, processed_at FROM shop.events WHERE id = @id`

const selectDeliveries = `SELECT processed, at FROM shop.deliveries WHERE event_id = @event_id ORDER BY id LIMIT 100`

// namedOrder is the order that the address names. If there is none, it answers the request and returns nil.
func (s *Server) namedOrder(w http.ResponseWriter, r *http.Request) *order {
	o, err := s.orderByID(r.Context(), r.PathValue("order"))
	switch {
	case err != nil:
		s.fail(w, r, err)
		return nil
	case o == nil:
		s.notFound(w, r)
	}
	return o
}

// getOrder shows an order to anyone who has its address.
func (s *Server) getOrder(w http.ResponseWriter, r *http.Request) {
	o := s.namedOrder(w, r)
	if o == nil {
		return
	}
	page := orderPage{order: o, Page: id.Random(12)}
	page.Back = o.SessionID != nil && r.FormValue("session_id") == *o.SessionID
	if o.PaidBy != nil {
		if err := s.addStory(r, &page); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	if c := s.cartOf(r); (page.Back || o.State == paid) && len(c.lines) > 0 && s.orderID(c) == o.ID {
		s.keepCart(w, cart{}) // what was in it is this order now
	}
	shown := web.Page{Title: fmt.Sprintf("Order %d", o.Number), Data: page}
	if page.Asking() {
		shown.Reload = 2
	}
	s.render(w, r, http.StatusOK, "order", shown)
}

func (s *Server) addStory(r *http.Request, page *orderPage) error {
	rows, _ := s.pool.Query(r.Context(), selectProcessed, postgres.Args{"id": *page.PaidBy})
	event, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[processed])
	if err != nil {
		return fmt.Errorf("read the event: %w", err)
	}
	page.Event = event
	page.Receipt = s.receiptOf(r.Context(), event)
	rows, _ = s.pool.Query(r.Context(), selectDeliveries, postgres.Args{"event_id": *page.PaidBy})
	page.Deliveries, err = pgx.CollectRows(rows, pgx.RowToStructByName[delivery])
	if err != nil {
		return fmt.Errorf("read its deliveries: %w", err)
	}
	return nil
}

// receiptTimeout is how long a page waits for the API. The order is shown without the link
// rather than late.
const receiptTimeout = time.Second

// receiptOf asks the API for the receipt of a payment.
func (s *Server) receiptOf(ctx context.Context, event *processed) string {
	if event.PaymentIntent == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, receiptTimeout)
	defer cancel()
	var paid struct {
		LatestCharge struct {
			ReceiptURL string `json:"receipt_url"`
		} `json:"latest_charge"`
	}
	_, err := s.client.once(ctx, http.MethodGet,
		"/v1/payment_intents/"+url.PathEscape(*event.PaymentIntent)+"?expand[]=latest_charge", "", nil, &paid)
	address, notURL := url.Parse(paid.LatestCharge.ReceiptURL)
	if err != nil || notURL != nil {
		return ""
	}
	return address.Path
}

// problem is a page that says why there is no other.
type problem struct{ Heading, Text string }

func (s *Server) problem(w http.ResponseWriter, r *http.Request, status int, heading, text string) {
	s.render(w, r, status, "problem", web.Page{Title: heading, Data: problem{heading, text}})
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.Log.Error("shop", "path", r.URL.Path, "error", err)
	s.problem(w, r, http.StatusServiceUnavailable, "The shop is unavailable right now",
		"Its database didn’t respond. Nothing changed. Reload to try again.")
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.problem(w, r, http.StatusNotFound, "Page not found", "Check the address, or browse the products.")
}

package sales

import (
	"net/http"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// session is a customer's visit to the checkout page.
type session struct {
	AccountID     string
	ID            string
	Livemode      bool
	Mode          string
	Status        string
	PaymentStatus string
	Amount        *int64 // nil: nothing is paid, a card is set up
	Subtotal      *int64
	Discount      int64
	CouponID      *string
	CouponName    *string
	PromotionCode *string
	Shipping      int64
	ShippingName  *string // of the rate that the customer chose; nil: nothing is shipped
	Currency      string
	Email         *string
	Name          *string // of the customer, as they typed it
	CustomerID    *string
	IntentID      *string
	SetupID       *string
	Reference     *string
	SuccessURL    string  `db:"success_url"`
	CancelURL     *string `db:"cancel_url"`
	URL           string  `db:"url"`
	ExpiresAt     time.Time
	RequestID     string
	CreatedAt     time.Time
}

const sessionColumns = `
	SELECT v.account_id, v.id, v.livemode, v.mode, v.status, v.payment_status, v.amount_total AS amount,
	       coalesce(v.currency, '') AS currency, v.amount_subtotal AS subtotal, v.amount_discount AS discount,
	       v.coupon_id, c.name AS coupon_name, k.code AS promotion_code, v.amount_shipping AS shipping,
	       h.display_name AS shipping_name,
	       coalesce(v.customer_details->>'email', v.customer_email) AS email, v.customer_details->>'name' AS name,
	       v.customer_id,
	       v.payment_intent_id AS intent_id, v.setup_intent_id AS setup_id, v.client_reference_id AS reference,
	       v.success_url, v.cancel_url, v.url, v.expires_at, v.request_id, v.created_at
	FROM checkout_sessions v
	LEFT JOIN coupons c ON c.account_id = v.account_id AND c.id = v.coupon_id
	LEFT JOIN promotion_codes k ON k.account_id = v.account_id AND k.id = v.promotion_code_id
	LEFT JOIN shipping_rates h ON h.account_id = v.account_id AND h.id = v.shipping_rate_id`

const selectSessions = sessionColumns + `
	WHERE v.account_id = @account_id AND v.livemode = @livemode AND v.id > ` + ui.SessionsOfMode + `
	  AND v.id < ` + ui.BelowSessionsOfMode + ` AND (@state = '' OR v.status = @state)`

const (
	sessionsEdge = `SELECT id FROM (SELECT id, account_id FROM checkout_sessions
		WHERE id > ` + ui.SessionsOfMode + ` AND id < ` + ui.BelowSessionsOfMode + `) of_mode`
	sessionsEdgeDown = sessionsEdge + ui.EdgeDown
	sessionsEdgeUp   = sessionsEdge + ui.EdgeUp

	sessionsDown = selectSessions + ` AND (@before = '' OR v.id < @before)
		AND v.id >= @edge ORDER BY v.id DESC LIMIT @limit`
	sessionsUp    = selectSessions + ` AND v.id > @after AND v.id <= @edge ORDER BY v.id LIMIT @limit`
	selectSession = sessionColumns + ` WHERE v.id = @id
		AND v.account_id = ` + ui.AccountWith + `checkout_sessions` + ui.ThatID
)

var sessions = ui.StateList[session]{
	Lister: ui.Lister[session]{Down: sessionsDown, Up: sessionsUp, Prefix: "cs_{mode}_",
		ID:   func(v session) string { return v.ID },
		Edge: ui.Edge{Down: sessionsEdgeDown, Up: sessionsEdgeUp, Args: []string{"livemode"}}},
	Template: "dashboard/sessions", Here: "checkout", Title: "Checkout sessions",
	Columns: sessionFile,
	States: [][2]string{
		{"", "All"}, {"open", "Open"}, {"complete", "Complete"}, {"expired", "Expired"},
	},
}

// item is a line of what a session is for.
type item struct {
	ID          string
	Description string
	Quantity    int64
	Amount      int64 // of all of them together
	PriceID     string
}

const selectItems = `
	SELECT id, description, quantity, amount, price_id FROM checkout_items
	WHERE session_id = @id AND account_id = @account_id AND quantity > 0 ORDER BY id LIMIT 100`

type sessionPage struct {
	session
	ui.History
	Items []item
	Key   string // of the form that ends it
}

func (s Pages) findSession(r *http.Request) (*session, error) {
	return ui.ReadOne[session](r.Context(), s.Pool, selectSession, postgres.Args{"id": r.PathValue("id")})
}

func (s Pages) session(r *http.Request) (*ui.Page, error) {
	found, err := ui.Found(s.findSession(r))
	if err != nil {
		return nil, err
	}
	items, err := ui.Read[item](r.Context(), s.Pool, selectItems,
		postgres.Args{"id": found.ID, "account_id": found.AccountID})
	if err != nil {
		return nil, err
	}
	history, err := s.History(r, inspect.Subject{Kind: "checkout_session", AccountID: found.AccountID, ID: found.ID})
	if err != nil {
		return nil, err
	}
	page := sessionPage{session: *found, History: history, Items: items, Key: ui.NewIdempotencyKey("session")}
	return ui.Show("dashboard/session",
		web.Page{Title: "Checkout session " + page.ID, Here: "checkout", Data: page}), nil
}

// postSessionExpire ends a session in which nothing was paid.
func (s Pages) postSessionExpire(r *http.Request) (*ui.Page, error) {
	v, err := ui.Found(s.findSession(r))
	if err != nil {
		return nil, err
	}
	a, err := s.Call(r, v.AccountID, v.Livemode, http.MethodPost, "/v1/checkout/sessions/"+v.ID+"/expire",
		r.PostFormValue("key"), nil)
	return ui.RespondTo(a, err, "Session expired. It can’t be paid anymore.", "/dashboard/checkout/"+v.ID)
}

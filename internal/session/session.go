// Package session holds Checkout Sessions and the payment page's part of the API.
package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{
		Object: "checkout.session",
		Prefix: "cs",
		Table:  "checkout_sessions",
		Load:   resource.LoadWith[CheckoutSession](sessionsByID),
		Fields: map[string][]string{
			"customer":         {"customer"},
			"line_items":       {"item"},
			"payment_intent":   {"payment_intent"},
			"setup_intent":     {"setup_intent"},
			"discounts":        {"checkout.session.discount"},
			"shipping_cost":    {"checkout.session.shipping"},
			"shipping_options": {"checkout.session.shipping"},
			"total_details":    {"checkout.session.total"},
			"invoice":          nil,
			"payment_link":     {"payment_link"},
			"subscription":     nil,
		},
		Lists: map[string]resource.Lister{"line_items": itemsOfSessions},
		Parts: map[string]resource.Part{"total_details": breakDown},
	})
}

// CheckoutSession is a customer's visit to the checkout page, where they pay for
// items (mode payment) or leave a card for payments to come (mode setup). It
// makes its intent when the customer first presses Pay, and keeps it for all attempts.
type CheckoutSession struct {
	AccountID         string
	ID                string
	Livemode          bool
	RequestID         string
	Mode              string
	Status            string
	PaymentStatus     string
	AmountSubtotal    *int64 // minor units; nil in mode setup
	AmountTotal       *int64
	AmountDiscount    int64
	AmountShipping    int64
	Currency          *string
	CouponID          *string
	PromotionCodeID   *string // that the coupon comes from
	CouponReserved    bool    // the redemption of the coupon and of the code is this session's
	ShippingRateID    *string
	ShippingOptions   []ShippingOption
	CustomerID        *string
	CustomerCreation  *string
	CustomerEmail     *string
	CustomerDetails   *CustomerDetails // of the last try
	ClientReferenceID *string
	Metadata          map[string]string
	Options           CheckoutOptions
	SuccessURL        string // where the customer goes after paying; the return URL if they pay on the merchant's page
	CancelURL         *string
	URL               string // of the page
	Attempts          int    // how often Pay was pressed, and an attempt to pay began
	PaymentIntentID   *string
	SetupIntentID     *string
	ExpiresAt         time.Time
	CreatedAt         time.Time
}

// The modes and states of a session, as Stripe names them.
const (
	modePayment = "payment"
	modeSetup   = "setup"

	sessionOpen     = "open"
	sessionComplete = "complete"
	sessionExpired  = "expired"

	sessionPaid   = "paid"
	sessionUnpaid = "unpaid" // or held, and not captured yet
	nothingToPay  = "no_payment_required"

	uiHosted      = "hosted_page"
	uiEmbedded    = "embedded_page"
	redirectNever = "never"
)

// CheckoutOptions are what the merchant wants of the page, and of the intent it will make.
type CheckoutOptions struct {
	AllowPromotionCodes      *bool              `json:"allow_promotion_codes"`
	BillingAddressCollection *string            `json:"billing_address_collection"`
	CollectPhoneNumber       bool               `json:"collect_phone_number"`
	Locale                   *string            `json:"locale"`
	SubmitType               *string            `json:"submit_type"`
	RequestThreeDSecure      string             `json:"request_three_d_secure"`
	PaymentIntent            *PaymentIntentData `json:"payment_intent,omitempty"`
	SetupIntent              *SetupIntentData   `json:"setup_intent,omitempty"`
	IntentFromStart          bool               `json:"intent_from_start,omitempty"` // as old API versions have it
	AdaptivePricing          bool               `json:"adaptive_pricing,omitempty"`

	// Where the customer pays; "" is the hosted page. The others have a client secret.
	UIMode               string  `json:"ui_mode,omitempty"`
	ClientSecret         string  `json:"client_secret,omitempty"`
	RedirectOnCompletion string  `json:"redirect_on_completion,omitempty"`
	PaymentLink          *string `json:"payment_link,omitempty"`
	CustomMessage        *string `json:"custom_message,omitempty"` // on the receipt

	CustomText CustomText `json:"custom_text"`
}

// CustomerDetails are what the page has learned of the customer.
type CustomerDetails struct {
	Address        *resource.Address `json:"address"`
	BusinessName   *string           `json:"business_name"`
	Email          *string           `json:"email"`
	IndividualName *string           `json:"individual_name"`
	Name           *string           `json:"name"`
	Phone          *string           `json:"phone"`
	TaxExempt      string            `json:"tax_exempt"`
	TaxIDs         []string          `json:"tax_ids"`
}

// CheckoutPath comes before a session's id in the address of its page.
const CheckoutPath = "/c/pay/"

// pageFragment ends the address of the page: Stripe's has a fragment, which test
// suites look for. It names the whole page, so nothing moves.
const pageFragment = "#checkout"

// sessionIDPlaceholder is replaced by the session's id in the address that a
// customer is sent to after paying.
const sessionIDPlaceholder = "{CHECKOUT_SESSION_ID}"

// Success is where the customer's browser goes when the session is complete.
func (s *CheckoutSession) Success() string {
	return strings.ReplaceAll(s.SuccessURL, sessionIDPlaceholder, s.ID)
}

const sessionColumns = `account_id, id, livemode, request_id, mode, status, payment_status, amount_subtotal,
	amount_total, amount_discount, amount_shipping, currency, coupon_id, promotion_code_id, coupon_reserved,
	shipping_rate_id, shipping_options, customer_id, customer_creation, customer_email, customer_details,
	client_reference_id, metadata, options, success_url, cancel_url, url, attempts, payment_intent_id, setup_intent_id,
	expires_at, created_at`

var (
	insertSessions = postgres.InsertRows[CheckoutSession]("checkout_sessions", sessionColumns)

	// A session that is over does not change; only a hold can still be captured.
	updateSessions = postgres.UpdateRows[CheckoutSession]("checkout_sessions", `status, payment_status, customer_id,
		customer_details, metadata, amount_subtotal, amount_total, amount_discount, amount_shipping, shipping_rate_id,
		coupon_id, promotion_code_id, coupon_reserved, attempts, payment_intent_id, setup_intent_id`,
		`t.status = 'open' OR t.status = m.status`)
)

func (s *CheckoutSession) insert(tx *phase.Tx) { tx.Write(insertSessions, postgres.RowsOf(*s)) }

func (s *CheckoutSession) update(tx *phase.Tx) { tx.Write(updateSessions, postgres.RowsOf(*s)) }

const selectSessions = `
	SELECT ` + sessionColumns + `
	FROM checkout_sessions
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	sessionByID  = selectSessions + ` AND id = @id`
	sessionsByID = selectSessions + ` AND id = ANY (@ids::text[])`
	lockSession  = sessionByID + ` FOR NO KEY UPDATE`

	sessionFilters = `
		 AND (@customer_id::text IS NULL OR customer_id = @customer_id) AND (@status::text IS NULL OR status = @status)
	AND (@payment_intent::text IS NULL OR payment_intent_id = @payment_intent)
	AND (@email::text IS NULL
	    OR CASE status WHEN 'complete' THEN customer_details ->> 'email' ELSE customer_email END = @email)`
	listSessions          = selectSessions + sessionFilters + resource.NewestFirst
	listSessionsBackwards = selectSessions + sessionFilters + resource.OldestFirst
)

// lockedSession reads a session for a change and keeps others from changing it.
// It is locked before its intent, always, so that no two requests wait for each other.
func lockedSession(ctx context.Context, tx *phase.Tx, id string) (*CheckoutSession, error) {
	session, err := resource.Get[CheckoutSession](ctx, tx, lockSession, resource.PrincipalOf(tx.Caller), id)
	if err == nil && session == nil {
		err = noSuchSession(id)
	}
	return session, err
}

func readSession(ctx context.Context, db phase.Reader, v resource.Principal, id string) (*CheckoutSession, error) {
	session, err := resource.Get[CheckoutSession](ctx, db, sessionByID, v, id)
	if err == nil && session == nil {
		err = noSuchSession(id)
	}
	return session, err
}

func noSuchSession(id string) error { return apierror.NotFound("checkout.session", "session", id) }

// RetrieveCheckoutSession answers GET /v1/checkout/sessions/{session}.
func RetrieveCheckoutSession(
	ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve,
) (any, error) {
	session, err := readSession(ctx, db, v, in.ID)
	if err != nil {
		return nil, err
	}
	return resource.Expand(ctx, db, v, in.Expand, session.Render())
}

// ListCheckoutSessionsParams are the parameters of GET /v1/checkout/sessions.
type ListCheckoutSessionsParams struct {
	resource.List
	Customer        *string `form:"customer" max:"5000"`
	CustomerDetails *struct {
		Email string `form:"email,required" max:"512"`
	} `form:"customer_details"`
	PaymentIntent *string `form:"payment_intent" max:"5000"`
	Status        *string `form:"status" enum:"complete,expired,open"`
}

// ListCheckoutSessions answers GET /v1/checkout/sessions.
func ListCheckoutSessions(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListCheckoutSessionsParams,
) (any, error) {
	var email *string
	if in.CustomerDetails != nil {
		email = &in.CustomerDetails.Email
	}
	return resource.ListPage[CheckoutSession](ctx, db, v, in.List, resource.Listing{
		URL:    "/v1/checkout/sessions",
		Object: "checkout.session",
		Newest: listSessions,
		Oldest: listSessionsBackwards,
		ByID:   sessionByID,
		Prefix: sessionPrefix(v.Livemode),
		Filters: pgx.StrictNamedArgs{
			"customer_id":    in.Customer,
			"email":          email,
			"payment_intent": in.PaymentIntent,
			"status":         in.Status,
		},
		Named: []resource.Reference{customer.NamedCustomer(in.Customer), payment.NamedIntent(in.PaymentIntent)},
	})
}

// replyWithSession answers with a session. items are those the transaction under
// way has made, nil if it has not: the database does not show them yet.
func replyWithSession(
	ctx context.Context, tx *phase.Tx, paths []string, session *CheckoutSession, items []CheckoutItem,
	fresh ...resource.Renderer,
) (phase.Outcome, error) {
	object := session.object()
	if items != nil && expandsItems(paths) {
		object.LineItems = firstItems(itemsURL(session.ID), items)
		if slices.ContainsFunc(paths, expandsDiscounts) {
			object.discountItems()
		}
	}
	return resource.Reply(ctx, tx, paths, session.ID, object, fresh...)
}

// expandsDiscounts reports whether a path of a session leads to the discounts of its items.
func expandsDiscounts(path string) bool {
	below, is := strings.CutPrefix(path, "line_items.")
	below = strings.TrimPrefix(below, "data.")
	return is && (below == "discounts" || strings.HasPrefix(below, "discounts."))
}

// discountItems adds their discounts to items that have just been made.
func (o *CheckoutSessionObject) discountItems() {
	session := discountedSession{ID: o.ID, Created: o.Created, Customer: o.Customer, Discounts: o.Discounts}
	for i, shown := range o.LineItems.Data {
		item := shown.(ItemObject)
		item.Discounts = session.taking(item.AmountDiscount)
		o.LineItems.Data[i] = item
	}
}

// expandsItems reports whether the caller wants to see the line items.
func expandsItems(paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		return path == "line_items" || strings.HasPrefix(path, "line_items.")
	})
}

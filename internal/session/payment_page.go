package session

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/catalog"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/setupintent"
)

func init() {
	resource.Register(resource.Kind{Object: "payment_page"})
}

// PaymentPageObject is a checkout session as its page shows it to a customer:
// with nothing that only the merchant may know. Its id is the session's.
type PaymentPageObject struct {
	ID                       string         `json:"id"`
	Object                   string         `json:"object"`
	AllowPromotionCodes      bool           `json:"allow_promotion_codes"`
	AmountSubtotal           *int64         `json:"amount_subtotal"`
	AmountTotal              *int64         `json:"amount_total"`
	Attempts                 int            `json:"attempts"`
	BillingAddressCollection *string        `json:"billing_address_collection"`
	BusinessName             string         `json:"business_name"`
	CancelURL                *string        `json:"cancel_url"`
	Card                     *paidCard      `json:"card"` // that paid, or was kept; null until the session is complete
	Currency                 *string        `json:"currency"`
	CustomMessage            *string        `json:"custom_message"` // what the receipt says
	CustomText               CustomText     `json:"custom_text"`
	CustomerEmail            *string        `json:"customer_email"`
	Discount                 *pageDiscount  `json:"discount"`
	ExpiresAt                int64          `json:"expires_at"`
	LineItems                []any          `json:"line_items"`
	Livemode                 bool           `json:"livemode"`
	Locale                   *string        `json:"locale"`
	Mode                     string         `json:"mode"`
	PaymentIntent            any            `json:"payment_intent"`
	PaymentMethodTypes       []string       `json:"payment_method_types"`
	PaymentStatus            string         `json:"payment_status"`
	PhoneNumberCollection    enabled        `json:"phone_number_collection"`
	SetupIntent              any            `json:"setup_intent"`
	ShippingOptions          []pageShipping `json:"shipping_options"`
	ShippingRate             *string        `json:"shipping_rate"` // the option that is chosen
	Status                   string         `json:"status"`
	SubmitType               *string        `json:"submit_type"`
	SuccessURL               *string        `json:"success_url"` // where to go now; null until the session is complete
	UIMode                   string         `json:"ui_mode"`
	URL                      *string        `json:"url"`
}

// pageDiscount is what a coupon takes off.
type pageDiscount struct {
	Amount        int64   `json:"amount"`
	Name          string  `json:"name"`
	PromotionCode *string `json:"promotion_code"` // as its merchant writes it
}

// pageShipping is one way to ship the order, and what the session then costs.
type pageShipping struct {
	Amount           int64                     `json:"amount"`
	AmountTotal      int64                     `json:"amount_total"`
	DeliveryEstimate *catalog.DeliveryEstimate `json:"delivery_estimate"`
	DisplayName      string                    `json:"display_name"`
	ShippingRate     string                    `json:"shipping_rate"`
}

const (
	itemsOfPage     = itemsOf + ` ORDER BY id DESC`
	nameOfMerchant  = `SELECT name FROM accounts WHERE id = @account_id`
	emailOfCustomer = `SELECT email FROM customers WHERE account_id = @account_id AND id = @id`
)

// page shows a session to its customer. intent and setup are what the transaction
// under way has made of them; nil lets them be read.
func (s *CheckoutSession) page(
	ctx context.Context, db phase.Reader, v resource.Principal, intent *payment.PaymentIntent,
	setup *setupintent.SetupIntent,
) (PaymentPageObject, error) {
	o := PaymentPageObject{
		ID:                       s.ID,
		Object:                   "payment_page",
		AllowPromotionCodes:      s.takesCodes(),
		AmountSubtotal:           s.AmountSubtotal,
		AmountTotal:              s.AmountTotal,
		Attempts:                 s.Attempts,
		BillingAddressCollection: s.Options.BillingAddressCollection,
		CancelURL:                s.CancelURL,
		Currency:                 s.Currency,
		CustomMessage:            s.Options.CustomMessage,
		CustomText:               s.Options.CustomText,
		CustomerEmail:            s.CustomerEmail,
		ExpiresAt:                resource.Unix(s.ExpiresAt),
		LineItems:                []any{},
		Livemode:                 s.Livemode,
		Locale:                   s.Options.Locale,
		Mode:                     s.Mode,
		PaymentMethodTypes:       []string{"card"},
		PaymentStatus:            s.PaymentStatus,
		PhoneNumberCollection:    enabled{s.Options.CollectPhoneNumber},
		Status:                   s.Status,
		SubmitType:               s.Options.SubmitType,
		ShippingOptions:          []pageShipping{},
		ShippingRate:             s.ShippingRateID,
		UIMode:                   cmp.Or(s.Options.UIMode, uiHosted),
	}
	switch s.Status {
	case sessionOpen:
		o.URL = &s.URL
	case sessionComplete:
		o.SuccessURL = resource.NilIfEmpty(s.Success())
	}
	if err := s.describe(ctx, db, v, &o); err != nil {
		return o, err
	}
	method, err := s.paidBy(ctx, db, v, intent, setup, &o)
	if err != nil || s.Status != sessionComplete || method == nil {
		return o, err
	}
	paid, err := resource.Get[customer.PaymentMethod](ctx, db, customer.MethodByID, v, *method)
	if paid != nil {
		o.Card = &paidCard{paid.Card.DisplayBrand, paid.Card.Last4}
	}
	return o, err
}

// paidBy adds the session's intents to its page, and returns the ID of their payment
// method; nil if they have none yet.
func (s *CheckoutSession) paidBy(
	ctx context.Context, db phase.Reader, v resource.Principal, intent *payment.PaymentIntent,
	setup *setupintent.SetupIntent, o *PaymentPageObject,
) (method *string, err error) {
	if intent == nil && s.PaymentIntentID != nil {
		intent, err = resource.Get[payment.PaymentIntent](ctx, db, payment.IntentByID, v, *s.PaymentIntentID)
	}
	if err == nil && setup == nil && s.SetupIntentID != nil {
		setup, err = resource.Get[setupintent.SetupIntent](ctx, db, setupintent.SetupByID, v, *s.SetupIntentID)
	}
	if intent != nil {
		o.PaymentIntent, method = intent.Public(), intent.PaymentMethodID
	}
	if setup != nil {
		o.SetupIntent, method = setup.Public(), setup.PaymentMethodID
	}
	return method, err
}

// paidCard is what a receipt says of a card.
type paidCard struct {
	Brand string `json:"brand"`
	Last4 string `json:"last4"`
}

// describe adds what is sold, by whom, and to whom.
func (s *CheckoutSession) describe(
	ctx context.Context, db phase.Reader, v resource.Principal, o *PaymentPageObject,
) error {
	items, err := s.items(ctx, db, v)
	if err != nil {
		return err
	}
	if s.Status != sessionOpen { // else the customer can take back what was removed
		items = slices.DeleteFunc(items, func(item CheckoutItem) bool { return item.Quantity == 0 })
	}
	o.LineItems = forCustomer(items)
	if err := s.describeTotal(ctx, db, v, o); err != nil {
		return err
	}
	type merchant struct{ Name string }
	who, err := resource.QueryOne[merchant](ctx, db, nameOfMerchant, pgx.StrictNamedArgs{"account_id": s.AccountID})
	if err != nil {
		return err
	}
	o.BusinessName = who.Name
	if s.CustomerEmail == nil {
		o.CustomerEmail, err = s.emailOfCustomer(ctx, db)
	}
	return err
}

// emailOfCustomer is the email address of the session's customer; nil if there is none.
func (s *CheckoutSession) emailOfCustomer(ctx context.Context, db phase.Reader) (*string, error) {
	if s.CustomerID == nil {
		return nil, nil
	}
	type customer struct{ Email *string }
	known, err := resource.QueryOne[customer](ctx, db, emailOfCustomer,
		pgx.StrictNamedArgs{"account_id": s.AccountID, "id": *s.CustomerID})
	if known == nil {
		return nil, err
	}
	return known.Email, err
}

// forCustomer renders items without the merchant's internal notes.
func forCustomer(items []CheckoutItem) []any {
	shown := []any{}
	for _, item := range items {
		item.Metadata = map[string]string{}
		item.PriceMetadata = map[string]string{}
		item.LookupKey = nil
		item.Nickname = nil
		shown = append(shown, item.Render())
	}
	return shown
}

// describeTotal adds what is taken off, and how the order can be shipped.
func (s *CheckoutSession) describeTotal(
	ctx context.Context, db phase.Reader, v resource.Principal, o *PaymentPageObject,
) error {
	if s.CouponID != nil {
		coupons, err := allByID[catalog.Coupon](ctx, db, catalog.CouponsByID, v, []string{*s.CouponID})
		if err != nil {
			return err
		}
		o.Discount = &pageDiscount{Amount: s.AmountDiscount, Name: *s.CouponID}
		for _, coupon := range coupons {
			o.Discount.Name = *cmp.Or(coupon.Name, &coupon.ID)
		}
	}
	if s.PromotionCodeID != nil {
		code, err := catalog.PromotionCodes.Find(ctx, db, v, *s.PromotionCodeID)
		if err != nil {
			return err
		}
		o.Discount.PromotionCode = &code.Code
	}
	if len(s.ShippingOptions) == 0 {
		return nil
	}
	var ids []string
	for _, option := range s.ShippingOptions {
		ids = append(ids, option.ShippingRate)
	}
	rates, err := allByID[catalog.ShippingRate](ctx, db, catalog.ShippingRatesByID, v, ids)
	if err != nil {
		return err
	}
	for _, option := range s.ShippingOptions {
		for _, rate := range rates {
			if rate.ID == option.ShippingRate {
				o.ShippingOptions = append(o.ShippingOptions, pageShipping{
					option.ShippingAmount, *s.totalWith(option), rate.DeliveryEstimate, rate.DisplayName, rate.ID})
			}
		}
	}
	return nil
}

// Visit is whose checkout session it is, and under what terms they trade.
type Visit struct {
	AccountID string
	Livemode  bool
	apirequest.Merchant
}

// A session is found without knowing whose it is: its id is the key.
const visitByID = `
	SELECT s.account_id, s.livemode, ` + resource.MerchantColumns + `,
	       account_ahead(s.account_id, s.livemode) AS ahead
	FROM checkout_sessions s JOIN accounts a ON a.id = s.account_id
	WHERE s.id = @id`

// FindVisit reads which account a checkout session belongs to; nil if it does not exist.
func FindVisit(ctx context.Context, db phase.Reader, session string) (*Visit, error) {
	return resource.QueryOne[Visit](ctx, db, visitByID, pgx.StrictNamedArgs{"id": session})
}

// RetrievePaymentPage answers GET /v1/payment_pages/{session}. A publishable key
// will do: who has the session's id is its customer.
func RetrievePaymentPage(
	ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve,
) (any, error) {
	session, err := readSession(ctx, db, v, in.ID)
	if err != nil {
		return nil, err
	}
	return session.page(ctx, db, v, nil, nil)
}

package session

import (
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// CheckoutSessionObject is a session on the wire. Fields of products Ratchet does
// not have are always null, or what Stripe sends where they are not used.
type CheckoutSessionObject struct {
	ID                         string                `json:"id"`
	Object                     string                `json:"object"`
	AdaptivePricing            *enabled              `json:"adaptive_pricing"`
	AfterExpiration            *string               `json:"after_expiration"`
	AllowPromotionCodes        *bool                 `json:"allow_promotion_codes"`
	AmountSubtotal             *int64                `json:"amount_subtotal"`
	AmountTotal                *int64                `json:"amount_total"`
	AutomaticTax               automaticTax          `json:"automatic_tax"`
	BillingAddressCollection   *string               `json:"billing_address_collection"`
	CancelURL                  *string               `json:"cancel_url"`
	ClientReferenceID          *string               `json:"client_reference_id"`
	ClientSecret               *string               `json:"client_secret"`
	CollectedInformation       *string               `json:"collected_information"`
	Consent                    *string               `json:"consent"`
	ConsentCollection          *string               `json:"consent_collection"`
	Created                    int64                 `json:"created"`
	Currency                   *string               `json:"currency"`
	CurrencyConversion         *string               `json:"currency_conversion"`
	CustomFields               []string              `json:"custom_fields"`
	CustomText                 CustomText            `json:"custom_text"`
	Customer                   *string               `json:"customer"`
	CustomerAccount            *string               `json:"customer_account"`
	CustomerCreation           *string               `json:"customer_creation"`
	CustomerDetails            *CustomerDetails      `json:"customer_details"`
	CustomerEmail              *string               `json:"customer_email"`
	Discounts                  []sessionDiscount     `json:"discounts"`
	ExpiresAt                  int64                 `json:"expires_at"`
	IntegrationIdentifier      *string               `json:"integration_identifier"`
	Invoice                    *string               `json:"invoice"`
	InvoiceCreation            *invoiceCreation      `json:"invoice_creation"`
	LineItems                  *resource.ListObject  `json:"line_items,omitempty"`
	Livemode                   bool                  `json:"livemode"`
	Locale                     *string               `json:"locale"`
	ManagedPayments            *string               `json:"managed_payments"`
	Metadata                   map[string]string     `json:"metadata"`
	Mode                       string                `json:"mode"`
	OriginContext              *string               `json:"origin_context"`
	PaymentIntent              *string               `json:"payment_intent"`
	PaymentLink                *string               `json:"payment_link"`
	PaymentMethodCollection    string                `json:"payment_method_collection"`
	PaymentMethodConfiguration *string               `json:"payment_method_configuration_details"`
	PaymentMethodOptions       checkoutMethodOptions `json:"payment_method_options"`
	PaymentMethodTypes         []string              `json:"payment_method_types"`
	PaymentStatus              string                `json:"payment_status"`
	Permissions                *string               `json:"permissions"`
	PhoneNumberCollection      enabled               `json:"phone_number_collection"`
	RecoveredFrom              *string               `json:"recovered_from"`
	RedirectOnCompletion       string                `json:"redirect_on_completion,omitempty"`
	ReturnURL                  string                `json:"return_url,omitempty"`
	SavedPaymentMethodOptions  *string               `json:"saved_payment_method_options"`
	SetupIntent                *string               `json:"setup_intent"`
	ShippingAddressCollection  *string               `json:"shipping_address_collection"`
	ShippingCost               *shippingCost         `json:"shipping_cost"`
	ShippingOptions            []ShippingOption      `json:"shipping_options"`
	Status                     string                `json:"status"`
	SubmitType                 *string               `json:"submit_type"`
	Subscription               *string               `json:"subscription"`
	SuccessURL                 *string               `json:"success_url"`
	TotalDetails               *checkoutTotalDetails `json:"total_details"`
	UIMode                     string                `json:"ui_mode"`
	URL                        *string               `json:"url"`
	WalletOptions              *string               `json:"wallet_options"`
}

type enabled struct {
	Enabled bool `json:"enabled"`
}

type automaticTax struct {
	Enabled   bool    `json:"enabled"`
	Liability *string `json:"liability"`
	Provider  *string `json:"provider"`
	Status    *string `json:"status"`
}

type invoiceCreation struct {
	Enabled bool        `json:"enabled"`
	Data    invoiceData `json:"invoice_data"`
}

type invoiceData struct {
	AccountTaxIDs    *string           `json:"account_tax_ids"`
	CustomFields     *string           `json:"custom_fields"`
	Description      *string           `json:"description"`
	Footer           *string           `json:"footer"`
	Issuer           *string           `json:"issuer"`
	Metadata         map[string]string `json:"metadata"`
	RenderingOptions *string           `json:"rendering_options"`
}

type checkoutMethodOptions struct {
	Card checkoutCardOptions `json:"card"`
}

type checkoutCardOptions struct {
	RequestThreeDSecure string `json:"request_three_d_secure"`
}

type checkoutTotalDetails struct {
	AmountDiscount int64 `json:"amount_discount"`
	AmountShipping int64 `json:"amount_shipping"`
	AmountTax      int64 `json:"amount_tax"`
}

type sessionDiscount struct {
	Coupon        string  `json:"coupon"`
	PromotionCode *string `json:"promotion_code"`
}

type shippingCost struct {
	AmountSubtotal int64  `json:"amount_subtotal"`
	AmountTax      int64  `json:"amount_tax"`
	AmountTotal    int64  `json:"amount_total"`
	ShippingRate   string `json:"shipping_rate"`
}

func (s *CheckoutSession) discounts() []sessionDiscount {
	if s.CouponID == nil {
		return []sessionDiscount{}
	}
	return []sessionDiscount{{*s.CouponID, s.PromotionCodeID}}
}

func (s *CheckoutSession) totalDetails() *checkoutTotalDetails {
	return &checkoutTotalDetails{AmountDiscount: s.AmountDiscount, AmountShipping: s.AmountShipping}
}

// details are what the page has learned of the customer, once the session is complete. Until then it is what the
// merchant knew.
func (s *CheckoutSession) details() *CustomerDetails {
	switch {
	case s.Status == sessionComplete:
		return s.CustomerDetails
	case s.CustomerEmail == nil:
		return nil
	}
	return &CustomerDetails{Email: s.CustomerEmail, TaxExempt: "none"}
}

// Render is the checkout session as the API's JSON object. Amounts are in the currency's smallest unit.
func (s *CheckoutSession) Render() any { return s.object() }

func (s *CheckoutSession) object() CheckoutSessionObject {
	o := CheckoutSessionObject{
		ID:                       s.ID,
		Object:                   "checkout.session",
		AllowPromotionCodes:      s.Options.AllowPromotionCodes,
		AmountSubtotal:           s.AmountSubtotal,
		AmountTotal:              s.AmountTotal,
		BillingAddressCollection: s.Options.BillingAddressCollection,
		CancelURL:                s.CancelURL,
		ClientReferenceID:        s.ClientReferenceID,
		Created:                  resource.Unix(s.CreatedAt),
		Currency:                 s.Currency,
		CustomFields:             []string{},
		CustomText:               s.Options.CustomText,
		Customer:                 s.CustomerID,
		CustomerCreation:         s.CustomerCreation,
		CustomerDetails:          s.details(),
		CustomerEmail:            s.CustomerEmail,
		Discounts:                s.discounts(),
		ExpiresAt:                resource.Unix(s.ExpiresAt),
		Livemode:                 s.Livemode,
		Locale:                   s.Options.Locale,
		Metadata:                 s.Metadata,
		Mode:                     s.Mode,
		PaymentLink:              s.Options.PaymentLink,
		PaymentMethodCollection:  "always",
		PaymentMethodOptions:     checkoutMethodOptions{checkoutCardOptions{s.Options.RequestThreeDSecure}},
		PaymentMethodTypes:       []string{"card"},
		PaymentStatus:            s.PaymentStatus,
		PhoneNumberCollection:    enabled{s.Options.CollectPhoneNumber},
		ShippingOptions:          s.ShippingOptions,
		Status:                   s.Status,
		SubmitType:               s.Options.SubmitType,
		SuccessURL:               &s.SuccessURL,
		UIMode:                   uiHosted,
	}
	if s.Mode == modePayment {
		o.AdaptivePricing = &enabled{s.Options.AdaptivePricing}
		o.PaymentMethodCollection, o.TotalDetails = "if_required", s.totalDetails()
		o.InvoiceCreation = &invoiceCreation{Data: invoiceData{Metadata: map[string]string{}}}
	}
	if s.ShippingRateID != nil {
		o.ShippingCost = &shippingCost{
			AmountSubtotal: s.AmountShipping,
			AmountTotal:    s.AmountShipping,
			ShippingRate:   *s.ShippingRateID,
		}
	}
	s.showState(&o)
	return o
}

// showState adds the fields whose presence depends on the session's status, mode and page.
func (s *CheckoutSession) showState(o *CheckoutSessionObject) {
	switch s.Status {
	case sessionOpen:
		o.URL = &s.URL
		if s.Options.IntentFromStart {
			o.PaymentIntent = s.PaymentIntentID
		}
	case sessionComplete:
		o.PaymentIntent = s.PaymentIntentID
	}
	if s.Options.UIMode != "" {
		o.UIMode, o.URL, o.SuccessURL, o.ReturnURL = s.Options.UIMode, nil, nil, s.SuccessURL
		o.RedirectOnCompletion = s.Options.RedirectOnCompletion
		if s.Status == sessionOpen {
			o.ClientSecret = &s.Options.ClientSecret
		}
	}
	if s.Mode == modeSetup { // which a session has had from its beginning
		o.SetupIntent = s.SetupIntentID
	}
}

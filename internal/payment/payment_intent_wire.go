package payment

import (
	"encoding/json"

	"github.com/ratchet-pay/ratchet/internal/resource"
)

// PaymentIntentObject is an intent on the wire. Fields of Connect and of products
// Ratchet does not have are always null, as Stripe sends them.
type PaymentIntentObject struct {
	ID                        string                   `json:"id"`
	Object                    string                   `json:"object"`
	AllowedMethodTypes        []string                 `json:"allowed_payment_method_types"`
	Amount                    int64                    `json:"amount"`
	AmountCapturable          int64                    `json:"amount_capturable"`
	AmountDetails             amountDetails            `json:"amount_details"`
	AmountReceived            int64                    `json:"amount_received"`
	Application               *string                  `json:"application"`
	ApplicationFeeAmount      *int64                   `json:"application_fee_amount"`
	AutomaticPaymentMethods   *AutomaticPaymentMethods `json:"automatic_payment_methods"`
	CanceledAt                *int64                   `json:"canceled_at"`
	CancellationReason        *string                  `json:"cancellation_reason"`
	CaptureMethod             string                   `json:"capture_method"`
	ClientSecret              string                   `json:"client_secret"`
	ConfirmationMethod        string                   `json:"confirmation_method"`
	Created                   int64                    `json:"created"`
	Currency                  string                   `json:"currency"`
	Customer                  *string                  `json:"customer"`
	CustomerAccount           *string                  `json:"customer_account"`
	Description               *string                  `json:"description"`
	ExcludedMethodTypes       []string                 `json:"excluded_payment_method_types"`
	LastPaymentError          json.RawMessage          `json:"last_payment_error"`
	LatestCharge              *string                  `json:"latest_charge"`
	Livemode                  bool                     `json:"livemode"`
	ManagedPayments           *string                  `json:"managed_payments"`
	Metadata                  map[string]string        `json:"metadata"`
	NextAction                *NextAction              `json:"next_action"`
	OnBehalfOf                *string                  `json:"on_behalf_of"`
	PaymentMethod             *string                  `json:"payment_method"`
	MethodConfigurationDetail *string                  `json:"payment_method_configuration_details"`
	PaymentMethodOptions      PaymentMethodOptions     `json:"payment_method_options"`
	PaymentMethodTypes        []string                 `json:"payment_method_types"`
	Processing                *string                  `json:"processing"`
	ReceiptEmail              *string                  `json:"receipt_email"`
	Review                    *string                  `json:"review"`
	SetupFutureUsage          *string                  `json:"setup_future_usage"`
	Shipping                  *resource.Shipping       `json:"shipping"`
	Source                    *string                  `json:"source"`
	StatementDescriptor       *string                  `json:"statement_descriptor"`
	StatementDescriptorSuffix *string                  `json:"statement_descriptor_suffix"`
	Status                    string                   `json:"status"`
	TransferData              *string                  `json:"transfer_data"`
	TransferGroup             *string                  `json:"transfer_group"`
}

type amountDetails struct {
	Tip struct{} `json:"tip"`
}

// Render is the object as API responses show it, before anything in it is expanded.
func (p *PaymentIntent) Render() any { return p.object() }

func (p *PaymentIntent) object() PaymentIntentObject {
	return PaymentIntentObject{
		ID:                        p.ID,
		Object:                    "payment_intent",
		Amount:                    p.Amount,
		AmountCapturable:          p.AmountCapturable,
		AmountReceived:            p.AmountReceived,
		AutomaticPaymentMethods:   p.AutomaticPaymentMethods,
		CanceledAt:                resource.UnixOrNil(p.CanceledAt),
		CancellationReason:        p.CancellationReason,
		CaptureMethod:             p.CaptureMethod,
		ClientSecret:              p.ClientSecret,
		ConfirmationMethod:        p.ConfirmationMethod,
		Created:                   resource.Unix(p.CreatedAt),
		Currency:                  p.Currency,
		Customer:                  p.CustomerID,
		Description:               p.Description,
		LastPaymentError:          p.LastPaymentError,
		LatestCharge:              p.LatestCharge,
		Livemode:                  p.Livemode,
		Metadata:                  p.Metadata,
		NextAction:                p.NextAction,
		PaymentMethod:             p.PaymentMethodID,
		PaymentMethodOptions:      p.PaymentMethodOptions,
		PaymentMethodTypes:        p.PaymentMethodTypes,
		ReceiptEmail:              p.ReceiptEmail,
		SetupFutureUsage:          p.SetupFutureUsage,
		Shipping:                  p.Shipping,
		StatementDescriptor:       p.StatementDescriptor,
		StatementDescriptorSuffix: p.StatementDescriptorSuffix,
		Status:                    p.Status,
		TransferGroup:             p.TransferGroup,
	}
}

// Public is what a browser may see: nothing of the merchant's own notes, nor who
// the customer is.
func (p *PaymentIntent) Public() any {
	o := p.object()
	o.Customer, o.LatestCharge, o.Metadata = nil, nil, map[string]string{}
	o.StatementDescriptor, o.StatementDescriptorSuffix, o.TransferGroup = nil, nil, nil
	return o
}

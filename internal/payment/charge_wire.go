package payment

import (
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// ChargeObject is a charge on the wire. Fields of Connect, of PaymentIntents and
// of products Ratchet does not have are always null, as Stripe sends them.
type ChargeObject struct {
	ID                            string                  `json:"id"`
	Object                        string                  `json:"object"`
	Amount                        int64                   `json:"amount"`
	AmountCaptured                int64                   `json:"amount_captured"`
	AmountRefunded                int64                   `json:"amount_refunded"`
	Application                   *string                 `json:"application"`
	ApplicationFee                *string                 `json:"application_fee"`
	ApplicationFeeAmount          *int64                  `json:"application_fee_amount"`
	BalanceTransaction            *string                 `json:"balance_transaction"`
	BillingDetails                customer.BillingDetails `json:"billing_details"`
	CalculatedStatementDescriptor *string                 `json:"calculated_statement_descriptor"`
	Captured                      bool                    `json:"captured"`
	Created                       int64                   `json:"created"`
	Currency                      string                  `json:"currency"`
	Customer                      *string                 `json:"customer"`
	Description                   *string                 `json:"description"`
	Disputed                      bool                    `json:"disputed"`
	FailureBalanceTransaction     *string                 `json:"failure_balance_transaction"`
	FailureCode                   *string                 `json:"failure_code"`
	FailureMessage                *string                 `json:"failure_message"`
	FraudDetails                  map[string]string       `json:"fraud_details"`
	Livemode                      bool                    `json:"livemode"`
	Metadata                      map[string]string       `json:"metadata"`
	OnBehalfOf                    *string                 `json:"on_behalf_of"`
	Outcome                       *ChargeOutcome          `json:"outcome"`
	Paid                          bool                    `json:"paid"`
	PaymentIntent                 *string                 `json:"payment_intent"`
	PaymentMethod                 *string                 `json:"payment_method"`
	PaymentMethodDetails          *paymentMethodDetails   `json:"payment_method_details"`
	RadarOptions                  struct{}                `json:"radar_options"`
	ReceiptEmail                  *string                 `json:"receipt_email"`
	ReceiptNumber                 *string                 `json:"receipt_number"`
	ReceiptURL                    *string                 `json:"receipt_url"`
	Refunded                      bool                    `json:"refunded"`
	Review                        *string                 `json:"review"`
	Shipping                      *resource.Shipping      `json:"shipping"`
	Source                        *customer.CardObject    `json:"source"`
	SourceTransfer                *string                 `json:"source_transfer"`
	StatementDescriptor           *string                 `json:"statement_descriptor"`
	StatementDescriptorSuffix     *string                 `json:"statement_descriptor_suffix"`
	Status                        string                  `json:"status"`
	TransferData                  *string                 `json:"transfer_data"`
	TransferGroup                 *string                 `json:"transfer_group"`
}

type paymentMethodDetails struct {
	Card cardDetails `json:"card"`
	Type string      `json:"type"`
}

type cardDetails struct {
	AmountAuthorized         *int64              `json:"amount_authorized"`
	AuthorizationCode        *string             `json:"authorization_code"`
	Brand                    string              `json:"brand"`
	CaptureBefore            *int64              `json:"capture_before,omitempty"`
	Checks                   customer.CardChecks `json:"checks"`
	Country                  string              `json:"country"`
	ExpMonth                 int64               `json:"exp_month"`
	ExpYear                  int64               `json:"exp_year"`
	ExtendedAuthorization    cardFeature         `json:"extended_authorization"`
	Fingerprint              string              `json:"fingerprint"`
	Funding                  string              `json:"funding"`
	IncrementalAuthorization cardFeature         `json:"incremental_authorization"`
	Installments             *string             `json:"installments"`
	Last4                    string              `json:"last4"`
	Mandate                  *string             `json:"mandate"`
	Multicapture             cardFeature         `json:"multicapture"`
	Network                  string              `json:"network"`
	NetworkToken             usedFlag            `json:"network_token"`
	NetworkTransactionID     *string             `json:"network_transaction_id"`
	Overcapture              overcapture         `json:"overcapture"`
	RegulatedStatus          string              `json:"regulated_status"`
	ThreeDSecure             *threeDSecure       `json:"three_d_secure"`
	TransactionLinkID        *string             `json:"transaction_link_id"`
	Wallet                   *string             `json:"wallet"`
}

// ThreeDSecure says how the cardholder was authenticated.
type threeDSecure struct {
	AuthenticationFlow string  `json:"authentication_flow"`
	ElectronicCommerce string  `json:"electronic_commerce_indicator"`
	ExemptionIndicator *string `json:"exemption_indicator"`
	Result             string  `json:"result"`
	ResultReason       *string `json:"result_reason"`
	TransactionID      *string `json:"transaction_id"`
	Version            string  `json:"version"`
}

type cardFeature struct {
	Status string `json:"status"`
}

type overcapture struct {
	MaximumAmountCapturable int64  `json:"maximum_amount_capturable"`
	Status                  string `json:"status"`
}

type usedFlag struct {
	Used bool `json:"used"`
}

// Render is the object as API responses show it, before anything in it is expanded.
func (c *Charge) Render() any { return c.object() }

func (c *Charge) object() ChargeObject {
	descriptor := resource.NilIfEmpty(c.Card.Descriptor)
	o := ChargeObject{
		ID:                            c.ID,
		Object:                        "charge",
		Amount:                        c.Amount,
		AmountCaptured:                c.AmountCaptured,
		AmountRefunded:                c.AmountRefunded + c.released(),
		BalanceTransaction:            c.BalanceTransaction,
		BillingDetails:                c.billing(),
		CalculatedStatementDescriptor: descriptor,
		Captured:                      c.Captured,
		Created:                       resource.Unix(c.CreatedAt),
		Currency:                      c.Currency,
		Customer:                      c.CustomerID,
		Description:                   c.Description,
		Disputed:                      c.Disputed,
		FailureCode:                   c.FailureCode,
		FailureMessage:                c.FailureMessage,
		FraudDetails:                  c.FraudDetails,
		Livemode:                      c.Livemode,
		Metadata:                      c.Metadata,
		Outcome:                       c.Outcome,
		Paid:                          c.Status == chargeSucceeded,
		PaymentIntent:                 c.PaymentIntentID,
		PaymentMethod:                 &c.Card.ID,
		PaymentMethodDetails:          c.method(),
		ReceiptEmail:                  c.ReceiptEmail,
		ReceiptURL:                    c.ReceiptURL,
		Refunded:                      c.refundable() == 0,
		Shipping:                      c.Shipping,
		Source:                        c.source(),
		StatementDescriptor:           c.StatementDescriptor,
		StatementDescriptorSuffix:     c.StatementDescriptorSuffix,
		TransferGroup:                 c.TransferGroup,
		Status:                        c.Status,
	}
	if c.SettlementPending {
		o.BalanceTransaction = nil
	}
	if o.FraudDetails == nil {
		o.FraudDetails = map[string]string{}
	}
	return o
}

func (c *Charge) billing() customer.BillingDetails {
	card := c.Card
	if card.Billing != nil {
		return *card.Billing
	}
	return customer.BillingDetails{Name: card.Name, Address: resource.Address{
		City: card.AddressCity, Country: card.AddressCountry, Line1: card.AddressLine1,
		Line2: card.AddressLine2, PostalCode: card.AddressZip, State: card.AddressState,
	}}
}

// source is the card of a charge without an intent. An intent's charge has a payment
// method instead.
func (c *Charge) source() *customer.CardObject {
	if c.PaymentIntentID != nil {
		return nil
	}
	card := c.Card.Render(c.Card.ID, c.Card.Customer, c.Card.Metadata)
	card.AddressLine1Check, card.AddressZipCheck = c.Card.AddressLine1Check, c.Card.PostalCodeCheck
	return &card
}

func (c *Charge) method() *paymentMethodDetails {
	card := cardDetails{
		Brand:           c.Card.Brand,
		Country:         c.Card.Country,
		ExpMonth:        c.Card.ExpMonth,
		ExpYear:         c.Card.ExpYear,
		Fingerprint:     c.Card.Fingerprint,
		Funding:         c.Card.Funding,
		Last4:           c.Card.Last4,
		Network:         c.Card.Brand,
		RegulatedStatus: "unregulated",
		Checks: customer.CardChecks{
			AddressLine1Check:      c.Card.AddressLine1Check,
			AddressPostalCodeCheck: c.Card.PostalCodeCheck,
			CVCCheck:               c.Card.CVCCheck,
		},
		ExtendedAuthorization:    cardFeature{"disabled"},
		IncrementalAuthorization: cardFeature{"unavailable"},
		Multicapture:             cardFeature{"unavailable"},
		Overcapture:              overcapture{c.Amount, "unavailable"},
	}
	if c.Status == chargeSucceeded {
		card.AmountAuthorized, card.AuthorizationCode = &c.Amount, c.Card.AuthorizationCode
	}
	if c.Card.Authenticated {
		card.ThreeDSecure = &threeDSecure{
			AuthenticationFlow: "challenge",
			ElectronicCommerce: "05",
			Result:             "authenticated",
			Version:            "2.2.0",
		}
	}
	if !c.Captured {
		card.CaptureBefore = resource.UnixOrNil(c.CaptureBefore)
	}
	return &paymentMethodDetails{Card: card, Type: "card"}
}

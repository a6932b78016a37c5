package dispute

import (
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// DisputeObject is a dispute on the wire.
type DisputeObject struct {
	ID                       string                 `json:"id"`
	Object                   string                 `json:"object"`
	Amount                   int64                  `json:"amount"`
	BalanceTransactions      []any                  `json:"balance_transactions"`
	Charge                   string                 `json:"charge"`
	Created                  int64                  `json:"created"`
	Currency                 string                 `json:"currency"`
	EnhancedEligibilityTypes []string               `json:"enhanced_eligibility_types"`
	Evidence                 DisputeEvidence        `json:"evidence"`
	EvidenceDetails          evidenceDetails        `json:"evidence_details"`
	IsChargeRefundable       bool                   `json:"is_charge_refundable"`
	Livemode                 bool                   `json:"livemode"`
	Metadata                 map[string]string      `json:"metadata"`
	PaymentIntent            *string                `json:"payment_intent"`
	PaymentMethodDetails     disputedPaymentDetails `json:"payment_method_details"`
	Reason                   string                 `json:"reason"`
	Status                   string                 `json:"status"`
}

type evidenceDetails struct {
	DueBy               *int64                        `json:"due_by"`
	EnhancedEligibility map[string]programEligibility `json:"enhanced_eligibility"`
	HasEvidence         bool                          `json:"has_evidence"`
	PastDue             bool                          `json:"past_due"`
	SubmissionCount     int64                         `json:"submission_count"`
}

type disputedPaymentDetails struct {
	Card disputedCard `json:"card"`
	Type string       `json:"type"`
}

type disputedCard struct {
	Brand             string `json:"brand"`
	CaseType          string `json:"case_type"`
	Network           string `json:"network"`
	NetworkReasonCode string `json:"network_reason_code"`
}

// DisputeEvidence is what a merchant says to a dispute. The fields that would
// name an uploaded file are always null: there are no files here.
type DisputeEvidence struct {
	AccessActivityLog            *string  `json:"access_activity_log"`
	BillingAddress               *string  `json:"billing_address"`
	CancellationPolicy           *string  `json:"cancellation_policy"`
	CancellationPolicyDisclosure *string  `json:"cancellation_policy_disclosure"`
	CancellationRebuttal         *string  `json:"cancellation_rebuttal"`
	CustomerCommunication        *string  `json:"customer_communication"`
	CustomerEmailAddress         *string  `json:"customer_email_address"`
	CustomerName                 *string  `json:"customer_name"`
	CustomerPurchaseIP           *string  `json:"customer_purchase_ip"`
	CustomerSignature            *string  `json:"customer_signature"`
	DuplicateChargeDocumentation *string  `json:"duplicate_charge_documentation"`
	DuplicateChargeExplanation   *string  `json:"duplicate_charge_explanation"`
	DuplicateChargeID            *string  `json:"duplicate_charge_id"`
	EnhancedEvidence             struct{} `json:"enhanced_evidence"`
	ProductDescription           *string  `json:"product_description"`
	Receipt                      *string  `json:"receipt"`
	RefundPolicy                 *string  `json:"refund_policy"`
	RefundPolicyDisclosure       *string  `json:"refund_policy_disclosure"`
	RefundRefusalExplanation     *string  `json:"refund_refusal_explanation"`
	ServiceDate                  *string  `json:"service_date"`
	ServiceDocumentation         *string  `json:"service_documentation"`
	ShippingAddress              *string  `json:"shipping_address"`
	ShippingCarrier              *string  `json:"shipping_carrier"`
	ShippingDate                 *string  `json:"shipping_date"`
	ShippingDocumentation        *string  `json:"shipping_documentation"`
	ShippingTrackingNumber       *string  `json:"shipping_tracking_number"`
	UncategorizedFile            *string  `json:"uncategorized_file"`
	UncategorizedText            *string  `json:"uncategorized_text"`
}

func (e DisputeEvidence) isEmpty() bool { return e == DisputeEvidence{} }

// Render is the dispute as the API's JSON object. Amounts are in the currency's smallest unit.
func (d *Dispute) Render() any { return d.object() }

func (d *Dispute) object() DisputeObject {
	due := resource.Unix(d.RespondBy)
	o := DisputeObject{
		ID:                       d.ID,
		Object:                   "dispute",
		Amount:                   d.Amount,
		BalanceTransactions:      []any{},
		Charge:                   d.ChargeID,
		Created:                  resource.Unix(d.CreatedAt),
		Currency:                 d.Currency,
		EnhancedEligibilityTypes: d.Eligibility,
		Evidence:                 d.Evidence,
		EvidenceDetails: evidenceDetails{
			DueBy:               &due,
			EnhancedEligibility: eligibility(d.Eligibility),
			HasEvidence:         !d.Evidence.isEmpty(),
			SubmissionCount:     d.Submissions,
		},
		IsChargeRefundable: d.isInquiry() && !d.isClosed(),
		Livemode:           d.Livemode,
		Metadata:           d.Metadata,
		PaymentIntent:      d.PaymentIntentID,
		PaymentMethodDetails: disputedPaymentDetails{
			Type: "card",
			Card: disputedCard{d.Brand, d.CaseType, d.Brand, d.NetworkCode},
		},
		Reason: d.Reason,
		Status: d.Status,
	}
	if o.EnhancedEligibilityTypes == nil {
		o.EnhancedEligibilityTypes = []string{}
	}
	for i := range d.Postings {
		o.BalanceTransactions = append(o.BalanceTransactions, d.Postings[i].Render())
	}
	return o
}

type programEligibility struct {
	RequiredActions []string `json:"required_actions,omitempty"`
	Status          string   `json:"status"`
}

// eligibility says what a network's special programs still want.
func eligibility(programs []string) map[string]programEligibility {
	details := map[string]programEligibility{}
	for _, p := range programs {
		switch p {
		case "visa_compelling_evidence_3":
			details[p] = programEligibility{[]string{"missing_customer_identifiers"}, "requires_action"}
		case "visa_compliance":
			details[p] = programEligibility{Status: "requires_fee_acknowledgement"}
		}
	}
	return details
}

package dispute

import (
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// EvidenceParams are what a merchant can say to a dispute: texts, and the ids of
// files, of which there are none here. An empty one takes back what was said.
type EvidenceParams struct {
	AccessActivityLog            *string `form:"access_activity_log,unset" max:"20000"`
	BillingAddress               *string `form:"billing_address,unset" max:"5000"`
	CancellationPolicyDisclosure *string `form:"cancellation_policy_disclosure,unset" max:"20000"`
	CancellationRebuttal         *string `form:"cancellation_rebuttal,unset" max:"20000"`
	CustomerEmailAddress         *string `form:"customer_email_address,unset" max:"5000"`
	CustomerName                 *string `form:"customer_name,unset" max:"5000"`
	CustomerPurchaseIP           *string `form:"customer_purchase_ip,unset" max:"5000"`
	DuplicateChargeExplanation   *string `form:"duplicate_charge_explanation,unset" max:"20000"`
	DuplicateChargeID            *string `form:"duplicate_charge_id,unset" max:"5000"`
	ProductDescription           *string `form:"product_description,unset" max:"20000"`
	RefundPolicyDisclosure       *string `form:"refund_policy_disclosure,unset" max:"20000"`
	RefundRefusalExplanation     *string `form:"refund_refusal_explanation,unset" max:"20000"`
	ServiceDate                  *string `form:"service_date,unset" max:"5000"`
	ShippingAddress              *string `form:"shipping_address,unset" max:"5000"`
	ShippingCarrier              *string `form:"shipping_carrier,unset" max:"5000"`
	ShippingDate                 *string `form:"shipping_date,unset" max:"5000"`
	ShippingTrackingNumber       *string `form:"shipping_tracking_number,unset" max:"5000"`
	UncategorizedText            *string `form:"uncategorized_text,unset" max:"20000"`

	CancellationPolicy           *string `form:"cancellation_policy,unset" max:"5000"`
	CustomerCommunication        *string `form:"customer_communication,unset" max:"5000"`
	CustomerSignature            *string `form:"customer_signature,unset" max:"5000"`
	DuplicateChargeDocumentation *string `form:"duplicate_charge_documentation,unset" max:"5000"`
	Receipt                      *string `form:"receipt,unset" max:"5000"`
	RefundPolicy                 *string `form:"refund_policy,unset" max:"5000"`
	ServiceDocumentation         *string `form:"service_documentation,unset" max:"5000"`
	ShippingDocumentation        *string `form:"shipping_documentation,unset" max:"5000"`
	UncategorizedFile            *string `form:"uncategorized_file,unset" max:"5000"`
}

// check refuses files: nothing here takes an upload, so none can exist.
func (e *EvidenceParams) check() error {
	for _, file := range [...]struct {
		param string
		id    *string
	}{
		{"evidence[cancellation_policy]", e.CancellationPolicy},
		{"evidence[customer_communication]", e.CustomerCommunication},
		{"evidence[customer_signature]", e.CustomerSignature},
		{"evidence[duplicate_charge_documentation]", e.DuplicateChargeDocumentation},
		{"evidence[receipt]", e.Receipt},
		{"evidence[refund_policy]", e.RefundPolicy},
		{"evidence[service_documentation]", e.ServiceDocumentation},
		{"evidence[shipping_documentation]", e.ShippingDocumentation},
		{"evidence[uncategorized_file]", e.UncategorizedFile},
	} {
		if file.id != nil && *file.id != "" {
			return apierror.NoSuch("file upload", file.param, *file.id)
		}
	}
	return nil
}

// says whether there is anything in it but what takes back what was said.
func (e *EvidenceParams) says() bool {
	var said DisputeEvidence
	if e != nil {
		e.apply(&said)
	}
	return !said.isEmpty()
}

// apply notes what was said, over what was said before.
func (e *EvidenceParams) apply(to *DisputeEvidence) {
	to.AccessActivityLog = resource.Patch(e.AccessActivityLog, to.AccessActivityLog)
	to.BillingAddress = resource.Patch(e.BillingAddress, to.BillingAddress)
	to.CancellationPolicyDisclosure = resource.Patch(e.CancellationPolicyDisclosure, to.CancellationPolicyDisclosure)
	to.CancellationRebuttal = resource.Patch(e.CancellationRebuttal, to.CancellationRebuttal)
	to.CustomerEmailAddress = resource.Patch(e.CustomerEmailAddress, to.CustomerEmailAddress)
	to.CustomerName = resource.Patch(e.CustomerName, to.CustomerName)
	to.CustomerPurchaseIP = resource.Patch(e.CustomerPurchaseIP, to.CustomerPurchaseIP)
	to.DuplicateChargeExplanation = resource.Patch(e.DuplicateChargeExplanation, to.DuplicateChargeExplanation)
	to.DuplicateChargeID = resource.Patch(e.DuplicateChargeID, to.DuplicateChargeID)
	to.ProductDescription = resource.Patch(e.ProductDescription, to.ProductDescription)
	to.RefundPolicyDisclosure = resource.Patch(e.RefundPolicyDisclosure, to.RefundPolicyDisclosure)
	to.RefundRefusalExplanation = resource.Patch(e.RefundRefusalExplanation, to.RefundRefusalExplanation)
	to.ServiceDate = resource.Patch(e.ServiceDate, to.ServiceDate)
	to.ShippingAddress = resource.Patch(e.ShippingAddress, to.ShippingAddress)
	to.ShippingCarrier = resource.Patch(e.ShippingCarrier, to.ShippingCarrier)
	to.ShippingDate = resource.Patch(e.ShippingDate, to.ShippingDate)
	to.ShippingTrackingNumber = resource.Patch(e.ShippingTrackingNumber, to.ShippingTrackingNumber)
	to.UncategorizedText = resource.Patch(e.UncategorizedText, to.UncategorizedText)
}

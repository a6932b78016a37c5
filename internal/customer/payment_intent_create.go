package customer

import (
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
)

// RefuseUse says why a method cannot pay for customer, or nil.
func (m *PaymentMethod) RefuseUse(customer string) *apierror.Error {
	switch {
	case m.SpentBy != nil:
		return methodSpent()
	case m.CustomerID != nil && customer == "":
		return apierror.Invalid("payment_method",
			"The payment method %s belongs to the Customer %s. Please include the Customer in the `customer` "+
				"parameter on the PaymentIntent.", m.ID, *m.CustomerID)
	case m.CustomerID != nil && *m.CustomerID != customer:
		return apierror.Invalid("payment_method",
			"The payment method %s does not belong to the Customer you supplied, %s. Please use this payment method "+
				"with the Customer that it belongs to instead.", m.ID, form.Quote(customer))
	}
	return nil
}

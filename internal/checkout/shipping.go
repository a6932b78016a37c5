package checkout

import (
	"fmt"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/money"
)

// shippingOption is one way to ship the order, and what the session then costs.
type shippingOption struct {
	Amount           int64
	AmountTotal      int64  `json:"amount_total"`
	DisplayName      string `json:"display_name"`
	ShippingRate     string `json:"shipping_rate"`
	DeliveryEstimate *struct {
		Minimum, Maximum *struct {
			Unit  string
			Value int64
		}
	} `json:"delivery_estimate"`
}

// Estimate is how long it takes, as people say it: "2 to 5 business days"; "" if the
// merchant does not say.
func (o shippingOption) Estimate() string {
	if o.DeliveryEstimate == nil {
		return ""
	}
	least, most := o.DeliveryEstimate.Minimum, o.DeliveryEstimate.Maximum
	switch {
	case least == nil && most == nil:
		return ""
	case least == nil:
		return "At most " + duration(most.Value, most.Unit)
	case most == nil:
		return "At least " + duration(least.Value, least.Unit)
	case least.Unit != most.Unit:
		return duration(least.Value, least.Unit) + " to " + duration(most.Value, most.Unit)
	case least.Value == most.Value:
		return duration(most.Value, most.Unit)
	}
	return fmt.Sprintf("%d to %s", least.Value, duration(most.Value, most.Unit))
}

func duration(value int64, unit string) string {
	text := fmt.Sprintf("%d %s", value, strings.ReplaceAll(unit, "_", " "))
	if value != 1 {
		text += "s"
	}
	return text
}

// Shipping is the option that is chosen; nil if nothing is shipped.
func (s *paymentPage) Shipping() *shippingOption {
	for i, option := range s.ShippingOptions {
		if option.ShippingRate == s.ShippingRate {
			return &s.ShippingOptions[i]
		}
	}
	return nil
}

// choose makes the page show what the order costs when it is shipped at a rate. It stores
// nothing: the page sends the choice to the API with the press of Pay.
func (s *paymentPage) choose(rate string) {
	for _, option := range s.ShippingOptions {
		if option.ShippingRate == rate {
			s.ShippingRate, s.AmountTotal = rate, option.AmountTotal
		}
	}
}

// choice is a shipping option as the form draws it.
type choice struct {
	shippingOption
	Chosen            bool
	Cost, Total, Verb string
}

// Choices are the shipping options of the form; none if there is nothing to choose.
func (s *paymentPage) Choices() (all []choice) {
	if len(s.ShippingOptions) < 2 {
		return nil
	}
	for _, option := range s.ShippingOptions {
		with := *s
		with.choose(option.ShippingRate)
		all = append(all, choice{
			shippingOption: option,
			Chosen:         option.ShippingRate == s.ShippingRate,
			Cost:           money.Format(option.Amount, s.Currency),
			Total:          with.Total(),
			Verb:           with.Verb(),
		})
	}
	return all
}

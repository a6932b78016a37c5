package checkout

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

// estimate is how long it takes, as people say it: "2 to 5 business days"; "" if the
// merchant does not say.
func (s *paymentPage) estimate(o shippingOption) string {
	if o.DeliveryEstimate == nil {
		return ""
	}
	least, most := o.DeliveryEstimate.Minimum, o.DeliveryEstimate.Maximum
	switch {
	case least == nil && most == nil:
		return ""
	case least == nil:
		return s.lang.Say("at_most", "time", s.lang.Count(most.Unit, most.Value))
	case most == nil:
		return s.lang.Say("at_least", "time", s.lang.Count(least.Unit, least.Value))
	case least.Unit != most.Unit:
		return s.lang.Say("between", "least", s.lang.Count(least.Unit, least.Value),
			"most", s.lang.Count(most.Unit, most.Value))
	case least.Value == most.Value:
		return s.lang.Count(most.Unit, most.Value)
	}
	return s.lang.Say("between", "least", least.Value, "most", s.lang.Count(most.Unit, most.Value))
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
	Estimate          string
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
			Estimate:       s.estimate(option),
			Cost:           s.lang.Money(option.Amount, s.Currency),
			Total:          with.Total(),
			Verb:           with.Verb(),
		})
	}
	return all
}

package session

// CustomText are the merchant's own texts on the page. They are plain text: the page shows Markdown as it is written.
type CustomText struct {
	AfterSubmit     *CustomMessage `json:"after_submit" form:"after_submit,unset"`
	ShippingAddress *CustomMessage `json:"shipping_address" form:"shipping_address,unset"`
	Submit          *CustomMessage `json:"submit" form:"submit,unset"`
	TermsOfService  *CustomMessage `json:"terms_of_service_acceptance" form:"terms_of_service_acceptance,unset"`
}

// CustomMessage is one of them.
type CustomMessage struct {
	Message string `json:"message" form:"message,required" max:"1200"`
}

// with is the same with the texts that were sent. One that was sent empty is taken away.
func (t CustomText) with(sent *CustomText) CustomText {
	if sent == nil {
		return t
	}
	for _, text := range []struct{ old, sent **CustomMessage }{
		{&t.AfterSubmit, &sent.AfterSubmit},
		{&t.ShippingAddress, &sent.ShippingAddress},
		{&t.Submit, &sent.Submit},
		{&t.TermsOfService, &sent.TermsOfService},
	} {
		switch {
		case *text.sent == nil:
		case **text.sent == CustomMessage{}:
			*text.old = nil
		default:
			*text.old = *text.sent
		}
	}
	return t
}

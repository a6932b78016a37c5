package checkout

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/api"
)

// TakesCodes says that the page has a field for a promotion code.
func (s *paymentPage) TakesCodes() bool { return s.AllowPromotionCodes && s.State() == open }

// Code is the promotion code that is applied, "" if none is.
func (s *paymentPage) Code() string {
	if s.Discount == nil {
		return ""
	}
	return s.Discount.PromotionCode
}

// code applies the promotion code that is typed, or removes the present one. The form is answered with the page,
// from which the page's module takes the new totals.
func (s *Server) code(w http.ResponseWriter, r *http.Request) {
	found := s.posted(w, r)
	if found == nil {
		return
	}
	code := strings.TrimSpace(r.PostFormValue("code"))
	if holdsNumber(code) { // a number that slipped into the field goes nowhere
		s.refuseCode(w, r, found, "", http.StatusUnprocessableEntity, "invalid_code")
		return
	}
	a, err := s.ask(r, found, api.InternalRequest{
		Method: http.MethodPost,
		Path:   "/v1/payment_pages/" + found.ID,
		Form:   url.Values{"promotion_code": {code}},
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if refusal := a.Refusal(); refusal != nil && found.TakesCodes() {
		s.refuseCode(w, r, found, code, a.Status, codeFault(refusal.Code))
		return
	}
	http.Redirect(w, r, found.Path(), http.StatusSeeOther) // the page shows the new total
}

// refuseCode shows the form with what is wrong with a code. The total stays as it was.
func (s *Server) refuseCode(
	w http.ResponseWriter, r *http.Request, found *paymentPage, code string, status int, fault string,
) {
	found.WrongCode, found.CodeFault = code, found.lang.Say(fault)
	s.formAgain(w, r, status, found)
}

// codeFault is the key of the text that a customer reads about a code that is refused.
func codeFault(code string) string {
	switch code {
	case "resource_missing":
		return "invalid_code"
	case "rate_limit":
		return "too_many_codes"
	case "coupon_expired":
		return "expired_code"
	case "promotion_code_customer_not_first_time":
		return "first_order_code"
	}
	return "unusable_code"
}

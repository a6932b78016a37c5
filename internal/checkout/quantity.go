package checkout

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/api"
)

// wrongQuantity is a quantity that was rejected.
type wrongQuantity struct {
	item, quantity, fault string
}

// line is an item as the page draws it.
type line struct {
	item
	Adjust *adjuster // nil: the customer cannot change the quantity
}

// adjuster is the form that changes the quantity of an item. Its button for one less removes an item whose minimum is
// 0, but not the only one.
type adjuster struct {
	Action         string
	Minimum, Most  int64
	Quantity       string // as it is typed
	Fault          string
	Fewest, AtMost bool // no step further
}

func (s *paymentPage) lines() (all []line) {
	for _, item := range s.LineItems {
		all = append(all, line{item, s.adjuster(item)})
	}
	return all
}

func (s *paymentPage) adjuster(of item) *adjuster {
	if of.AdjustableQuantity == nil || s.State() != open {
		return nil
	}
	a := adjuster{
		Action:   s.Path() + "/quantity",
		Minimum:  of.AdjustableQuantity.Minimum,
		Most:     of.AdjustableQuantity.Maximum,
		Quantity: strconv.FormatInt(of.Quantity, 10),
	}
	if s.isOnly(of) {
		a.Minimum = max(a.Minimum, 1)
	}
	a.Fewest, a.AtMost = of.Quantity <= a.Minimum, of.Quantity >= a.Most
	if s.wrong.item == of.ID {
		a.Quantity, a.Fault = s.wrong.quantity, s.lang.Say(s.wrong.fault, "least", a.Minimum, "most", a.Most)
	}
	return &a
}

// isOnly says that the customer has removed all other items.
func (s *paymentPage) isOnly(of item) bool {
	for _, other := range s.LineItems {
		if other.ID != of.ID && other.Quantity > 0 {
			return false
		}
	}
	return true
}

// Adjusts says that a folded line has a quantity that the customer can change.
func (s *paymentPage) Adjusts() bool {
	for _, folded := range s.Folded() {
		if folded.Adjust != nil {
			return true
		}
	}
	return false
}

// quantity changes the quantity of an item. The form is answered with the page, from which the page's module takes the
// new totals.
func (s *Server) quantity(w http.ResponseWriter, r *http.Request) {
	found := s.posted(w, r)
	if found == nil {
		return
	}
	typed := strings.TrimSpace(r.PostFormValue("quantity"))
	wanted, err := strconv.ParseInt(typed, 10, 32)
	if step, _ := strconv.ParseInt(r.PostFormValue("step"), 10, 32); err == nil {
		typed = strconv.FormatInt(wanted+step, 10)
	}
	found.wrong = wrongQuantity{r.PostFormValue("line_item"), typed, "wrong_quantity"}
	if err != nil {
		found.wrong.quantity = "" // which may be a card number
		s.formAgain(w, r, http.StatusUnprocessableEntity, found)
		return
	}
	a, err := s.ask(r, found, api.InternalRequest{
		Method: http.MethodPost,
		Path:   "/v1/payment_pages/" + found.ID,
		Form: url.Values{
			"updated_line_item_quantity[line_item_id]": {found.wrong.item},
			"updated_line_item_quantity[quantity]":     {typed},
		},
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	refusal := a.Refusal()
	if refusal == nil || a.Status != http.StatusBadRequest || found.State() != open {
		http.Redirect(w, r, found.Path(), http.StatusSeeOther) // the page shows the present total
		return
	}
	if refusal.Param == "promotion_code" { // whose minimum the order no longer reaches
		found.wrong.fault = "unusable_code"
	}
	s.formAgain(w, r, a.Status, found)
}

package checkout

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"

	"github.com/ratchet-pay/ratchet/web"
)

// formPage is the page with the form.
type formPage struct {
	*paymentPage
	Kept
	Faults     Faults
	Message    string // why it was not paid
	Unknown    bool   // whether it was is not known
	Countries  []country
	Cards      []cardGroup
	BankFaults []bankFault
	PID        int // of this process, in a demo; otherwise 0
	Crashes    []crash
	Crash      *crash // which the buyer came to see; nil: none
	BankFault  string // that is chosen
}

// input is a field as it is drawn.
type input struct {
	Name, Label, Type, Mode, Autocomplete, Placeholder string
	Aria                                               string // what it is called where the label says too little
	Required                                           bool

	Value, Fault string
	Fixed        bool
}

var inputs = map[string]input{
	"email": {Label: "Email", Type: "email", Mode: "email", Autocomplete: "email", Required: true},
	"cardNumber": {
		Label:        "Card number",
		Type:         "text",
		Mode:         "numeric",
		Autocomplete: "cc-number",
		Placeholder:  "1234 1234 1234 1234",
		Aria:         "Card number",
		Required:     true,
	},
	"cardExpiry": {
		Label:        "Expiry",
		Type:         "text",
		Mode:         "numeric",
		Autocomplete: "cc-exp",
		Placeholder:  "MM / YY",
		Aria:         "Expiry, month and year",
		Required:     true,
	},
	"cardCvc": {
		Label:        "Security code",
		Type:         "text",
		Mode:         "numeric",
		Autocomplete: "cc-csc",
		Placeholder:  "CVC",
		Aria:         "CVC",
		Required:     true,
	},
	"billingName":       {Label: "Name on card", Type: "text", Autocomplete: "cc-name", Required: true},
	"billingPostalCode": {Label: "ZIP or postal code", Type: "text", Autocomplete: "billing postal-code"},
	"billingAddressLine1": {
		Label:        "Street address",
		Type:         "text",
		Autocomplete: "billing address-line1",
		Required:     true,
	},
	"billingAddressLine2":       {Label: "Apartment or suite", Type: "text", Autocomplete: "billing address-line2"},
	"billingLocality":           {Label: "City", Type: "text", Autocomplete: "billing address-level2", Required: true},
	"billingAdministrativeArea": {Label: "State or province", Type: "text", Autocomplete: "billing address-level1"},
	"phoneNumber":               {Label: "Phone", Type: "tel", Mode: "tel", Autocomplete: "tel", Required: true},
}

// Field is a field with what was typed into it, if that is kept.
func (p formPage) Field(name string) input {
	in := inputs[name]
	in.Name, in.Fault, in.Fixed = name, p.Faults[name], name == "email" && p.CustomerEmail != ""
	in.Value = map[string]string{
		"email":                     p.Email,
		"cardExpiry":                p.Expiry,
		"billingName":               p.Name,
		"billingPostalCode":         p.PostalCode,
		"phoneNumber":               p.Phone,
		"billingAddressLine1":       p.Line1,
		"billingAddressLine2":       p.Line2,
		"billingLocality":           p.City,
		"billingAdministrativeArea": p.Region,
	}[name]
	return in
}

// Fault is what is wrong with a field, "" for nothing.
func (p formPage) Fault(field string) string { return p.Faults[field] }

// show renders the page of a session in its present state.
func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	found, err := s.find(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.allowFrame(w, found)
	switch found.State() {
	case open:
		s.form(w, r, http.StatusOK, found,
			formPage{Kept: Kept{Email: found.CustomerEmail, Country: "US"}, Message: found.Failure()})
	case processing:
		s.wait(w, r, found)
	case challenged:
		s.render(w, r, http.StatusOK, "checkout/bank", web.Page{Title: "Confirm with your bank", Data: found})
	case complete:
		s.render(w, r, http.StatusOK, "checkout/receipt", web.Page{Title: "Receipt", Data: found})
	default:
		s.render(w, r, http.StatusOK, "checkout/expired", web.Page{Title: "Expired", Data: found})
	}
}

func (s *Server) form(w http.ResponseWriter, r *http.Request, status int, found *paymentPage, p formPage) {
	p.paymentPage, p.Countries = found, allCountries
	if found.CustomerEmail != "" {
		p.Email = found.CustomerEmail
	}
	if !found.Livemode {
		p.Cards = cardGroups
	}
	if s.Demo {
		p.BankFaults, p.PID = injectable, os.Getpid()
	}
	if s.Supervisor != nil && found.Mode != "setup" {
		p.Crashes, p.Crash = crashes, crashOf(r.URL.Query().Get("crash"))
	}
	if p.Crash != nil {
		p.BankFault = slowest
	}
	s.render(w, r, status, "checkout/form", web.Page{Title: found.Verb(), Data: p})
}

// wait is the page while an attempt is under way.
func (s *Server) wait(w http.ResponseWriter, r *http.Request, found *paymentPage) {
	s.render(w, r, http.StatusOK, "checkout/wait", web.Page{Title: "Confirming your payment", Reload: 2, Data: found})
}

// done is the page to which customers come after they have paid, or from their bank. If they
// have paid, it sends them on to the shop. A page does that, because the content security
// policy forbids that the response to a form redirects to another origin.
func (s *Server) done(w http.ResponseWriter, r *http.Request) {
	found, err := s.find(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if found.State() != complete || found.Embedded() { // the page around the frame knows where to go
		http.Redirect(w, r, found.Path(), http.StatusSeeOther)
		return
	}
	w.Header().Set("Refresh", "0; url="+found.onward())
	s.render(w, r, http.StatusOK, "checkout/done", web.Page{Title: "Paid", Data: found})
}

// allowFrame lets the merchant's page show an embedded session. No other page of ours can be
// framed by another site.
func (s *Server) allowFrame(w http.ResponseWriter, found *paymentPage) {
	if found.Embedded() {
		web.Policy{Embedded: true}.Apply(w.Header())
	}
}

// frame is the page in a frame around the bank's page.
func (s *Server) frame(w http.ResponseWriter, r *http.Request) {
	found, err := s.find(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.allowFrame(w, found)
	s.Site.Render(w, r, http.StatusOK, "checkout/frame",
		web.Page{Title: "Confirm with your bank", Layout: "framed", Data: found})
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errNoSession) {
		s.render(w, r, http.StatusNotFound, "checkout/missing", web.Page{Title: "Checkout not found"})
		return
	}
	s.Log.Error("checkout", "path", r.URL.Path, "error", err)
	if wantsJSON(r) {
		http.Error(w, "not available", http.StatusServiceUnavailable)
		return
	}
	s.render(w, r, http.StatusServiceUnavailable, "checkout/away", web.Page{Title: "One moment", Reload: 5})
}

func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, name string, page web.Page) {
	page.Layout = "buyer"
	s.Site.Render(w, r, status, name, page)
}

func wantsJSON(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Accept"), "application/json")
}

// answer sends JSON, always as a success: that a card was declined is no fault of the page.
func answer(w http.ResponseWriter, t turn) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(t) // fails only if the client is gone
}

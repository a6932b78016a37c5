package checkout

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/locale"
	"github.com/ratchet-pay/ratchet/web"
)

// formPage is the page with the form.
type formPage struct {
	*paymentPage
	Kept
	Faults     Faults
	Message    string // why it was not paid
	Unknown    bool   // whether it was is not known
	Countries  []locale.Country
	Cards      []cardGroup
	BankFaults []bankFault
	PID        int // of this process, in a demo; otherwise 0
	Crashes    []crash
	Crash      *crash // which the buyer came to see; nil: none
	BankFault  string // that is chosen
}

// input is a field as it is drawn. Its texts are given by their keys.
type input struct {
	Name, Label, Type, Mode, Autocomplete, Placeholder string
	Aria                                               string // what it is called where the label says too little
	Required                                           bool

	Value, Fault string
	Fixed        bool
}

var inputs = map[string]input{
	"email": {Label: "email", Type: "email", Mode: "email", Autocomplete: "email", Required: true},
	"cardNumber": {
		Label:        "card_number",
		Type:         "text",
		Mode:         "numeric",
		Autocomplete: "cc-number",
		Placeholder:  "1234 1234 1234 1234",
		Aria:         "card_number",
		Required:     true,
	},
	"cardExpiry": {
		Label:        "expiry",
		Type:         "text",
		Mode:         "numeric",
		Autocomplete: "cc-exp",
		Placeholder:  "expiry_example",
		Aria:         "expiry_full",
		Required:     true,
	},
	"cardCvc": {
		Label:        "security_code",
		Type:         "text",
		Mode:         "numeric",
		Autocomplete: "cc-csc",
		Placeholder:  "cvc",
		Aria:         "security_code_cvc",
		Required:     true,
	},
	"billingName":       {Label: "name_on_card", Type: "text", Autocomplete: "cc-name", Required: true},
	"billingPostalCode": {Label: "zip_or_postal", Type: "text", Autocomplete: "billing postal-code"},
	"billingAddressLine1": {
		Label:        "street",
		Type:         "text",
		Autocomplete: "billing address-line1",
		Required:     true,
	},
	"billingAddressLine2":       {Label: "apartment", Type: "text", Autocomplete: "billing address-line2"},
	"billingLocality":           {Label: "city", Type: "text", Autocomplete: "billing address-level2", Required: true},
	"billingAdministrativeArea": {Label: "region", Type: "text", Autocomplete: "billing address-level1"},
	"phoneNumber":               {Label: "phone", Type: "tel", Mode: "tel", Autocomplete: "tel", Required: true},
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
	for _, text := range []*string{&in.Label, &in.Aria, &in.Placeholder} {
		if p.lang.Has(*text) {
			*text = p.lang.Say(*text)
		}
	}
	return in
}

// Words are the texts that web/static/pay.js needs.
func (p formPage) Words() string {
	return p.lang.JSON("bank_page", "check_details", "confirming", "connection_lost", "cvc", "four_digits",
		"incomplete_cvc", "incomplete_email", "incomplete_expiry", "incomplete_number", "incomplete_postal_code",
		"incomplete_zip", "invalid_number", "missing_city", "missing_name", "missing_phone", "missing_street",
		"past_expiry", "payment_failed", "postal_code", "processing", "still_confirming", "waiting_for_bank", "zip")
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
		page := formPage{Kept: Kept{Email: found.CustomerEmail, Country: homeOf(r, found)}}
		if r.FormValue("card") != "another" {
			page.Message = found.Failure()
		}
		s.form(w, r, http.StatusOK, found, page)
	case processing:
		s.wait(w, r, found)
	case challenged:
		s.render(w, r, http.StatusOK, "checkout/bank",
			web.Page{Title: found.lang.Say("confirm_with_bank"), Data: found})
	case complete:
		s.render(w, r, http.StatusOK, "checkout/receipt", web.Page{Title: found.lang.Say("receipt"), Data: found})
	default:
		s.render(w, r, http.StatusOK, "checkout/expired", web.Page{Title: found.lang.Say("expired"), Data: found})
	}
}

func (s *Server) form(w http.ResponseWriter, r *http.Request, status int, found *paymentPage, p formPage) {
	p.paymentPage, p.Countries = found, found.lang.Countries
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

// formAgain shows the form after a change to the order that was rejected.
func (s *Server) formAgain(w http.ResponseWriter, r *http.Request, status int, found *paymentPage) {
	s.allowFrame(w, found)
	s.form(w, r, status, found, formPage{Kept: Kept{Email: found.CustomerEmail, Country: homeOf(r, found)}})
}

// wait is the page while an attempt is under way.
func (s *Server) wait(w http.ResponseWriter, r *http.Request, found *paymentPage) {
	s.render(w, r, http.StatusOK, "checkout/wait",
		web.Page{Title: found.lang.Say("title_confirming"), Reload: 2, Data: found})
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
	s.render(w, r, http.StatusOK, "checkout/done", web.Page{Title: found.lang.Say("paid"), Data: found})
}

// another ends a challenge without authentication, because its cardholder wants to pay with another card. The form that
// follows shows no error: nothing went wrong.
func (s *Server) another(w http.ResponseWriter, r *http.Request) {
	found := s.posted(w, r)
	if found == nil {
		return
	}
	if at, err := url.Parse(found.Challenge()); err == nil && found.State() == challenged {
		_, err = s.ask(r, found, api.InternalRequest{Method: http.MethodPost, Path: at.EscapedPath(),
			Form: url.Values{"result": {"fail"}}})
		if err != nil {
			s.fail(w, r, err)
			return
		}
	}
	http.Redirect(w, r, found.Path()+"?card=another", http.StatusSeeOther)
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
		web.Page{Title: found.lang.Say("confirm_with_bank"), Layout: "framed", Data: found, Language: found.lang})
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errNoSession) {
		s.render(w, r, http.StatusNotFound, "checkout/missing", web.Page{Title: langOf(r).Say("checkout_not_found")})
		return
	}
	s.Log.Error("checkout", "path", r.URL.Path, "error", err)
	if wantsJSON(r) {
		http.Error(w, "not available", http.StatusServiceUnavailable)
		return
	}
	s.render(w, r, http.StatusServiceUnavailable, "checkout/away",
		web.Page{Title: langOf(r).Say("one_moment"), Reload: 5})
}

func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, name string, page web.Page) {
	page.Layout = "buyer"
	switch data := page.Data.(type) {
	case *paymentPage:
		page.Language = data.lang
	case formPage:
		page.Language = data.lang
	}
	s.Site.Render(w, r, status, name, page)
}

// langOf is the language of a browser.
func langOf(r *http.Request) *locale.Language {
	return locale.Choose("", r.Header.Get("Accept-Language"))
}

// homeOf is the country that is chosen before the buyer chooses one.
func homeOf(r *http.Request, found *paymentPage) string {
	return cmp.Or(locale.Region(r.Header.Get("Accept-Language")), found.lang.Home)
}

func wantsJSON(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Accept"), "application/json")
}

// answer sends JSON, always as a success: that a card was declined is no fault of the page.
func answer(w http.ResponseWriter, t outcome) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(t) // fails only if the client is gone
}

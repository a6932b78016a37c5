package checkout

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/locale"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/session"
)

// paymentPage is a payment page as the API shows it.
type paymentPage struct {
	ID                       string
	Attempts                 int
	Mode                     string
	Status                   string
	Livemode                 bool
	AllowPromotionCodes      bool   `json:"allow_promotion_codes"`
	AmountSubtotal           int64  `json:"amount_subtotal"`
	AmountTotal              int64  `json:"amount_total"`
	BillingAddressCollection string `json:"billing_address_collection"`
	BusinessName             string `json:"business_name"`
	CancelURL                string `json:"cancel_url"`
	Card                     *struct{ Brand, Last4 string }
	Currency                 string
	CustomMessage            string `json:"custom_message"`
	CustomText               struct {
		AfterSubmit     *struct{ Message string } `json:"after_submit"`
		ShippingAddress *struct{ Message string } `json:"shipping_address"`
		Submit          *struct{ Message string }
		TermsOfService  *struct{ Message string } `json:"terms_of_service_acceptance"`
	} `json:"custom_text"`
	CustomerEmail string `json:"customer_email"`
	Discount      *struct {
		Amount        int64
		Name          string
		PromotionCode string `json:"promotion_code"`
	}
	ExpiresAt             int64                  `json:"expires_at"`
	LineItems             []item                 `json:"line_items"`
	PaymentIntent         *intent                `json:"payment_intent"`
	PaymentStatus         string                 `json:"payment_status"`
	PhoneNumberCollection struct{ Enabled bool } `json:"phone_number_collection"`
	SetupIntent           *intent                `json:"setup_intent"`
	ShippingOptions       []shippingOption       `json:"shipping_options"`
	ShippingRate          string                 `json:"shipping_rate"`
	SubmitType            string                 `json:"submit_type"`
	SuccessURL            string                 `json:"success_url"`
	UIMode                string                 `json:"ui_mode"`
	URL                   string
	Locale                string

	// The text in the field for a promotion code, and the reason why it was rejected.
	WrongCode, CodeFault string
	wrong                wrongQuantity

	visit *session.Visit
	lang  *locale.Language
}

type item struct {
	ID                 string
	AdjustableQuantity *struct{ Minimum, Maximum int64 } `json:"adjustable_quantity"`

	AmountSubtotal int64 `json:"amount_subtotal"` // without the discount, which the page shows on a separate line
	Currency       string
	Description    string
	Quantity       int64
	Price          struct {
		UnitAmount int64 `json:"unit_amount"`
	}
}

// intent is the payment's or the setup's: what this page needs of either.
type intent struct {
	ID         string
	Status     string
	Created    int64
	NextAction *struct {
		RedirectToURL struct{ URL string } `json:"redirect_to_url"`
		UseStripeSDK  struct {
			StripeJS string `json:"stripe_js"`
		} `json:"use_stripe_sdk"`
	} `json:"next_action"`
	LastPaymentError *failure `json:"last_payment_error"`
	LastSetupError   *failure `json:"last_setup_error"`
}

type failure struct {
	Code, Message string
	DeclineCode   string `json:"decline_code"`
}

// The states of the page.
const (
	open       = "open"       // the form
	processing = "processing" // an attempt is under way, and no other can begin
	challenged = "challenge"  // the bank wants to see the cardholder
	complete   = "complete"
	expired    = "expired"
)

// State is what the page shows: the session's status, or while that is open, how far the attempt to pay it is.
func (s *paymentPage) State() string {
	if s.Status != open {
		return s.Status
	}
	if in := s.Intent(); in != nil {
		switch {
		case in.Status == "processing":
			return processing
		case in.Status == "requires_action" && s.Challenge() != "":
			return challenged
		}
	}
	return open
}

// Intent is what is confirmed by Pay, nil as long as there is none.
func (s *paymentPage) Intent() *intent {
	if s.Mode == "setup" {
		return s.SetupIntent
	}
	return s.PaymentIntent
}

// Challenge is the path of the bank's page, "" if the bank wants nothing. It is
// taken without its host: the page is ours, wherever ours were found.
func (s *paymentPage) Challenge() string {
	in := s.Intent()
	if in == nil || in.NextAction == nil {
		return ""
	}
	address := in.NextAction.RedirectToURL.URL
	if address == "" {
		address = in.NextAction.UseStripeSDK.StripeJS
	}
	at, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(at.Path, payment.ChallengePath) {
		return ""
	}
	return at.Path
}

// Embedded says that the page is part of the merchant's page, in a frame.
func (s *paymentPage) Embedded() bool { return s.UIMode == "embedded_page" }

// Failure is why the last attempt came to nothing, "" if it did not.
func (s *paymentPage) Failure() string {
	in := s.Intent()
	switch {
	case in == nil:
		return ""
	case in.LastPaymentError != nil:
		return s.why(in.LastPaymentError)
	case in.LastSetupError != nil:
		return s.why(in.LastSetupError)
	}
	return ""
}

// why says in a buyer's words what the API says in a programmer's.
func (s *paymentPage) why(f *failure) string { return s.lang.Decline(f.Code, f.DeclineCode, f.Message) }

// Total is what is to be paid, as people write it; "" in mode setup.
func (s *paymentPage) Total() string {
	if s.Mode == "setup" {
		return ""
	}
	return s.lang.Money(s.AmountTotal, s.Currency)
}

// Verb is what the button says.
func (s *paymentPage) Verb() string {
	switch {
	case s.Mode == "setup":
		return s.lang.Say("save_card")
	case s.SubmitType == "book":
		return s.lang.Say("book_amount", "amount", s.Total())
	case s.SubmitType == "donate":
		return s.lang.Say("donate_amount", "amount", s.Total())
	}
	return s.lang.Say("pay_amount", "amount", s.Total())
}

// MoneyOff is what the discount takes off, as people write it.
func (s *paymentPage) MoneyOff() string { return s.lang.Money(-s.Discount.Amount, s.Currency) }

// Day is the day on which the intent was made, in UTC.
func (s *paymentPage) Day() time.Time { return time.Unix(s.Intent().Created, 0).UTC() }

// onward is the address in the shop, as a header can carry it.
func (s *paymentPage) onward() string {
	address, err := url.Parse(s.SuccessURL)
	if err != nil {
		return s.Path()
	}
	return address.String()
}

// Back is where a customer who has paid can go: "" if that is this page.
func (s *paymentPage) Back() string {
	if address, err := url.Parse(s.SuccessURL); err != nil || address.Path == s.Path() {
		return ""
	}
	return s.SuccessURL
}

// shownItems is how many lines are shown before the rest is folded away.
const shownItems = 4

// Shown are the lines that are always visible.
func (s *paymentPage) Shown() []line { return s.lines()[:min(len(s.LineItems), shownItems)] }

// Folded are the lines that the customer can unfold.
func (s *paymentPage) Folded() []line { return s.lines()[min(len(s.LineItems), shownItems):] }

// Path is the page's own address.
func (s *paymentPage) Path() string { return session.CheckoutPath + s.ID }

// key is the idempotency key of an attempt, counted from 0. Every tab and every
// reload makes the same one until an attempt has begun and has ended: so one that
// is sent twice is one, and so is one whose answer was lost.
func (s *paymentPage) key(attempt int) string { return fmt.Sprintf("checkout-%s-%d", s.ID, attempt+1) }

// Key is that of the attempt that a form being drawn would make.
func (s *paymentPage) Key() string { return s.key(s.Attempts) }

// errNoSession says that an address belongs to no session.
var errNoSession = errors.New("checkout session not found")

// actor is who the audit trail names for what a customer does on the page.
const actor = "checkout"

var sessionShape = regexp.MustCompile(`^cs_(test|live)_[0-9A-Za-z]+$`)

// find reads the session that an address names.
func (s *Server) find(r *http.Request) (*paymentPage, error) {
	if !sessionShape.MatchString(r.PathValue("session")) {
		return nil, errNoSession
	}
	visit, err := session.FindVisit(r.Context(), s.DB, r.PathValue("session"))
	if err != nil {
		return nil, err
	}
	if visit == nil {
		return nil, errNoSession
	}
	return s.read(r, &paymentPage{ID: r.PathValue("session"), visit: visit})
}

// read asks the API for the present state of a session.
func (s *Server) read(r *http.Request, known *paymentPage) (*paymentPage, error) {
	a, err := s.ask(r, known, api.InternalRequest{
		Method: http.MethodGet,
		Path:   "/v1/payment_pages/" + url.PathEscape(known.ID),
	})
	if err != nil {
		return nil, err
	}
	if refusal := a.Refusal(); refusal != nil {
		return nil, refusal
	}
	found := &paymentPage{visit: known.visit}
	if err := json.Unmarshal(a.Body.Bytes(), found); err != nil {
		return nil, fmt.Errorf("read the payment page: %w", err)
	}
	found.lang = locale.Choose(found.Locale, r.Header.Get("Accept-Language"))
	return found, nil
}

// ask sends a request to the API with a customer's rights: those of a publishable key.
func (s *Server) ask(r *http.Request, of *paymentPage, in api.InternalRequest) (*api.InternalResponse, error) {
	in.Credential = &apikey.Credential{
		KeyID:     actor,
		AccountID: of.visit.AccountID,
		Livemode:  of.visit.Livemode,
		Kind:      apikey.Publishable,
		Merchant:  of.visit.Merchant,
	}
	return in.Do(s.API, r)
}

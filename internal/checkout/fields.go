package checkout

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// submission is what the customer typed. A page that is rendered again shows Kept; it never
// shows the number or the security code.
type submission struct {
	Kept
	number, cvc string
}

// Kept are the fields that keep what was typed into them.
type Kept struct {
	Rate                                            string // the shipping option
	Email, Expiry, Name, Country, PostalCode, Phone string
	Line1, Line2, City, Region                      string // where the merchant wants the whole address
}

// Faults are what is wrong with fields, by their names.
type Faults map[string]string

// holdsNumber finds a card number in a field that is for something else.
func holdsNumber(text string) bool { return testcard.IsNumber(text) || testcard.Mentions(text) }

func read(r *http.Request) submission {
	field := func(name string) string {
		text := strings.TrimSpace(r.PostFormValue(name))
		if name != "cardNumber" && holdsNumber(text) {
			return "" // a number that slipped into another field is not drawn again either
		}
		return text
	}
	return submission{
		Kept: Kept{
			Rate:       field("shipping"),
			Email:      field("email"),
			Expiry:     field("cardExpiry"),
			Name:       field("billingName"),
			Country:    field("billingCountry"),
			PostalCode: field("billingPostalCode"),
			Phone:      field("phoneNumber"),
			Line1:      field("billingAddressLine1"),
			Line2:      field("billingAddressLine2"),
			City:       field("billingLocality"),
			Region:     field("billingAdministrativeArea"),
		},
		number: field("cardNumber"), cvc: field("cardCvc"),
	}
}

// check is what is wrong, in the page's language. What a card is and whether it is good is
// not decided here.
func (t *submission) check(s *paymentPage, now time.Time) Faults {
	faults := t.faults(s, now)
	for field, fault := range faults {
		faults[field] = s.lang.Say(fault)
	}
	return faults
}

// faults are the same, by the keys of their texts. web/static/card.js has the same ones.
func (t *submission) faults(s *paymentPage, now time.Time) Faults {
	faults := Faults{}
	wants := func(name, value, fault string) {
		if value == "" {
			faults[name] = fault
		}
	}
	if name, host, _ := strings.Cut(t.Email, "@"); s.CustomerEmail == "" &&
		(name == "" || host == "" || strings.ContainsAny(t.Email, " <>")) {
		faults["email"] = "incomplete_email"
	}
	digits := strings.NewReplacer(" ", "", "-", "").Replace(t.number)
	switch {
	case len(digits) < 12:
		faults["cardNumber"] = "incomplete_number"
	case !testcard.IsNumber(digits):
		faults["cardNumber"] = "invalid_number"
	}
	switch month, year, ok := expiry(t.Expiry); {
	case !ok:
		faults["cardExpiry"] = "incomplete_expiry"
	case year < now.Year() || year == now.Year() && month < int(now.Month()):
		faults["cardExpiry"] = "past_expiry"
	}
	if len(t.cvc) < 3 {
		faults["cardCvc"] = "incomplete_cvc"
	}
	wants("billingName", t.Name, "missing_name")
	if !s.lang.HasCountry(t.Country) {
		faults["billingCountry"] = "missing_country"
	}
	switch t.Country {
	case "US":
		if !zipCode.MatchString(t.PostalCode) {
			faults["billingPostalCode"] = "incomplete_zip"
		}
	case "GB", "CA":
		wants("billingPostalCode", t.PostalCode, "incomplete_postal_code")
	}
	if s.BillingAddressCollection == "required" {
		wants("billingAddressLine1", t.Line1, "missing_street")
		wants("billingLocality", t.City, "missing_city")
	}
	if s.PhoneNumberCollection.Enabled {
		wants("phoneNumber", t.Phone, "missing_phone")
	}
	return faults
}

// zipCode has five digits, or nine.
var zipCode = regexp.MustCompile(`^[0-9]{5}([- ]?[0-9]{4})?$`)

// expiry reads a month and a year as people write them: 1/27, 01 / 27, 0127, 01-2027.
func expiry(text string) (month, year int, ok bool) {
	m, y, cut := strings.Cut(strings.NewReplacer(" ", "", "-", "/", ".", "/").Replace(text), "/")
	if !cut && len(m) >= 3 {
		at := 2 - len(m)%2 // 127 and 12027 begin with a month of one digit
		m, y = m[:at], m[at:]
	}
	month, errM := strconv.Atoi(m)
	year, errY := strconv.Atoi(y)
	if len(y) == 2 {
		year += 2000
	}
	return month, year, errM == nil && errY == nil && (len(y) == 2 || len(y) == 4) && month >= 1 && month <= 12
}

// form is what the API is sent to confirm with.
func (t *submission) form(s *paymentPage, back string) url.Values {
	month, year, _ := expiry(t.Expiry)
	form := url.Values{"return_url": {back}}
	set := func(name, value string) {
		if value != "" {
			form.Set(name, value)
		}
	}
	if s.Mode == "payment" {
		set("expected_amount", strconv.FormatInt(s.AmountTotal, 10))
		set("shipping_rate", s.ShippingRate)
	}
	set("email", t.Email)
	const method, billing = "payment_method_data", "payment_method_data[billing_details]"
	set(method+"[type]", "card")
	set(method+"[card][number]", t.number)
	set(method+"[card][exp_month]", strconv.Itoa(month))
	set(method+"[card][exp_year]", strconv.Itoa(year))
	set(method+"[card][cvc]", t.cvc)
	set(billing+"[email]", t.Email)
	set(billing+"[name]", t.Name)
	set(billing+"[phone]", t.Phone)
	set(billing+"[address][country]", t.Country)
	set(billing+"[address][postal_code]", t.PostalCode)
	set(billing+"[address][line1]", t.Line1)
	set(billing+"[address][line2]", t.Line2)
	set(billing+"[address][city]", t.City)
	set(billing+"[address][state]", t.Region)
	return form
}

// fieldOf is the field of the page that a parameter of the API comes from, "" for none.
func fieldOf(param string) string {
	for ending, field := range map[string]string{
		"number":      "cardNumber",
		"exp_month":   "cardExpiry",
		"exp_year":    "cardExpiry",
		"cvc":         "cardCvc",
		"email":       "email",
		"name":        "billingName",
		"phone":       "phoneNumber",
		"country":     "billingCountry",
		"postal_code": "billingPostalCode",
	} {
		if param == ending || strings.HasSuffix(param, "["+ending+"]") {
			return field
		}
	}
	return ""
}

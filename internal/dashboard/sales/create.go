package sales

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// creation is a form that creates an object with one request to the API.
type creation struct {
	Name   string // in the form's address
	Title  string
	Lead   string
	Icon   string
	Verb   string // on the button
	here   string // the page's entry in the navigation
	path   string // of the API
	fields []formField
	// params are what the API is sent. wrong says what is missing or unreadable.
	params func(typed url.Values) (params url.Values, wrong fault)
}

// fault is what is wrong with a form, and the field that it is about: "" for none in particular.
type fault struct{ Field, Text string }

// formField is a field of such a form.
type formField struct {
	Name, Label, Hint, Placeholder, Type string // the type of an input; "select", "area"
	Required                             bool
	Options                              []option // of a select, or what an input suggests
	Value                                string
	Invalid                              bool // what the form complains of
}

type option struct{ Value, Text string }

var (
	amountField      = formField{Name: "amount", Label: "Amount", Type: "amount", Placeholder: "20.00", Required: true}
	currencyField    = formField{Name: "currency", Label: "Currency", Type: "select", Options: currencyOptions()}
	descriptionField = formField{Name: "description", Label: "Description", Type: "text"}
	customerField    = formField{
		Name:        "customer",
		Label:       "Customer",
		Type:        "text",
		Placeholder: "Email or cus_…",
		Hint:        "Type a name to see the latest customers. The email or the ID of any customer works, too.",
	}

	// A line sells a product at one of its prices, or an item that is written down here.
	priceField = formField{
		Name:        "price",
		Label:       "Product",
		Type:        "text",
		Placeholder: "price_…",
		Hint:        "Type a name to see your products. Or leave this empty, and enter an item and its unit price.",
	}
	itemField      = formField{Name: "name", Label: "Item", Type: "text", Placeholder: "T-shirt"}
	unitPriceField = formField{Name: "amount", Label: "Unit price", Type: "amount", Placeholder: "20.00"}
)

// creations are what the menu New offers, in its order.
var creations = []creation{
	{
		Name:  "payment",
		Title: "New payment",
		Lead:  "Charge a test card now.",
		Icon:  "card",
		Verb:  "Create payment",
		here:  "payments",
		path:  "/v1/payment_intents",
		fields: []formField{amountField, currencyField,
			{
				Name:  "card",
				Label: "Test card",
				Type:  "select",
				Options: []option{{"visa", "Visa, succeeds"}, {"mastercard", "Mastercard, succeeds"},
					{"amex", "American Express, succeeds"},
					{"createDispute", "Visa, disputed after payment"}, {"chargeDeclined", "Visa, declined"},
					{"chargeDeclinedInsufficientFunds", "Visa, insufficient funds"}},
			},
			{
				Name:    "capture_method",
				Label:   "Capture",
				Type:    "select",
				Options: []option{{"automatic", "Now"}, {"manual", "Later (hold the amount)"}},
			},
			descriptionField, customerField},
		params: func(typed url.Values) (url.Values, fault) {
			params, wrong := withAmount(typed, "amount", "capture_method", "description", "customer")
			params.Set("payment_method", "pm_card_"+typed.Get("card"))
			params.Set("payment_method_types[]", "card")
			params.Set("confirm", "true")
			amount, unreadable := parseAmount(typed.Get("amount"), typed.Get("currency"))
			if text := tooFine(amount, typed.Get("currency")); unreadable == "" && text != "" {
				wrong = fault{"amount", text}
			}
			return params, wrong
		},
	},
	{
		Name:  "link",
		Title: "New checkout link",
		Lead:  "Create a checkout session and share its link. It can be paid once.",
		Icon:  "cart",
		Verb:  "Create link",
		here:  "checkout",
		path:  "/v1/checkout/sessions",
		fields: []formField{priceField, itemField, unitPriceField, currencyField,
			{Name: "quantity", Label: "Quantity", Type: "number", Value: "1", Required: true},
			{Name: "customer_email", Label: "Customer email", Type: "email"},
			{
				Name:     "success_url",
				Label:    "Success URL",
				Type:     "url",
				Required: true,
				Hint:     "Customers return here after paying.",
			}},
		params: linkParams,
	},
	{
		Name:  "payment-link",
		Title: "New payment link",
		Lead:  "Share one link with any number of customers.",
		Icon:  "link",
		Verb:  "Create payment link",
		here:  "links",
		path:  "/v1/payment_links",
		fields: []formField{priceField, itemField, unitPriceField, currencyField,
			{Name: "quantity", Label: "Quantity", Type: "number", Value: "1", Required: true},
			{
				Name:  "redirect",
				Label: "Confirmation page URL",
				Type:  "url",
				Hint:  "Customers go here after paying. If empty, they see a receipt.",
			}},
		params: paymentLinkParams,
	},
	{
		Name:  "customer",
		Title: "New customer",
		Lead:  "Save a customer to see all their payments in one place.",
		Icon:  "people",
		Verb:  "Create customer",
		here:  "customers",
		path:  "/v1/customers",
		fields: []formField{{Name: "name", Label: "Name", Type: "text"},
			{Name: "email", Label: "Email", Type: "email"}, {Name: "phone", Label: "Phone", Type: "tel"},
			descriptionField},
		params: func(typed url.Values) (url.Values, fault) {
			return kept(typed, "name", "email", "phone", "description"), fault{}
		},
	},
	{
		Name:  "product",
		Title: "New product",
		Lead:  "A product with its first price.",
		Icon:  "box",
		Verb:  "Create product",
		here:  "products",
		path:  "/v1/products",
		fields: []formField{{Name: "name", Label: "Name", Type: "text", Required: true}, descriptionField,
			{Name: "amount", Label: "Price", Type: "amount", Placeholder: "20.00", Required: true}, currencyField},
		params: func(typed url.Values) (url.Values, fault) {
			params := kept(typed, "name", "description")
			price, wrong := withAmount(typed, "unit_amount")
			for name := range price {
				params.Set("default_price_data["+name+"]", price.Get(name))
			}
			return params, wrong
		},
	},
	{
		Name:  "payout",
		Title: "New payout",
		Lead:  "Send available money to the merchant’s bank. It leaves your balance immediately.",
		Icon:  "bank",
		Verb:  "Create payout",
		here:  "payouts",
		path:  "/v1/payouts",
		fields: []formField{amountField, currencyField,
			{
				Name:    "method",
				Label:   "Speed",
				Type:    "select",
				Options: []option{{"standard", "Standard"}, {"instant", "Instant"}},
			}, descriptionField},
		params: func(typed url.Values) (url.Values, fault) {
			return withAmount(typed, "amount", "method", "description")
		},
	},
}

// paymentLinkParams are those of a payment link with one line.
func paymentLinkParams(typed url.Values) (params url.Values, wrong fault) {
	params = url.Values{}
	if address := typed.Get("redirect"); address != "" {
		params.Set("after_completion[type]", "redirect")
		params.Set("after_completion[redirect][url]", address)
	}
	return withLine(params, typed)
}

// linkParams are those of a checkout session with one line.
func linkParams(typed url.Values) (params url.Values, wrong fault) {
	params = kept(typed, "customer_email", "success_url")
	params.Set("mode", "payment")
	return withLine(params, typed)
}

// withLine adds the line that is sold: at a price there is, or at a new one.
func withLine(params, typed url.Values) (with url.Values, wrong fault) {
	const line = "line_items[0]"
	params.Set(line+"[quantity]", typed.Get("quantity"))
	if price := typed.Get("price"); price != "" {
		params.Set(line+"[price]", price)
		return params, fault{}
	}
	if typed.Get("name") == "" {
		return params, fault{"name", "Choose a product, or enter an item and its unit price."}
	}
	item, wrong := withAmount(typed, "unit_amount")
	for name := range item {
		params.Set(line+"[price_data]["+name+"]", item.Get(name))
	}
	params.Set(line+"[price_data][product_data][name]", typed.Get("name"))
	return params, wrong
}

// kept are those of the fields that are not empty, under their own names.
func kept(typed url.Values, names ...string) url.Values {
	params := url.Values{}
	for _, name := range names {
		if text := typed.Get(name); text != "" {
			params.Set(name, text)
		}
	}
	return params
}

// withAmount also takes the amount and its currency, and calls the amount as the API does.
func withAmount(typed url.Values, as string, names ...string) (params url.Values, wrong fault) {
	params = kept(typed, append(names, "currency")...)
	amount, unreadable := parseAmount(typed.Get("amount"), typed.Get("currency"))
	if unreadable != "" {
		return params, fault{"amount", unreadable}
	}
	params.Set(as, strconv.FormatInt(amount, 10))
	return params, fault{}
}

func currencyOptions() (all []option) {
	for _, code := range money.Currencies() {
		all = append(all, option{code, strings.ToUpper(code)})
	}
	return all
}

func creationOf(name string) *creation {
	at := slices.IndexFunc(creations, func(c creation) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	return &creations[at]
}

type creationPage struct {
	creation
	Fields []formField
	Key    string
	Scope  string // whose object it will be
	Wrong  fault
	Open   bool // the fate of the request is not known yet
}

// creations is the page with what can be created, for a screen without room for the menu.
func (s Pages) creations(r *http.Request) (*ui.Page, error) {
	return ui.Show("dashboard/create", web.Page{Title: "New", Here: "new", Data: creations}), nil
}

const selectCurrency = `SELECT default_currency AS code FROM accounts WHERE id = @account_id`

// creation shows an empty form. The address may fill fields in: a customer's page leads to a payment of theirs.
func (s Pages) creation(r *http.Request) (*ui.Page, error) {
	c := creationOf(r.PathValue("what"))
	if c == nil {
		return nil, ui.ErrNotFound
	}
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	currency, err := ui.Read[struct{ Code string }](r.Context(), s.Pool, selectCurrency,
		postgres.Args{"account_id": of.AccountID})
	if err != nil {
		return nil, err
	}
	typed := url.Values{}
	if len(currency) == 1 {
		typed.Set("currency", currency[0].Code)
	}
	if s.Shop {
		typed.Set("success_url", map[bool]string{true: "https", false: "http"}[s.HTTPS]+"://"+r.Host+"/shop")
	}
	for name, values := range r.URL.Query() {
		typed[name] = values
	}
	page := creationPage{creation: *c, Key: ui.NewIdempotencyKey(c.Name)}
	if page.fields, err = s.suggest(r, of, c); err != nil {
		return nil, err
	}
	return showCreation(http.StatusOK, of, page, typed)
}

func showCreation(
	status int, of ui.Scope, page creationPage, typed url.Values,
) (*ui.Page, error) {
	page.Scope = of.Value()
	for _, f := range page.fields {
		if typed.Has(f.Name) {
			f.Value = typed.Get(f.Name)
		}
		f.Invalid = page.Wrong.Text != "" && page.Wrong.Field == f.Name
		page.Fields = append(page.Fields, f)
	}
	return ui.ShowAs(status, "dashboard/creation",
		web.Page{Title: page.Title, Here: page.here, Scopes: of.All, Data: page}), nil
}

// postCreation sends the form to the API under the key that was made with the form:
// a second click, or a retry after a crash, finds the object that the first one created.
func (s Pages) postCreation(r *http.Request) (*ui.Page, error) {
	c := creationOf(r.PathValue("what"))
	if c == nil {
		return nil, ui.ErrNotFound
	}
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	typed, page := url.Values{}, creationPage{creation: *c, Key: r.PostFormValue("key")}
	if page.fields, err = s.suggest(r, of, c); err != nil {
		return nil, err
	}
	for _, f := range c.fields {
		typed.Set(f.Name, strings.TrimSpace(r.PostFormValue(f.Name)))
	}
	resolved, unknown := resolveProduct(page.fields, typed)
	params, wrong := c.params(resolved)
	if unknown.Text != "" {
		wrong = unknown
	}
	if r.PostFormValue("scope") != of.Value() {
		wrong.Text = "You switched accounts since you opened this form. Check the account, then submit again."
	}
	if wrong.Text == "" {
		if wrong, err = s.resolveCustomer(r, of, params); err != nil {
			return nil, err
		}
	}
	if wrong.Text != "" {
		page.Wrong = wrong
		return showCreation(http.StatusUnprocessableEntity, of, page, typed)
	}
	a, err := s.Call(r, of.AccountID, of.Livemode, http.MethodPost, c.path, page.Key, params)
	if err != nil {
		return nil, err
	}
	made := madeBy(a)
	page.Wrong, page.Open = faultOf(a, c.fields), a.Status >= http.StatusBadRequest && a.Open()
	switch {
	case made != "" && page.Wrong.Text != "" && !page.Open: // a card was declined: there is a payment all the same
		return ui.RedirectWithError(web.Href(made), page.Wrong.Text), nil
	case made != "" && page.Wrong.Text == "":
		return ui.RedirectWithNotice(web.Href(made), created(c.Name)), nil
	default:
		if !page.Open {
			page.Key = ui.NewIdempotencyKey(c.Name) // that answer was the last one to this key
		}
		return showCreation(a.Status, of, page, typed)
	}
}

// apiNames are the fields that the API calls by another name.
var apiNames = map[string]string{"unit_amount": "amount", "url": "redirect", "payment_method": "card"}

// lastName is the innermost name of a parameter: unit_amount in default_price_data[unit_amount].
var lastName = regexp.MustCompile(`\w+\]?$`)

// faultOf is what the API said against a form, and the field that holds the parameter it named.
func faultOf(a *api.InternalResponse, fields []formField) (wrong fault) {
	e := a.Refusal()
	if e == nil {
		return fault{}
	}
	name := strings.TrimSuffix(lastName.FindString(e.Param), "]")
	for _, f := range fields {
		if f.Name == name || f.Name == apiNames[name] {
			wrong.Field = f.Name
		}
	}
	wrong.Text = e.Message
	if e.Code == "balance_insufficient" { // the API's message is for who calls it
		wrong.Text = "Your available balance is lower than this amount. Enter a smaller amount."
	}
	return wrong
}

// created is what the object's page says of a new object.
func created(name string) string {
	return strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", " ") + " created."
}

// madeBy is the id of the object that an answer shows: itself, or the payment that an error is about.
func madeBy(a *api.InternalResponse) string {
	var shown struct {
		ID    string `json:"id"`
		Error struct {
			Intent struct {
				ID string `json:"id"`
			} `json:"payment_intent"`
		} `json:"error"`
	}
	if json.Unmarshal(a.Body.Bytes(), &shown) != nil {
		return ""
	}
	if shown.ID == "" {
		return shown.Error.Intent.ID
	}
	return shown.ID
}

package customer

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/text/language"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

func init() {
	resource.Register(resource.Kind{
		Object: "payment_method",
		Prefix: "pm",
		Table:  "payment_methods",
		Load:   resource.LoadWith[PaymentMethod](methodsByID),
		Fields: map[string][]string{
			"customer": {"customer"},
		},
	})
}

// PaymentMethod is a card that can be charged: once, or, kept with a customer,
// again and again.
type PaymentMethod struct {
	AccountID      string
	ID             string
	Livemode       bool
	RequestID      string
	CustomerID     *string
	Card           Card
	BillingDetails BillingDetails
	Metadata       map[string]string
	AllowRedisplay string
	SetUp          bool    // the cardholder has agreed to off-session payments
	SpentBy        *string // the request that used it up
	CreatedAt      time.Time
}

// BillingDetails identify the payer to the card's issuer.
type BillingDetails struct {
	Address resource.Address `json:"address"`
	Email   *string          `json:"email"`
	Name    *string          `json:"name"`
	Phone   *string          `json:"phone"`
	TaxID   *string          `json:"tax_id"`
}

// BillingDetailsParams are the details as they are sent: each part of them by
// itself, or empty to take it away.
type BillingDetailsParams struct {
	Address *resource.Address `json:"address,omitempty" form:"address,unset"`
	Email   *string           `json:"email,omitempty" form:"email,unset" max:"512"`
	Name    *string           `json:"name,omitempty" form:"name,unset" max:"5000"`
	Phone   *string           `json:"phone,omitempty" form:"phone,unset" max:"5000"`
	TaxID   *string           `json:"tax_id,omitempty" form:"tax_id" max:"5000"`
}

// changed returns the details with what was sent.
func (b BillingDetails) changed(sent *BillingDetailsParams) BillingDetails {
	if sent == nil {
		return b
	}
	switch {
	case sent.Address == nil:
	case resource.NilIfZero(sent.Address) == nil:
		b.Address = resource.Address{}
	default:
		b.Address = b.Address.Changed(*sent.Address)
	}
	b.Email, b.Name = resource.Patch(sent.Email, b.Email), resource.Patch(sent.Name, b.Name)
	b.Phone, b.TaxID = resource.Patch(sent.Phone, b.Phone), resource.Patch(sent.TaxID, b.TaxID)
	return b
}

// check refuses an unknown country, and a card number in a field that is kept and shown.
func (b *BillingDetailsParams) check(prefix string) error {
	if b == nil {
		return nil
	}
	if b.Email != nil && *b.Email != "" && !resource.LooksLikeEmail(*b.Email) {
		return apierror.Invalid(prefix+"[email]", "Invalid email address: %s", form.Quote(*b.Email)).
			WithCode("email_invalid")
	}
	if b.Address != nil && resource.Deref(b.Address.Country) != "" {
		country := *b.Address.Country
		region, err := language.ParseRegion(country)
		if err != nil || len(country) != 2 || !region.IsCountry() || region.Canonicalize() != region {
			return apierror.Invalid(prefix+"[address][country]", "Country '%s' is unknown. Try using a 2-character "+
				"alphanumeric country code instead, such as 'US', 'EG', or 'GB'. A full list of country codes is "+
				"available at https://en.wikipedia.org/wiki/ISO_3166-1_alpha-2#Officially_assigned_code_elements",
				apierror.Quote(country))
		}
	}
	for name, text := range map[string]*string{"name": b.Name, "phone": b.Phone, "tax_id": b.TaxID} {
		if text != nil && testcard.IsNumber(*text) {
			return apierror.Invalid(prefix+"["+name+"]", "A card number does not belong in this field.")
		}
	}
	return nil
}

// PaymentMethodObject is a payment method on the wire.
type PaymentMethodObject struct {
	ID              string            `json:"id"`
	Object          string            `json:"object"`
	AllowRedisplay  string            `json:"allow_redisplay"`
	BillingDetails  BillingDetails    `json:"billing_details"`
	Card            methodCard        `json:"card"`
	Created         int64             `json:"created"`
	Customer        *string           `json:"customer"`
	CustomerAccount *string           `json:"customer_account"`
	Livemode        bool              `json:"livemode"`
	Metadata        map[string]string `json:"metadata"`
	RadarOptions    struct{}          `json:"radar_options"`
	Type            string            `json:"type"`
}

type methodCard struct {
	Brand             string            `json:"brand"`
	Checks            CardChecks        `json:"checks"`
	Country           string            `json:"country"`
	DisplayBrand      string            `json:"display_brand"`
	ExpMonth          int64             `json:"exp_month"`
	ExpYear           int64             `json:"exp_year"`
	Fingerprint       string            `json:"fingerprint"`
	Funding           string            `json:"funding"`
	GeneratedFrom     *string           `json:"generated_from"`
	Last4             string            `json:"last4"`
	Networks          methodNetworks    `json:"networks"`
	RegulatedStatus   string            `json:"regulated_status"`
	ThreeDSecureUsage threeDSecureUsage `json:"three_d_secure_usage"`
	Wallet            *string           `json:"wallet"`
}

type methodNetworks struct {
	Available []string `json:"available"`
	Preferred *string  `json:"preferred"`
}

type threeDSecureUsage struct {
	Supported bool `json:"supported"`
}

// Render is the object as API responses show it, before anything in it is expanded.
func (m *PaymentMethod) Render() any { return m.object() }

func (m *PaymentMethod) object() PaymentMethodObject {
	card := m.Card
	return PaymentMethodObject{
		ID:             m.ID,
		Object:         "payment_method",
		AllowRedisplay: m.AllowRedisplay,
		BillingDetails: m.BillingDetails,
		Created:        resource.Unix(m.CreatedAt),
		Customer:       m.CustomerID,
		Livemode:       m.Livemode,
		Metadata:       m.Metadata,
		Type:           "card",
		Card: methodCard{
			Brand:             card.Brand,
			Country:           card.Country,
			DisplayBrand:      card.Brand,
			ExpMonth:          card.ExpMonth,
			ExpYear:           card.ExpYear,
			Checks:            m.Checks(),
			Fingerprint:       card.Fingerprint,
			Funding:           card.Funding,
			Last4:             card.Last4,
			Networks:          methodNetworks{Available: []string{card.Brand}},
			RegulatedStatus:   "unregulated",
			ThreeDSecureUsage: threeDSecureUsage{card.Supports3DS()},
		},
	}
}

// Checks are the results of the checks of address, postal code and CVC; nil for what was not sent.
func (m *PaymentMethod) Checks() CardChecks {
	address := m.BillingDetails.Address
	return CardChecks{unchecked(address.Line1), unchecked(address.PostalCode), m.Card.CVCCheck}
}

// Supports3DS says whether the card's issuer can be asked to authenticate.
func (c Card) Supports3DS() bool { return c.Vault != "amex_threeDSecureNotSupported" }

var (
	insertMethods = postgres.InsertRows[PaymentMethod]("payment_methods", `account_id, id, livemode, request_id,
		customer_id, card, billing_details, metadata, allow_redisplay, set_up, created_at`)

	updateMethods = postgres.UpdateRows[PaymentMethod]("payment_methods", `customer_id, card, billing_details,
		metadata, allow_redisplay, set_up, spent_by`, `true`)

	recordUse = postgres.UpdateRows[PaymentMethod]("payment_methods", `
		set_up = t.set_up OR m.set_up,
		spent_by = CASE WHEN t.customer_id IS NULL THEN coalesce(t.spent_by, m.spent_by) ELSE t.spent_by END,
		card = CASE WHEN m.card::json ->> 'cvc_check' IS NULL THEN t.card
		    ELSE (t.card::jsonb || jsonb_build_object('cvc_check', m.card::json -> 'cvc_check'))::json END`, `true`)
)

func (m *PaymentMethod) insert(tx *phase.Tx) { tx.Write(insertMethods, postgres.RowsOf(*m)) }

// update queues the UPDATE of all columns that can change. The caller has locked the method.
func (m *PaymentMethod) update(tx *phase.Tx) { tx.Write(updateMethods, postgres.RowsOf(*m)) }

// RecordUse queues what a payment or a setup changes about its method: the cardholder has agreed to more, the issuer
// has checked the security code, or, with SpentBy, the method is used up. It leaves alone what another request has
// changed since the method was read, and does not use up a method that has got a customer.
func (m *PaymentMethod) RecordUse(tx *phase.Tx) {
	if !m.isCard() {
		tx.Write(recordUse, postgres.RowsOf(*m))
		return
	}
	const recordUseOfCard = `
		UPDATE cards
		SET card = (card::jsonb || jsonb_strip_nulls(jsonb_build_object(
		        'set_up', CASE WHEN @set_up THEN true END, 'cvc_check', @cvc_check::text)))::json
		WHERE account_id = @account_id AND id = @id AND deleted_at IS NULL`
	tx.Write(recordUseOfCard, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": m.ID, "set_up": m.SetUp,
		"cvc_check": m.Card.CVCCheck})
}

// isCard says whether the method is a customer's card, card_…, which is a payment method of
// that ID, too: merchants who moved from charges to intents still have such IDs.
func (m *PaymentMethod) isCard() bool { return strings.HasPrefix(m.ID, "card_") }

// refuseCard refuses a change that a card has its own address for.
func (m *PaymentMethod) refuseCard(method string) *apierror.Error {
	if !m.isCard() {
		return nil
	}
	return apierror.Invalid("payment_method", "%s is a card, and can be changed only at "+
		"its own URL: %s /v1/customers/%s/sources/%s.", m.ID, method, resource.Deref(m.CustomerID), m.ID)
}

const selectMethods = `
	SELECT account_id, id, livemode, request_id, customer_id, card, billing_details, metadata, allow_redisplay, set_up,
	       spent_by, created_at
	FROM payment_methods
	WHERE account_id = @account_id AND livemode = @livemode`

// selectCardMethods selects customers' cards as payment methods.
const selectCardMethods = `
	SELECT account_id, id, livemode, request_id, customer_id, card,
	       json_build_object('name', card -> 'name', 'address', json_build_object(
	           'city', card -> 'address_city', 'country', card -> 'address_country', 'line1', card -> 'address_line1',
	           'line2', card -> 'address_line2', 'postal_code', card -> 'address_zip',
	           'state', card -> 'address_state')) AS billing_details,
	       metadata, 'unspecified' AS allow_redisplay, card ->> 'set_up' IS NOT NULL AS set_up, NULL AS spent_by,
	       created_at
	FROM cards
	WHERE account_id = @account_id AND livemode = @livemode AND deleted_at IS NULL`

const (
	// MethodByID selects one payment method (@id) of an account and mode, or no row.
	MethodByID  = selectMethods + ` AND id = @id UNION ALL` + selectCardMethods + ` AND id = @id`
	methodsByID = selectMethods + ` AND id = ANY (@ids::text[]) UNION ALL` +
		selectCardMethods + ` AND id = ANY (@ids::text[])`
	lockMethod = selectMethods + ` AND id = @id FOR NO KEY UPDATE`

	// Stripe lists the methods of customers, and no others.
	methodFilters = ` AND customer_id IS NOT NULL AND (@customer_id::text IS NULL OR customer_id = @customer_id)
	AND (@allow_redisplay::text IS NULL OR allow_redisplay = @allow_redisplay)`
	listMethods          = selectMethods + methodFilters + resource.NewestFirst
	listMethodsBackwards = selectMethods + methodFilters + resource.OldestFirst
)

// NoSuchMethod is the error for a payment method that was not found, in Stripe's words. status makes it a 404 or a 400:
// apierror.NotFound where the path names the method, apierror.NoSuch where a parameter does.
func NoSuchMethod(status func(object, param, id string) *apierror.Error, id string) *apierror.Error {
	e := status("PaymentMethod", "payment_method", id)
	e.Message += "; It's possible this PaymentMethod exists on one of your connected accounts, in which case you " +
		"should retry this request on that connected account. Learn more at " +
		"https://stripe.com/docs/connect/authentication"
	return e
}

// LockMethod reads a method for a change and keeps others from changing it.
func LockMethod(ctx context.Context, tx *phase.Tx, id string) (*PaymentMethod, error) {
	v, read := resource.PrincipalOf(tx.Caller), lockMethod
	if strings.HasPrefix(id, "card_") {
		if _, err := resource.Get[CustomerCard](ctx, tx, lockCard, v, id); err != nil {
			return nil, err
		}
		read = MethodByID
	}
	method, err := resource.Get[PaymentMethod](ctx, tx, read, v, id)
	if err != nil {
		return nil, err
	}
	if method == nil {
		return nil, NoSuchMethod(apierror.NotFound, id)
	}
	return method, nil
}

// LockToUse locks the method that an attempt of customer is about to use, or has used. refused says why the method
// cannot be used any more: another request has detached it, used it up, or deleted the card. A deleted card is nil.
func LockToUse(
	ctx context.Context, tx *phase.Tx, id, customer string,
) (method *PaymentMethod, refused *apierror.Error, err error) {
	method, err = LockMethod(ctx, tx, id)
	if errors.As(err, &refused) {
		return nil, NoSuchMethod(apierror.NoSuch, id), nil
	}
	if err != nil {
		return nil, nil, err
	}
	return method, method.RefuseUse(customer), nil
}

func methodExists(ctx context.Context, db phase.Reader, v resource.Principal, id string) error {
	method, err := resource.Get[PaymentMethod](ctx, db, MethodByID, v, id)
	if err != nil {
		return err
	}
	if method == nil {
		return NoSuchMethod(apierror.NotFound, id)
	}
	return nil
}

// MagicMethod makes a new method of the test card a magic id such as
// pm_card_visa names: every use of one is another method. nil if there is
// none of that name. The caller inserts it.
func MagicMethod(name string, caller phase.Caller, cardKey []byte, at time.Time) (*PaymentMethod, error) {
	known, is, err := magicCard(testcard.ByMethod, name, caller.Livemode)
	if !is {
		return nil, err
	}
	card := fromTestCard(known, cardKey)
	card.ExpMonth, card.ExpYear = testcard.Expiry(at)
	return newMethod(caller, card, at), nil
}

func newMethod(caller phase.Caller, card Card, at time.Time) *PaymentMethod {
	return &PaymentMethod{
		AccountID:      caller.AccountID,
		ID:             id.New("pm", at),
		Livemode:       caller.Livemode,
		RequestID:      caller.RequestID,
		Card:           card,
		Metadata:       map[string]string{},
		AllowRedisplay: "unspecified",
		CreatedAt:      at,
	}
}

// RetrievePaymentMethod answers GET /v1/payment_methods/{payment_method}, except for a
// magic id: RetrieveTestCard.
func RetrievePaymentMethod(
	ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve,
) (any, error) {
	method, err := resource.Get[PaymentMethod](ctx, db, MethodByID, v, in.ID)
	if err != nil {
		return nil, err
	}
	if method == nil {
		return nil, NoSuchMethod(apierror.NotFound, in.ID)
	}
	return resource.Expand(ctx, db, v, in.Expand, method.Render())
}

// ListPaymentMethodsParams are the parameters of GET /v1/payment_methods.
type ListPaymentMethodsParams struct {
	resource.Pages
	Customer       *string `form:"customer" max:"5000"`
	Type           string  `form:"type" enum:"card"`
	AllowRedisplay *string `form:"allow_redisplay" enum:"always,limited,unspecified"`
}

// ListPaymentMethods answers GET /v1/payment_methods: what customers have left here.
func ListPaymentMethods(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListPaymentMethodsParams,
) (any, error) {
	if in.Customer != nil {
		if err := CustomerExists(ctx, db, v, *in.Customer); err != nil {
			return nil, resource.AsParam(err, "customer")
		}
	}
	return resource.ListPage[PaymentMethod](ctx, db, v, in.List(),
		methodListing("/v1/payment_methods", in.Customer, in.AllowRedisplay))
}

func methodListing(url string, customer, allowRedisplay *string) resource.Listing {
	return resource.Listing{
		URL: url, Object: "payment_method", Newest: listMethods, Oldest: listMethodsBackwards, ByID: MethodByID,
		Filters: pgx.StrictNamedArgs{"customer_id": customer, "allow_redisplay": allowRedisplay},
	}
}

// ListCustomerPaymentMethodsParams are those of GET /v1/customers/{customer}/payment_methods.
type ListCustomerPaymentMethodsParams struct {
	resource.Pages
	Customer       string  `path:"customer" json:"-"`
	Type           string  `form:"type" enum:"card"`
	AllowRedisplay *string `form:"allow_redisplay" enum:"always,limited,unspecified"`
}

// ListCustomerPaymentMethods answers GET /v1/customers/{customer}/payment_methods.
func ListCustomerPaymentMethods(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListCustomerPaymentMethodsParams,
) (any, error) {
	if err := CustomerExists(ctx, db, v, in.Customer); err != nil {
		return nil, err
	}
	url := "/v1/customers/" + in.Customer + "/payment_methods"
	return resource.ListPage[PaymentMethod](ctx, db, v, in.List(), methodListing(url, &in.Customer, in.AllowRedisplay))
}

// RetrieveCustomerPaymentMethodParams are those of GET /v1/customers/{customer}/payment_methods/{payment_method}.
type RetrieveCustomerPaymentMethodParams struct {
	resource.Retrieve
	Customer string `path:"customer" json:"-"`
}

// RetrieveCustomerPaymentMethod answers GET /v1/customers/{customer}/payment_methods/{payment_method}.
func RetrieveCustomerPaymentMethod(
	ctx context.Context, db phase.Reader, v resource.Principal, in RetrieveCustomerPaymentMethodParams,
) (any, error) {
	if err := CustomerExists(ctx, db, v, in.Customer); err != nil {
		return nil, err
	}
	method, err := resource.Get[PaymentMethod](ctx, db, MethodByID, v, in.ID)
	if err != nil {
		return nil, err
	}
	if method == nil {
		return nil, NoSuchMethod(apierror.NotFound, in.ID)
	}
	if method.CustomerID == nil || *method.CustomerID != in.Customer {
		e := apierror.NotFound("payment_method", "customer", in.ID)
		e.Code, e.DocURL = "", ""
		e.Message = "The PaymentMethod " + method.ID + " is not attached to the customer " + in.Customer + "."
		return nil, e
	}
	return resource.Expand(ctx, db, v, in.Expand, method.Render())
}

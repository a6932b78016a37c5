package session

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{
		Object: "payment_link",
		Prefix: "plink",
		Table:  "payment_links",
		Load:   resource.LoadWith[PaymentLink](linksByID),
		Fields: map[string][]string{
			"line_items": {"item"}, "application": nil, "on_behalf_of": nil,
		},
		Lists: map[string]resource.Lister{"line_items": itemsOfLinks},
	})
}

// PaymentLink is an address that sells the same items to every customer who opens it. Each
// visit opens a new checkout session.
type PaymentLink struct {
	AccountID string
	ID        string
	Livemode  bool
	RequestID string
	Active    bool
	Currency  string
	URL       string
	Metadata  map[string]string // copied to each session
	Options   LinkOptions
	CreatedAt time.Time
}

// LinkOptions are what the merchant wants of the sessions that a link opens.
type LinkOptions struct {
	AllowPromotionCodes      bool               `json:"allow_promotion_codes"`
	BillingAddressCollection string             `json:"billing_address_collection"`
	CollectPhoneNumber       bool               `json:"collect_phone_number"`
	CustomMessage            *string            `json:"custom_message"` // on the receipt, if there is no RedirectURL
	CustomText               CustomText         `json:"custom_text"`
	CustomerCreation         string             `json:"customer_creation"`
	InactiveMessage          *string            `json:"inactive_message"`
	PaymentIntent            *PaymentIntentData `json:"payment_intent,omitempty"`
	PaymentMethodTypes       []string           `json:"payment_method_types,omitempty"`
	RedirectURL              *string            `json:"redirect_url"` // where the customer goes after paying
	SubmitType               string             `json:"submit_type"`
}

// PaymentLinkPath comes before a link's ID in its address.
const PaymentLinkPath = "/buy/"

// PaymentLinkObject is a payment link on the wire. Fields of products Ratchet does not
// have are always null, or what Stripe sends where they are not used.
type PaymentLinkObject struct {
	ID                       string               `json:"id"`
	Object                   string               `json:"object"`
	Active                   bool                 `json:"active"`
	AfterCompletion          afterCompletion      `json:"after_completion"`
	AllowPromotionCodes      bool                 `json:"allow_promotion_codes"`
	Application              *string              `json:"application"`
	ApplicationFeeAmount     *int64               `json:"application_fee_amount"`
	ApplicationFeePercent    *float64             `json:"application_fee_percent"`
	AutomaticTax             linkTax              `json:"automatic_tax"`
	BillingAddressCollection string               `json:"billing_address_collection"`
	ConsentCollection        *string              `json:"consent_collection"`
	Currency                 string               `json:"currency"`
	CustomFields             []string             `json:"custom_fields"`
	CustomText               CustomText           `json:"custom_text"`
	CustomerCreation         string               `json:"customer_creation"`
	InactiveMessage          *string              `json:"inactive_message"`
	InvoiceCreation          invoiceCreation      `json:"invoice_creation"`
	LineItems                *resource.ListObject `json:"line_items,omitempty"`
	Livemode                 bool                 `json:"livemode"`
	ManagedPayments          *string              `json:"managed_payments"`
	Metadata                 map[string]string    `json:"metadata"`
	OnBehalfOf               *string              `json:"on_behalf_of"`
	PaymentIntentData        *linkIntent          `json:"payment_intent_data"`
	PaymentMethodCollection  string               `json:"payment_method_collection"`
	PaymentMethodOptions     *string              `json:"payment_method_options"`
	PaymentMethodTypes       []string             `json:"payment_method_types"`
	PhoneNumberCollection    enabled              `json:"phone_number_collection"`
	Restrictions             *string              `json:"restrictions"`
	ShippingAddresses        *string              `json:"shipping_address_collection"`
	ShippingOptions          []string             `json:"shipping_options"`
	SubmitType               string               `json:"submit_type"`
	SubscriptionData         *string              `json:"subscription_data"`
	TaxIDCollection          taxIDCollection      `json:"tax_id_collection"`
	TransferData             *string              `json:"transfer_data"`
	URL                      string               `json:"url"`
}

type linkTax struct {
	Enabled   bool    `json:"enabled"`
	Liability *string `json:"liability"`
}

type taxIDCollection struct {
	Enabled  bool   `json:"enabled"`
	Required string `json:"required"`
}

// afterCompletion is what a customer sees after paying.
type afterCompletion struct {
	Type               string              `json:"type"`
	HostedConfirmation *hostedConfirmation `json:"hosted_confirmation,omitempty"`
	Redirect           *redirect           `json:"redirect,omitempty"`
}

type hostedConfirmation struct {
	CustomMessage *string `json:"custom_message"`
}

type redirect struct {
	URL string `json:"url"`
}

type linkIntent struct {
	CaptureMethod             *string           `json:"capture_method"`
	Description               *string           `json:"description"`
	Metadata                  map[string]string `json:"metadata"`
	SetupFutureUsage          *string           `json:"setup_future_usage"`
	StatementDescriptor       *string           `json:"statement_descriptor"`
	StatementDescriptorSuffix *string           `json:"statement_descriptor_suffix"`
	TransferGroup             *string           `json:"transfer_group"`
}

// Render is the link as the API shows it to its merchant.
func (l *PaymentLink) Render() any { return l.object() }

func (l *PaymentLink) object() PaymentLinkObject {
	o := PaymentLinkObject{
		ID:                       l.ID,
		Object:                   "payment_link",
		Active:                   l.Active,
		AllowPromotionCodes:      l.Options.AllowPromotionCodes,
		BillingAddressCollection: l.Options.BillingAddressCollection,
		Currency:                 l.Currency,
		CustomFields:             []string{},
		CustomText:               l.Options.CustomText,
		CustomerCreation:         l.Options.CustomerCreation,
		InactiveMessage:          l.Options.InactiveMessage,
		InvoiceCreation:          invoiceCreation{Data: invoiceData{Metadata: map[string]string{}}},
		Livemode:                 l.Livemode,
		Metadata:                 l.Metadata,
		PaymentMethodCollection:  "if_required",
		PaymentMethodTypes:       l.Options.PaymentMethodTypes,
		PhoneNumberCollection:    enabled{l.Options.CollectPhoneNumber},
		ShippingOptions:          []string{},
		SubmitType:               l.Options.SubmitType,
		TaxIDCollection:          taxIDCollection{Required: "never"},
		URL:                      l.URL,
	}
	if l.Options.RedirectURL != nil {
		o.AfterCompletion = afterCompletion{Type: afterRedirect, Redirect: &redirect{*l.Options.RedirectURL}}
	} else {
		o.AfterCompletion = afterCompletion{Type: afterConfirmation,
			HostedConfirmation: &hostedConfirmation{l.Options.CustomMessage}}
	}
	if data := l.Options.PaymentIntent; data != nil {
		o.PaymentIntentData = &linkIntent{
			CaptureMethod:             resource.NilIfEmpty(data.CaptureMethod),
			Description:               data.Description,
			Metadata:                  map[string]string{},
			SetupFutureUsage:          data.SetupFutureUsage,
			StatementDescriptor:       data.StatementDescriptor,
			StatementDescriptorSuffix: data.StatementDescriptorSuffix,
			TransferGroup:             data.TransferGroup,
		}
		if data.Metadata.Set != nil {
			o.PaymentIntentData.Metadata = data.Metadata.Set
		}
	}
	return o
}

const linkColumns = `account_id, id, livemode, request_id, active, currency, url, metadata, options, created_at`

var (
	insertLinks = postgres.InsertRows[PaymentLink]("payment_links", linkColumns)
	updateLinks = postgres.UpdateRows[PaymentLink]("payment_links", `active, metadata, options`, `true`)
)

const selectLinks = `
	SELECT ` + linkColumns + `
	FROM payment_links
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	linkByID           = selectLinks + ` AND id = @id`
	linksByID          = selectLinks + ` AND id = ANY (@ids::text[])`
	lockLink           = linkByID + ` FOR NO KEY UPDATE`
	linkFilters        = ` AND (@active::boolean IS NULL OR active = @active)`
	listLinks          = selectLinks + linkFilters + resource.NewestFirst
	listLinksBackwards = selectLinks + linkFilters + resource.OldestFirst
)

// PaymentLinks are all payment links.
var PaymentLinks = resource.Collection[PaymentLink, *PaymentLink]{
	Object: "payment_link", Param: "payment_link", URL: "/v1/payment_links", Prefix: "plink",
	ByID: linkByID, Lock: lockLink, Newest: listLinks, Oldest: listLinksBackwards,
}

// ListPaymentLinksParams are the parameters of GET /v1/payment_links.
type ListPaymentLinksParams struct {
	resource.Pages
	Active *bool `form:"active"`
}

// ListPaymentLinks answers GET /v1/payment_links.
func ListPaymentLinks(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListPaymentLinksParams,
) (any, error) {
	return PaymentLinks.ListWith(ctx, db, v, in.List(), pgx.StrictNamedArgs{"active": in.Active})
}

// A link's items have the amounts that a session opened now would have.
const selectLinkItems = `
	SELECT account_id, id, session_id, livemode, description, quantity, quantity_minimum, quantity_maximum, amount,
	       discount, metadata, created_at, price_id, product_id, price_active, currency, unit_amount, lookup_key,
	       price_metadata, nickname, tax_behavior, price_created_at
	FROM (
		SELECT i.account_id, i.id, i.link_id AS session_id, i.livemode, o.name AS description, i.quantity,
		       i.quantity_minimum, i.quantity_maximum, p.unit_amount * i.quantity AS amount, 0::bigint AS discount,
		       '{}'::json AS metadata, i.created_at, i.price_id, p.product_id, p.active AS price_active,
		       p.currency, p.unit_amount, p.lookup_key, p.metadata AS price_metadata, p.nickname, p.tax_behavior,
		       p.created_at AS price_created_at
		FROM payment_link_items i
		JOIN prices p ON p.account_id = i.account_id AND p.id = i.price_id
		JOIN products o ON o.account_id = p.account_id AND o.id = p.product_id
	) AS item
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	linkItemByID           = selectLinkItems + ` AND id = @id`
	linkItemsOf            = selectLinkItems + ` AND session_id = @link_id`
	listLinkItems          = linkItemsOf + resource.NewestFirst
	listLinkItemsBackwards = linkItemsOf + resource.OldestFirst
	allLinkItems           = linkItemsOf + ` ORDER BY id DESC`
	firstLinkItemsOf       = `SELECT i.* FROM unnest(@parents::text[]) AS parent (id) CROSS JOIN LATERAL (` +
		selectLinkItems + ` AND session_id = parent.id ORDER BY id DESC LIMIT @limit) AS i ORDER BY i.id DESC`
)

// ListPaymentLinkItemsParams are the parameters of GET /v1/payment_links/{payment_link}/line_items.
type ListPaymentLinkItemsParams struct {
	resource.Pages
	Link string `path:"payment_link" json:"-"`
}

// ListPaymentLinkItems answers GET /v1/payment_links/{payment_link}/line_items, in the order in which they were given.
func ListPaymentLinkItems(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListPaymentLinkItemsParams,
) (any, error) {
	if _, err := PaymentLinks.Find(ctx, db, v, in.Link); err != nil {
		return nil, err
	}
	return resource.ListPage[CheckoutItem](ctx, db, v, in.List(), resource.Listing{
		URL: linkItemsURL(in.Link), Object: "item", Newest: listLinkItems, Oldest: listLinkItemsBackwards,
		ByID: linkItemByID, Filters: pgx.StrictNamedArgs{"link_id": in.Link},
	})
}

func linkItemsURL(link string) string { return "/v1/payment_links/" + link + "/line_items" }

// itemsOfLinks are the lists that links show when they are asked for.
func itemsOfLinks(
	ctx context.Context, db phase.Reader, v resource.Principal, links []string,
) (map[string]resource.ListObject, error) {
	return resource.ListInside(ctx, db, firstLinkItemsOf, v, links,
		func(i *CheckoutItem) string { return i.SessionID }, linkItemsURL)
}

// LinkVisit is whose payment link it is, and what its page says while it is inactive.
type LinkVisit struct {
	AccountID string
	Livemode  bool
	Active    bool
	Inactive  *string
	Business  string
	apirequest.Merchant
}

// A link is found without knowing whose it is: its ID is the key.
const linkVisitByID = `
	SELECT l.account_id, l.livemode, l.active, l.options->>'inactive_message' AS inactive, a.name AS business,
	       ` + resource.MerchantColumns + `, account_ahead(l.account_id, l.livemode) AS ahead
	FROM payment_links l JOIN accounts a ON a.id = l.account_id
	WHERE l.id = @id`

// FindLink reads which account a payment link belongs to; nil if it does not exist.
func FindLink(ctx context.Context, db phase.Reader, link string) (*LinkVisit, error) {
	return resource.QueryOne[LinkVisit](ctx, db, linkVisitByID, pgx.StrictNamedArgs{"id": link})
}

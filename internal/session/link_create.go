package session

import (
	"context"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// LinkParams are what both POST /v1/payment_links and POST /v1/payment_links/{payment_link} take.
type LinkParams struct {
	AfterCompletion          *AfterCompletionParam `form:"after_completion"`
	AllowPromotionCodes      *bool                 `form:"allow_promotion_codes"`
	BillingAddressCollection *string               `form:"billing_address_collection" enum:"auto,required"`
	CustomText               *CustomText           `form:"custom_text"`
	CustomerCreation         *string               `form:"customer_creation" enum:"always,if_required"`
	InactiveMessage          *string               `form:"inactive_message,unset" max:"500"`
	Metadata                 form.Metadata         `form:"metadata"`
	PaymentIntentData        *LinkIntentParam      `form:"payment_intent_data"`
	PaymentMethodTypes       *[]string             `form:"payment_method_types" enum:"card"`
	PhoneNumberCollection    *enabledParam         `form:"phone_number_collection"`
	SubmitType               *string               `form:"submit_type" enum:"auto,book,donate,pay"`
	Expand                   form.Expand           `form:"expand"`
}

// AfterCompletionParam says what a customer sees after paying.
type AfterCompletionParam struct {
	Type               string `form:"type,required" enum:"hosted_confirmation,redirect"`
	HostedConfirmation *struct {
		CustomMessage *string `form:"custom_message" max:"500"`
	} `form:"hosted_confirmation"`
	Redirect *struct {
		URL string `form:"url,required" max:"5000"`
	} `form:"redirect"`
}

const (
	afterConfirmation = "hosted_confirmation"
	afterRedirect     = "redirect"
)

// LinkIntentParam are what the payment intents of a link's sessions will have.
type LinkIntentParam struct {
	CaptureMethod             string        `form:"capture_method" enum:"automatic,automatic_async,manual"`
	Description               *string       `form:"description" max:"1000"`
	Metadata                  form.Metadata `form:"metadata"`
	SetupFutureUsage          *string       `form:"setup_future_usage" enum:"off_session,on_session"`
	StatementDescriptor       *string       `form:"statement_descriptor" max:"22"`
	StatementDescriptorSuffix *string       `form:"statement_descriptor_suffix" max:"22"`
	TransferGroup             *string       `form:"transfer_group" max:"5000"`
}

func (d *LinkIntentParam) data() *PaymentIntentData {
	if d == nil {
		return nil
	}
	return &PaymentIntentData{
		CaptureMethod:             d.CaptureMethod,
		Description:               d.Description,
		Metadata:                  d.Metadata,
		SetupFutureUsage:          d.SetupFutureUsage,
		StatementDescriptor:       d.StatementDescriptor,
		StatementDescriptorSuffix: d.StatementDescriptorSuffix,
		TransferGroup:             d.TransferGroup,
	}
}

func (in *LinkParams) check(ctx context.Context, db phase.Reader, caller phase.Check) error {
	if after := in.AfterCompletion; after != nil && after.Type == afterRedirect {
		if after.Redirect == nil {
			return apierror.Missing("after_completion[redirect]")
		}
		if !resource.IsWebAddress(after.Redirect.URL) {
			return apierror.Invalid("after_completion[redirect][url]", "Not a valid URL").WithCode("url_invalid")
		}
	}
	return in.PaymentIntentData.data().check(ctx, db, caller)
}

// apply changes what was sent and leaves the rest.
func (in *LinkParams) apply(l *PaymentLink) (err error) {
	o := &l.Options
	if after := in.AfterCompletion; after != nil {
		o.RedirectURL, o.CustomMessage = nil, nil
		if after.Type == afterRedirect {
			o.RedirectURL = &after.Redirect.URL
		} else if after.HostedConfirmation != nil {
			o.CustomMessage = after.HostedConfirmation.CustomMessage
		}
	}
	if in.AllowPromotionCodes != nil {
		o.AllowPromotionCodes = *in.AllowPromotionCodes
	}
	o.BillingAddressCollection = *resource.Patch(in.BillingAddressCollection, &o.BillingAddressCollection)
	o.CustomerCreation = *resource.Patch(in.CustomerCreation, &o.CustomerCreation)
	o.SubmitType = *resource.Patch(in.SubmitType, &o.SubmitType)
	o.InactiveMessage = resource.Patch(in.InactiveMessage, o.InactiveMessage)
	if in.PaymentIntentData != nil {
		o.PaymentIntent = in.PaymentIntentData.data()
	}
	if in.PaymentMethodTypes != nil {
		o.PaymentMethodTypes = append([]string(nil), *in.PaymentMethodTypes...) // nil if none is left
	}
	if in.PhoneNumberCollection != nil {
		o.CollectPhoneNumber = in.PhoneNumberCollection.Enabled
	}
	o.CustomText = o.CustomText.with(in.CustomText)
	l.Metadata, err = in.Metadata.Apply(l.Metadata)
	return err
}

// CreatePaymentLinkParams are what POST /v1/payment_links takes.
type CreatePaymentLinkParams struct {
	Currency  string         `form:"currency"`
	LineItems []LinkItemSent `form:"line_items" max:"20"`
	LinkParams

	Found []FoundItem // what LineItems stand for
}

// LinkItemSent is a line of what a link sells, as a caller says it.
type LinkItemSent struct {
	AdjustableQuantity *AdjustableQuantity `form:"adjustable_quantity"`
	Price              string              `form:"price" max:"5000"`
	PriceData          *PriceData          `form:"price_data"`
	Quantity           *int64              `form:"quantity,required" min:"1" max:"999999"`
}

const linkCreated = "payment_link_created"

// CreatePaymentLink makes an address at which anyone can buy the items.
//
//	(nothing) ──▶ payment_link_created
//	    claim + insert items and link + answer
var CreatePaymentLink = phase.Define("payment_link.create", 1,
	phase.Atomic(linkCreated, createLink),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *CreatePaymentLinkParams) error {
	if len(in.LineItems) == 0 {
		return apierror.Missing("line_items")
	}
	if _, err := in.Metadata.New(); err != nil {
		return err
	}
	if err := in.check(ctx, db, caller); err != nil {
		return err
	}
	session := CreateCheckoutSessionParams{Mode: modePayment, Currency: in.Currency, Offered: true}
	for _, item := range in.LineItems {
		session.LineItems = append(session.LineItems,
			LineItem{item.AdjustableQuantity, form.Metadata{}, item.Price, item.PriceData, item.Quantity})
	}
	if err := session.findItems(ctx, db, resource.PrincipalOfCheck(caller)); err != nil {
		return err
	}
	in.Currency, in.Found = session.Currency, session.Found
	return nil
})

// linkItem is a row of payment_link_items.
type linkItem struct {
	AccountID string
	ID        string
	LinkID    string
	Livemode  bool
	PriceID   string
	Quantity  int64
	CreatedAt time.Time

	QuantityMinimum, QuantityMaximum *int64
}

var insertLinkItems = postgres.InsertRows[linkItem]("payment_link_items",
	`account_id, id, link_id, livemode, price_id, quantity, quantity_minimum, quantity_maximum, created_at`)

func createLink(ctx context.Context, tx *phase.Tx, in CreatePaymentLinkParams, _ *struct{}) (phase.Outcome, error) {
	link := &PaymentLink{
		AccountID: tx.AccountID,
		ID:        id.New("plink", tx.Now()),
		Livemode:  tx.Livemode,
		RequestID: tx.RequestID,
		Active:    true,
		Currency:  in.Currency,
		Options:   LinkOptions{BillingAddressCollection: "auto", CustomerCreation: "if_required", SubmitType: "auto"},
		CreatedAt: tx.Now(),
	}
	link.URL = apirequest.Of(tx.Caller).BaseURL + PaymentLinkPath + link.ID
	if err := in.apply(link); err != nil {
		return phase.Outcome{}, err
	}
	items, products, err := sellItems(tx, in.Found, link.ID, true)
	if err != nil {
		return phase.Outcome{}, err
	}
	tx.Write(insertLinks, postgres.RowsOf(*link))
	for _, item := range items {
		tx.Write(insertLinkItems, postgres.RowsOf(linkItem{
			item.AccountID, item.ID, link.ID, item.Livemode, item.PriceID, item.Quantity, item.CreatedAt,
			item.QuantityMinimum, item.QuantityMaximum}))
	}
	event.Emit(tx, "payment_link.created", link.ID, link.Render(), nil)
	object := link.object()
	if expandsItems(in.Expand) {
		object.LineItems = firstItems(linkItemsURL(link.ID), items)
	}
	return resource.Reply(ctx, tx, in.Expand, link.ID, object, products...)
}

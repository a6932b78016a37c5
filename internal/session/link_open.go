package session

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// OpenPaymentLinkParams are what POST /v1/payment_links/{payment_link}/open takes: nothing.
type OpenPaymentLinkParams struct {
	ID string `path:"payment_link"`

	Session CreateCheckoutSessionParams // what the link asks for
}

const linkOpened = "payment_link_opened"

// OpenPaymentLink makes the checkout session of one visit. The link's page calls it.
//
//	(nothing) ──▶ payment_link_opened
//	    claim + insert items and session + answer
var OpenPaymentLink = phase.Define("payment_link.open", 1,
	phase.Atomic(linkOpened, func(
		ctx context.Context, tx *phase.Tx, in OpenPaymentLinkParams, state *struct{},
	) (phase.Outcome, error) {
		return createSession(ctx, tx, in.Session, state)
	}),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *OpenPaymentLinkParams) error {
	v := resource.PrincipalOfCheck(caller)
	link, err := PaymentLinks.Find(ctx, db, v, in.ID)
	if err != nil {
		return err
	}
	if !link.Active {
		return apierror.Invalid("payment_link", "This payment link is not active.")
	}
	args := v.Args()
	args["link_id"] = link.ID
	rows, err := db.Query(ctx, allLinkItems, args)
	if err != nil {
		return err
	}
	items, err := pgx.CollectRows(rows, pgx.RowToStructByName[CheckoutItem])
	if err != nil {
		return err
	}
	in.Session = link.session(items, apirequest.Of(caller.Caller).BaseURL)
	return checkSession(ctx, db, caller, &in.Session)
})

// session is what a visit to the link asks for. Without an address of the merchant's own, a customer who
// has paid goes to the session's page, which is the receipt.
func (l *PaymentLink) session(items []CheckoutItem, base string) CreateCheckoutSessionParams {
	o := l.Options
	in := CreateCheckoutSessionParams{
		AllowPromotionCodes:      &o.AllowPromotionCodes,
		BillingAddressCollection: &o.BillingAddressCollection,
		Currency:                 l.Currency,
		CustomText:               &o.CustomText,
		CustomerCreation:         o.CustomerCreation,
		Metadata:                 form.Metadata{Set: l.Metadata},
		Mode:                     modePayment,
		PaymentIntentData:        o.PaymentIntent,
		PhoneNumberCollection:    &enabledParam{o.CollectPhoneNumber},
		SubmitType:               &o.SubmitType,
		SuccessURL:               base + CheckoutPath + sessionIDPlaceholder,
		PaymentLink:              &l.ID,
		CustomMessage:            o.CustomMessage,
	}
	if o.RedirectURL != nil {
		in.SuccessURL = *o.RedirectURL
	}
	for _, item := range items {
		sold := LineItem{Price: item.PriceID, Quantity: &item.Quantity}
		if item.QuantityMinimum != nil {
			sold.AdjustableQuantity = &AdjustableQuantity{true, item.QuantityMaximum, item.QuantityMinimum}
		}
		in.LineItems = append(in.LineItems, sold)
	}
	return in
}

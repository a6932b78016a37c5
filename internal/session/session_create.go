package session

import (
	"context"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/setupintent"
)

// CreateCheckoutSessionParams are what POST /v1/checkout/sessions takes.
type CreateCheckoutSessionParams struct {
	AdaptivePricing          *adaptivePricing      `form:"adaptive_pricing"`
	AllowPromotionCodes      *bool                 `form:"allow_promotion_codes"`
	AutomaticTax             *enabledParam         `form:"automatic_tax"`
	BillingAddressCollection *string               `form:"billing_address_collection" enum:"auto,required"`
	CancelURL                *string               `form:"cancel_url" max:"5000"`
	ClientReferenceID        *string               `form:"client_reference_id" max:"200"`
	Currency                 string                `form:"currency"`
	CustomText               *CustomText           `form:"custom_text"`
	Customer                 string                `form:"customer" max:"5000"`
	CustomerCreation         string                `form:"customer_creation" enum:"always,if_required"`
	CustomerEmail            *string               `form:"customer_email" max:"800"`
	Discounts                []DiscountParam       `form:"discounts" max:"1"`
	ExpiresAt                *int64                `form:"expires_at" min:"0" max:"253402300799"`
	LineItems                []LineItem            `form:"line_items" max:"100"`
	Locale                   *string               `form:"locale" enum:"auto,bg,cs,da,de,el,en,en-GB,es,es-419,et,fi,fil,fr,fr-CA,hr,hu,id,it,ja,ko,lt,lv,ms,mt,nb,nl,pl,pt,pt-BR,ro,ru,sk,sl,sv,th,tr,vi,zh,zh-HK,zh-TW"`
	Metadata                 form.Metadata         `form:"metadata"`
	Mode                     string                `form:"mode" enum:"payment,setup,subscription"`
	PaymentIntentData        *PaymentIntentData    `form:"payment_intent_data"`
	PaymentMethodOptions     *CheckoutMethods      `form:"payment_method_options"`
	PaymentMethodTypes       []string              `form:"payment_method_types" enum:"card"`
	PhoneNumberCollection    *enabledParam         `form:"phone_number_collection"`
	SetupIntentData          *SetupIntentData      `form:"setup_intent_data"`
	RedirectOnCompletion     string                `form:"redirect_on_completion" enum:"always,if_required,never"`
	ReturnURL                string                `form:"return_url" max:"5000"`
	ShippingOptions          []ShippingOptionParam `form:"shipping_options" max:"5"`
	SubmitType               *string               `form:"submit_type" enum:"auto,book,donate,pay"`
	SuccessURL               string                `form:"success_url" max:"5000"`
	UIMode                   string                `form:"ui_mode" enum:"elements,embedded_page,hosted_page"`
	Expand                   form.Expand           `form:"expand"`

	Found       []FoundItem // what LineItems stand for
	FoundCoupon string      // the one in Discounts
	FoundCode   string      // the promotion code in Discounts
	FoundRates  []FoundRate // what ShippingOptions stand for

	PaymentLink   *string // the link that opens the session
	Offered       bool    // by a link that is created: no payment begins yet
	CustomMessage *string // on the receipt
}

// adaptivePricing is taken and shown. Nothing is converted: a session has one currency.
type adaptivePricing struct {
	Enabled bool `form:"enabled"`
}

type enabledParam struct {
	Enabled bool `form:"enabled,required"`
}

// CheckoutMethods are payment_method_options of a session.
type CheckoutMethods struct {
	Card *struct {
		RequestThreeDSecure string `form:"request_three_d_secure" enum:"any,automatic,challenge"`
	} `form:"card"`
}

// PaymentIntentData are what the intent of a session will have.
type PaymentIntentData struct {
	CaptureMethod             string             `form:"capture_method" enum:"automatic,automatic_async,manual"`
	Description               *string            `form:"description" max:"1000"`
	Metadata                  form.Metadata      `form:"metadata"`
	ReceiptEmail              *string            `form:"receipt_email" max:"800"`
	SetupFutureUsage          *string            `form:"setup_future_usage" enum:"off_session,on_session"`
	Shipping                  *resource.Shipping `form:"shipping"`
	StatementDescriptor       *string            `form:"statement_descriptor" max:"22"`
	StatementDescriptorSuffix *string            `form:"statement_descriptor_suffix" max:"22"`
	TransferGroup             *string            `form:"transfer_group" max:"5000"`
}

// SetupIntentData are what the setup of a session has.
type SetupIntentData struct {
	Description *string       `form:"description" max:"1000"`
	Metadata    form.Metadata `form:"metadata"`
}

const sessionCreated = "checkout_session_created"

// CreateCheckoutSession prepares a page on which a customer can pay.
//
//	(nothing) ──▶ checkout_session_created
//	    claim + insert items and session + answer
var CreateCheckoutSession = phase.Define("checkout_session.create", 1,
	phase.Atomic(sessionCreated, createSession),
).Check(checkSession)

func checkSession(ctx context.Context, db phase.Reader, caller phase.Check, in *CreateCheckoutSessionParams) error {
	if in.Mode == "" {
		in.Mode = modePayment
	}
	if err := in.refuseUnknownKinds(); err != nil {
		return err
	}
	if err := in.checkAddresses(); err != nil {
		return err
	}
	if err := in.checkExpiry(caller.At); err != nil {
		return err
	}
	if _, err := in.Metadata.New(); err != nil {
		return err
	}
	if err := in.checkCustomer(ctx, db, resource.PrincipalOfCheck(caller)); err != nil {
		return err
	}
	if err := in.PaymentIntentData.check(ctx, db, caller); err != nil {
		return err
	}
	if in.Mode == modeSetup {
		return nil
	}
	return in.findItems(ctx, db, resource.PrincipalOfCheck(caller))
}

// refuseUnknownKinds refuses what Stripe has and we do not, and what does not fit the mode.
func (in *CreateCheckoutSessionParams) refuseUnknownKinds() error {
	switch {
	case in.Mode == "subscription":
		return apierror.Invalid("mode", "This installation has no subscriptions. Use a `mode` of `payment` or `setup`.")
	case in.AutomaticTax != nil && in.AutomaticTax.Enabled:
		return apierror.Invalid("automatic_tax[enabled]", "This installation does not compute taxes.")
	case in.Mode == modeSetup && in.LineItems != nil:
		return apierror.Invalid("line_items", "You can not pass `line_items` in `setup` mode.")
	case in.Mode == modeSetup && in.PaymentIntentData != nil:
		return apierror.Invalid("payment_intent_data", "You can not pass `payment_intent_data` in `setup` mode.")
	case in.Mode == modeSetup && in.SubmitType != nil:
		return apierror.Invalid("submit_type", "You can not pass `submit_type` in `setup` mode.")
	case in.Mode == modeSetup && in.Discounts != nil:
		return apierror.Invalid("discounts", "You can not pass `discounts` in `setup` mode.")
	case in.Mode == modeSetup && in.ShippingOptions != nil:
		return apierror.Invalid("shipping_options", "You can not pass `shipping_options` in `setup` mode.")
	case in.Discounts != nil && in.AllowPromotionCodes != nil:
		return apierror.Invalid("", "You may only specify one of these parameters: allow_promotion_codes, discounts.").
			WithCode("parameters_exclusive")
	case in.Mode == modePayment && in.SetupIntentData != nil:
		return apierror.Invalid("setup_intent_data", "You can not pass `setup_intent_data` in `payment` mode.")
	case in.Mode == modePayment && len(in.LineItems) == 0:
		return apierror.Missing("line_items")
	}
	return nil
}

// checkAddresses verifies where a browser will be sent.
func (in *CreateCheckoutSessionParams) checkAddresses() error {
	check := in.checkHostedAddresses
	if !in.hosted() {
		check = in.checkReturnAddress
	}
	if err := check(); err != nil {
		return err
	}
	for param, address := range map[string]string{
		"success_url": in.SuccessURL,
		"cancel_url":  resource.Deref(in.CancelURL),
		"return_url":  in.ReturnURL,
	} {
		if address != "" && !resource.IsWebAddress(address) {
			return apierror.Invalid(param, "Not a valid URL").WithCode("url_invalid")
		}
	}
	return nil
}

// hosted says that the customer pays on our page, and not on the merchant's.
func (in *CreateCheckoutSessionParams) hosted() bool { return in.UIMode == "" || in.UIMode == uiHosted }

func (in *CreateCheckoutSessionParams) checkHostedAddresses() error {
	switch {
	case in.SuccessURL == "":
		return apierror.Missing("success_url")
	case in.ReturnURL != "":
		return apierror.Invalid("return_url", "`return_url` is for a `ui_mode` of `elements` or `embedded_page` only.")
	case in.RedirectOnCompletion != "":
		return apierror.Invalid("redirect_on_completion",
			"`redirect_on_completion` is for a `ui_mode` of `embedded_page` only.")
	}
	return nil
}

// checkReturnAddress is for a customer who is on the merchant's page already.
func (in *CreateCheckoutSessionParams) checkReturnAddress() error {
	never := in.RedirectOnCompletion == redirectNever
	switch {
	case in.SuccessURL != "":
		return apierror.Invalid("success_url",
			"`success_url` is for a `ui_mode` of `hosted_page` only. Use `return_url`.")
	case in.CancelURL != nil:
		return apierror.Invalid("cancel_url", "`cancel_url` is for a `ui_mode` of `hosted_page` only.")
	case in.RedirectOnCompletion != "" && in.UIMode != uiEmbedded:
		return apierror.Invalid("redirect_on_completion",
			"`redirect_on_completion` is for a `ui_mode` of `embedded_page` only.")
	case in.ReturnURL == "" && !never:
		return apierror.Missing("return_url")
	case in.ReturnURL != "" && never:
		return apierror.Invalid("return_url", "`return_url` cannot be used with a `redirect_on_completion` of `never`.")
	}
	return nil
}

// How long a session can be open, and what a client's clock may be off by.
const (
	shortestSession = 30 * time.Minute
	longestSession  = 24 * time.Hour
	clockTolerance  = time.Minute
)

func (in *CreateCheckoutSessionParams) checkExpiry(now time.Time) error {
	if in.ExpiresAt == nil {
		return nil
	}
	switch left := time.Unix(*in.ExpiresAt, 0).Sub(now); {
	case left < shortestSession-clockTolerance:
		return apierror.Invalid("expires_at",
			"The `expires_at` timestamp must be at least 30 minutes from Checkout Session creation.")
	case left > longestSession+clockTolerance:
		return apierror.Invalid("expires_at",
			"The `expires_at` timestamp must be less than 24 hours from Checkout Session creation.")
	}
	return nil
}

func (in *CreateCheckoutSessionParams) checkCustomer(ctx context.Context, db phase.Reader, v resource.Principal) error {
	if err := resource.CheckEmail("customer_email", in.CustomerEmail); err != nil || in.Customer == "" {
		return err
	}
	if in.CustomerEmail != nil {
		return apierror.Invalid("", "You may only specify one of these parameters: customer, customer_email.").
			WithCode("parameters_exclusive")
	}
	if in.CustomerCreation != "" {
		return apierror.Invalid("", "You may only specify one of these parameters: customer, customer_creation.").
			WithCode("parameters_exclusive")
	}
	return resource.AsParam(customer.CustomerExists(ctx, db, v, in.Customer), "customer")
}

// check refuses what would make the intent's creation fail later.
func (d *PaymentIntentData) check(ctx context.Context, db phase.Reader, caller phase.Check) error {
	if d == nil {
		return nil
	}
	if _, err := d.Metadata.New(); err != nil {
		return resource.WithinParam("payment_intent_data", err)
	}
	params := d.params()
	return resource.WithinParam("payment_intent_data", params.Check(ctx, db, caller))
}

// params are the same, as the creation of an intent takes them.
func (d *PaymentIntentData) params() payment.PaymentIntentParams {
	return payment.PaymentIntentParams{
		Description:               d.Description,
		ReceiptEmail:              d.ReceiptEmail,
		SetupFutureUsage:          d.SetupFutureUsage,
		Shipping:                  d.Shipping,
		StatementDescriptor:       d.StatementDescriptor,
		StatementDescriptorSuffix: d.StatementDescriptorSuffix,
		TransferGroup:             d.TransferGroup,
	}
}

func createSession(
	ctx context.Context, tx *phase.Tx, in CreateCheckoutSessionParams, _ *struct{},
) (phase.Outcome, error) {
	session, err := in.session(tx)
	if err != nil {
		return phase.Outcome{}, err
	}
	if session.Mode == modeSetup {
		setup, err := session.newSetup(tx)
		if err != nil {
			return phase.Outcome{}, err
		}
		session.insert(tx)
		return replyWithSession(ctx, tx, in.Expand, session, []CheckoutItem{}, setup)
	}
	rates, err := session.setTotal(tx, &in)
	if err != nil {
		return phase.Outcome{}, err
	}
	items, fresh, err := sellItems(tx, in.Found, session.ID, false)
	if err != nil {
		return phase.Outcome{}, err
	}
	fresh = append(fresh, rates...)
	if session.Options.IntentFromStart {
		intent, err := session.intent(ctx, tx)
		if err != nil {
			return phase.Outcome{}, err
		}
		session.PaymentIntentID = &intent.ID
		intent.Insert(tx)
		fresh = append(fresh, intent)
	}
	session.insert(tx)
	for i := range items {
		items[i].insert(tx)
	}
	return replyWithSession(ctx, tx, in.Expand, session, items, fresh...)
}

// sessionPrefix begins the IDs of a mode's sessions.
func sessionPrefix(livemode bool) string {
	if livemode {
		return "cs_live"
	}
	return "cs_test"
}

// session is the visit as it was asked for, without what is paid for in it.
func (in *CreateCheckoutSessionParams) session(tx *phase.Tx) (*CheckoutSession, error) {
	metadata, err := in.Metadata.Apply(nil)
	if err != nil {
		return nil, err
	}
	s := &CheckoutSession{
		AccountID:         tx.AccountID,
		ID:                id.New(sessionPrefix(tx.Livemode), tx.Now()),
		Livemode:          tx.Livemode,
		RequestID:         tx.RequestID,
		Mode:              in.Mode,
		Status:            sessionOpen,
		PaymentStatus:     sessionUnpaid,
		CustomerID:        resource.NilIfEmpty(in.Customer),
		CustomerEmail:     in.CustomerEmail,
		ClientReferenceID: in.ClientReferenceID,
		Metadata:          metadata,
		SuccessURL:        in.SuccessURL,
		CancelURL:         in.CancelURL,
		ExpiresAt:         tx.Now().Add(longestSession),
		CreatedAt:         tx.Now(),
		ShippingOptions:   []ShippingOption{},
		Options: CheckoutOptions{
			AllowPromotionCodes:      in.AllowPromotionCodes,
			BillingAddressCollection: in.BillingAddressCollection,
			CollectPhoneNumber:       in.PhoneNumberCollection != nil && in.PhoneNumberCollection.Enabled,
			Locale:                   in.Locale,
			SubmitType:               in.SubmitType,
			AdaptivePricing:          in.AdaptivePricing != nil && in.AdaptivePricing.Enabled,
			RequestThreeDSecure:      "automatic",
			PaymentIntent:            in.PaymentIntentData,
			SetupIntent:              in.SetupIntentData,
			PaymentLink:              in.PaymentLink,
			CustomMessage:            in.CustomMessage,
			CustomText:               CustomText{}.with(in.CustomText),
			IntentFromStart: in.Mode == modePayment &&
				apirequest.Of(tx.Caller).APIVersion.SessionsMakeIntents(),
		},
	}
	s.URL = apirequest.Of(tx.Caller).BaseURL + CheckoutPath + s.ID + pageFragment
	if in.ExpiresAt != nil {
		s.ExpiresAt = time.Unix(*in.ExpiresAt, 0)
	}
	if in.PaymentMethodOptions != nil && in.PaymentMethodOptions.Card != nil &&
		in.PaymentMethodOptions.Card.RequestThreeDSecure != "" {
		s.Options.RequestThreeDSecure = in.PaymentMethodOptions.Card.RequestThreeDSecure
	}
	if !in.hosted() {
		s.embed(in)
	}
	s.CustomerCreation = resource.NilIfEmpty(in.CustomerCreation)
	if s.Mode == modeSetup {
		s.PaymentStatus = nothingToPay
	} else if s.CustomerID == nil && s.CustomerCreation == nil {
		s.CustomerCreation = resource.NilIfEmpty("if_required")
	}
	return s, nil
}

// embed makes the session one that is paid on the merchant's page, whose script gets its secret.
func (s *CheckoutSession) embed(in *CreateCheckoutSessionParams) {
	s.SuccessURL = in.ReturnURL
	s.Options.UIMode, s.Options.RedirectOnCompletion = in.UIMode, in.RedirectOnCompletion
	if in.UIMode == uiEmbedded && in.RedirectOnCompletion == "" {
		s.Options.RedirectOnCompletion = "always"
	}
	s.Options.ClientSecret = s.ID + "_secret_" + id.Random(40)
}

// newSetup makes the setup that the session's customer will confirm.
func (s *CheckoutSession) newSetup(tx *phase.Tx) (*setupintent.SetupIntent, error) {
	in := setupintent.CreateSetupIntentParams{
		SetupIntentParams: setupintent.SetupIntentParams{
			Customer:           resource.Deref(s.CustomerID),
			PaymentMethodTypes: []string{"card"},
		},
	}
	if data := s.Options.SetupIntent; data != nil {
		in.Description, in.Metadata = data.Description, data.Metadata
	}
	setup, err := in.Setup(tx)
	if err != nil {
		return nil, err
	}
	setup.CheckoutSession, s.SetupIntentID = &s.ID, &setup.ID
	setup.Insert(tx)
	event.Emit(tx, "setup_intent.created", setup.ID, setup.Render(), nil)
	return setup, nil
}

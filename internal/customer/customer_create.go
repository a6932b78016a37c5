package customer

import (
	"context"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// CustomerParams are what a customer can be created or updated with.
type CustomerParams struct {
	Name                *string                    `form:"name,unset" max:"256"`
	Email               *string                    `form:"email,unset" max:"512"`
	Phone               *string                    `form:"phone,unset" max:"20"`
	Description         *string                    `form:"description,unset" max:"5000"`
	Address             *resource.Address          `form:"address,unset"`
	Shipping            *resource.CustomerShipping `form:"shipping,unset"`
	Metadata            form.Metadata              `form:"metadata"`
	Balance             *int64                     `form:"balance"`
	Source              SourceParam                `form:"source"`
	InvoicePrefix       string                     `form:"invoice_prefix" max:"12"`
	NextInvoiceSequence *int64                     `form:"next_invoice_sequence" min:"1"`
	InvoiceSettings     *InvoiceSettings           `form:"invoice_settings"`
	PreferredLocales    []string                   `form:"preferred_locales"`
	TaxExempt           *string                    `form:"tax_exempt,unset" enum:"exempt,none,reverse"`
	Expand              form.Expand                `form:"expand"`

	Found *PaymentSource // the card of Source
}

// CreateCustomerParams are what POST /v1/customers takes.
type CreateCustomerParams struct {
	CustomerParams
	TestClock     *string `form:"test_clock" max:"5000"`
	PaymentMethod string  `form:"payment_method" max:"5000"`
	TaxIDs        []TaxID `form:"tax_id_data"`

	Method *AttachPaymentMethodParams // the method to attach, from PaymentMethod
}

// TaxID is a customer's tax id. It is taken and not kept: there are no taxes.
type TaxID struct {
	Type  string `form:"type,required"`
	Value string `form:"value,required"`
}

// The recovery points of a new customer. The last two are for one who brings a
// card: a payment method, or a source.
const (
	customerCreated    = "customer_created"
	customerWithMethod = "customer_created_with_method"
)

// CreateCustomer is the simplest operation: one phase, one commit. A card that the
// customer is to keep is verified first, as when it is added later; if its issuer
// declines, there is no customer.
//
//	(nothing) ──▶ customer_created ──▶ payment_method_verified ──▶ customer_created_with_method
//	      claim + insert + answer   call, no tx open            insert, attach, answer
//	      without a card
var CreateCustomer = phase.Define("customer.create", 1,
	phase.Atomic(customerCreated, createCustomer),
	phase.Foreign(methodVerified, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], in CreateCustomerParams, s *attachState,
	) (err error) {
		card := s.Method.Card
		if in.Found != nil {
			card = in.Found.Card
		}
		s.Result, err = callIssuer(ctx, call, card)
		return err
	}),
	phase.Atomic(customerWithMethod, createCustomerWithMethod),
).Check(checkCustomer)

func checkCustomer(ctx context.Context, db phase.Reader, caller phase.Check, in *CreateCustomerParams) error {
	in.TaxIDs = nil
	if in.TestClock != nil {
		if err := onlyInTestMode(caller); err != nil {
			return err
		}
		_, err := findTestClock(ctx, db, testClockByID, resource.PrincipalOfCheck(caller), *in.TestClock)
		if err != nil {
			return resource.AsParam(err, "test_clock")
		}
	}
	if in.PaymentMethod != "" {
		if in.Source.Sent() {
			return apierror.Invalid("", "You may only specify one of these parameters: payment_method, source.").
				WithCode("parameters_exclusive")
		}
		in.Method = &AttachPaymentMethodParams{ID: in.PaymentMethod}
		if err := in.Method.find(ctx, db, caller); err != nil {
			return resource.AsParam(err, "payment_method")
		}
		settings := in.InvoiceSettings
		if settings != nil && resource.Deref(settings.DefaultPaymentMethod) == in.PaymentMethod {
			settings.DefaultPaymentMethod = &in.Method.ID
		}
	}
	return in.check(ctx, db, caller, "", in.Method)
}

// check verifies what a customer is given, and finds the card it names. customer
// is "" for one that does not exist yet, brings the method it will have.
func (in *CustomerParams) check(
	ctx context.Context, db phase.Reader, caller phase.Check, customer string, brings *AttachPaymentMethodParams,
) (err error) {
	if err := resource.CheckEmail("email", in.Email); err != nil {
		return err
	}
	if strings.Trim(in.InvoicePrefix, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		return apierror.Invalid("invoice_prefix",
			"Invoice prefixes must be between 1 and 12 characters and only contain uppercase letters and numbers.")
	}
	if _, err := in.Metadata.Apply(nil); err != nil {
		return err
	}
	if err := in.checkDefaultMethod(ctx, db, resource.PrincipalOfCheck(caller), customer, brings); err != nil {
		return err
	}
	if in.Source.Sent() {
		in.Found, err = SourceFrom(ctx, db, caller, &in.Source)
	}
	return err
}

// checkDefaultMethod refuses a default that is not attached to the customer.
func (in *CustomerParams) checkDefaultMethod(
	ctx context.Context, db phase.Reader, v resource.Principal, customer string, brings *AttachPaymentMethodParams,
) error {
	if in.InvoiceSettings == nil || resource.Deref(in.InvoiceSettings.DefaultPaymentMethod) == "" {
		return nil
	}
	name := *in.InvoiceSettings.DefaultPaymentMethod
	if brings != nil && brings.ID == name {
		return nil
	}
	method, err := resource.Get[PaymentMethod](ctx, db, MethodByID, v, name)
	if err != nil {
		return err
	}
	if method == nil || customer == "" || resource.Deref(method.CustomerID) != customer {
		return apierror.Invalid("invoice_settings[default_payment_method]",
			"The customer does not have a payment method with the ID %s. "+
				"The payment method must be attached to the customer.", form.Quote(name))
	}
	return nil
}

func createCustomer(ctx context.Context, tx *phase.Tx, in CreateCustomerParams, s *attachState) (phase.Outcome, error) {
	switch {
	case in.Method != nil:
		return in.Method.reserve(ctx, tx, s)
	case in.Found != nil:
		return phase.Next, in.Found.Consume(ctx, tx)
	}
	customer, cards, err := in.insert(ctx, tx, acquirer.Result{})
	if err != nil {
		return phase.Outcome{}, err
	}
	return replyWithCustomer(ctx, tx, in.Expand, customer, cards)
}

func createCustomerWithMethod(
	ctx context.Context, tx *phase.Tx, in CreateCustomerParams, s *attachState,
) (phase.Outcome, error) {
	if in.Found != nil {
		return createCustomerWithCard(ctx, tx, in, s.Result)
	}
	method, refused, err := s.verified(ctx, tx, "")
	switch {
	case err != nil:
		return phase.Outcome{}, err
	case refused != nil:
		return phase.Refuse(s.Method.ID, refused), nil
	}
	customer, cards, err := in.insert(ctx, tx, s.Result)
	if err != nil {
		return refuseLate(s.Method.ID, err)
	}
	method.Attach(tx, customer.ID)
	return replyWithCustomer(ctx, tx, in.Expand, customer, cards, method)
}

func createCustomerWithCard(
	ctx context.Context, tx *phase.Tx, in CreateCustomerParams, answer acquirer.Result,
) (phase.Outcome, error) {
	if !answer.Approved {
		return phase.Refuse("", CardError(answer)), nil
	}
	customer, cards, err := in.insert(ctx, tx, answer)
	if err != nil {
		return refuseLate("", err)
	}
	return replyWithCustomer(ctx, tx, in.Expand, customer, cards)
}

// insert makes the customer, and the card that comes with it, of which the issuer has answered.
func (in CreateCustomerParams) insert(
	ctx context.Context, tx *phase.Tx, answer acquirer.Result,
) (*Customer, []CustomerCard, error) {
	if in.TestClock != nil {
		if _, err := findTestClock(ctx, tx, lockTestClock, resource.PrincipalOf(tx.Caller), *in.TestClock); err != nil {
			return nil, nil, resource.AsParam(err, "test_clock") // it was deleted since we looked
		}
	}
	customer := &Customer{
		AccountID:           tx.AccountID,
		ID:                  id.New("cus", tx.Now()),
		Livemode:            tx.Livemode,
		RequestID:           tx.RequestID,
		TestClock:           in.TestClock,
		InvoicePrefix:       InvoicePrefix(),
		NextInvoiceSequence: 1,
		PreferredLocales:    []string{},
		TaxExempt:           "none",
		CreatedAt:           tx.Now(),
	}
	cards, err := customer.apply(tx, in.CustomerParams, answer)
	if err != nil {
		return nil, nil, err
	}
	customer.Insert(tx)
	for _, card := range cards {
		insertCustomerCard(tx, card)
		event.Emit(tx, "customer.source.created", card.ID, card.Render(), nil)
	}
	event.Emit(tx, "customer.created", customer.ID, customer.Render(), nil)
	return customer, cards, nil
}

func replyWithCustomer(
	ctx context.Context, tx *phase.Tx, paths form.Expand, customer *Customer, cards []CustomerCard,
	fresh ...resource.Renderer,
) (phase.Outcome, error) {
	for i := range cards {
		fresh = append(fresh, &cards[i])
	}
	return resource.Reply(ctx, tx, paths, customer.ID, customer.Render(), fresh...)
}

// apply changes the customer as the caller asked, and returns the card it got, of which
// the issuer has answered. It writes nothing.
func (c *Customer) apply(
	tx *phase.Tx, in CustomerParams, answer acquirer.Result,
) (cards []CustomerCard, err error) {
	c.Name, c.Email = resource.Patch(in.Name, c.Name), resource.Patch(in.Email, c.Email)
	c.Phone, c.Description = resource.Patch(in.Phone, c.Phone), resource.Patch(in.Description, c.Description)
	c.Metadata, err = in.Metadata.Apply(c.Metadata)
	if err != nil {
		return nil, err
	}
	if in.Address != nil {
		c.Address = resource.NilIfZero(in.Address)
	}
	if in.Shipping != nil {
		c.Shipping = resource.NilIfZero(in.Shipping)
	}
	if in.Balance != nil {
		c.Balance = *in.Balance
	}
	if in.InvoicePrefix != "" {
		c.InvoicePrefix = in.InvoicePrefix
	}
	if in.NextInvoiceSequence != nil {
		c.NextInvoiceSequence = *in.NextInvoiceSequence
	}
	if in.InvoiceSettings != nil {
		c.InvoiceSettings.apply(*in.InvoiceSettings)
	}
	if in.PreferredLocales != nil {
		c.PreferredLocales = in.PreferredLocales
	}
	if in.TaxExempt != nil {
		c.TaxExempt = *in.TaxExempt
		if c.TaxExempt == "" {
			c.TaxExempt = "none"
		}
	}
	if in.Found == nil {
		return nil, nil
	}
	return []CustomerCard{c.takeCard(tx, in.Found, answer)}, nil
}

// takeCard makes a card the customer's, and its default, with what its issuer answered.
// The caller inserts it.
func (c *Customer) takeCard(tx *phase.Tx, source *PaymentSource, answer acquirer.Result) CustomerCard {
	c.DefaultSource = &source.CardID
	card := CustomerCard{
		AccountID: tx.AccountID, ID: source.CardID, Livemode: tx.Livemode, RequestID: tx.RequestID, CustomerID: c.ID,
		Card: source.Card, Metadata: map[string]string{}, CreatedAt: tx.Now(),
	}
	card.Card.ApplyResult(answer)
	return card
}

func (s *InvoiceSettings) apply(sent InvoiceSettings) {
	if sent.CustomFields != nil {
		s.CustomFields = sent.CustomFields
	}
	if len(s.CustomFields) == 0 {
		s.CustomFields = nil // null again, as for a customer who never had one
	}
	s.Footer = resource.Patch(sent.Footer, s.Footer)
	s.DefaultPaymentMethod = resource.Patch(sent.DefaultPaymentMethod, s.DefaultPaymentMethod)
	if sent.RenderingOptions != nil {
		s.RenderingOptions = resource.NilIfZero(sent.RenderingOptions)
	}
}

// InvoicePrefix is eight random letters and digits. Stripe begins the numbers of a customer's invoices with them.
func InvoicePrefix() string { return strings.ToUpper(id.Random(8)) }

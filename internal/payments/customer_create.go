package payments

import (
	"context"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// CustomerParams are what a customer can be created or updated with.
type CustomerParams struct {
	Name                *string           `form:"name,unset" max:"256"`
	Email               *string           `form:"email,unset" max:"512"`
	Phone               *string           `form:"phone,unset" max:"20"`
	Description         *string           `form:"description,unset" max:"5000"`
	Address             *Address          `form:"address,unset"`
	Shipping            *CustomerShipping `form:"shipping,unset"`
	Metadata            form.Metadata     `form:"metadata"`
	Balance             *int64            `form:"balance"`
	Source              string            `form:"source"`
	InvoicePrefix       string            `form:"invoice_prefix" max:"12"`
	NextInvoiceSequence *int64            `form:"next_invoice_sequence" min:"1"`
	InvoiceSettings     *InvoiceSettings  `form:"invoice_settings"`
	PreferredLocales    []string          `form:"preferred_locales"`
	TaxExempt           *string           `form:"tax_exempt,unset" enum:"exempt,none,reverse"`
	Expand              form.Expand       `form:"expand"`

	Found *PaymentSource // what Source stands for
}

// CreateCustomerParams are what POST /v1/customers takes.
type CreateCustomerParams struct{ CustomerParams }

const customerCreated = "customer_created"

// CreateCustomer is the simplest operation: one phase, one commit.
//
//	(nothing) ──▶ customer_created
//	      claim + insert + answer
var CreateCustomer = phase.Define("customer.create", 1,
	phase.Atomic(customerCreated, createCustomer),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Caller, in *CreateCustomerParams) error {
	return in.check(ctx, db, caller, "")
})

// check verifies what a customer is given, and finds the card it names. customer
// is "" for one that does not exist yet.
func (in *CustomerParams) check(ctx context.Context, db phase.Reader, caller phase.Caller, customer string) (err error) {
	if err := checkEmail("email", in.Email); err != nil {
		return err
	}
	if _, err := in.Metadata.Apply(nil); err != nil {
		return err
	}
	if err := in.checkDefaultMethod(ctx, db, viewer(caller), customer); err != nil {
		return err
	}
	if in.Source != "" {
		in.Found, err = sourceFromToken(ctx, db, viewer(caller), "source", in.Source)
	}
	return err
}

// checkDefaultMethod refuses a default that is not attached to the customer.
func (in *CustomerParams) checkDefaultMethod(ctx context.Context, db phase.Reader, v Viewer, customer string) error {
	if in.InvoiceSettings == nil || deref(in.InvoiceSettings.DefaultPaymentMethod) == "" {
		return nil
	}
	name := *in.InvoiceSettings.DefaultPaymentMethod
	method, err := byID[PaymentMethod](ctx, db, methodByID, v, name)
	if err != nil {
		return err
	}
	if method == nil || customer == "" || deref(method.CustomerID) != customer {
		return apierror.Invalid("invoice_settings[default_payment_method]", "The customer does not have a payment method with the ID %s. "+
			"The payment method must be attached to the customer.", form.Quote(name))
	}
	return nil
}

func createCustomer(ctx context.Context, tx *phase.Tx, in CreateCustomerParams, _ *struct{}) (phase.Outcome, error) {
	customer := Customer{
		AccountID: tx.AccountID, ID: id.New("cus", tx.Now()), Livemode: tx.Livemode, RequestID: tx.RequestID,
		InvoicePrefix: invoicePrefix(), NextInvoiceSequence: 1, PreferredLocales: []string{}, TaxExempt: "none", CreatedAt: tx.Now(),
	}
	known, err := customer.apply(ctx, tx, in.CustomerParams)
	if err != nil {
		return phase.Outcome{}, err
	}
	customer.insert(tx)
	for _, card := range known {
		insertCustomerCard(tx, card)
		emit(tx, "customer.source.created", card.ID, card.wire(), nil)
	}
	emit(tx, "customer.created", customer.ID, customer.wire(), nil)
	return replyWithCustomer(ctx, tx, in.Expand, &customer, known)
}

func replyWithCustomer(ctx context.Context, tx *phase.Tx, paths form.Expand, customer *Customer, cards []CustomerCard) (phase.Outcome, error) {
	known := []any{customer.wire()}
	for _, card := range cards {
		known = append(known, card.wire())
	}
	body, err := expand(ctx, tx, viewer(tx.Caller), paths, customer.wire(), known...)
	if err != nil {
		return phase.Outcome{}, err
	}
	return phase.OK(customer.ID, body), nil
}

// apply changes the customer as the caller asked, and returns the card it got.
func (c *Customer) apply(ctx context.Context, tx *phase.Tx, in CustomerParams) (cards []CustomerCard, err error) {
	c.Name, c.Email = given(in.Name, c.Name), given(in.Email, c.Email)
	c.Phone, c.Description = given(in.Phone, c.Phone), given(in.Description, c.Description)
	c.Metadata, err = in.Metadata.Apply(c.Metadata)
	if err != nil {
		return nil, err
	}
	if in.Address != nil {
		c.Address = in.Address.orNull()
	}
	if in.Shipping != nil {
		c.Shipping = in.Shipping.orNull()
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
	card, err := c.takeCard(ctx, tx, in.Found)
	if err != nil {
		return nil, err
	}
	return []CustomerCard{card}, nil
}

// takeCard makes a card the customer's, and its default. The caller inserts it.
func (c *Customer) takeCard(ctx context.Context, tx *phase.Tx, source *PaymentSource) (CustomerCard, error) {
	if err := source.spend(ctx, tx); err != nil {
		return CustomerCard{}, err
	}
	c.DefaultSource = &source.CardID
	return CustomerCard{
		AccountID: tx.AccountID, ID: source.CardID, Livemode: tx.Livemode, RequestID: tx.RequestID, CustomerID: c.ID,
		Card: source.Card, Metadata: map[string]string{}, CreatedAt: tx.Now(),
	}, nil
}

func (s *InvoiceSettings) apply(sent InvoiceSettings) {
	if sent.CustomFields != nil {
		s.CustomFields = sent.CustomFields
	}
	s.Footer = given(sent.Footer, s.Footer)
	s.DefaultPaymentMethod = given(sent.DefaultPaymentMethod, s.DefaultPaymentMethod)
	if sent.RenderingOptions != nil {
		s.RenderingOptions = sent.RenderingOptions
	}
}

// orNull is the address, or nil if it was sent empty.
func (a *Address) orNull() *Address {
	if *a == (Address{}) {
		return nil
	}
	return a
}

func (s *CustomerShipping) orNull() *CustomerShipping {
	if *s == (CustomerShipping{}) {
		return nil
	}
	return s
}

func invoicePrefix() string { return strings.ToUpper(id.Random(8)) }

//go:build unix

package sdk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestCustomers(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("a customer has every field it was created with", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		address := &stripe.AddressParams{
			City:       stripe.String("Oslo"),
			Country:    stripe.String("NO"),
			Line1:      stripe.String("Bakken 1"),
			Line2:      stripe.String("2nd floor"),
			PostalCode: stripe.String("0150"),
			State:      stripe.String("Oslo"),
		}
		made := a.customer(&stripe.CustomerCreateParams{
			Name:        stripe.String("Åse Æriksen"),
			Email:       stripe.String("ase@example.com"),
			Phone:       stripe.String("+47 555 01"),
			Description: stripe.String("likes sledges"),
			Balance:     stripe.Int64(-250),
			Address:     address,
			Shipping: &stripe.CustomerCreateShippingParams{
				Name:    stripe.String("The neighbor"),
				Phone:   stripe.String("+47 555 02"),
				Address: address,
			},
			Metadata:            map[string]string{"crm": "77", "tier": "gold"},
			InvoicePrefix:       stripe.String("ASE"),
			NextInvoiceSequence: stripe.Int64(12),
			PreferredLocales:    stripe.StringSlice([]string{"nb", "en"}),
			TaxExempt:           stripe.String("exempt"),
			Source:              stripe.String("tok_visa"),
			InvoiceSettings: &stripe.CustomerCreateInvoiceSettingsParams{
				Footer: stripe.String("Takk"),
				CustomFields: []*stripe.CustomerCreateInvoiceSettingsCustomFieldParams{{
					Name:  stripe.String("VAT"),
					Value: stripe.String("MVA"),
				}},
			},
		})
		c := a.retrieveCustomer(made.ID)
		equal(t, "texts", []string{c.Name, c.Email, c.Phone, c.Description, c.InvoicePrefix},
			[]string{"Åse Æriksen", "ase@example.com", "+47 555 01", "likes sledges", "ASE"})
		equal(t, "numbers", []int64{c.Balance, c.NextInvoiceSequence}, []int64{-250, 12})
		equal(t, "address", *c.Address, stripe.Address{
			City:       "Oslo",
			Country:    "NO",
			Line1:      "Bakken 1",
			Line2:      "2nd floor",
			PostalCode: "0150",
			State:      "Oslo",
		})
		equal(t, "shipping", []string{c.Shipping.Name, c.Shipping.Phone, c.Shipping.Address.City},
			[]string{"The neighbor", "+47 555 02", "Oslo"})
		equal(t, "metadata", c.Metadata, map[string]string{"crm": "77", "tier": "gold"})
		equal(t, "locales", c.PreferredLocales, []string{"nb", "en"})
		equal(t, "tax", c.TaxExempt, stripe.CustomerTaxExemptExempt)
		equal(t, "footer", c.InvoiceSettings.Footer, "Takk")
		equal(t, "custom field", *c.InvoiceSettings.CustomFields[0],
			stripe.CustomerInvoiceSettingsCustomField{Name: "VAT", Value: "MVA"})
		equal(t, "default card", c.DefaultSource.ID, made.DefaultSource.ID)
		equal(t, "creation", c.Created, made.Created)
		equal(t, "livemode", c.Livemode, false)
	})

	t.Run("a tax ID is accepted and ignored", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		taxID := &stripe.CustomerCreateTaxIDDataParams{
			Type: stripe.String("eu_vat"), Value: stripe.String("DE123456789")}
		made := a.customer(&stripe.CustomerCreateParams{
			Name: stripe.String("Ada"), TaxIDData: []*stripe.CustomerCreateTaxIDDataParams{taxID}})
		equal(t, "name", a.retrieveCustomer(made.ID).Name, "Ada")
		kept := collect(t, a.V1TaxIDs.List(t.Context(), &stripe.TaxIDListParams{Customer: &made.ID}))
		equal(t, "tax IDs of the customer", len(kept), 0)
		taxID.Value = nil
		_, err := a.V1Customers.Create(t.Context(),
			&stripe.CustomerCreateParams{TaxIDData: []*stripe.CustomerCreateTaxIDDataParams{taxID}})
		refused(t, err, invalid("parameter_missing", "tax_id_data[0][value]", ""))
	})

	t.Run("an invoice prefix is made of uppercase letters and numbers", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customer(&stripe.CustomerCreateParams{InvoicePrefix: stripe.String("ADA77")})
		equal(t, "prefix", c.InvoicePrefix, "ADA77")
		for _, prefix := range []string{"ada77", "ADA-77", "ÅDA"} {
			wrong := invalid("", "invoice_prefix", "Invoice prefixes must be between 1 and 12 characters and only "+
				"contain uppercase letters and numbers.")
			_, err := a.V1Customers.Create(t.Context(), &stripe.CustomerCreateParams{InvoicePrefix: &prefix})
			refused(t, err, wrong)
			_, err = a.V1Customers.Update(t.Context(), c.ID, &stripe.CustomerUpdateParams{InvoicePrefix: &prefix})
			refused(t, err, wrong)
		}
	})

	t.Run("an update changes what it names, and an empty text unsets", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customer(&stripe.CustomerCreateParams{
			Name:        stripe.String("Ada"),
			Email:       stripe.String("ada@example.com"),
			Phone:       stripe.String("1"),
			Description: stripe.String("first"),
		})
		updated, err := a.V1Customers.Update(t.Context(), c.ID, &stripe.CustomerUpdateParams{
			Name: stripe.String("Ada L."), Phone: stripe.String(""), Description: stripe.String("")})
		noError(t, err)
		for _, c := range []*stripe.Customer{updated, a.retrieveCustomer(c.ID)} {
			equal(t, "texts", []string{c.Name, c.Email, c.Phone, c.Description},
				[]string{"Ada L.", "ada@example.com", "", ""})
		}
		raw := string(updated.LastResponse.RawJSON)
		if !strings.Contains(raw, `"phone": null`) || !strings.Contains(raw, `"description": null`) {
			t.Errorf("what was unset is not null: %s", raw)
		}
	})

	t.Run("what an invoice would look like is null again when it is unset", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customer(&stripe.CustomerCreateParams{InvoiceSettings: &stripe.CustomerCreateInvoiceSettingsParams{
			Footer: stripe.String("Takk"),
			CustomFields: []*stripe.CustomerCreateInvoiceSettingsCustomFieldParams{{
				Name:  stripe.String("VAT"),
				Value: stripe.String("MVA"),
			}},
			RenderingOptions: &stripe.CustomerCreateInvoiceSettingsRenderingOptionsParams{
				AmountTaxDisplay: stripe.String("exclude_tax"),
			}}})
		unset := &stripe.CustomerUpdateParams{}
		for _, name := range []string{"footer", "custom_fields", "rendering_options"} {
			unset.AddExtra("invoice_settings["+name+"]", "")
		}
		updated, err := a.V1Customers.Update(t.Context(), c.ID, unset)
		noError(t, err)
		const none = `"invoice_settings": {
    "custom_fields": null,
    "default_payment_method": null,
    "footer": null,
    "rendering_options": null
  }`
		if raw := string(updated.LastResponse.RawJSON); !strings.Contains(raw, none) {
			t.Errorf("what was unset is not null: %s", raw)
		}
	})

	t.Run("metadata is merged, a key at a time removed, and cleared", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customer(&stripe.CustomerCreateParams{Metadata: map[string]string{"a": "1", "b": "2"}})
		for _, step := range []struct{ sent, want map[string]string }{
			{map[string]string{"c": "3"}, map[string]string{"a": "1", "b": "2", "c": "3"}},
			{map[string]string{"a": "9", "b": ""}, map[string]string{"a": "9", "c": "3"}},
		} {
			updated, err := a.V1Customers.Update(t.Context(), c.ID, &stripe.CustomerUpdateParams{Metadata: step.sent})
			noError(t, err)
			equal(t, fmt.Sprintf("metadata after %v", step.sent), updated.Metadata, step.want)
		}
		clear := &stripe.CustomerUpdateParams{}
		clear.AddExtra("metadata", "")
		cleared, err := a.V1Customers.Update(t.Context(), c.ID, clear)
		noError(t, err)
		equal(t, "metadata after clearing", cleared.Metadata, map[string]string{})
	})

	t.Run("a deleted customer is shown as deleted, and nothing can be done with it", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customerWith("tok_visa")
		deleted, err := a.V1Customers.Delete(t.Context(), c.ID, nil)
		noError(t, err)
		equal(t, "the answer's deleted", deleted.Deleted, true)
		equal(t, "deleted", a.retrieveCustomer(c.ID).Deleted, true)
		gone := missing("id", fmt.Sprintf("No such customer: '%s'", c.ID))
		_, err = a.V1Customers.Delete(t.Context(), c.ID, nil)
		refused(t, err, gone)
		_, err = a.V1Customers.Update(t.Context(), c.ID, &stripe.CustomerUpdateParams{Name: stripe.String("Lazarus")})
		refused(t, err, gone)
		params := order(500, "")
		params.Source, params.Customer = nil, &c.ID
		_, err = a.V1Charges.Create(t.Context(), params)
		refused(t, err, invalid("resource_missing", "customer", gone.Message))
		equal(t, "customers in the list", len(collect(t, a.V1Customers.List(t.Context(), nil))), 0)
	})

	t.Run("an address that is none is refused", func(t *testing.T) {
		inTurn(t)
		_, err := in.account(t).V1Customers.Create(t.Context(),
			&stripe.CustomerCreateParams{Email: stripe.String("nobody")})
		refused(t, err, invalid("email_invalid", "email", "Invalid email address: nobody"))
	})

	t.Run("a list is paged through, forwards and backwards", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		var oldestFirst []string
		for range 7 {
			oldestFirst = append(oldestFirst, a.customer(nil).ID)
		}
		newestFirst := sortByAge(oldestFirst)
		id := func(c *stripe.Customer) string { return c.ID }
		two := stripe.ListParams{Limit: stripe.Int64(2)}
		equal(t, "forwards",
			ids(collect(t, a.V1Customers.List(t.Context(), &stripe.CustomerListParams{ListParams: two})), id),
			newestFirst)
		two.EndingBefore = &oldestFirst[0]
		equal(t, "backwards",
			ids(collect(t, a.V1Customers.List(t.Context(), &stripe.CustomerListParams{ListParams: two})), id),
			oldestFirst[1:])
	})

	t.Run("a list can be filtered by address and by time", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		ada := a.customer(&stripe.CustomerCreateParams{Email: stripe.String("ada@example.com")})
		a.customer(&stripe.CustomerCreateParams{Email: stripe.String("bob@example.com")})
		list := func(params *stripe.CustomerListParams) int {
			return len(collect(t, a.V1Customers.List(t.Context(), params)))
		}
		equal(t, "of ada", list(&stripe.CustomerListParams{Email: &ada.Email}), 1)
		equal(t, "of nobody", list(&stripe.CustomerListParams{Email: stripe.String("eve@example.com")}), 0)
		equal(t, "from then on",
			list(&stripe.CustomerListParams{CreatedRange: &stripe.RangeQueryParams{GreaterThanOrEqual: ada.Created}}),
			2)
		equal(t, "before then",
			list(&stripe.CustomerListParams{CreatedRange: &stripe.RangeQueryParams{LesserThan: ada.Created}}), 0)
		if list(&stripe.CustomerListParams{Created: &ada.Created}) == 0 {
			t.Error("nobody was made in that second")
		}
	})
}

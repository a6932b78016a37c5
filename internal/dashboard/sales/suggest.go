package sales

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// suggestions is how many of the newest customers and prices a form suggests, and newest how many it reads to find
// those of the mode that are active. A form also accepts the IDs and emails of others.
const suggestions, newest = 100, 500

const suggestCustomers = `
	SELECT c.id AS value, concat_ws(', ', c.name, c.email) AS text
	FROM (SELECT id, livemode, name, email, deleted_at FROM customers
	    WHERE account_id = @account_id ORDER BY id DESC LIMIT @newest) c
	WHERE c.livemode = @livemode AND c.deleted_at IS NULL
	ORDER BY c.id DESC LIMIT @limit`

const suggestPrices = `
	SELECT p.id, o.name, p.unit_amount AS amount, p.currency
	FROM (SELECT account_id, id, livemode, active, product_id, unit_amount, currency FROM prices
	    WHERE account_id = @account_id ORDER BY id DESC LIMIT @newest) p
	JOIN products o ON o.account_id = p.account_id AND o.id = p.product_id
	WHERE p.livemode = @livemode AND p.active AND o.active AND o.deleted_at IS NULL
	ORDER BY p.id DESC LIMIT @limit`

// suggest returns the fields of a form with what an account has: its customers and prices, and how much it can pay out.
func (s Pages) suggest(r *http.Request, of ui.Scope, c *creation) ([]formField, error) {
	fields := slices.Clone(c.fields)
	for i := range fields {
		var err error
		switch f := &fields[i]; {
		case f.Name == "customer":
			f.Options, err = ui.Read[option](r.Context(), s.Pool, suggestCustomers,
				of.Args(postgres.Args{"limit": suggestions, "newest": newest}))
		case f.Name == "price":
			f.Options, err = s.suggestPrices(r, of)
		case f.Name == "amount" && c.Name == "payout":
			f.Hint, err = availableHint(s.Env, r, of)
		}
		if err != nil {
			return nil, err
		}
	}
	return fields, nil
}

func (s Pages) suggestPrices(r *http.Request, of ui.Scope) (all []option, err error) {
	found, err := ui.Read[struct {
		ID       string
		Name     string
		Amount   int64
		Currency string
	}](r.Context(), s.Pool, suggestPrices, of.Args(postgres.Args{"limit": suggestions, "newest": newest}))
	for _, p := range found {
		all = append(all, option{p.ID, p.Name + ", " + money.Format(p.Amount, p.Currency)})
	}
	return all, err
}

// availableHint says how much can be paid out in each currency.
func availableHint(d *ui.Env, r *http.Request, of ui.Scope) (string, error) {
	balances, err := Balances(d, r, of)
	var all []string
	for _, b := range balances {
		if b.Available > 0 {
			all = append(all, money.Format(b.Available, b.Currency))
		}
	}
	if len(all) == 0 {
		return "Nothing is available yet.", err
	}
	return "Available: " + strings.Join(all, ", ") + ".", err
}

// An index finds an email as it is written. The newest customers are compared without case, by name, too.
const selectCalled = `
	SELECT id FROM customers
	WHERE account_id = @account_id AND livemode = @livemode AND email = ANY (@emails::text[]) AND deleted_at IS NULL
	UNION
	SELECT id FROM (SELECT * FROM customers WHERE account_id = @account_id ORDER BY id DESC LIMIT @newest) c
	WHERE livemode = @livemode AND deleted_at IS NULL
	  AND lower(@called) IN (lower(email), lower(name), lower(concat_ws(', ', name, email)))
	LIMIT 2`

// customerCalled is the ID of the customer with an email or a name, as people type them. Of a name the forms suggest
// the newest customers. It says so if there is none, or if there are several.
func (s Pages) customerCalled(r *http.Request, of ui.Scope, text string) (id, wrong string, err error) {
	if text == "" || strings.HasPrefix(text, "cus_") {
		return text, "", nil
	}
	found, err := ui.Read[struct{ ID string }](r.Context(), s.Pool, selectCalled, of.Args(postgres.Args{
		"called": text, "emails": []string{text, strings.ToLower(text)}, "newest": newest}))
	isEmail := strings.Contains(text, "@")
	switch {
	case err != nil:
		return "", "", err
	case len(found) == 1:
		return found[0].ID, "", nil
	case len(found) == 0 && isEmail:
		return "", "No customer has this email. Check it, or create the customer first.", nil
	case isEmail:
		return "", "Several customers have this email. Open Customers, search for it, and enter the ID of the one " +
			"you mean.", nil
	}
	return "", "Choose a customer from the list.", nil
}

// resolveCustomer replaces a customer's email or name by their ID.
func (s Pages) resolveCustomer(r *http.Request, of ui.Scope, params url.Values) (fault, error) {
	id, wrong, err := s.customerCalled(r, of, params.Get("customer"))
	if id != "" {
		params.Set("customer", id)
	}
	return fault{"customer", wrong}, err
}

// resolveProduct replaces a product's name by its price, if the form suggests one such price.
func resolveProduct(fields []formField, typed url.Values) (resolved url.Values, wrong fault) {
	called := typed.Get("price")
	if called == "" || strings.HasPrefix(called, "price_") {
		return typed, fault{}
	}
	var ids []string
	for _, f := range fields {
		if f.Name != "price" {
			continue
		}
		for _, o := range f.Options {
			name := o.Text[:strings.LastIndex(o.Text, ", ")]
			if strings.EqualFold(called, o.Text) || strings.EqualFold(called, name) {
				ids = append(ids, o.Value)
			}
		}
	}
	if len(ids) != 1 {
		return typed, fault{"price", "Choose a product from the list."}
	}
	resolved = maps.Clone(typed)
	resolved.Set("price", ids[0])
	return resolved, fault{}
}

package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/dashboard/desk"
	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

type searchPage struct {
	Query string
	Hits  []hit
}

type hit struct {
	inspect.Subject
	Href string
	Text string // what was found in it, where that was not its name
}

// searchOver is how many of an account's newest objects of a kind are searched by
// their texts. No index knows parts of words, so each of them is read.
const searchOver = 10_000

// selectTexts finds customers, payments and products by what people wrote about them.
const selectTexts = `
	(SELECT 'customer' AS kind, id, concat_ws(', ', name, email, description) AS text
	 FROM (SELECT id, name, email, description FROM customers
	     WHERE account_id = @account_id AND livemode = @livemode AND deleted_at IS NULL ORDER BY id DESC
	     LIMIT @over) newest
	 WHERE concat_ws(' ', name, email, description) ILIKE @pattern ORDER BY id DESC LIMIT 20)
	UNION ALL
	(SELECT 'payment', id, description
	 FROM (SELECT id, description FROM payment_intents WHERE account_id = @account_id AND livemode = @livemode
	     ORDER BY id DESC LIMIT @over) newest
	 WHERE description ILIKE @pattern ORDER BY id DESC LIMIT 20)
	UNION ALL
	(SELECT 'payment', id, description
	 FROM (SELECT id, description, payment_intent_id FROM charges
	     WHERE account_id = @account_id AND livemode = @livemode ORDER BY id DESC LIMIT @over) newest
	 WHERE payment_intent_id IS NULL AND description ILIKE @pattern ORDER BY id DESC LIMIT 20)
	UNION ALL
	(SELECT 'product', id, concat_ws(', ', name, description)
	 FROM (SELECT id, name, description FROM products
	     WHERE account_id = @account_id AND livemode = @livemode AND deleted_at IS NULL ORDER BY id DESC
	     LIMIT @over) newest
	 WHERE concat_ws(' ', name, description) ILIKE @pattern ORDER BY id DESC LIMIT 20)`

// literally escapes a text, so that as a pattern it matches only itself.
var literally = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func (s *Server) searchTexts(r *http.Request, words string) (all []hit, err error) {
	of, err := s.desk.Scope(r)
	if err != nil {
		return nil, err
	}
	found, err := desk.Read[struct{ Kind, ID, Text string }](r.Context(), s.Pool, selectTexts,
		of.Args(postgres.Args{"pattern": "%" + literally.Replace(words) + "%", "over": searchOver}))
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		href := map[string]string{
			"customer": "/dashboard/customers/",
			"payment":  "/dashboard/payments/",
			"product":  "/dashboard/products/",
		}[f.Kind] + url.PathEscape(f.ID)
		all = append(all, hit{inspect.Subject{Kind: f.Kind, AccountID: of.AccountID, ID: f.ID}, href, f.Text})
	}
	return all, nil
}

// search opens the object that a name refers to, or lists the candidates: it looks for ids
// and keys first, and then in names and descriptions.
func (s *Server) search(r *http.Request) (*desk.Page, error) {
	page := searchPage{Query: strings.TrimSpace(r.FormValue("q"))}
	if len(page.Query) == 4 && strings.Trim(page.Query, "0123456789") == "" {
		return desk.GoTo("/dashboard/payments?last4=" + page.Query), nil
	}
	if page.Query != "" {
		found, err := inspect.Find(r.Context(), s.Pool, page.Query)
		if err != nil {
			return nil, err
		}
		for _, subject := range found {
			href, err := s.pageOf(r, subject)
			if err != nil {
				return nil, err
			}
			page.Hits = append(page.Hits, hit{Subject: subject, Href: href})
		}
	}
	if page.Query != "" && len(page.Hits) == 0 {
		var err error
		if page.Hits, err = s.searchTexts(r, page.Query); err != nil {
			return nil, err
		}
	}
	if len(page.Hits) == 1 {
		return desk.GoTo(page.Hits[0].Href), nil
	}
	return desk.Show("dashboard/search", web.Page{Title: "Search", Here: "search", Data: page}), nil
}

// Some objects have no page and are shown with the object they belong to: a refund
// with its payment, a kept card with its customer, a spent token with what it paid for.
const selectPageOf = `
	SELECT charge_id AS id FROM refunds WHERE account_id = @account_id AND id = @id
	UNION ALL SELECT coalesce(customer_id, request_id) FROM payment_methods WHERE account_id = @account_id AND id = @id
	UNION ALL SELECT customer_id FROM cards WHERE account_id = @account_id AND id = @id
	UNION ALL SELECT coalesce(used_by, request_id) FROM tokens WHERE account_id = @account_id AND id = @id
	UNION ALL SELECT product_id FROM prices WHERE account_id = @account_id AND id = @id
	UNION ALL SELECT request_id FROM settlement_parts WHERE account_id = @account_id AND id = @id`

// pageOf is where a subject is shown: by default, the request that made it. Its id may be
// the merchant's own, and say nothing of its kind.
func (s *Server) pageOf(r *http.Request, of inspect.Subject) (string, error) {
	switch of.Kind {
	case "test_clock":
		return "/dashboard/clock", nil
	case "customer":
		return "/dashboard/customers/" + url.PathEscape(of.ID), nil
	case "charge", "payment_intent", "checkout_session", "payment_link", "dispute", "payout",
		"webhook_endpoint", "event", "posting", "request":
		return web.Href(of.ID), nil
	case "product":
		return "/dashboard/products/" + url.PathEscape(of.ID), nil
	case "refund", "payment_method", "card", "token", "price", "settlement":
		found, err := desk.Read[struct{ ID string }](r.Context(), s.Pool, selectPageOf,
			postgres.Args{"account_id": of.AccountID, "id": of.ID})
		if err != nil || len(found) == 0 {
			return "/dashboard/requests", err
		}
		if of.Kind == "price" { // whose product may have an id of the merchant's own
			return "/dashboard/products/" + url.PathEscape(found[0].ID), nil
		}
		return web.Href(found[0].ID), nil
	}
	made, err := inspect.Origin(r.Context(), s.Pool, of)
	if err != nil || made == "" {
		return "/dashboard/requests", err
	}
	return web.Href(made), nil
}

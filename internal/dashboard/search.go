package dashboard

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/inspect"
	"github.com/ratchet-pay/ratchet/internal/money"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

type searchPage struct {
	Query  string
	Last4  bool // the query may be the last digits of a card
	Hits   []hit
	Places []place
}

type hit struct {
	inspect.Subject
	Href string
	Text string // what was found in it, where that was not its name
}

const (
	// searchOver is how many objects of a kind that are not in the index yet are searched at most, newest first.
	searchOver = 10_000
	// searchBlocks is how many blocks of older objects are read that may have what is searched for.
	searchBlocks = 300
)

// Of charges, customers, payment intents and products, each search reads the newest thousand, those that the worker has
// not indexed yet, and the newest blocks below them that may have it (migrations/000034_search.up.sql:search_blocks).
// Every block may have a word of one or two characters.
const (
	newestOf = ` AS MATERIALIZED (
		SELECT least(coalesce((SELECT last_id FROM search_blocks WHERE account_id = @account_id AND kind = '`
	indexedOf = `' ORDER BY last_id DESC LIMIT 1), ''), coalesce((SELECT id FROM `
	oldestOf  = ` WHERE account_id = @account_id ORDER BY id DESC OFFSET 1000 LIMIT 1), '')) AS id)`

	searchEdges = `charges_edge` + newestOf + `charges` + indexedOf + `charges` + oldestOf + `,
	customers_edge` + newestOf + `customers` + indexedOf + `customers` + oldestOf + `,
	payment_intents_edge` + newestOf + `payment_intents` + indexedOf + `payment_intents` + oldestOf + `,
	products_edge` + newestOf + `products` + indexedOf + `products` + oldestOf

	// The rows of a kind that are searched: the newest, and those of the blocks that may match. The name of the kind
	// goes between these. Blocks come newest first, and a search with twenty hits reads no more of them.
	searchedNew  = ` FROM (SELECT * FROM `
	searchedDown = ` WHERE account_id = @account_id AND id >= (SELECT id FROM `
	searchedTop  = `_edge) ORDER BY id DESC LIMIT @over) searched WHERE livemode = @livemode`
	searchedOld  = ` FROM (SELECT `
	searchedAnd  = ` ORDER BY last_id DESC) b CROSS JOIN LATERAL (SELECT * FROM `
	searchedBy   = ` WHERE account_id = @account_id AND id > b.after_id AND id <= b.last_id
		    AND id < (SELECT id FROM `
	searchedEnd = `_edge) ORDER BY id DESC LIMIT @over) searched WHERE livemode = @livemode`

	blocksWith   = `after_id, last_id FROM search_found(@account_id, '`
	blocksBelow  = `', (SELECT id FROM `
	blocksOfText = `_edge), search_terms(@account_id, '`
	blocksEnd    = `', ARRAY[@words::text], '{}', '{}'), @blocks)`

	newestFirst = ` ORDER BY id DESC LIMIT 20)`
	blocksFirst = ` ORDER BY b.last_id DESC, id DESC LIMIT 20)`

	newCustomers = searchedNew + `customers` + searchedDown + `customers` + searchedTop
	oldCustomers = searchedOld + blocksWith + `customers` + blocksBelow + `customers` + blocksOfText + `customers` +
		blocksEnd + searchedAnd + `customers` + searchedBy + `customers` + searchedEnd
	newIntents = searchedNew + `payment_intents` + searchedDown + `payment_intents` + searchedTop
	oldIntents = searchedOld + blocksWith + `payment_intents` + blocksBelow + `payment_intents` + blocksOfText +
		`payment_intents` + blocksEnd + searchedAnd + `payment_intents` + searchedBy + `payment_intents` + searchedEnd
	newCharges = searchedNew + `charges` + searchedDown + `charges` + searchedTop
	oldCharges = searchedOld + blocksWith + `charges` + blocksBelow + `charges` + blocksOfText + `charges` +
		blocksEnd + searchedAnd + `charges` + searchedBy + `charges` + searchedEnd
	newProducts = searchedNew + `products` + searchedDown + `products` + searchedTop
	oldProducts = searchedOld + blocksWith + `products` + blocksBelow + `products` + blocksOfText + `products` +
		blocksEnd + searchedAnd + `products` + searchedBy + `products` + searchedEnd
)

// What each kind shows of a hit, and what is a hit.
const (
	customerText = `'customer' AS kind, id, concat_ws(', ', name, email, description) AS text`
	paymentText  = `'payment' AS kind, id, concat_ws(', ', description, metadata->>'order_id') AS text`
	productText  = `'product' AS kind, id, concat_ws(', ', name, description) AS text`

	customerHas = ` AND deleted_at IS NULL AND concat_ws(' ', name, email, description) ILIKE @pattern`
	intentHas   = ` AND concat_ws(' ', description, metadata->>'order_id') ILIKE @pattern`
	chargeHas   = ` AND payment_intent_id IS NULL` + intentHas
	productHas  = ` AND deleted_at IS NULL AND concat_ws(' ', name, description) ILIKE @pattern`
)

// selectTexts finds customers, payments, the newest checkout sessions and products by what people wrote about them, and
// by the number of an order in their metadata.
const selectTexts = `WITH ` + searchEdges + `
	(SELECT * FROM ((SELECT ` + customerText + newCustomers + customerHas + newestFirst + `
	 UNION ALL (SELECT ` + customerText + oldCustomers + customerHas + blocksFirst + `) customer` + newestFirst + `
	UNION ALL
	(SELECT * FROM ((SELECT ` + paymentText + newIntents + intentHas + newestFirst + `
	 UNION ALL (SELECT ` + paymentText + oldIntents + intentHas + blocksFirst + `) intent` + newestFirst + `
	UNION ALL
	(SELECT * FROM ((SELECT ` + paymentText + newCharges + chargeHas + newestFirst + `
	 UNION ALL (SELECT ` + paymentText + oldCharges + chargeHas + blocksFirst + `) charge` + newestFirst + `
	UNION ALL
	(SELECT 'checkout_session', id, concat_ws(', ', client_reference_id, metadata->>'order_id', name, email)
	 FROM (SELECT id, client_reference_id, metadata, customer_details->>'name' AS name,
	         coalesce(customer_details->>'email', customer_email) AS email
	     FROM checkout_sessions
	     WHERE account_id = @account_id AND livemode = @livemode AND id > ` + ui.SessionsOfMode + `
	       AND id < ` + ui.BelowSessionsOfMode + ` ORDER BY id DESC LIMIT 2000) newest
	 WHERE concat_ws(' ', client_reference_id, metadata->>'order_id', name, email) ILIKE @pattern
	 ORDER BY id DESC LIMIT 20)
	UNION ALL
	(SELECT * FROM ((SELECT ` + productText + newProducts + productHas + newestFirst + `
	 UNION ALL (SELECT ` + productText + oldProducts + productHas + blocksFirst + `) product` + newestFirst

// selectAmounts finds payments by their amount, in whichever currency. The index has each amount in minor units.
const (
	selectAmounts = `WITH ` + searchEdges + `,
	amounts AS MATERIALIZED (
		SELECT trim_scale(@units::numeric * n)::text AS amount FROM unnest('{1,100,1000}'::integer[]) n)
	(SELECT * FROM ((SELECT ` + amountText + newIntents + ofAmount + newestFirst + `
	 UNION ALL (SELECT ` + amountText + intentsOfAmount + ofAmount + blocksFirst + `) intent` + newestFirst + `
	UNION ALL
	(SELECT * FROM ((SELECT ` + amountText + newCharges + ` AND payment_intent_id IS NULL` + ofAmount + newestFirst + `
	 UNION ALL (SELECT ` + amountText + chargesOfAmount + ` AND payment_intent_id IS NULL` + ofAmount + blocksFirst +
		`) charge` + newestFirst

	amountText = `id, amount, currency, coalesce(description, '') AS description`

	ofAmount = `
	   AND amount = @units::numeric * CASE WHEN currency = ANY (@whole::text[]) THEN 1
	     WHEN currency = ANY (@mills::text[]) THEN 1000 ELSE 100 END
	   AND (@currency = '' OR currency = @currency)`

	blocksOfAny = `DISTINCT f.after_id, f.last_id
		FROM amounts CROSS JOIN LATERAL search_found(@account_id, '`
	blocksOfAmount = `_edge), search_terms(@account_id, '`
	blocksOfAnyEnd = `', '{}', '{amount}', ARRAY[amounts.amount]), @blocks) f`

	intentsOfAmount = searchedOld + blocksOfAny + `payment_intents` + blocksBelow + `payment_intents` + blocksOfAmount +
		`payment_intents` + blocksOfAnyEnd + searchedAnd + `payment_intents` + searchedBy + `payment_intents` +
		searchedEnd
	chargesOfAmount = searchedOld + blocksOfAny + `charges` + blocksBelow + `charges` + blocksOfAmount + `charges` +
		blocksOfAnyEnd + searchedAnd + `charges` + searchedBy + `charges` + searchedEnd
)

// literally escapes a text, so that as a pattern it matches only itself.
var literally = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func (s *Server) searchTexts(r *http.Request, words string) (all []hit, err error) {
	of, err := s.env.Scope(r)
	if err != nil {
		return nil, err
	}
	found, err := ui.Read[struct{ Kind, ID, Text string }](r.Context(), s.Pool, selectTexts,
		of.Args(postgres.Args{"pattern": "%" + literally.Replace(words) + "%", "words": words, "over": searchOver,
			"blocks": searchBlocks}))
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		href := map[string]string{
			"customer":         "/dashboard/customers/",
			"payment":          "/dashboard/payments/",
			"checkout_session": "/dashboard/checkout/",
			"product":          "/dashboard/products/",
		}[f.Kind] + url.PathEscape(f.ID)
		all = append(all, hit{inspect.Subject{Kind: f.Kind, AccountID: of.AccountID, ID: f.ID}, href, f.Text})
	}
	return all, nil
}

// anAmount is an amount as people write it: 20, $20.00, 1,200.50 usd.
var anAmount = regexp.MustCompile(`^[$€£¥]?\s*([0-9]{1,15}(?:,[0-9]{3}){0,3}(?:\.[0-9]{1,3})?)\s*([A-Za-z]{3})?$`)

func (s *Server) searchAmounts(r *http.Request, words string) (all []hit, err error) {
	typed := anAmount.FindStringSubmatch(words)
	if typed == nil {
		return nil, nil
	}
	of, err := s.env.Scope(r)
	if err != nil {
		return nil, err
	}
	found, err := ui.Read[struct {
		ID          string
		Amount      int64
		Currency    string
		Description string
	}](r.Context(), s.Pool, selectAmounts, of.Args(postgres.Args{
		"units":    strings.ReplaceAll(typed[1], ",", ""),
		"currency": strings.ToLower(typed[2]),
		"whole":    ui.CurrenciesOf(0),
		"mills":    ui.CurrenciesOf(3),
		"over":     searchOver,
		"blocks":   searchBlocks,
	}))
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		text := money.Format(f.Amount, f.Currency)
		if f.Description != "" {
			text += ", " + f.Description
		}
		all = append(all, hit{inspect.Subject{Kind: "payment", AccountID: of.AccountID, ID: f.ID},
			"/dashboard/payments/" + url.PathEscape(f.ID), text})
	}
	return all, nil
}

// searchNames finds objects by their ids and keys.
func (s *Server) searchNames(r *http.Request, name string) (all []hit, err error) {
	found, err := inspect.Find(r.Context(), s.Pool, name)
	if err != nil {
		return nil, err
	}
	for _, subject := range found {
		href, err := s.pageOf(r, subject)
		if err != nil {
			return nil, err
		}
		all = append(all, hit{Subject: subject, Href: href})
	}
	of, err := s.env.Scope(r)
	if err != nil {
		return nil, err
	}
	if unstored := s.Recent.Find(of.AccountID, of.Livemode, name); unstored != nil && len(all) == 0 {
		all = append(all, hit{Subject: inspect.Subject{Kind: "request", AccountID: of.AccountID, ID: unstored.ID},
			Href: "/dashboard/requests/" + url.PathEscape(unstored.ID)})
	}
	return all, nil
}

// searchAll finds objects by their names, and those with another text or amount.
func (s *Server) searchAll(r *http.Request, query string) (named, others []hit, err error) {
	if named, err = s.searchNames(r, query); err != nil {
		return nil, nil, err
	}
	amounts, err := s.searchAmounts(r, query)
	if err != nil {
		return nil, nil, err
	}
	texts, err := s.searchTexts(r, query)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range append(amounts, texts...) {
		same := func(other hit) bool { return other.Href == h.Href }
		if !slices.ContainsFunc(named, same) && !slices.ContainsFunc(others, same) {
			others = append(others, h)
		}
	}
	return named, others, nil
}

// search opens the object that a query names, or lists what has its words: objects, pages and forms. With
// part=yes, as the search dialog asks while the reader types, it only lists.
func (s *Server) search(r *http.Request) (*ui.Page, error) {
	page := searchPage{Query: strings.TrimSpace(r.FormValue("q"))}
	part := r.FormValue("part") == "yes"
	page.Last4 = len(page.Query) == 4 && strings.Trim(page.Query, "0123456789") == ""
	if page.Last4 && !part {
		return ui.Redirect("/dashboard/payments?last4=" + page.Query), nil
	}
	page.Places = placesCalled(page.Query)
	if page.Query != "" {
		named, others, err := s.searchAll(r, page.Query)
		if err != nil {
			return nil, err
		}
		page.Hits = append(named, others...)
		only := len(page.Hits)+len(page.Places) == 1
		switch {
		case !part && (len(named) == 1 || only && len(page.Hits) == 1):
			return ui.Redirect(page.Hits[0].Href), nil
		case !part && only:
			return ui.Redirect(page.Places[0].Href), nil
		}
	}
	shown := web.Page{Title: "Search", Here: "search", Data: page}
	if part {
		shown.Layout = "part"
	}
	return ui.Show("dashboard/search", shown), nil
}

// Some objects have no page and are shown with the object they belong to: a refund
// with its payment, a kept card with its customer, a spent token with what it paid for.
const selectPageOf = `
	SELECT charge_id AS id FROM refunds WHERE account_id = @account_id AND id = @id
	UNION ALL SELECT coalesce(customer_id, request_id) FROM payment_methods WHERE account_id = @account_id AND id = @id
	UNION ALL SELECT customer_id FROM cards WHERE account_id = @account_id AND id = @id
	UNION ALL SELECT coalesce(used_by, request_id) FROM tokens WHERE account_id = @account_id AND id = @id
	UNION ALL SELECT request_id FROM settlement_parts WHERE account_id = @account_id AND id = @id`

// pageOf is where a subject is shown: by default, the request that made it. Its id may be
// the merchant's own, and say nothing of its kind.
func (s *Server) pageOf(r *http.Request, of inspect.Subject) (string, error) {
	switch of.Kind {
	case "test_clock":
		return "/dashboard/clock", nil
	case "customer":
		return "/dashboard/customers/" + url.PathEscape(of.ID), nil
	case "charge", "payment_intent", "checkout_session", "payment_link", "price", "dispute", "payout",
		"webhook_endpoint", "event", "posting", "request":
		return web.Href(of.ID), nil
	case "product":
		return "/dashboard/products/" + url.PathEscape(of.ID), nil
	case "refund", "payment_method", "card", "token", "settlement":
		found, err := ui.Read[struct{ ID string }](r.Context(), s.Pool, selectPageOf,
			postgres.Args{"account_id": of.AccountID, "id": of.ID})
		if err != nil || len(found) == 0 {
			return "/dashboard/requests", err
		}
		return web.Href(found[0].ID), nil
	}
	made, err := inspect.Origin(r.Context(), s.Pool, of)
	if err != nil || made == "" {
		return "/dashboard/requests", err
	}
	return web.Href(made), nil
}

package sales

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/web"
)

// onePrice is a price with its product.
type onePrice struct {
	AccountID     string
	ID            string
	Livemode      bool
	ProductID     string // may be the merchant's own
	ProductName   string
	ProductActive bool
	IsDefault     bool
	Active        bool
	Amount        int64
	Currency      string
	Recurring     *string
	LookupKey     *string
	Nickname      *string
	TaxBehavior   string
	Metadata      json.RawMessage
	RequestID     string
	CreatedAt     time.Time
}

// State is the price's, in the badges' words.
func (p onePrice) State() string { return activeWord(p.Active) }

// Sold says whether a customer can pay the price once.
func (p onePrice) Sold() bool { return p.Active && p.ProductActive && p.Recurring == nil }

const selectPrice = `
	SELECT p.account_id, p.id, p.livemode, p.product_id, o.name AS product_name, o.active AS product_active,
	       coalesce(o.default_price_id = p.id, false) AS is_default, p.active, p.unit_amount AS amount, p.currency,
	       CASE (p.recurring->>'interval_count') WHEN '1' THEN 'every ' || (p.recurring->>'interval')
	            ELSE 'every ' || (p.recurring->>'interval_count') || ' ' || (p.recurring->>'interval') || 's' END
	           AS recurring,
	       p.lookup_key, p.nickname, p.tax_behavior, p.metadata, p.request_id, p.created_at
	FROM prices p JOIN products o ON o.account_id = p.account_id AND o.id = p.product_id
	WHERE p.id = @id AND o.deleted_at IS NULL
	  AND p.account_id = ` + ui.AccountWith + `prices` + ui.ThatID

// usesOver is how many of an account's newest lines are searched for those of a price:
// no index knows it, because every sale would pay for it.
const usesOver = 10_000

const (
	selectSalesAt = `
		SELECT s.id, s.status, n.quantity, n.amount, s.payment_intent_id AS intent_id, s.created_at
		FROM (SELECT account_id, id, session_id, price_id, quantity, amount FROM checkout_items
		    WHERE account_id = @account_id ORDER BY id DESC LIMIT @over) n
		JOIN checkout_sessions s ON s.account_id = n.account_id AND s.id = n.session_id
		WHERE n.price_id = @id ORDER BY n.id DESC LIMIT 25`

	selectLinksAt = `
		SELECT l.id, l.active, l.created_at
		FROM (SELECT account_id, id, link_id, price_id FROM payment_link_items
		    WHERE account_id = @account_id ORDER BY id DESC LIMIT @over) n
		JOIN payment_links l ON l.account_id = n.account_id AND l.id = n.link_id
		WHERE n.price_id = @id ORDER BY n.id DESC LIMIT 25`
)

// saleAt is a checkout session that sold at the price, or tried to.
type saleAt struct {
	ID        string
	Status    string
	Quantity  int64
	Amount    int64
	IntentID  *string
	CreatedAt time.Time
}

// linkAt is a payment link that sells at the price.
type linkAt struct {
	ID        string
	Active    bool
	CreatedAt time.Time
}

// State is the link's, in the badges' words.
func (l linkAt) State() string { return paymentLink{Active: l.Active}.State() }

type pricePage struct {
	onePrice
	Sales []saleAt
	Links []linkAt
	Key   string
}

func (s Pages) findPrice(r *http.Request) (*onePrice, error) {
	return ui.ReadOne[onePrice](r.Context(), s.Pool, selectPrice, postgres.Args{"id": r.PathValue("id")})
}

func (s Pages) price(r *http.Request) (*ui.Page, error) {
	found, err := ui.Found(s.findPrice(r))
	if err != nil {
		return nil, err
	}
	page := pricePage{onePrice: *found, Key: ui.NewIdempotencyKey("price")}
	args := postgres.Args{"id": found.ID, "account_id": found.AccountID, "over": usesOver}
	if page.Sales, err = ui.Read[saleAt](r.Context(), s.Pool, selectSalesAt, args); err != nil {
		return nil, err
	}
	if page.Links, err = ui.Read[linkAt](r.Context(), s.Pool, selectLinksAt, args); err != nil {
		return nil, err
	}
	return ui.Show("dashboard/price",
		web.Page{Title: "Price of " + page.ProductName, Here: "products", Data: page}), nil
}

// postPrice edits the price, archives or activates it, or makes it its product's default.
func (s Pages) postPrice(r *http.Request) (*ui.Page, error) {
	p, err := ui.Found(s.findPrice(r))
	if err != nil {
		return nil, err
	}
	path, params, done := "/v1/prices/"+url.PathEscape(p.ID), url.Values{}, "Price updated."
	switch r.PathValue("action") {
	case "archive", "activate":
		active := r.PathValue("action") == "activate"
		params.Set("active", strconv.FormatBool(active))
		done = map[bool]string{true: "Price activated.", false: "Price archived."}[active]
	case "edit":
		params = edited(r, p.Metadata, "nickname", "lookup_key")
	case "default":
		path, done = "/v1/products/"+url.PathEscape(p.ProductID), "This price is now the default."
		params.Set("default_price", p.ID)
	default:
		return nil, ui.ErrNotFound
	}
	a, err := s.Call(r, p.AccountID, p.Livemode, http.MethodPost, path, r.PostFormValue("key"), params)
	return ui.RespondTo(a, err, done, "/dashboard/prices/"+url.PathEscape(p.ID))
}

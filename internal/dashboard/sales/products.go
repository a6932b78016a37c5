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

// product is what a merchant sells, with its default price.
type product struct {
	AccountID   string
	ID          string // may be the merchant's own
	Livemode    bool
	Name        string
	Active      bool
	Description *string
	Metadata    json.RawMessage
	PriceID     *string
	Amount      *int64
	Currency    *string
	Prices      int64
	RequestID   string
	CreatedAt   time.Time
}

// State is the product's, in the badges' words.
func (p product) State() string { return activeWord(p.Active) }

func activeWord(active bool) string {
	if active {
		return "active"
	}
	return "archived"
}

const productColumns = `
	SELECT o.account_id, o.id, o.livemode, o.name, o.active, o.description, o.metadata, o.default_price_id AS price_id,
	       p.unit_amount AS amount, p.currency,
	       (SELECT count(*) FROM prices n WHERE n.product_id = o.id AND n.account_id = o.account_id) AS prices,
	       o.request_id, o.created_at
	FROM products o LEFT JOIN prices p ON p.account_id = o.account_id AND p.id = o.default_price_id`

const selectProducts = productColumns + `
	WHERE o.account_id = @account_id AND o.livemode = @livemode AND o.deleted_at IS NULL
	  AND (@state = 'all' OR o.active = (@state <> 'archived'))`

const (
	productsEdgeDown = `SELECT id FROM products` + ui.EdgeDown
	productsEdgeUp   = `SELECT id FROM products` + ui.EdgeUp

	productsDown = selectProducts + ` AND (@before = '' OR o.id < @before)
		AND o.id >= @edge ORDER BY o.id DESC LIMIT @limit`
	productsUp    = selectProducts + ` AND o.id > @after AND o.id <= @edge ORDER BY o.id LIMIT @limit`
	selectProduct = productColumns + ` WHERE o.id = @id AND o.account_id = ` + accountOfProduct

	// Merchants choose the IDs of products, so more than one may have this one.
	accountOfProduct = `(
		SELECT a.id FROM accounts a CROSS JOIN LATERAL (
			SELECT FROM products WHERE account_id = a.id AND id = @id AND deleted_at IS NULL OFFSET 0) found
		ORDER BY a.id = @account_id DESC LIMIT 1)`
)

var products = ui.StateList[product]{
	Lister: ui.Lister[product]{Down: productsDown, Up: productsUp, ID: func(p product) string { return p.ID },
		Edge: ui.Edge{Down: productsEdgeDown, Up: productsEdgeUp}},
	Template: "dashboard/products", Here: "products", Title: "Products",
	Columns: productFile,
	// A session's price_data creates an archived product for each line.
	States: [][2]string{
		{"", "Active"}, {"archived", "Archived"}, {"all", "All"},
	},
	Everything: "all",
}

type price struct {
	ID        string
	Amount    int64
	Currency  string
	Nickname  *string
	Active    bool
	CreatedAt time.Time
}

// State is the price's, in the badges' words.
func (p price) State() string { return activeWord(p.Active) }

const selectPrices = `
	SELECT id, unit_amount AS amount, currency, nickname, active, created_at FROM prices
	WHERE product_id = @id AND account_id = @account_id ORDER BY id DESC LIMIT 100`

type productPage struct {
	product
	List       []price
	Currencies []option
	Now        string // the currency that is chosen
	Key        string
}

func (s Pages) findProduct(r *http.Request) (*product, error) {
	of, err := s.Scope(r)
	if err != nil {
		return nil, err
	}
	return ui.ReadOne[product](r.Context(), s.Pool, selectProduct,
		postgres.Args{"id": r.PathValue("id"), "account_id": of.AccountID})
}

func (s Pages) product(r *http.Request) (*ui.Page, error) {
	found, err := ui.Found(s.findProduct(r))
	if err != nil {
		return nil, err
	}
	page := productPage{product: *found, Currencies: currencyOptions(), Now: "usd",
		Key: ui.NewIdempotencyKey("product")}
	if found.Currency != nil {
		page.Now = *found.Currency
	}
	page.List, err = ui.Read[price](r.Context(), s.Pool, selectPrices,
		postgres.Args{"id": page.ID, "account_id": page.AccountID})
	if err != nil {
		return nil, err
	}
	return ui.Show("dashboard/product",
		web.Page{Title: page.Name, Here: "products", Data: page}), nil
}

// postProduct edits the product, adds a price, or archives or activates the product.
func (s Pages) postProduct(r *http.Request) (*ui.Page, error) {
	p, err := ui.Found(s.findProduct(r))
	if err != nil {
		return nil, err
	}
	path, params := "/v1/products/"+url.PathEscape(p.ID), url.Values{}
	var done string
	switch r.PathValue("action") {
	case "archive", "activate":
		active := r.PathValue("action") == "activate"
		params.Set("active", strconv.FormatBool(active))
		done = map[bool]string{true: "Product activated.", false: "Product archived."}[active]
	case "edit":
		params, done = edited(r, p.Metadata, "name", "description"), "Product updated."
	case "price":
		var wrong fault
		params, wrong = withAmount(r.PostForm, "unit_amount")
		if wrong.Text != "" {
			return ui.RedirectWithError("/dashboard/products/"+url.PathEscape(p.ID), wrong.Text), nil
		}
		params.Set("product", p.ID)
		path, done = "/v1/prices", "Price added."
	default:
		return nil, ui.ErrNotFound
	}
	a, err := s.Call(r, p.AccountID, p.Livemode, http.MethodPost, path, r.PostFormValue("key"), params)
	return ui.RespondTo(a, err, done, "/dashboard/products/"+url.PathEscape(p.ID))
}

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

// paymentLink is an address that sells the same items to every customer who opens it.
type paymentLink struct {
	AccountID string
	ID        string
	Livemode  bool
	Active    bool
	URL       string `db:"url"`
	Currency  string
	Amount    int64  // what a customer pays who opens it now
	Sells     string // its first item
	Redirect  *string
	Metadata  json.RawMessage
	RequestID string
	CreatedAt time.Time
}

// State is the link's, in the badges' words.
func (l paymentLink) State() string {
	if l.Active {
		return "active"
	}
	return "inactive"
}

const linkColumns = `
	SELECT l.account_id, l.id, l.livemode, l.active, l.url, l.currency, i.amount, i.sells,
	       l.options->>'redirect_url' AS redirect, l.metadata, l.request_id, l.created_at
	FROM payment_links l
	CROSS JOIN LATERAL (
		SELECT coalesce(sum(p.unit_amount * n.quantity), 0)::bigint AS amount,
		       coalesce((array_agg(o.name ORDER BY n.id DESC))[1], '') AS sells
		FROM payment_link_items n
		JOIN prices p ON p.account_id = n.account_id AND p.id = n.price_id
		JOIN products o ON o.account_id = p.account_id AND o.id = p.product_id
		WHERE n.link_id = l.id AND n.account_id = l.account_id) i`

const selectLinks = linkColumns + `
	WHERE l.account_id = @account_id AND l.livemode = @livemode AND (@state = '' OR l.active = (@state = 'active'))`

const (
	linksEdgeDown = `SELECT id FROM payment_links` + ui.EdgeDown
	linksEdgeUp   = `SELECT id FROM payment_links` + ui.EdgeUp

	linksDown = selectLinks + ` AND (@before = '' OR l.id < @before)
		AND l.id >= @edge ORDER BY l.id DESC LIMIT @limit`
	linksUp    = selectLinks + ` AND l.id > @after AND l.id <= @edge ORDER BY l.id LIMIT @limit`
	selectLink = linkColumns + ` WHERE l.id = @id
		AND l.account_id = ` + ui.AccountWith + `payment_links` + ui.ThatID
)

var links = ui.StateList[paymentLink]{
	Lister: ui.Lister[paymentLink]{Down: linksDown, Up: linksUp, Prefix: "plink_",
		ID:   func(l paymentLink) string { return l.ID },
		Edge: ui.Edge{Down: linksEdgeDown, Up: linksEdgeUp}},
	Template: "dashboard/links", Here: "links", Title: "Payment links",
	Columns: linkFile,
	States: [][2]string{
		{"", "All"}, {"active", "Active"}, {"inactive", "Inactive"},
	},
}

const selectLinkItems = `
	SELECT n.id, o.name AS description, n.quantity, p.unit_amount * n.quantity AS amount, n.price_id
	FROM payment_link_items n
	JOIN prices p ON p.account_id = n.account_id AND p.id = n.price_id
	JOIN products o ON o.account_id = p.account_id AND o.id = p.product_id
	WHERE n.link_id = @id AND n.account_id = @account_id ORDER BY n.id DESC LIMIT 20`

// visitsOver is how many of an account's newest sessions are searched for those of a link:
// no index knows it, because every session would pay for it.
const visitsOver = 10_000

const selectVisits = `
	SELECT id, status, coalesce(customer_details->>'email', '') AS email, payment_intent_id AS intent_id, created_at
	FROM (SELECT id, status, customer_details, payment_intent_id, created_at, options FROM checkout_sessions
	    WHERE account_id = @account_id AND livemode = @livemode AND id > ` + ui.SessionsOfMode + `
	      AND id < ` + ui.BelowSessionsOfMode + ` ORDER BY id DESC LIMIT @over) newest
	WHERE options->>'payment_link' = @id ORDER BY id DESC LIMIT 25`

// visit is a checkout session that the link has opened.
type visit struct {
	ID        string
	Status    string
	Email     string
	IntentID  *string
	CreatedAt time.Time
}

type linkPage struct {
	paymentLink
	Items  []item
	Visits []visit
	Key    string
}

func (s Pages) findLink(r *http.Request) (*paymentLink, error) {
	return ui.ReadOne[paymentLink](r.Context(), s.Pool, selectLink, postgres.Args{"id": r.PathValue("id")})
}

func (s Pages) link(r *http.Request) (*ui.Page, error) {
	found, err := ui.Found(s.findLink(r))
	if err != nil {
		return nil, err
	}
	page := linkPage{paymentLink: *found, Key: ui.NewIdempotencyKey("link")}
	page.Items, err = ui.Read[item](r.Context(), s.Pool, selectLinkItems,
		postgres.Args{"id": found.ID, "account_id": found.AccountID})
	if err != nil {
		return nil, err
	}
	page.Visits, err = ui.Read[visit](r.Context(), s.Pool, selectVisits, postgres.Args{
		"id": found.ID, "account_id": found.AccountID, "livemode": found.Livemode, "over": visitsOver})
	if err != nil {
		return nil, err
	}
	return ui.Show("dashboard/link", web.Page{Title: "Payment link " + page.ID, Here: "links", Data: page}), nil
}

// postLink activates or deactivates a link.
func (s Pages) postLink(r *http.Request) (*ui.Page, error) {
	l, err := ui.Found(s.findLink(r))
	if err != nil {
		return nil, err
	}
	active := r.PathValue("action") == "activate"
	if !active && r.PathValue("action") != "deactivate" {
		return nil, ui.ErrNotFound
	}
	done := map[bool]string{true: "Payment link activated.", false: "Payment link deactivated."}[active]
	a, err := s.Call(r, l.AccountID, l.Livemode, http.MethodPost, "/v1/payment_links/"+l.ID, r.PostFormValue("key"),
		url.Values{"active": {strconv.FormatBool(active)}})
	return ui.RespondTo(a, err, done, "/dashboard/links/"+l.ID)
}

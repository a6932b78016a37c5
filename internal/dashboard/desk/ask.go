package desk

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/login"
	"github.com/ratchet-pay/ratchet/internal/people"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

const selectMerchant = `
	SELECT country, default_currency, statement_descriptor, payout_delay_days, api_version AS default_version,
	       account_ahead(id, @livemode) AS ahead
	FROM accounts WHERE id = @account_id`

// Ask sends a request to the API's own handler, in the name of an account.
func (d *Desk) Ask(
	r *http.Request, accountID string, livemode bool, method, path, key string, form url.Values,
) (*api.Answer, error) {
	return d.AskAs(r, accountID, livemode, "", method, path, key, form)
}

// AskAs is Ask with an API version, "" for the one that the pages read.
func (d *Desk) AskAs(
	r *http.Request, accountID string, livemode bool, version, method, path, key string, form url.Values,
) (*api.Answer, error) {
	merchants, err := Read[apirequest.Merchant](r.Context(), d.Pool, selectMerchant,
		postgres.Args{"account_id": accountID, "livemode": livemode})
	if err != nil {
		return nil, err
	}
	if len(merchants) != 1 {
		return nil, fmt.Errorf("there is no account %q", accountID)
	}
	holder := &apikey.Holder{
		KeyID:     caller(r),
		AccountID: accountID,
		Livemode:  livemode,
		Kind:      apikey.Secret,
		Merchant:  merchants[0],
	}
	in := api.Inside{Holder: holder, Method: method, Path: path, Key: key, Form: form}
	if version != "" {
		in.Header = http.Header{"Stripe-Version": {version}}
	}
	return in.Ask(d.API, r)
}

// caller is who the audit trail names for a request to the API that a person makes here.
func caller(r *http.Request) string {
	name := login.Actor(r)
	if name == people.Installation {
		return name
	}
	return people.Installation + ":" + name
}

// Refusal is what the API said against it, or "".
func Refusal(a *api.Answer) string {
	if e := a.Refusal(); e != nil {
		return e.Message
	}
	return ""
}

// Settle ends a form that one request of the API decides: back to a page, which says how it went.
func Settle(a *api.Answer, err error, done, back string) (*Page, error) {
	if err != nil {
		return nil, err
	}
	if wrong := Refusal(a); wrong != "" {
		return Complain(back, wrong), nil
	}
	return Say(back, done), nil
}

// NewKey is the idempotency key of a form that is being drawn. Sent twice, the
// form is one request.
func NewKey(what string) string { return "dashboard-" + what + "-" + id.Random(16) }

package ui

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

// Call sends a request to the API in this process, as the account and in the mode given. An error response of the API
// is returned as an answer; err means that the API gave no answer.
func (d *Env) Call(
	r *http.Request, accountID string, livemode bool, method, path, key string, form url.Values,
) (*api.InternalResponse, error) {
	return d.CallAs(r, accountID, livemode, "", method, path, key, form)
}

// CallAs is Call with an API version, "" for the one that the pages read.
func (d *Env) CallAs(
	r *http.Request, accountID string, livemode bool, version, method, path, key string, form url.Values,
) (*api.InternalResponse, error) {
	merchants, err := Read[apirequest.Merchant](r.Context(), d.Pool, selectMerchant,
		postgres.Args{"account_id": accountID, "livemode": livemode})
	if err != nil {
		return nil, err
	}
	if len(merchants) != 1 {
		return nil, fmt.Errorf("account %q not found", accountID)
	}
	credential := &apikey.Credential{
		KeyID:     caller(r),
		AccountID: accountID,
		Livemode:  livemode,
		Kind:      apikey.Secret,
		Merchant:  merchants[0],
	}
	in := api.InternalRequest{Credential: credential, Method: method, Path: path, Key: key, Form: form}
	if version != "" {
		in.Header = http.Header{"Stripe-Version": {version}}
	}
	return in.Do(d.API, r)
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
func Refusal(a *api.InternalResponse) string {
	if e := a.Refusal(); e != nil {
		return e.Message
	}
	return ""
}

// RespondTo responds to a form that made one request to the API: it redirects to back, with the text done or with the
// API's error message.
func RespondTo(a *api.InternalResponse, err error, done, back string) (*Page, error) {
	if err != nil {
		return nil, err
	}
	if wrong := Refusal(a); wrong != "" {
		return RedirectWithError(back, wrong), nil
	}
	return RedirectWithNotice(back, done), nil
}

// NewIdempotencyKey is the idempotency key of a form that is being drawn. Sent twice, the
// form is one request.
func NewIdempotencyKey(what string) string { return "dashboard-" + what + "-" + id.Random(16) }

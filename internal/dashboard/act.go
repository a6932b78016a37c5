package dashboard

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/login"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// actor is who the audit trail names for what is done here.
const actor = login.Actor

const selectMerchant = `
	SELECT country, default_currency, statement_descriptor, payout_delay_days, api_version AS default_version,
	       account_ahead(id, @livemode) AS ahead
	FROM accounts WHERE id = @account_id`

// ask sends a request to the API's own handler, in the name of an account.
func (s *Server) ask(
	r *http.Request, accountID string, livemode bool, method, path, key string, form url.Values,
) (*api.Answer, error) {
	merchants, err := read[apirequest.Merchant](r.Context(), s, selectMerchant,
		postgres.Args{"account_id": accountID, "livemode": livemode})
	if err != nil {
		return nil, err
	}
	if len(merchants) != 1 {
		return nil, fmt.Errorf("there is no account %q", accountID)
	}
	holder := &apikey.Holder{
		KeyID:     actor,
		AccountID: accountID,
		Livemode:  livemode,
		Kind:      apikey.Secret,
		Merchant:  merchants[0],
	}
	return api.Inside{Holder: holder, Method: method, Path: path, Key: key, Form: form}.Ask(s.API, r)
}

// refusal is what the API said against it, or "".
func refusal(a *api.Answer) string {
	if e := a.Refusal(); e != nil {
		return e.Message
	}
	return ""
}

// newKey is the idempotency key of a form that is being drawn. Sent twice, the
// form is one request.
func newKey(what string) string { return "dashboard-" + what + "-" + id.Random(16) }

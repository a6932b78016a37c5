package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/api"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
)

// actor is who the audit trail names for what is done here.
const actor = "dashboard"

const selectMerchant = `
	SELECT country, default_currency, statement_descriptor, payout_delay_days, account_ahead(id, @livemode) AS ahead
	FROM accounts WHERE id = @account_id`

// answer is what the API answered.
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// requestID is the request that did it, not the one that was answered from memory.
func (a *answer) requestID() string {
	if original := a.header.Get("Original-Request"); original != "" {
		return original
	}
	return a.header.Get("Request-Id")
}

// refusal is what the API said against it, or "".
func (a *answer) refusal() string {
	if a.status < http.StatusBadRequest {
		return ""
	}
	var body struct{ Error struct{ Message string } }
	if json.Unmarshal(a.body.Bytes(), &body) != nil || body.Error.Message == "" {
		return fmt.Sprintf("The API answered %d.", a.status)
	}
	return body.Error.Message
}

// open tells whether the fate of the request is not known yet: then only the same
// key may be tried again.
func (a *answer) open() bool {
	return a.status == http.StatusConflict || a.status == http.StatusTooManyRequests || a.status >= http.StatusInternalServerError
}

// ask sends a request to the API's own handler, in the name of an account. It
// passes everything that a merchant's request passes.
func (s *Server) ask(r *http.Request, accountID string, livemode bool, method, path, key string, form url.Values) (*answer, error) {
	merchants, err := read[idempotency.Merchant](r.Context(), s, selectMerchant, pgx.StrictNamedArgs{"account_id": accountID, "livemode": livemode})
	if err != nil {
		return nil, err
	}
	if len(merchants) != 1 {
		return nil, fmt.Errorf("there is no account %q", accountID)
	}
	// Whoever closes the page does not take back what was asked for.
	ctx := api.As(context.WithoutCancel(r.Context()), &apikey.Holder{
		KeyID: actor, AccountID: accountID, Livemode: livemode, Kind: apikey.Secret, Merchant: merchants[0]})
	target, err := url.Parse(path)
	if err != nil {
		return nil, err
	}
	body := form.Encode()
	asked := (&http.Request{Method: method, URL: target, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Host: r.Host, RemoteAddr: r.RemoteAddr, RequestURI: path}).WithContext(ctx)
	asked.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if key != "" {
		asked.Header.Set("Idempotency-Key", key)
	}
	a := &answer{status: http.StatusOK, header: http.Header{}}
	s.API.ServeHTTP(a, asked)
	return a, nil
}

// newKey is the idempotency key of a form that is being drawn. Sent twice, the
// form is one request.
func newKey(what string) string { return "dashboard-" + what + "-" + id.Random(16) }

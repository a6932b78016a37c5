// Package challenge is the page on which cardholders authenticate a payment or a setup
// to their bank, and carries out what they decide there.
package challenge

import (
	"context"
	"net/http"
	"net/url"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/setupintent"
)

// Challenge is the page on which cardholders authenticate themselves to their bank
// (3-D Secure). Anyone who has its name can open it, so it shows nothing that the
// cardholder does not see anyway.
type Challenge struct {
	AccountID    string
	Livemode     bool
	IntentID     string
	ClientSecret string
	Session      bool // it is part of a checkout session
	Setup        bool // for payments to come: there is no amount
	Amount       int64
	Currency     string
	Status       string // of the intent
	ReturnURL    *string
	Brand        string
	Last4        string
	Name         string // of the merchant
	Locale       string // of the checkout session
	apirequest.Merchant
}

// A challenge is found without knowing whose it is: its name is the key.
const challengeByName = `
	SELECT i.account_id, i.livemode, i.intent_id, i.client_secret, i.checkout_session IS NOT NULL AS session,
	       coalesce(s.options ->> 'locale', '') AS locale, i.setup,
	       i.amount, i.currency, i.status, i.return_url,
	       coalesce(coalesce(m.card, c.card) ->> 'display_brand', '') AS brand,
	       coalesce(coalesce(m.card, c.card) ->> 'last4', '') AS last4,
	       a.name, ` + resource.MerchantColumns + `, account_ahead(i.account_id, i.livemode) AS ahead
	FROM (
		SELECT account_id, livemode, id AS intent_id, client_secret, checkout_session, false AS setup, amount, currency,
		       status, return_url, payment_method_id
		FROM payment_intents WHERE challenge = @challenge
		UNION ALL
		SELECT account_id, livemode, id, client_secret, checkout_session, true, 0, '', status, return_url,
		       payment_method_id
		FROM setup_intents WHERE challenge = @challenge
	) AS i
	JOIN accounts a ON a.id = i.account_id
	LEFT JOIN checkout_sessions s ON s.account_id = i.account_id AND s.id = i.checkout_session
	LEFT JOIN payment_methods m ON m.account_id = i.account_id AND m.id = i.payment_method_id
	LEFT JOIN cards c ON c.account_id = i.account_id AND c.id = i.payment_method_id`

// Find reads a challenge by its name; nil if there is none.
func Find(ctx context.Context, db phase.Reader, name string) (*Challenge, error) {
	return resource.QueryOne[Challenge](ctx, db, challengeByName, pgx.StrictNamedArgs{"challenge": name})
}

// Open says that the cardholder has not decided yet.
func (c *Challenge) Open() bool { return c.Status == payment.IntentNeedsAction }

// Undecided reports that the cardholder has decided and the outcome is not known yet.
func (c *Challenge) Undecided() bool { return c.Status == payment.IntentProcessing }

// Failed says that the cardholder was not authenticated, or not charged after it.
func (c *Challenge) Failed() bool { return c.Status == payment.IntentNeedsMethod }

// Return is the URL to which the cardholder's browser goes after the decision, with the
// parameters that an integration reads there; "" if the intent has no return URL. A checkout
// page reads the outcome from the API, so its URL gets no secret.
func (c *Challenge) Return() string {
	if c.ReturnURL == nil {
		return ""
	}
	if c.Session {
		return *c.ReturnURL
	}
	back, err := url.Parse(*c.ReturnURL)
	if err != nil {
		return ""
	}
	query, kind := back.Query(), "payment_intent"
	if c.Setup {
		kind = "setup_intent"
	}
	query.Set(kind, c.IntentID)
	query.Set(kind+"_client_secret", c.ClientSecret)
	query.Set("redirect_status", c.redirectStatus())
	back.RawQuery = query.Encode()
	return back.String()
}

func (c *Challenge) redirectStatus() string {
	switch c.Status {
	case payment.IntentSucceeded, payment.IntentNeedsCapture, payment.IntentNeedsConfirmation:
		return "succeeded"
	case payment.IntentProcessing, payment.IntentNeedsAction:
		return "pending"
	}
	return "failed"
}

// Decide records the cardholder's decision and carries it out. baseURL is the address of
// the installation's pages, notified says whether it receives the acquirer's notifications,
// and requestID names the decision.
func (c *Challenge) Decide(
	ctx context.Context, e *phase.Engine, name, requestID, baseURL string, notified, passed bool,
) (phase.Response, error) {
	call := phase.Request{
		Caller: phase.Caller{
			AccountID: c.AccountID, Livemode: c.Livemode, RequestID: requestID, Key: name,
			Caller: apirequest.Context{
				APIVersion: c.DefaultVersion.OrCurrent(),
				BaseURL:    baseURL,
				Notified:   notified,
				Merchant:   c.Merchant,
			}.By("cardholder", ""),
		},
		Method: http.MethodPost, Path: payment.ChallengePath, Fingerprint: []byte(name),
	}
	in := payment.AuthenticateParams{Intent: c.IntentID, Challenge: name, Passed: passed}
	if c.Setup {
		return setupintent.AuthenticateSetup.Serve(ctx, e, call, in)
	}
	return payment.AuthenticatePayment.Serve(ctx, e, call, in)
}

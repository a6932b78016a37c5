package payment

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
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
	apirequest.Merchant
}

// A challenge is found without knowing whose it is: its name is the key.
const challengeByName = `
	SELECT i.account_id, i.livemode, i.intent_id, i.client_secret, i.checkout_session IS NOT NULL AS session, i.setup,
	       i.amount, i.currency, i.status, i.return_url, coalesce(m.card ->> 'display_brand', '') AS brand,
	       coalesce(m.card ->> 'last4', '') AS last4,
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
	LEFT JOIN payment_methods m ON m.account_id = i.account_id AND m.id = i.payment_method_id`

// FindChallenge reads a challenge by its name; nil if there is none.
func FindChallenge(ctx context.Context, db phase.Reader, name string) (*Challenge, error) {
	return resource.QueryOne[Challenge](ctx, db, challengeByName, pgx.StrictNamedArgs{"challenge": name})
}

// Open says that the cardholder has not decided yet.
func (c *Challenge) Open() bool { return c.Status == intentNeedsAction }

// Undecided reports that the cardholder has decided and the outcome is not known yet.
func (c *Challenge) Undecided() bool { return c.Status == IntentProcessing }

// Failed says that the cardholder was not authenticated, or not charged after it.
func (c *Challenge) Failed() bool { return c.Status == intentNeedsMethod }

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
	case IntentSucceeded, intentNeedsCapture, intentNeedsConfirmation:
		return "succeeded"
	case IntentProcessing, intentNeedsAction:
		return "pending"
	}
	return "failed"
}

// AuthenticateParams are what the cardholder decided on a challenge's page.
type AuthenticateParams struct {
	Intent    string
	Challenge string
	Passed    bool
}

const authenticationRecorded = "authentication_recorded"

// AuthenticatePayment moves an intent on after its cardholder has passed or
// failed the challenge. Passed, the payment is made at once; with
// confirmation_method=manual it waits for the merchant's server.
//
//	(nothing) ──▶ authentication_recorded ──▶ payment_answered ──▶ payment_settled
//
// The challenge's name is its idempotency key: no matter how often and in how many tabs the
// cardholder clicks, the first decision counts.
var AuthenticatePayment = phase.Define("payment_intent.authenticate", 1,
	phase.Atomic(authenticationRecorded, recordAuthentication),
	phase.Foreign(PaymentAnswered, acquirer.Port, func(
		ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ AuthenticateParams, s *Attempt,
	) error {
		return s.Ask(ctx, call)
	}),
	phase.Atomic(PaymentSettled, func(
		ctx context.Context, tx *phase.Tx, _ AuthenticateParams, s *Attempt,
	) (phase.Outcome, error) {
		return s.settle(ctx, tx, nil)
	}),
).AbandonUnsentAfter(AbandonChargeAfter, func(
	ctx context.Context, tx *phase.Tx, _ AuthenticateParams, s *Attempt,
) (phase.Outcome, error) {
	return s.abandon(ctx, tx, nil)
})

func recordAuthentication(ctx context.Context, tx *phase.Tx, in AuthenticateParams, s *Attempt) (phase.Outcome, error) {
	intent, err := LockIntent(ctx, tx, in.Intent)
	if err != nil {
		return phase.Outcome{}, err
	}
	if intent.Status != intentNeedsAction || resource.Deref(intent.Challenge) != in.Challenge {
		return phase.Outcome{}, challengeOver()
	}
	method, err := customer.LockMethod(ctx, tx, resource.Deref(intent.PaymentMethodID))
	if err != nil {
		return phase.Outcome{}, err
	}
	intent.NextAction = nil
	switch {
	case !in.Passed:
		intent.LastPaymentError, err = authenticationFailed("payment_intent_authentication_failure", method)
		if err != nil {
			return phase.Outcome{}, err
		}
		intent.Status, intent.PaymentMethodID = intentNeedsMethod, nil
		event.Emit(tx, "payment_intent.payment_failed", intent.ID, intent.Render(), nil)
	case intent.ConfirmationMethod == "manual":
		intent.Authenticated, intent.Status = true, intentNeedsConfirmation
	default:
		intent.Authenticated = true
		s.reserve(tx, intent, method, false)
		intent.Update(tx)
		return phase.Next, nil
	}
	intent.Update(tx)
	return replyWithIntent(ctx, tx, nil, intent)
}

// challengeOver is the refusal of a decision that comes too late.
func challengeOver() *apierror.Error {
	return apierror.Invalid("", "This authentication is over: the payment has moved on.").
		WithCode("payment_intent_unexpected_state")
}

// authenticationFailed is what an intent remembers of a challenge that was not passed.
func authenticationFailed(code string, method *customer.PaymentMethod) (json.RawMessage, error) {
	e := apierror.Invalid("",
		"The provided PaymentMethod has failed authentication. You can provide payment_method_data or a new "+
			"PaymentMethod to attempt to fulfill this PaymentIntent again.").WithCode(code)
	e.Status, e.PaymentMethod = http.StatusPaymentRequired, method.Render()
	remembered, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode the failed authentication: %w", err)
	}
	return remembered, nil
}

// Decide records the cardholder's decision and carries it out. baseURL is the address of
// the installation's pages, news says whether it receives the acquirer's notifications,
// and requestID names the decision.
func (c *Challenge) Decide(
	ctx context.Context, e *phase.Engine, name, requestID, baseURL string, news, passed bool,
) (phase.Response, error) {
	call := phase.Request{
		Caller: phase.Caller{
			AccountID: c.AccountID, Livemode: c.Livemode, RequestID: requestID, Key: name,
			Caller: apirequest.Context{
				APIVersion: c.DefaultVersion.OrCurrent(),
				BaseURL:    baseURL,
				News:       news,
				Merchant:   c.Merchant,
			}.By("cardholder", ""),
		},
		Method: http.MethodPost, Path: ChallengePath, Fingerprint: []byte(name),
	}
	in := AuthenticateParams{Intent: c.IntentID, Challenge: name, Passed: passed}
	if c.Setup {
		return AuthenticateSetup.Serve(ctx, e, call, in)
	}
	return AuthenticatePayment.Serve(ctx, e, call, in)
}

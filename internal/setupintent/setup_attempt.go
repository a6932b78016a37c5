package setupintent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{
		Object: "setup_attempt",
		Prefix: "setatt",
		Table:  "setup_attempts",
		Load:   resource.LoadWith[SetupAttempt](setupAttemptsByID),
		Fields: map[string][]string{
			"customer": {"customer"}, "payment_method": {"payment_method"}, "setup_intent": {"setup_intent"},
			"application": nil, "on_behalf_of": nil,
		},
	})
}

// SetupAttempt is one confirmation of a setup that its card's issuer has answered.
// One that waits for the cardholder is open; any other is final.
type SetupAttempt struct {
	AccountID            string
	ID                   string
	Livemode             bool
	RequestID            string
	SetupIntentID        string
	Status               string
	CustomerID           *string
	PaymentMethodID      string
	PaymentMethodDetails attemptDetails
	SetupError           json.RawMessage
	Usage                string
	CreatedAt            time.Time
}

// An open attempt is requires_action, and one that went well has succeeded, as the
// setup itself.
const (
	attemptFailed    = "failed"
	attemptAbandoned = "abandoned"
)

// SetupAttemptObject is an attempt on the wire.
type SetupAttemptObject struct {
	ID                   string          `json:"id"`
	Object               string          `json:"object"`
	Application          *string         `json:"application"`
	Created              int64           `json:"created"`
	Customer             *string         `json:"customer"`
	CustomerAccount      *string         `json:"customer_account"`
	FlowDirections       []string        `json:"flow_directions"`
	Livemode             bool            `json:"livemode"`
	OnBehalfOf           *string         `json:"on_behalf_of"`
	PaymentMethod        string          `json:"payment_method"`
	PaymentMethodDetails attemptDetails  `json:"payment_method_details"`
	SetupError           json.RawMessage `json:"setup_error"`
	SetupIntent          string          `json:"setup_intent"`
	Status               string          `json:"status"`
	Usage                string          `json:"usage"`
}

// attemptDetails are the card as it was then. Nothing in them names a person.
type attemptDetails struct {
	Card attemptCard `json:"card"`
	Type string      `json:"type"`
}

type attemptCard struct {
	Brand        string              `json:"brand"`
	Checks       customer.CardChecks `json:"checks"`
	Country      string              `json:"country"`
	ExpMonth     int64               `json:"exp_month"`
	ExpYear      int64               `json:"exp_year"`
	Fingerprint  string              `json:"fingerprint"`
	Funding      string              `json:"funding"`
	Last4        string              `json:"last4"`
	Network      string              `json:"network"`
	ThreeDSecure *attemptSecure      `json:"three_d_secure"`
	Wallet       *string             `json:"wallet"`
}

// attemptSecure says what came of asking the cardholder.
type attemptSecure struct {
	AuthenticationFlow string  `json:"authentication_flow"`
	ElectronicCommerce *string `json:"electronic_commerce_indicator"`
	Result             string  `json:"result"`
	ResultReason       *string `json:"result_reason"`
	TransactionID      *string `json:"transaction_id"`
	Version            string  `json:"version"`
}

// secured is the outcome of the authentication.
func secured(passed bool) *attemptSecure {
	if passed {
		return &attemptSecure{
			AuthenticationFlow: "challenge",
			ElectronicCommerce: resource.NilIfEmpty("05"),
			Result:             "authenticated",
			Version:            "2.2.0",
		}
	}
	return &attemptSecure{
		AuthenticationFlow: "challenge",
		Result:             "failed",
		ResultReason:       resource.NilIfEmpty("rejected"),
		Version:            "2.2.0",
	}
}

// Render is the setup attempt as the API's JSON object.
func (a *SetupAttempt) Render() any {
	return SetupAttemptObject{
		ID:                   a.ID,
		Object:               "setup_attempt",
		Created:              resource.Unix(a.CreatedAt),
		Customer:             a.CustomerID,
		Livemode:             a.Livemode,
		PaymentMethod:        a.PaymentMethodID,
		PaymentMethodDetails: a.PaymentMethodDetails,
		SetupError:           a.SetupError,
		SetupIntent:          a.SetupIntentID,
		Status:               a.Status,
		Usage:                a.Usage,
	}
}

const setupAttemptColumns = `account_id, id, livemode, request_id, setup_intent_id, status, customer_id,
	payment_method_id, payment_method_details, setup_error, usage, created_at`

var insertSetupAttempts = postgres.InsertRows[SetupAttempt]("setup_attempts", setupAttemptColumns)

const (
	openSetupAttempt = ` WHERE account_id = @account_id AND id = @id AND status = 'requires_action'`

	answerSetupAttempt = `
	UPDATE setup_attempts SET status = @status, payment_method_details = @payment_method_details,
	    setup_error = @setup_error` + openSetupAttempt
	abandonSetupAttempt = `UPDATE setup_attempts SET status = @status` + openSetupAttempt
)

// tried records the outcome of an attempt at the setup: of a new one or, if the cardholder
// had to authenticate, of the one that waited for them. The caller writes the setup
// afterwards, with the attempt's id.
func (s *SetupIntent) tried(
	tx *phase.Tx, method customer.PaymentMethod, status string, asked *attemptSecure,
) *SetupAttempt {
	a := &SetupAttempt{
		AccountID:            s.AccountID,
		ID:                   id.New("setatt", tx.Now()),
		Livemode:             s.Livemode,
		RequestID:            tx.RequestID,
		SetupIntentID:        s.ID,
		Status:               status,
		CustomerID:           s.CustomerID,
		PaymentMethodID:      method.ID,
		PaymentMethodDetails: detailsOf(method, asked),
		SetupError:           s.LastSetupError,
		Usage:                s.Usage,
		CreatedAt:            tx.Now(),
	}
	if asked != nil && s.LatestAttempt != nil {
		tx.WriteOne(answerSetupAttempt, pgx.StrictNamedArgs{
			"account_id":             s.AccountID,
			"id":                     s.LatestAttempt,
			"status":                 status,
			"payment_method_details": a.PaymentMethodDetails,
			"setup_error":            a.SetupError,
		})
		return a
	}
	s.LatestAttempt = &a.ID
	tx.Write(insertSetupAttempts, postgres.RowsOf(*a))
	return a
}

// abandonAttempt ends the attempt that waits for its cardholder, if one does: the
// cardholder's answer would come too late.
func (s *SetupIntent) abandonAttempt(tx *phase.Tx) {
	if s.LatestAttempt != nil {
		tx.Write(abandonSetupAttempt,
			pgx.StrictNamedArgs{"account_id": s.AccountID, "id": s.LatestAttempt, "status": attemptAbandoned})
	}
}

// detailsOf is the card as it is now.
func detailsOf(m customer.PaymentMethod, asked *attemptSecure) attemptDetails {
	card := m.Card
	return attemptDetails{Type: "card", Card: attemptCard{
		Brand:        card.Brand,
		Checks:       m.Checks(),
		Country:      card.Country,
		ExpMonth:     card.ExpMonth,
		ExpYear:      card.ExpYear,
		Fingerprint:  card.Fingerprint,
		Funding:      card.Funding,
		Last4:        card.Last4,
		Network:      card.Brand,
		ThreeDSecure: asked,
	}}
}

const selectSetupAttempts = `
	SELECT ` + setupAttemptColumns + `
	FROM setup_attempts
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	setupAttemptByID           = selectSetupAttempts + ` AND id = @id`
	setupAttemptsByID          = selectSetupAttempts + ` AND id = ANY (@ids::text[])`
	listSetupAttempts          = selectSetupAttempts + ` AND setup_intent_id = @setup_intent` + resource.NewestFirst
	listSetupAttemptsBackwards = selectSetupAttempts + ` AND setup_intent_id = @setup_intent` + resource.OldestFirst
)

// ListSetupAttemptsParams are the parameters of GET /v1/setup_attempts.
type ListSetupAttemptsParams struct {
	resource.List
	SetupIntent string `form:"setup_intent,required" max:"5000"`
}

// ListSetupAttempts answers GET /v1/setup_attempts: what has been tried at one setup.
func ListSetupAttempts(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListSetupAttemptsParams,
) (any, error) {
	setup, err := resource.Get[SetupIntent](ctx, db, SetupByID, v, in.SetupIntent)
	if err != nil {
		return nil, err
	}
	if setup == nil {
		return nil, apierror.NoSuch("setupintent", "setup_intent", in.SetupIntent)
	}
	return resource.ListPage[SetupAttempt](ctx, db, v, in.List, resource.Listing{
		URL:     "/v1/setup_attempts",
		Object:  "setup_attempt",
		Newest:  listSetupAttempts,
		Oldest:  listSetupAttemptsBackwards,
		ByID:    setupAttemptByID,
		Prefix:  "setatt",
		Filters: pgx.StrictNamedArgs{"setup_intent": in.SetupIntent},
	})
}

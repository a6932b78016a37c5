// Package setupintent prepares cards for later payments: setup intents and the attempts
// at them. No money moves.
package setupintent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{
		Object: "setup_intent",
		Prefix: "seti",
		Table:  "setup_intents",
		Load:   resource.LoadWith[SetupIntent](setupsByID),
		Fields: map[string][]string{
			"customer": {"customer"}, "latest_attempt": {"setup_attempt"}, "payment_method": {"payment_method"},
			"application": nil, "mandate": nil, "on_behalf_of": nil, "single_use_mandate": nil,
		},
	})
}

// SetupIntent is a card being made ready for payments to come. No money moves.
// Its states are those of a PaymentIntent, without requires_capture.
type SetupIntent struct {
	AccountID               string
	ID                      string
	Livemode                bool
	RequestID               string
	Status                  string
	LockedBy                *string
	ClientSecret            string
	Usage                   string
	AutomaticPaymentMethods *payment.AutomaticPaymentMethods
	PaymentMethodTypes      []string
	PaymentMethodOptions    SetupOptions
	CustomerID              *string
	PaymentMethodID         *string
	Description             *string
	Metadata                map[string]string
	LastSetupError          json.RawMessage
	Challenge               *string
	NextAction              *payment.NextAction
	ReturnURL               *string
	CancellationReason      *string
	CheckoutSession         *string // the session it is confirmed in
	LatestAttempt           *string
	CreatedAt               time.Time
}

// SetupOptions are what a setup wants of a kind of method.
type SetupOptions struct {
	Card struct {
		MandateOptions      *string `json:"mandate_options"`
		Network             *string `json:"network"`
		RequestThreeDSecure string  `json:"request_three_d_secure"`
	} `json:"card"`
}

// SetupIntentObject is a setup intent on the wire.
type SetupIntentObject struct {
	ID                        string                           `json:"id"`
	Object                    string                           `json:"object"`
	AllowedMethodTypes        []string                         `json:"allowed_payment_method_types"`
	Application               *string                          `json:"application"`
	AutomaticPaymentMethods   *payment.AutomaticPaymentMethods `json:"automatic_payment_methods"`
	CancellationReason        *string                          `json:"cancellation_reason"`
	ClientSecret              string                           `json:"client_secret"`
	Created                   int64                            `json:"created"`
	Customer                  *string                          `json:"customer"`
	CustomerAccount           *string                          `json:"customer_account"`
	Description               *string                          `json:"description"`
	ExcludedMethodTypes       []string                         `json:"excluded_payment_method_types"`
	FlowDirections            []string                         `json:"flow_directions"`
	LastSetupError            json.RawMessage                  `json:"last_setup_error"`
	LatestAttempt             *string                          `json:"latest_attempt"`
	Livemode                  bool                             `json:"livemode"`
	ManagedPayments           *string                          `json:"managed_payments"`
	Mandate                   *string                          `json:"mandate"`
	Metadata                  map[string]string                `json:"metadata"`
	NextAction                *payment.NextAction              `json:"next_action"`
	OnBehalfOf                *string                          `json:"on_behalf_of"`
	PaymentMethod             *string                          `json:"payment_method"`
	MethodConfigurationDetail *string                          `json:"payment_method_configuration_details"`
	PaymentMethodOptions      SetupOptions                     `json:"payment_method_options"`
	PaymentMethodTypes        []string                         `json:"payment_method_types"`
	SingleUseMandate          *string                          `json:"single_use_mandate"`
	Status                    string                           `json:"status"`
	Usage                     string                           `json:"usage"`
}

// Render is the setup intent as the API's JSON object.
func (s *SetupIntent) Render() any { return s.object() }

func (s *SetupIntent) object() SetupIntentObject {
	return SetupIntentObject{
		ID:                      s.ID,
		Object:                  "setup_intent",
		AutomaticPaymentMethods: s.AutomaticPaymentMethods,
		CancellationReason:      s.CancellationReason,
		ClientSecret:            s.ClientSecret,
		Created:                 resource.Unix(s.CreatedAt),
		Customer:                s.CustomerID,
		Description:             s.Description,
		LastSetupError:          s.LastSetupError,
		LatestAttempt:           s.LatestAttempt,
		Livemode:                s.Livemode,
		Metadata:                s.Metadata,
		NextAction:              s.NextAction,
		PaymentMethod:           s.PaymentMethodID,
		PaymentMethodOptions:    s.PaymentMethodOptions,
		PaymentMethodTypes:      s.PaymentMethodTypes,
		Status:                  s.Status,
		Usage:                   s.Usage,
	}
}

// Public is the setup intent as a browser with its client secret may see it: without customer, attempts and metadata.
func (s *SetupIntent) Public() any {
	o := s.object()
	o.Customer, o.LatestAttempt, o.Metadata = nil, nil, map[string]string{}
	return o
}

const setupColumns = `account_id, id, livemode, request_id, status, locked_by, client_secret, usage,
	automatic_payment_methods, payment_method_types, payment_method_options, customer_id, payment_method_id,
	description, metadata, last_setup_error, challenge, next_action, return_url, cancellation_reason, checkout_session,
	latest_attempt, created_at`

var (
	insertSetups = postgres.InsertRows[SetupIntent]("setup_intents", setupColumns)

	updateSetups = postgres.UpdateRows[SetupIntent]("setup_intents", `status, locked_by, customer_id,
		payment_method_id, description, payment_method_options, payment_method_types, metadata, last_setup_error,
		challenge, next_action, return_url, cancellation_reason, latest_attempt`,
		`t.status NOT IN ('succeeded', 'canceled') OR t.status = m.status`)
)

// Insert queues the INSERT of the setup intent. It runs with the transaction's commit, and a conflict fails that.
func (s *SetupIntent) Insert(tx *phase.Tx) { tx.Write(insertSetups, postgres.RowsOf(*s)) }

// Update queues the UPDATE of all columns that can change.
func (s *SetupIntent) Update(tx *phase.Tx) { tx.Write(updateSetups, postgres.RowsOf(*s)) }

const selectSetups = `
	SELECT ` + setupColumns + `
	FROM setup_intents
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	// SetupByID selects one setup intent (@id) of an account and mode, or no row.
	SetupByID  = selectSetups + ` AND id = @id`
	setupsByID = selectSetups + ` AND id = ANY (@ids::text[])`
	lockSetup  = SetupByID + ` FOR NO KEY UPDATE`

	setupFilters = ` AND (@customer_id::text IS NULL OR customer_id = @customer_id)
	AND (@payment_method::text IS NULL OR payment_method_id = @payment_method)`
	listSetups          = selectSetups + setupFilters + resource.NewestFirst
	listSetupsBackwards = selectSetups + setupFilters + resource.OldestFirst
)

// LockSetup reads a setup and locks its row until the transaction ends. It returns a 404 for one that the account does
// not have in this mode.
func LockSetup(ctx context.Context, tx *phase.Tx, id string) (*SetupIntent, error) {
	setup, err := resource.Get[SetupIntent](ctx, tx, lockSetup, resource.PrincipalOf(tx.Caller), id)
	if err != nil {
		return nil, err
	}
	if setup == nil {
		return nil, apierror.NotFound("setupintent", "intent", id)
	}
	return setup, nil
}

// readSetup reads a setup before its key is claimed, as a payment intent is read.
func readSetup(
	ctx context.Context, db phase.Reader, v resource.Principal, id, clientSecret string,
) (*SetupIntent, error) {
	setup, err := resource.Get[SetupIntent](ctx, db, SetupByID, v, id)
	if err != nil {
		return nil, err
	}
	if setup == nil || !v.MayUse(setup.ClientSecret, clientSecret) {
		return nil, apierror.NotFound("setupintent", "intent", id)
	}
	return setup, nil
}

// unexpected is the 400 for an operation that does not fit the setup's state.
func (s *SetupIntent) unexpected(verb string, allowed ...string) *apierror.Error {
	e := apierror.Invalid("",
		"You cannot %s this SetupIntent because it has a status of %s. Only a SetupIntent with one of the following "+
			"statuses may be %s: %s.",
		verb, s.Status, map[string]string{"confirm": "confirmed", "cancel": "canceled", "update": "updated"}[verb],
		strings.Join(allowed, ", ")).
		WithCode("setup_intent_unexpected_state")
	e.SetupIntent = s.Render()
	return e
}

// refuse says why the setup is not in a state for verb, or nil.
func (s *SetupIntent) refuse(verb string) *apierror.Error {
	if slices.Contains(payment.Changeable, s.Status) {
		return nil
	}
	return s.unexpected(verb, payment.Changeable...)
}

// refuseDirectly says that a setup is a checkout session's as long as that is open, or nil.
func (s *SetupIntent) refuseDirectly(verb string) *apierror.Error {
	if s.CheckoutSession == nil || !slices.Contains(payment.Changeable, s.Status) {
		return nil
	}
	e := apierror.Invalid("",
		"You cannot %s this SetupIntent because it belongs to the Checkout Session %s, which is open.", verb,
		*s.CheckoutSession).
		WithCode("setup_intent_unexpected_state")
	e.SetupIntent = s.Render()
	return e
}

// RetrieveSetupIntentParams are the parameters of GET /v1/setup_intents/{intent}.
type RetrieveSetupIntentParams struct {
	resource.Retrieve
	ClientSecret string `form:"client_secret" json:"-"`
}

// RetrieveSetupIntent answers GET /v1/setup_intents/{intent}. With a publishable
// key it needs client_secret.
func RetrieveSetupIntent(
	ctx context.Context, db phase.Reader, v resource.Principal, in RetrieveSetupIntentParams,
) (any, error) {
	setup, err := readSetup(ctx, db, v, in.ID, in.ClientSecret)
	if err != nil {
		return nil, err
	}
	if v.Publishable {
		return setup.Public(), nil
	}
	return resource.Expand(ctx, db, v, in.Expand, setup.Render())
}

// ListSetupIntentsParams are the parameters of GET /v1/setup_intents.
type ListSetupIntentsParams struct {
	resource.List
	Customer      *string `form:"customer" max:"5000"`
	PaymentMethod *string `form:"payment_method" max:"5000"`
}

// ListSetupIntents answers GET /v1/setup_intents.
func ListSetupIntents(
	ctx context.Context, db phase.Reader, v resource.Principal, in ListSetupIntentsParams,
) (any, error) {
	return resource.ListPage[SetupIntent](ctx, db, v, in.List, resource.Listing{
		URL:     "/v1/setup_intents",
		Object:  "setupintent",
		Newest:  listSetups,
		Oldest:  listSetupsBackwards,
		ByID:    SetupByID,
		Prefix:  "seti",
		Filters: pgx.StrictNamedArgs{"customer_id": in.Customer, "payment_method": in.PaymentMethod},
		Named:   []resource.Reference{customer.NamedCustomer(in.Customer)},
	})
}

func replyWithSetup(
	ctx context.Context, tx *phase.Tx, paths form.Expand, setup *SetupIntent, fresh ...resource.Renderer,
) (phase.Outcome, error) {
	if apirequest.Of(tx.Caller).Publishable {
		return phase.OK(setup.ID, setup.Public()), nil
	}
	return resource.Reply(ctx, tx, paths, setup.ID, setup.Render(), fresh...)
}

package customer

import (
	"context"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

func init() {
	resource.Register(resource.Kind{Object: "confirmation_token", Prefix: "ctoken", Table: "confirmation_tokens"})
}

// ConfirmationToken is what a customer has entered on a page, for a server to confirm an
// intent with: a method, and what the confirmation needs besides. It can be used once,
// for twelve hours.
type ConfirmationToken struct {
	AccountID        string
	ID               string
	Livemode         bool
	RequestID        string
	PaymentMethodID  string
	ReturnURL        *string
	SetupFutureUsage *string
	Shipping         *resource.CustomerShipping
	UsedBy           *string // the request that used it
	IntentID         *string // what that request confirmed
	CreatedAt        time.Time
	ExpiresAt        time.Time
}

// confirmationTokenLife is how long a token can be used, as at Stripe.
const confirmationTokenLife = 12 * time.Hour

// ConfirmationTokenObject is a confirmation token on the wire.
type ConfirmationTokenObject struct {
	ID                   string                     `json:"id"`
	Object               string                     `json:"object"`
	Created              int64                      `json:"created"`
	ExpiresAt            int64                      `json:"expires_at"`
	Livemode             bool                       `json:"livemode"`
	MandateData          *struct{}                  `json:"mandate_data"`
	Metadata             *struct{}                  `json:"metadata"`
	PaymentIntent        *string                    `json:"payment_intent"`
	PaymentMethodOptions *struct{}                  `json:"payment_method_options"`
	PaymentMethodPreview methodPreview              `json:"payment_method_preview"`
	ReturnURL            *string                    `json:"return_url"`
	SetupFutureUsage     *string                    `json:"setup_future_usage"`
	SetupIntent          *string                    `json:"setup_intent"`
	Shipping             *resource.CustomerShipping `json:"shipping"`
	UseStripeSDK         bool                       `json:"use_stripe_sdk"`
}

// methodPreview is what a token shows of its method.
type methodPreview struct {
	AllowRedisplay  string         `json:"allow_redisplay"`
	BillingDetails  BillingDetails `json:"billing_details"`
	Card            methodCard     `json:"card"`
	Customer        *string        `json:"customer"`
	CustomerAccount *string        `json:"customer_account"`
	Type            string         `json:"type"`
}

func (t *ConfirmationToken) render(method *PaymentMethod) any {
	shown := method.object()
	o := ConfirmationTokenObject{
		ID:        t.ID,
		Object:    "confirmation_token",
		Created:   resource.Unix(t.CreatedAt),
		ExpiresAt: resource.Unix(t.ExpiresAt),
		Livemode:  t.Livemode,
		PaymentMethodPreview: methodPreview{
			AllowRedisplay: shown.AllowRedisplay,
			BillingDetails: shown.BillingDetails,
			Card:           shown.Card,
			Customer:       shown.Customer,
			Type:           shown.Type,
		},
		ReturnURL:        t.ReturnURL,
		SetupFutureUsage: t.SetupFutureUsage,
		Shipping:         t.Shipping,
		UseStripeSDK:     true,
	}
	switch {
	case t.IntentID == nil:
	case strings.HasPrefix(*t.IntentID, "seti_"):
		o.SetupIntent = t.IntentID
	default:
		o.PaymentIntent = t.IntentID
	}
	return o
}

var (
	insertConfirmationTokens = postgres.InsertRows[ConfirmationToken]("confirmation_tokens", `account_id, id, livemode,
		request_id, payment_method_id, return_url, setup_future_usage, shipping, created_at, expires_at`)

	updateConfirmationTokens = postgres.UpdateRows[ConfirmationToken]("confirmation_tokens", `used_by, intent_id`,
		`t.used_by IS NULL`)
)

const selectConfirmationTokens = `
	SELECT account_id, id, livemode, request_id, payment_method_id, return_url, setup_future_usage, shipping, used_by,
	       intent_id, created_at, expires_at
	FROM confirmation_tokens
	WHERE account_id = @account_id AND livemode = @livemode`

const (
	confirmationTokenByID = selectConfirmationTokens + ` AND id = @id`
	lockConfirmationToken = confirmationTokenByID + ` FOR NO KEY UPDATE`
)

// FindConfirmationToken finds the token that a request names, if it can still be used.
func FindConfirmationToken(
	ctx context.Context, db phase.Reader, caller phase.Check, name string,
) (*ConfirmationToken, error) {
	token, err := resource.Get[ConfirmationToken](ctx, db, confirmationTokenByID, resource.PrincipalOfCheck(caller),
		name)
	switch {
	case err != nil:
		return nil, err
	case token == nil:
		return nil, apierror.NoSuch("confirmation_token", "confirmation_token", name)
	case token.UsedBy != nil:
		return nil, confirmationTokenUsed(name)
	case !caller.At.Before(token.ExpiresAt):
		return nil, apierror.Invalid("confirmation_token",
			"The ConfirmationToken %s has expired. Create another one to confirm with.", name)
	}
	return token, nil
}

func confirmationTokenUsed(name string) *apierror.Error {
	return apierror.Invalid("confirmation_token",
		"The ConfirmationToken %s has already been used to confirm an intent, and cannot be used again.", name)
}

// UseConfirmationToken uses a token up for an intent. Two requests that use the same one
// at once meet in its row.
func UseConfirmationToken(ctx context.Context, tx *phase.Tx, name, intent string) error {
	token, err := resource.Get[ConfirmationToken](ctx, tx, lockConfirmationToken, resource.PrincipalOf(tx.Caller), name)
	if err != nil {
		return err
	}
	if token == nil || token.UsedBy != nil {
		return confirmationTokenUsed(name)
	}
	token.UsedBy, token.IntentID = &tx.RequestID, &intent
	tx.Write(updateConfirmationTokens, postgres.RowsOf(*token))
	return nil
}

// RetrieveConfirmationToken answers GET /v1/confirmation_tokens/{confirmation_token}.
func RetrieveConfirmationToken(
	ctx context.Context, db phase.Reader, v resource.Principal, in resource.Retrieve,
) (any, error) {
	token, err := resource.Get[ConfirmationToken](ctx, db, confirmationTokenByID, v, in.ID)
	if err != nil {
		return nil, err
	}
	if token == nil {
		return nil, apierror.NotFound("confirmation_token", "confirmation_token", in.ID)
	}
	method, err := resource.Get[PaymentMethod](ctx, db, MethodByID, v, token.PaymentMethodID)
	if err != nil {
		return nil, err
	}
	return resource.Expand(ctx, db, v, in.Expand, token.render(method))
}

// ConfirmationTokenParams are what a confirmation token is made of.
type ConfirmationTokenParams struct {
	PaymentMethodData *PaymentMethodData         `form:"payment_method_data"`
	ReturnURL         *string                    `form:"return_url" max:"2048"`
	SetupFutureUsage  *string                    `form:"setup_future_usage" enum:"off_session,on_session"`
	Shipping          *resource.CustomerShipping `form:"shipping"`
	Expand            form.Expand                `form:"expand"`

	Method MethodParams `json:"method"` // what is to pay
}

// CreateTestConfirmationTokenParams are what POST /v1/test_helpers/confirmation_tokens takes.
type CreateTestConfirmationTokenParams struct {
	ConfirmationTokenParams
	PaymentMethod string `form:"payment_method" max:"5000"`
}

const confirmationTokenCreated = "confirmation_token_created"

// CreateConfirmationToken keeps what a customer has entered on a page. It is for Stripe.js:
// the card comes from its frame.
//
//	(nothing) ──▶ confirmation_token_created
//	      claim + insert + answer
var CreateConfirmationToken = phase.Define("confirmation_token.create", 1,
	phase.Atomic(confirmationTokenCreated, func(
		ctx context.Context, tx *phase.Tx, in ConfirmationTokenParams, _ *struct{},
	) (phase.Outcome, error) {
		return in.create(ctx, tx)
	}),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *ConfirmationTokenParams) error {
	return in.check(ctx, db, caller, "")
})

// CreateTestConfirmationToken makes a token without a page, for tests of a server.
var CreateTestConfirmationToken = phase.Define("confirmation_token.create_test", 1,
	phase.Atomic(confirmationTokenCreated, func(
		ctx context.Context, tx *phase.Tx, in CreateTestConfirmationTokenParams, _ *struct{},
	) (phase.Outcome, error) {
		return in.create(ctx, tx)
	}),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *CreateTestConfirmationTokenParams) error {
	if caller.Livemode {
		return apierror.Invalid("", "Test helpers are only available in test mode. Use a test mode API key.")
	}
	return in.check(ctx, db, caller, in.PaymentMethod)
})

// check finds the method: the one that is described, or named.
func (in *ConfirmationTokenParams) check(
	ctx context.Context, db phase.Reader, caller phase.Check, method string,
) error {
	if in.ReturnURL != nil && !resource.IsReturnURL(*in.ReturnURL) {
		return apierror.Invalid("return_url", "Not a valid URL").WithCode("url_invalid")
	}
	if in.PaymentMethodData == nil && method == "" {
		return apierror.Missing("payment_method_data")
	}
	in.Method = MethodParams{PaymentMethod: method, PaymentMethodData: in.PaymentMethodData}
	err := in.Method.Find(ctx, db, caller)
	if err == nil && in.Method.Found != nil && in.Method.Found.isCard() {
		return apierror.Invalid("payment_method",
			"%s is a card, and a confirmation token can be created only from a PaymentMethod.", method)
	}
	return err
}

func (in ConfirmationTokenParams) create(ctx context.Context, tx *phase.Tx) (phase.Outcome, error) {
	if err := in.Method.Insert(ctx, tx); err != nil {
		return phase.Outcome{}, err
	}
	method := in.Method.Method()
	token := ConfirmationToken{
		AccountID:        tx.AccountID,
		ID:               id.New("ctoken", tx.Now()),
		Livemode:         tx.Livemode,
		RequestID:        tx.RequestID,
		PaymentMethodID:  method.ID,
		ReturnURL:        in.ReturnURL,
		SetupFutureUsage: in.SetupFutureUsage,
		Shipping:         in.Shipping,
		CreatedAt:        tx.Now(),
		ExpiresAt:        tx.Now().Add(confirmationTokenLife),
	}
	tx.Write(insertConfirmationTokens, postgres.RowsOf(token))
	return resource.Reply(ctx, tx, in.Expand, token.ID, token.render(method))
}

package customer

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/secret"
	"github.com/ratchet-pay/ratchet/internal/testcard"
)

// RetrieveTestCardParams are what GET /v1/payment_methods/pm_card_visa takes.
type RetrieveTestCardParams struct {
	ID     string      `path:"payment_method"`
	Expand form.Expand `form:"expand"`

	Method *PaymentMethod // what ID represents, if there is none yet
}

// IsTestCard says whether an id is one such as pm_card_visa.
func IsTestCard(id string) bool {
	_, is := testcard.ByMethod(id)
	return is
}

const testCardKept = "test_card_kept"

// RetrieveTestCard keeps the method that a test ID represents and returns it.
// Stripe's clients retrieve pm_card_visa and then attach the id that comes back, so the
// method has to exist. It is the only read that writes, and it can be repeated: while
// no request has attached the method or paid with it, the answer is the same.
var RetrieveTestCard = phase.Define("payment_method.retrieve_test_card", 1,
	phase.Atomic(testCardKept, keepTestCard),
).Check(func(_ context.Context, _ phase.Reader, caller phase.Check, in *RetrieveTestCardParams) (err error) {
	in.Method, err = MagicMethod(in.ID, caller.Caller, caller.Keys(secret.Cards).Oldest(), caller.At)
	return err
})

// The update changes nothing. It makes the statement return, and lock, the row that is there.
const insertTestCard = `
	INSERT INTO payment_methods (account_id, id, livemode, request_id, customer_id, card, billing_details, metadata,
		allow_redisplay, set_up, created_at, retrieved_as)
	VALUES (@account_id, @id, @livemode, @request_id, @customer_id, @card, @billing_details, @metadata,
		@allow_redisplay, @set_up, @created_at, @retrieved_as)
	ON CONFLICT (account_id, retrieved_as) WHERE retrieved_as IS NOT NULL AND customer_id IS NULL AND spent_by IS NULL
	DO UPDATE SET retrieved_as = EXCLUDED.retrieved_as
	RETURNING account_id, id, livemode, request_id, customer_id, card, billing_details, metadata, allow_redisplay,
	set_up, spent_by, created_at`

func keepTestCard(ctx context.Context, tx *phase.Tx, in RetrieveTestCardParams, _ *struct{}) (phase.Outcome, error) {
	m := in.Method
	method, err := resource.QueryOne[PaymentMethod](ctx, tx, insertTestCard, pgx.StrictNamedArgs{
		"account_id":      m.AccountID,
		"id":              m.ID,
		"livemode":        m.Livemode,
		"request_id":      m.RequestID,
		"customer_id":     m.CustomerID,
		"card":            m.Card,
		"billing_details": m.BillingDetails,
		"metadata":        m.Metadata,
		"allow_redisplay": m.AllowRedisplay,
		"set_up":          m.SetUp,
		"created_at":      m.CreatedAt,
		"retrieved_as":    in.ID,
	})
	if err != nil {
		return phase.Outcome{}, err
	}
	return replyWithMethod(ctx, tx, in.Expand, method)
}

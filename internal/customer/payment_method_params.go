package customer

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// MethodParams name or describe the method to pay with.
type MethodParams struct {
	PaymentMethod     string             `form:"payment_method" max:"5000"`
	PaymentMethodData *PaymentMethodData `form:"payment_method_data"`

	Found *PaymentMethod // what they stand for
	New   *NewMethod     // the same, where it does not exist yet
}

// Find resolves the method that is named or described. A magic id makes a new
// method every time.
func (in *MethodParams) Find(ctx context.Context, db phase.Reader, caller phase.Check) (err error) {
	switch {
	case in.PaymentMethodData != nil && in.PaymentMethod != "":
		return apierror.Invalid("",
			"You may only specify one of these parameters: payment_method, payment_method_data.").
			WithCode("parameters_exclusive")
	case in.PaymentMethodData != nil:
		in.New, err = in.PaymentMethodData.Recognize(ctx, db, caller, "payment_method_data")
		return err
	case in.PaymentMethod == "":
		return nil
	}
	magic, err := MagicMethod(in.PaymentMethod, caller.Caller, caller.Keys(secret.Cards).Oldest(), caller.At)
	if err != nil {
		return err
	}
	if magic != nil {
		in.New = &NewMethod{Method: *magic}
		return nil
	}
	in.Found, err = resource.Get[PaymentMethod](ctx, db, MethodByID, resource.PrincipalOfCheck(caller),
		in.PaymentMethod)
	if err != nil {
		return err
	}
	if in.Found == nil {
		return NoSuchMethod(apierror.NoSuch, in.PaymentMethod)
	}
	return nil
}

// CheckUse refuses a method that cannot pay for customer, which is "" for a payment without one.
func (in *MethodParams) CheckUse(customer string) error {
	if in.Found == nil { // a new one has no customer yet
		return nil
	}
	if refusal := in.Found.RefuseUse(customer); refusal != nil {
		return refusal
	}
	return nil
}

// Method is what the parameters stand for, nil if they name none.
func (in *MethodParams) Method() *PaymentMethod {
	if in.New != nil {
		return &in.New.Method
	}
	return in.Found
}

// Insert inserts the method if it is new.
func (in *MethodParams) Insert(ctx context.Context, tx *phase.Tx) error {
	if in.New == nil {
		return nil
	}
	return in.New.Insert(ctx, tx)
}

// Fresh are the objects that the parameters made.
func (in *MethodParams) Fresh() []resource.Renderer {
	if in.New == nil {
		return nil
	}
	return []resource.Renderer{&in.New.Method}
}

// MethodOptions are payment_method_options as they are sent.
type MethodOptions struct {
	Card *MethodCardOptions `form:"card,unset"`
}

// MethodCardOptions are those of a card.
type MethodCardOptions struct {
	RequestThreeDSecure             string  `form:"request_three_d_secure" enum:"any,automatic,challenge"`
	RequestIncrementalAuthorization string  `form:"request_incremental_authorization" enum:"if_available,never"`
	SetupFutureUsage                *string `form:"setup_future_usage,unset" enum:"none,off_session,on_session"`
}

// ThreeDSecure is when a card is authenticated: as the caller says, or as it is
// now. Options that are unset are those of a new intent.
func (o *MethodOptions) ThreeDSecure(now string) string {
	switch {
	case o == nil || o.Card == nil:
		return now
	case *o.Card == (MethodCardOptions{}):
		return "automatic"
	case o.Card.RequestThreeDSecure == "":
		return now
	}
	return o.Card.RequestThreeDSecure
}

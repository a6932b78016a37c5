//go:build unix

package sdk_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

// states are the ways an intent can stand, and how it gets there.
var states = []struct {
	name string
	make func(a *account) *stripe.PaymentIntent
}{
	{"requires_payment_method", func(a *account) *stripe.PaymentIntent { return a.intent(nil) }},
	{"requires_confirmation", func(a *account) *stripe.PaymentIntent {
		return a.intent(&stripe.PaymentIntentCreateParams{PaymentMethod: stripe.String("pm_card_visa")})
	}},
	{"requires_action", func(a *account) *stripe.PaymentIntent {
		return a.confirmed("pm_card_authenticationRequired", "")
	}},
	{"processing", func(a *account) *stripe.PaymentIntent { return a.stuck() }},
	{"requires_capture", func(a *account) *stripe.PaymentIntent { return a.confirmed("pm_card_visa", "manual") }},
	{"succeeded", func(a *account) *stripe.PaymentIntent { return a.confirmed("pm_card_visa", "automatic") }},
	{"canceled", func(a *account) *stripe.PaymentIntent {
		canceled, err := a.V1PaymentIntents.Cancel(a.t.Context(), a.intent(nil).ID, nil)
		noError(a.t, err)
		return canceled
	}},
}

// intent makes an intent of 2000 cents that takes cards.
func (a *account) intent(params *stripe.PaymentIntentCreateParams) *stripe.PaymentIntent {
	a.t.Helper()
	if params == nil {
		params = &stripe.PaymentIntentCreateParams{}
	}
	if params.Amount == nil {
		params.Amount = stripe.Int64(2000)
	}
	params.Currency = stripe.String("usd")
	params.PaymentMethodTypes = stripe.StringSlice([]string{"card"})
	intent, err := a.V1PaymentIntents.Create(a.t.Context(), params)
	noError(a.t, err)
	return intent
}

// confirmed makes an intent and confirms it with a method.
func (a *account) confirmed(method, capture string) *stripe.PaymentIntent {
	a.t.Helper()
	params := &stripe.PaymentIntentCreateParams{PaymentMethod: &method, Confirm: stripe.Bool(true)}
	if capture != "" {
		params.CaptureMethod = &capture
	}
	return a.intent(params)
}

// stuck is an intent whose acquirer has not answered yet, as another caller finds it.
func (a *account) stuck() *stripe.PaymentIntent {
	a.t.Helper()
	intent := a.intent(&stripe.PaymentIntentCreateParams{PaymentMethod: stripe.String("pm_card_visa")})
	_, err := a.in.db.Exec(a.t.Context(), `
		UPDATE payment_intents SET status = 'processing', locked_by = 'req_asking' WHERE id = $1`, intent.ID)
	noError(a.t, err)
	return intent
}

func confirmRefusal(state string) string {
	return fmt.Sprintf("You cannot confirm this PaymentIntent because it has a status of %s. "+
		"Only a PaymentIntent with one of the following statuses may be confirmed: requires_confirmation, "+
		"requires_action.", state)
}

func captureRefusal(state string) string {
	return fmt.Sprintf("This PaymentIntent could not be captured because it has a status of %s. "+
		"Only a PaymentIntent with one of the following statuses may be captured: requires_capture.", state)
}

func incrementRefusal(state string) string {
	return fmt.Sprintf("This PaymentIntent's authorization could not be incremented because it has a status of %s. "+
		"Only a PaymentIntent with one of the following statuses may be incremented: requires_capture.", state)
}

func cancelRefusal(state string) string {
	return fmt.Sprintf("You cannot cancel this PaymentIntent because it has a status of %s. Only a PaymentIntent "+
		"with one of the following statuses may be canceled: requires_payment_method, requires_capture, "+
		"requires_confirmation, requires_action, processing.", state)
}

func changeRefusal(field, state string) string {
	return fmt.Sprintf("This PaymentIntent's %s could not be updated because it has a status of %s. You may only "+
		"update the %s of a PaymentIntent with one of the following statuses: requires_payment_method, "+
		"requires_confirmation, requires_action.", field, state, field)
}

// outcome is what an operation comes to: the state the intent is in afterwards,
// or the refusal. A message alone is that of payment_intent_unexpected_state.
type outcome struct {
	state, message, param string
	locked, plain         bool // told to wait; refused without a code
}

const ok = "ok" // the intent stays in its state

// operations are what can be done with an intent, and what comes of it in each state.
var operations = []struct {
	name string
	do   func(a *account, intent string) error
	in   map[string]outcome
}{
	{"update its amount", func(a *account, intent string) error {
		_, err := a.V1PaymentIntents.Update(a.t.Context(), intent,
			&stripe.PaymentIntentUpdateParams{Amount: stripe.Int64(2500)})
		return err
	}, map[string]outcome{
		"requires_payment_method": {state: ok},
		"requires_confirmation":   {state: ok},
		"requires_action":         {state: "requires_confirmation"},
		"processing":              {message: changeRefusal("amount", "processing"), param: "amount"},
		"requires_capture":        {message: changeRefusal("amount", "requires_capture"), param: "amount"},
		"succeeded":               {message: changeRefusal("amount", "succeeded"), param: "amount"},
		"canceled":                {message: changeRefusal("amount", "canceled"), param: "amount"},
	}},
	{"update its payment method", func(a *account, intent string) error {
		_, err := a.V1PaymentIntents.Update(a.t.Context(), intent,
			&stripe.PaymentIntentUpdateParams{PaymentMethod: stripe.String("pm_card_mastercard")})
		return err
	}, map[string]outcome{
		"requires_payment_method": {state: "requires_confirmation"},
		"requires_confirmation":   {state: ok},
		"requires_action":         {state: "requires_confirmation"},
		"processing":              {message: changeRefusal("payment_method", "processing"), param: "payment_method"},
		"requires_capture": {
			message: changeRefusal("payment_method", "requires_capture"),
			param:   "payment_method",
		},
		"succeeded": {message: changeRefusal("payment_method", "succeeded"), param: "payment_method"},
		"canceled":  {message: changeRefusal("payment_method", "canceled"), param: "payment_method"},
	}},
	{"update its description", func(a *account, intent string) error {
		_, err := a.V1PaymentIntents.Update(a.t.Context(), intent, &stripe.PaymentIntentUpdateParams{
			Description: stripe.String("A sledge"), Metadata: map[string]string{"order": "6735"}})
		return err
	}, map[string]outcome{
		"requires_payment_method": {state: ok},
		"requires_confirmation":   {state: ok},
		"requires_action":         {state: ok},
		"processing":              {state: ok},
		"requires_capture":        {state: ok},
		"succeeded":               {state: ok},
		"canceled":                {state: ok},
	}},
	{"confirm it", func(a *account, intent string) error {
		_, err := a.V1PaymentIntents.Confirm(a.t.Context(), intent, nil)
		return err
	}, map[string]outcome{
		"requires_payment_method": {message: "You cannot confirm this PaymentIntent because it's missing a payment " +
			"method. You can either update the PaymentIntent with a payment method and then confirm it again, or " +
			"confirm it again directly with a payment method or ConfirmationToken."},
		"requires_confirmation": {state: "succeeded"}, "requires_action": {state: ok}, "processing": {locked: true},
		"requires_capture": {message: confirmRefusal("requires_capture")},
		"succeeded": {message: "You cannot confirm this PaymentIntent because it has already succeeded after " +
			"being previously confirmed."},
		"canceled": {message: confirmRefusal("canceled")},
	}},
	{"confirm it with another method", func(a *account, intent string) error {
		_, err := a.V1PaymentIntents.Confirm(a.t.Context(), intent,
			&stripe.PaymentIntentConfirmParams{PaymentMethod: stripe.String("pm_card_mastercard")})
		return err
	}, map[string]outcome{
		"requires_payment_method": {state: "succeeded"},
		"requires_confirmation":   {state: "succeeded"},
		"requires_action":         {state: "succeeded"},
		"processing":              {locked: true},
		"requires_capture":        {message: confirmRefusal("requires_capture")},
		"succeeded": {message: "You cannot confirm this PaymentIntent because it has already " +
			"succeeded after being previously confirmed."},
		"canceled": {message: changeRefusal("payment_method", "canceled"), param: "payment_method"},
	}},
	{"capture it", func(a *account, intent string) error {
		_, err := a.V1PaymentIntents.Capture(a.t.Context(), intent, nil)
		return err
	}, map[string]outcome{
		"requires_payment_method": {message: captureRefusal("requires_payment_method")},
		"requires_confirmation":   {message: captureRefusal("requires_confirmation")},
		"requires_action":         {message: captureRefusal("requires_action")},
		"processing":              {locked: true},
		"requires_capture":        {state: "succeeded"},
		"succeeded": {message: "This PaymentIntent could not be captured because it has already been " +
			"captured."},
		"canceled": {message: captureRefusal("canceled")},
	}},
	{"hold more", func(a *account, intent string) error {
		_, err := a.V1PaymentIntents.IncrementAuthorization(a.t.Context(), intent,
			&stripe.PaymentIntentIncrementAuthorizationParams{Amount: stripe.Int64(2500)})
		return err
	}, map[string]outcome{
		"requires_payment_method": {message: incrementRefusal("requires_payment_method")},
		"requires_confirmation":   {message: incrementRefusal("requires_confirmation")},
		"requires_action":         {message: incrementRefusal("requires_action")},
		"processing":              {locked: true},
		"requires_capture": {plain: true, message: "This PaymentIntent's authorization cannot be incremented: it " +
			"was not confirmed with `payment_method_options[card][request_incremental_authorization]` set to " +
			"`if_available`."},
		"succeeded": {message: incrementRefusal("succeeded")},
		"canceled":  {message: incrementRefusal("canceled")},
	}},
	{"cancel it", func(a *account, intent string) error {
		_, err := a.V1PaymentIntents.Cancel(a.t.Context(), intent, nil)
		return err
	}, map[string]outcome{
		"requires_payment_method": {state: "canceled"},
		"requires_confirmation":   {state: "canceled"},
		"requires_action":         {state: "canceled"},
		"processing":              {locked: true},
		"requires_capture":        {state: "canceled"},
		"succeeded":               {message: cancelRefusal("succeeded")},
		"canceled":                {message: cancelRefusal("canceled")},
	}},
	{"refund it", func(a *account, intent string) error {
		_, err := a.V1Refunds.Create(a.t.Context(), &stripe.RefundCreateParams{PaymentIntent: &intent})
		return err
	}, map[string]outcome{
		"requires_payment_method": {
			plain:   true,
			message: "This PaymentIntent (%s) does not have a successful charge to refund.",
		},
		"requires_confirmation": {
			plain:   true,
			message: "This PaymentIntent (%s) does not have a successful charge to refund.",
		},
		"requires_action": {
			plain:   true,
			message: "This PaymentIntent (%s) does not have a successful charge to refund.",
		},
		"processing": {plain: true, message: "This PaymentIntent (%s) does not have a successful charge to refund."},
		"requires_capture": {plain: true, message: "This PaymentIntent (%s) has been authorized and not captured: " +
			"there is nothing to refund yet. Cancel the PaymentIntent to release the $20.00 it holds."},
		"succeeded": {state: ok},
		"canceled":  {plain: true, message: "This PaymentIntent (%s) does not have a successful charge to refund."},
	}},
}

// TestIntentStateGrid tries every operation on an intent in every state.
func TestIntentStateGrid(t *testing.T) {
	inTurn(t)
	in := install(t)
	for _, operation := range operations {
		for _, state := range states {
			want, is := operation.in[state.name]
			if !is {
				t.Fatalf("the result of %s in state %s is missing", operation.name, state.name)
			}
			t.Run(operation.name+" when it is "+state.name, func(t *testing.T) {
				inTurn(t)
				a := in.account(t)
				intent := state.make(a).ID
				equal(t, "state before", string(a.retrieveIntent(intent).Status), state.name)
				err := operation.do(a, intent)
				after := string(a.retrieveIntent(intent).Status)
				switch want.state {
				case "":
					refused(t, err, want.refusal(intent))
					equal(t, "state after the refusal", after, state.name)
				case ok:
					noError(t, err)
					equal(t, "state", after, state.name)
				default:
					noError(t, err)
					equal(t, "state", after, want.state)
				}
			})
		}
	}
}

func (o outcome) refusal(intent string) refusal {
	switch {
	case o.locked:
		return refusal{Status: http.StatusTooManyRequests, Type: stripe.ErrorTypeInvalidRequest, Code: "lock_timeout"}
	case o.plain:
		return invalid("", o.param, strings.ReplaceAll(o.message, "%s", intent))
	}
	return invalid("payment_intent_unexpected_state", o.param, o.message)
}

func (a *account) retrieveIntent(id string, expand ...string) *stripe.PaymentIntent {
	a.t.Helper()
	intent, err := a.V1PaymentIntents.Retrieve(a.t.Context(), id,
		&stripe.PaymentIntentRetrieveParams{Expand: stripe.StringSlice(expand)})
	noError(a.t, err)
	return intent
}

//go:build unix

package sdk_test

import (
	"encoding/json"
	"testing"

	"github.com/stripe/stripe-go/v85"

	"github.com/ratchet-pay/ratchet/internal/apikey"
)

// refusedConfirmations are what confirm=true can be refused for before the acquirer is
// asked, and the state of the intent then. Each has a separate amount, by which
// the acquirer's journal would know it.
var refusedConfirmations = []struct {
	what   string
	amount int64
	ask    func(a *account, params *stripe.PaymentIntentCreateParams)
	want   refusal
	left   stripe.PaymentIntentStatus
	method bool
}{
	{"for want of a way back", 7401, func(_ *account, params *stripe.PaymentIntentCreateParams) {
		params.PaymentMethod, params.PaymentMethodTypes = stripe.String("pm_card_visa"), nil
	}, invalid("", "",
		"This PaymentIntent is configured to accept payment methods enabled in your Dashboard. Because some of "+
			"these payment methods might redirect your customer off of your page, you must provide a `return_url`. "+
			"If you don't want to accept redirect-based payment methods, set `automatic_payment_methods[enabled]` "+
			"to `true` and `automatic_payment_methods[allow_redirects]` to `never` when creating Setup Intents and "+
			"Payment Intents."),
		stripe.PaymentIntentStatusRequiresConfirmation, true},
	{"for want of a method", 7402, func(*account, *stripe.PaymentIntentCreateParams) {},
		invalid("payment_intent_unexpected_state", "",
			"You cannot confirm this PaymentIntent because it's missing a payment method. You can either update the "+
				"PaymentIntent with a payment method and then confirm it again, or confirm it again directly with a "+
				"payment method or ConfirmationToken."),
		stripe.PaymentIntentStatusRequiresPaymentMethod, false},
	{"for want of a customer's method", 7403, func(a *account, params *stripe.PaymentIntentCreateParams) {
		params.Customer = stripe.String(a.customer(nil).ID)
	}, invalid("payment_intent_unexpected_state", "", ""), stripe.PaymentIntentStatusRequiresPaymentMethod, false},
	{"for another's card", 7404, func(a *account, params *stripe.PaymentIntentCreateParams) {
		params.PaymentMethod = &a.attach("pm_card_visa", a.customer(nil).ID).ID
		params.Customer = &a.customer(nil).ID
	}, invalid("", "payment_method", ""), stripe.PaymentIntentStatusRequiresPaymentMethod, false},
	{"for a customer's card without the customer", 7405, func(a *account, params *stripe.PaymentIntentCreateParams) {
		params.PaymentMethod = &a.attach("pm_card_visa", a.customer(nil).ID).ID
	}, invalid("", "payment_method", ""), stripe.PaymentIntentStatusRequiresPaymentMethod, false},
	{"for a card that is gone", 7406, func(a *account, params *stripe.PaymentIntentCreateParams) {
		params.PaymentMethod = &a.detached().ID
	}, invalid("", "payment_method", ""), stripe.PaymentIntentStatusRequiresPaymentMethod, false},
}

// detached is a card that was a customer's, and can never be used again.
func (a *account) detached() *stripe.PaymentMethod {
	a.t.Helper()
	card, err := a.V1PaymentMethods.Detach(a.t.Context(), a.attach("pm_card_visa", a.customer(nil).ID).ID, nil)
	noError(a.t, err)
	return card
}

// refusedTwice asks twice under one key. The second refusal is the first, stored.
func refusedTwice(t *testing.T, want refusal, ask func() error) *stripe.Error {
	t.Helper()
	first, again := refused(t, ask(), want), refused(t, ask(), want)
	equal(t, "answer", string(again.LastResponse.RawJSON), string(first.LastResponse.RawJSON))
	header := again.LastResponse.Header
	equal(t, "replay", []string{header.Get("Idempotent-Replayed"), header.Get("Original-Request")},
		[]string{"true", first.RequestID})
	return first
}

// An intent that is created with confirm=true is there though its confirmation is
// refused, and the error says its state. The acquirer was not called.
func TestRefusedConfirmations(t *testing.T) {
	inTurn(t)
	in := install(t)
	for _, c := range refusedConfirmations {
		t.Run(c.what+", the intent stays", func(t *testing.T) {
			inTurn(t)
			a := in.account(t)
			params := &stripe.PaymentIntentCreateParams{
				Amount:             &c.amount,
				Currency:           stripe.String("usd"),
				Confirm:            stripe.Bool(true),
				PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
				Metadata:           map[string]string{"order": "6735"},
			}
			params.SetIdempotencyKey("refused")
			c.ask(a, params)
			first := refusedTwice(t, c.want, func() error {
				_, err := a.V1PaymentIntents.Create(t.Context(), params)
				return err
			})

			all := collect(t, a.V1PaymentIntents.List(t.Context(), nil))
			equal(t, "intents", ids(all, func(p *stripe.PaymentIntent) string { return p.ID }),
				[]string{first.PaymentIntent.ID})
			left := a.retrieveIntent(first.PaymentIntent.ID)
			equal(t, "intent",
				[]any{left.Status, left.PaymentMethod != nil, left.LatestCharge != nil, left.LastPaymentError != nil,
					left.Metadata["order"]},
				[]any{c.left, c.method, false, false, "6735"})
			equal(t, "the intent in the error", alike(t, inError(t, first, "payment_intent")),
				alike(t, left.LastResponse.RawJSON))
			created := a.onlyEvent("payment_intent.created")
			equal(t, "the intent in the event", alike(t, created.Data.Raw), alike(t, left.LastResponse.RawJSON))
			equal(t, "the request in the event", *created.Request,
				stripe.EventRequest{ID: first.RequestID, IdempotencyKey: "refused"})

			equal(t, "what a card saw", in.cardSaw(t, c.amount), nil)
			paid, err := a.V1PaymentIntents.Confirm(t.Context(), left.ID, &stripe.PaymentIntentConfirmParams{
				PaymentMethod: stripe.String("pm_card_visa"), ReturnURL: stripe.String("https://shop.example")})
			noError(t, err)
			equal(t, "state when it is confirmed again", paid.Status, stripe.PaymentIntentStatusSucceeded)
		})
	}

	for what, wrong := range map[string]func(params *stripe.PaymentIntentCreateParams){
		"too little": func(params *stripe.PaymentIntentCreateParams) {
			params.Amount = stripe.Int64(1)
		},
		"no currency there is": func(params *stripe.PaymentIntentCreateParams) {
			params.Currency = stripe.String("xxx")
		},
		"a way back that is no way": func(params *stripe.PaymentIntentCreateParams) {
			params.ReturnURL = stripe.String("nowhere")
		},
		"a card that is not there": func(params *stripe.PaymentIntentCreateParams) {
			params.PaymentMethod = stripe.String("pm_nope")
		},
		"a customer who is not there": func(params *stripe.PaymentIntentCreateParams) {
			params.Customer = stripe.String("cus_nope")
		},
		"a name that no parameter has": func(params *stripe.PaymentIntentCreateParams) {
			params.AddExtra("amout", "1")
		},
	} {
		t.Run("what names "+what+" makes none", func(t *testing.T) {
			inTurn(t)
			a := in.account(t)
			ask := func(wrong func(params *stripe.PaymentIntentCreateParams)) error {
				params := &stripe.PaymentIntentCreateParams{
					Amount:   stripe.Int64(2000),
					Currency: stripe.String("usd"),
					Confirm:  stripe.Bool(true),
				}
				params.SetIdempotencyKey("corrected")
				wrong(params)
				_, err := a.V1PaymentIntents.Create(t.Context(), params)
				return err
			}
			if ask(wrong) == nil {
				t.Error("it is not refused")
			}
			equal(t, "intents", len(collect(t, a.V1PaymentIntents.List(t.Context(), nil))), 0)
			noError(t, ask(func(params *stripe.PaymentIntentCreateParams) {
				params.PaymentMethod = stripe.String("pm_card_visa")
				params.ReturnURL = stripe.String("https://shop.example")
			}))
		})
	}

	t.Run("an intent whose confirmation is refused later stays as it was", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		waiting, err := a.V1PaymentIntents.Create(t.Context(),
			&stripe.PaymentIntentCreateParams{Amount: stripe.Int64(2000), Currency: stripe.String("usd")})
		noError(t, err)
		for key, card := range map[string]string{
			"no way back": "pm_card_visa",
			"another's":   a.attach("pm_card_visa", a.customer(nil).ID).ID,
			"gone":        a.detached().ID,
		} {
			confirm := &stripe.PaymentIntentConfirmParams{
				PaymentMethod: &card,
				ReceiptEmail:  stripe.String("jenny@example.com"),
			}
			confirm.SetIdempotencyKey(key)
			for _, replayed := range []string{"", "true"} {
				_, err = a.V1PaymentIntents.Confirm(t.Context(), waiting.ID, confirm)
				e := refused(t, err, invalid("", map[bool]string{false: "payment_method"}[key == "no way back"], ""))
				equal(t, "replay", e.LastResponse.Header.Get("Idempotent-Replayed"), replayed)
				equal(t, "the intent in the error", alike(t, inError(t, e, "payment_intent")),
					alike(t, waiting.LastResponse.RawJSON))
			}
		}
		equal(t, "intent", alike(t, a.retrieveIntent(waiting.ID).LastResponse.RawJSON),
			alike(t, waiting.LastResponse.RawJSON))
	})
}

func TestRefusedSetups(t *testing.T) {
	inTurn(t)
	in := install(t)
	for what, c := range map[string]struct {
		ask    func(a *account, params *stripe.SetupIntentCreateParams)
		want   refusal
		left   stripe.SetupIntentStatus
		method bool
	}{
		"for want of a way back": {func(_ *account, params *stripe.SetupIntentCreateParams) {
			params.PaymentMethod, params.PaymentMethodTypes = stripe.String("pm_card_visa"), nil
		}, invalid("", "", ""), stripe.SetupIntentStatusRequiresConfirmation, true},
		"for want of a method": {func(*account, *stripe.SetupIntentCreateParams) {},
			invalid("setup_intent_unexpected_state", "", ""), stripe.SetupIntentStatusRequiresPaymentMethod, false},
		"for another's card": {func(a *account, params *stripe.SetupIntentCreateParams) {
			params.PaymentMethod = &a.attach("pm_card_visa", a.customer(nil).ID).ID
		}, invalid("", "payment_method", ""), stripe.SetupIntentStatusRequiresPaymentMethod, false},
	} {
		t.Run(what+", the setup stays", func(t *testing.T) {
			inTurn(t)
			a := in.account(t)
			params := &stripe.SetupIntentCreateParams{
				Confirm:            stripe.Bool(true),
				PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
			}
			params.SetIdempotencyKey("refused")
			c.ask(a, params)
			first := refusedTwice(t, c.want, func() error {
				_, err := a.V1SetupIntents.Create(t.Context(), params)
				return err
			})

			all := collect(t, a.V1SetupIntents.List(t.Context(), nil))
			equal(t, "setups", ids(all, func(s *stripe.SetupIntent) string { return s.ID }),
				[]string{first.SetupIntent.ID})
			left, err := a.V1SetupIntents.Retrieve(t.Context(), first.SetupIntent.ID, nil)
			noError(t, err)
			equal(t, "setup", []any{left.Status, left.PaymentMethod != nil, left.LastSetupError != nil},
				[]any{c.left, c.method, false})
			equal(t, "the setup in the error", alike(t, inError(t, first, "setup_intent")),
				alike(t, left.LastResponse.RawJSON))
			equal(t, "the setup in the event", alike(t, a.onlyEvent("setup_intent.created").Data.Raw),
				alike(t, left.LastResponse.RawJSON))
			equal(t, "attempts", len(a.attempts(left.ID)), 0)
			done, err := a.V1SetupIntents.Confirm(t.Context(), left.ID, &stripe.SetupIntentConfirmParams{
				PaymentMethod: stripe.String("pm_card_visa"), ReturnURL: stripe.String("https://shop.example")})
			noError(t, err)
			equal(t, "state when it is confirmed again", done.Status, stripe.SetupIntentStatusSucceeded)
		})
	}

	t.Run("a browser sees nothing of the merchant's", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		setup := a.setup(&stripe.SetupIntentCreateParams{
			Customer: &a.customer(nil).ID,
			Metadata: map[string]string{"plan": "gold"},
		})
		browser, _ := connect(t, in.url, a.newKey(apikey.Publishable))
		confirm := &stripe.SetupIntentConfirmParams{}
		confirm.AddExtra("client_secret", setup.ClientSecret) // the SDK is for servers
		_, err := browser.V1SetupIntents.Confirm(t.Context(), setup.ID, confirm)
		shown := refused(t, err, invalid("setup_intent_unexpected_state", "", "")).SetupIntent
		equal(t, "setup", []any{shown.ID, shown.Status}, []any{setup.ID, stripe.SetupIntentStatusRequiresPaymentMethod})
		if len(shown.Metadata) > 0 || shown.Customer != nil {
			t.Errorf("it shows %v, %v", shown.Metadata, shown.Customer)
		}
	})
}

// inError is an object as an error shows it.
func inError(t *testing.T, e *stripe.Error, object string) json.RawMessage {
	t.Helper()
	var body struct {
		Error map[string]json.RawMessage
	}
	noError(t, json.Unmarshal(e.LastResponse.RawJSON, &body))
	return body.Error[object]
}

// alike is JSON as it compares, regardless of the space and the order of its fields.
func alike(t *testing.T, text json.RawMessage) (object map[string]any) {
	t.Helper()
	noError(t, json.Unmarshal(text, &object))
	return object
}

//go:build unix

package sdk_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

// setup makes a setup intent that waits for a card, or tries one if it is given.
func (a *account) setup(with *stripe.SetupIntentCreateParams) *stripe.SetupIntent {
	a.t.Helper()
	with.PaymentMethodTypes = stripe.StringSlice([]string{"card"})
	if with.PaymentMethod != nil {
		with.Confirm, with.ReturnURL = stripe.Bool(true), stripe.String("https://shop.example")
	}
	setup, err := a.V1SetupIntents.Create(a.t.Context(), with)
	noError(a.t, err)
	return setup
}

// attempts are what has been tried at a setup, the newest first.
func (a *account) attempts(setup string) []*stripe.SetupAttempt {
	a.t.Helper()
	return collect(a.t, a.V1SetupAttempts.List(a.t.Context(), &stripe.SetupAttemptListParams{SetupIntent: &setup}))
}

func statusOfAttempt(a *stripe.SetupAttempt) string { return string(a.Status) }

// asks is a card that requires authentication.
const asks = "pm_card_authenticationRequiredOnSetup"

func TestSetupAttempts(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("every try is told, the newest first, and the setup names the last", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		customer := a.customer(nil)
		setup := a.setup(&stripe.SetupIntentCreateParams{Customer: &customer.ID, Usage: stripe.String("on_session")})
		equal(t, "attempts before the first", len(a.attempts(setup.ID)), 0)
		if setup.LatestAttempt != nil {
			t.Errorf("it names %s", setup.LatestAttempt.ID)
		}
		for _, card := range []string{"pm_card_chargeDeclined", "pm_card_visa"} {
			_, err := a.V1SetupIntents.Confirm(t.Context(), setup.ID,
				&stripe.SetupIntentConfirmParams{PaymentMethod: &card})
			if card == "pm_card_visa" {
				noError(t, err)
				continue
			}
			refused(t, err,
				refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard, "card_declined", "generic_decline",
					"try_again_later", "", "Your card was declined."})
		}
		all := a.attempts(setup.ID)
		equal(t, "attempts", ids(all, statusOfAttempt), []string{"succeeded", "failed"})
		good, bad := all[0], all[1]
		for _, one := range all {
			equal(t, "what an attempt keeps of its setup",
				[]any{one.SetupIntent.ID, one.Customer.ID, one.Usage, one.Livemode},
				[]any{setup.ID, customer.ID, stripe.SetupAttemptUsage("on_session"), false})
		}
		equal(t, "the card",
			[]any{good.PaymentMethodDetails.Type, good.PaymentMethodDetails.Card.Brand,
				good.PaymentMethodDetails.Card.Last4, good.PaymentMethodDetails.Card.ThreeDSecure},
			[]any{stripe.SetupAttemptPaymentMethodDetailsType("card"), "visa", "4242",
				(*stripe.SetupAttemptPaymentMethodDetailsCardThreeDSecure)(nil)})
		equal(t, "why it failed", []any{bad.SetupError.Code, bad.SetupError.PaymentMethod.ID},
			[]any{stripe.ErrorCodeCardDeclined, bad.PaymentMethod.ID})
		if good.SetupError != nil {
			t.Errorf("the one that succeeded has the error %v", good.SetupError)
		}
		params := &stripe.SetupIntentRetrieveParams{}
		params.AddExpand("latest_attempt.payment_method")
		setup, err := a.V1SetupIntents.Retrieve(t.Context(), setup.ID, params)
		noError(t, err)
		equal(t, "the setup's last attempt, expanded",
			[]string{setup.LatestAttempt.ID, string(setup.LatestAttempt.Status),
				setup.LatestAttempt.PaymentMethod.Card.Last4},
			[]string{good.ID, "succeeded", "4242"})
	})

	t.Run("an attempt waits for its cardholder, and ends as he answers", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		for answer, want := range map[string]struct{ status, result string }{
			"pass": {"succeeded", "authenticated"},
			"fail": {"failed", "failed"},
		} {
			create := &stripe.SetupIntentCreateParams{PaymentMethod: stripe.String(asks)}
			create.AddExpand("latest_attempt")
			setup := a.setup(create)
			waiting := setup.LatestAttempt
			equal(t, "the attempt while he is asked", statusOfAttempt(waiting), "requires_action")
			visit(t, setup.NextAction.RedirectToURL.URL, url.Values{"result": {answer}})
			all := a.attempts(setup.ID)
			equal(t, "attempts after "+answer, ids(all, statusOfAttempt), []string{want.status})
			equal(t, "it is the same one", all[0].ID, waiting.ID)
			equal(t, "what came of asking", string(all[0].PaymentMethodDetails.Card.ThreeDSecure.Result), want.result)
			if failed := all[0].SetupError != nil; failed != (answer == "fail") {
				t.Errorf("%s left the error %v", answer, all[0].SetupError)
			}
		}
	})

	t.Run("an attempt is abandoned when the setup goes on without its cardholder", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		for what, goesOn := range map[string]func(id string) error{
			"another card": func(id string) error {
				_, err := a.V1SetupIntents.Confirm(t.Context(), id,
					&stripe.SetupIntentConfirmParams{PaymentMethod: stripe.String("pm_card_visa")})
				return err
			},
			"an update": func(id string) error {
				_, err := a.V1SetupIntents.Update(t.Context(), id,
					&stripe.SetupIntentUpdateParams{PaymentMethod: stripe.String("pm_card_visa")})
				return err
			},
			"its end": func(id string) error { _, err := a.V1SetupIntents.Cancel(t.Context(), id, nil); return err },
		} {
			setup := a.setup(&stripe.SetupIntentCreateParams{PaymentMethod: stripe.String(asks)})
			noError(t, goesOn(setup.ID))
			all := a.attempts(setup.ID)
			equal(t, "the first attempt after "+what, statusOfAttempt(all[len(all)-1]), "abandoned")
			equal(t, "attempts after "+what, len(all),
				map[string]int{"another card": 2, "an update": 1, "its end": 1}[what])
		}
	})

	t.Run("the list has pages and a time, and wants to know whose", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		setup := a.setup(&stripe.SetupIntentCreateParams{})
		for range 3 {
			_, err := a.V1SetupIntents.Confirm(t.Context(), setup.ID,
				&stripe.SetupIntentConfirmParams{PaymentMethod: stripe.String("pm_card_chargeDeclined")})
			if err == nil {
				t.Fatal("it was not declined")
			}
		}
		all := a.attempts(setup.ID)
		params := &stripe.SetupAttemptListParams{
			SetupIntent: &setup.ID,
			ListParams:  stripe.ListParams{Limit: stripe.Int64(1), StartingAfter: &all[0].ID, Single: true},
		}
		equal(t, "the second page",
			ids(collect(t, a.V1SetupAttempts.List(t.Context(), params)),
				func(a *stripe.SetupAttempt) string { return a.ID }), []string{all[1].ID})
		params = &stripe.SetupAttemptListParams{
			SetupIntent:  &setup.ID,
			CreatedRange: &stripe.RangeQueryParams{LesserThan: all[2].Created},
		}
		equal(t, "attempts before the first", len(collect(t, a.V1SetupAttempts.List(t.Context(), params))), 0)

		another := in.account(t)
		for _, stranger := range []*stripe.SetupAttemptListParams{{}, {SetupIntent: &setup.ID}} {
			list := another.V1SetupAttempts.List(t.Context(), stranger)
			var err error
			for _, err = range list.All(t.Context()) {
				break
			}
			code := "parameter_missing"
			if stranger.SetupIntent != nil {
				code = "resource_missing"
			}
			refused(t, err, invalid(code, "setup_intent", ""))
		}
	})
}

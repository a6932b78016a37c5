//go:build unix

package sdk_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stripe/stripe-go/v85"

	"github.com/ratchet-pay/ratchet/internal/apikey"
)

func TestPaymentIntents(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("metadata can be emptied, but not of an intent that is not there yet", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		create := &stripe.PaymentIntentCreateParams{Amount: stripe.Int64(2000), Currency: stripe.String("usd")}
		create.AddExtra("metadata", "")
		_, err := a.V1PaymentIntents.Create(t.Context(), create)
		refused(t, err, invalid("parameter_invalid_empty", "metadata", ""))
		intent := a.intent(&stripe.PaymentIntentCreateParams{Metadata: map[string]string{"order": "1"}})
		clear := &stripe.PaymentIntentUpdateParams{}
		clear.AddExtra("metadata", "")
		intent, err = a.V1PaymentIntents.Update(t.Context(), intent.ID, clear)
		noError(t, err)
		equal(t, "metadata after clearing", intent.Metadata, map[string]string{})
	})

	t.Run("a charge has the transfer group of its intent, which can be set once", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		group := func(name string) *stripe.PaymentIntentUpdateParams {
			return &stripe.PaymentIntentUpdateParams{TransferGroup: &name}
		}
		intent := a.intent(&stripe.PaymentIntentCreateParams{TransferGroup: stripe.String("order_1")})
		equal(t, "group of the intent", intent.TransferGroup, "order_1")
		_, err := a.V1PaymentIntents.Update(t.Context(), intent.ID, group("order_2"))
		refused(t, err, invalid("", "transfer_group", ""))
		_, err = a.V1PaymentIntents.Confirm(t.Context(), intent.ID,
			&stripe.PaymentIntentConfirmParams{PaymentMethod: stripe.String("pm_card_visa")})
		noError(t, err)
		paid := a.retrieveIntent(intent.ID, "latest_charge")
		equal(t, "groups", []string{paid.TransferGroup, paid.LatestCharge.TransferGroup},
			[]string{"order_1", "order_1"})

		later, err := a.V1PaymentIntents.Update(t.Context(), a.intent(nil).ID, group("order_2"))
		noError(t, err)
		equal(t, "group set later", a.retrieveIntent(later.ID).TransferGroup, "order_2")
	})

	t.Run("a confirmed intent takes the money once", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		intent := a.retrieveIntent(a.confirmed("pm_card_visa", "automatic").ID, "latest_charge.balance_transaction",
			"payment_method")
		equal(t, "intent", []any{intent.Status, intent.AmountReceived, intent.AmountCapturable},
			[]any{stripe.PaymentIntentStatusSucceeded, int64(2000), int64(0)})
		charge := intent.LatestCharge
		equal(t, "charge", []any{charge.Status, charge.Captured, charge.PaymentIntent.ID, charge.PaymentMethod},
			[]any{stripe.ChargeStatusSucceeded, true, intent.ID, intent.PaymentMethod.ID})
		equal(t, "money", []int64{charge.BalanceTransaction.Amount, charge.BalanceTransaction.Fee, a.pending()},
			[]int64{2000, 88, 1912})
		equal(t, "card", intent.PaymentMethod.Card.Last4, "4242")
	})

	t.Run("after a decline the same intent is paid with another card", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		intent := a.intent(nil)
		_, err := a.V1PaymentIntents.Confirm(t.Context(), intent.ID,
			&stripe.PaymentIntentConfirmParams{PaymentMethod: stripe.String("pm_card_chargeDeclined")})
		e := refused(t, err,
			refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard, "card_declined", "generic_decline",
				"try_again_later", "", "Your card was declined."})
		equal(t, "the intent in the error",
			[]any{e.PaymentIntent.ID, e.PaymentIntent.Status, e.PaymentIntent.LastPaymentError.Code},
			[]any{intent.ID, stripe.PaymentIntentStatusRequiresPaymentMethod, stripe.ErrorCodeCardDeclined})
		equal(t, "the method in the error", e.PaymentMethod.Card.Last4, "0002")
		declined := a.retrieveIntent(intent.ID, "latest_charge")
		equal(t, "the failed charge", []any{declined.LatestCharge.ID, declined.LatestCharge.Status},
			[]any{e.ChargeID, stripe.ChargeStatusFailed})
		if declined.PaymentMethod != nil {
			t.Errorf("it still has the method %s", declined.PaymentMethod.ID)
		}
		described, err := a.V1PaymentIntents.Update(t.Context(), intent.ID,
			&stripe.PaymentIntentUpdateParams{Description: stripe.String("a second try")})
		noError(t, err)
		if described.LastPaymentError != nil || described.LatestCharge.ID != e.ChargeID {
			t.Errorf("an update leaves the error %v and the charge %v", described.LastPaymentError,
				described.LatestCharge)
		}

		paid, err := a.V1PaymentIntents.Confirm(t.Context(), intent.ID,
			&stripe.PaymentIntentConfirmParams{PaymentMethod: stripe.String("pm_card_visa")})
		noError(t, err)
		if paid.Status != stripe.PaymentIntentStatusSucceeded || paid.LastPaymentError != nil {
			t.Errorf("got %s, %v", paid.Status, paid.LastPaymentError)
		}
		charges := collect(t, a.V1Charges.List(t.Context(), &stripe.ChargeListParams{PaymentIntent: &intent.ID}))
		equal(t, "attempts, newest first", ids(charges, func(c *stripe.Charge) string { return c.ID }),
			[]string{paid.LatestCharge.ID, e.ChargeID})
		equal(t, "pending balance", a.pending(), int64(1912))
	})

	t.Run("part of a hold is captured, and the charge shows what was let go without a refund", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		held := a.confirmed("pm_card_visa", "manual")
		_, err := a.V1Charges.Capture(t.Context(), held.LatestCharge.ID, nil)
		refused(t, err, invalid("", "", ""))
		_, err = a.V1PaymentIntents.Capture(t.Context(), held.ID,
			&stripe.PaymentIntentCaptureParams{AmountToCapture: stripe.Int64(2001)})
		refused(t, err, invalid("amount_too_large", "amount_to_capture", ""))
		captured, err := a.V1PaymentIntents.Capture(t.Context(), held.ID,
			&stripe.PaymentIntentCaptureParams{AmountToCapture: stripe.Int64(1500)})
		noError(t, err)
		equal(t, "intent", []int64{captured.Amount, captured.AmountReceived, captured.AmountCapturable},
			[]int64{2000, 1500, 0})
		charge := a.retrieveCharge(held.LatestCharge.ID, "refunds")
		equal(t, "charge",
			[]any{charge.AmountCaptured, charge.AmountRefunded, charge.Refunded, len(charge.Refunds.Data)},
			[]any{int64(1500), int64(500), false, 0})
		refund, err := a.V1Refunds.Create(t.Context(), &stripe.RefundCreateParams{PaymentIntent: &held.ID})
		noError(t, err)
		equal(t, "refund", []any{refund.Amount, refund.PaymentIntent.ID, a.retrieveCharge(charge.ID).Refunded},
			[]any{int64(1500), held.ID, true})
	})

	t.Run("canceling a hold lets it go", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		held := a.confirmed("pm_card_visa", "manual")
		canceled, err := a.V1PaymentIntents.Cancel(t.Context(), held.ID,
			&stripe.PaymentIntentCancelParams{CancellationReason: stripe.String("duplicate")})
		noError(t, err)
		equal(t, "intent",
			[]any{canceled.Status, canceled.CancellationReason, canceled.AmountCapturable, canceled.CanceledAt > 0},
			[]any{stripe.PaymentIntentStatusCanceled, stripe.PaymentIntentCancellationReasonDuplicate, int64(0), true})
		equal(t, "charge refunded", a.retrieveCharge(held.LatestCharge.ID).Refunded, true)
		equal(t, "pending balance", a.pending(), int64(0))
	})

	t.Run("a customer who is not there cannot be asked", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		_, err := a.V1PaymentIntents.Create(t.Context(), &stripe.PaymentIntentCreateParams{
			Amount:             stripe.Int64(2000),
			Currency:           stripe.String("usd"),
			PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
			Confirm:            stripe.Bool(true),
			OffSession:         stripe.Bool(true),
			PaymentMethod:      stripe.String("pm_card_authenticationRequired"),
		})
		refused(t, err, refusal{
			Status:      http.StatusPaymentRequired,
			Type:        stripe.ErrorTypeCard,
			Code:        "authentication_required",
			DeclineCode: "authentication_required",
		})
	})

	t.Run("with error_on_requires_action, a required authentication is an error", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		always := &stripe.PaymentIntentCreateParams{
			PaymentMethodOptions: &stripe.PaymentIntentCreatePaymentMethodOptionsParams{
				Card: &stripe.PaymentIntentCreatePaymentMethodOptionsCardParams{
					RequestThreeDSecure: stripe.String("any"),
				}},
		}
		for whose, asked := range map[string]struct {
			create *stripe.PaymentIntentCreateParams
			card   string
		}{"by his bank": {nil, "pm_card_authenticationRequired"}, "by the merchant": {always, "pm_card_visa"}} {
			_, err := a.V1PaymentIntents.Confirm(t.Context(),
				a.intent(asked.create).ID, &stripe.PaymentIntentConfirmParams{
					PaymentMethod: stripe.String(asked.card), ErrorOnRequiresAction: stripe.Bool(true)})
			e := refused(t, err, refusal{
				Status:      http.StatusPaymentRequired,
				Type:        stripe.ErrorTypeCard,
				Code:        "authentication_required",
				DeclineCode: "authentication_not_handled",
			})
			if !strings.HasPrefix(e.Msg,
				"This payment required an authentication action to complete, but `error_on_requires_action` was set.") {
				t.Errorf("wanted %s, the message is %q", whose, e.Msg)
			}
		}
	})

	t.Run("a card's options that are unset are those of a new intent again", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		asked := a.intent(&stripe.PaymentIntentCreateParams{
			PaymentMethodOptions: &stripe.PaymentIntentCreatePaymentMethodOptionsParams{
				Card: &stripe.PaymentIntentCreatePaymentMethodOptionsCardParams{
					RequestThreeDSecure: stripe.String("any"),
				}},
		})
		for _, step := range []struct{ unset, want string }{
			{"payment_method_options[card][setup_future_usage]", "any"},
			{"payment_method_options[card]", "automatic"},
		} {
			change := &stripe.PaymentIntentUpdateParams{}
			change.AddExtra(step.unset, "")
			changed, err := a.V1PaymentIntents.Update(t.Context(), asked.ID, change)
			noError(t, err)
			equal(t, "after "+step.unset, string(changed.PaymentMethodOptions.Card.RequestThreeDSecure), step.want)
		}
		all := &stripe.PaymentIntentUpdateParams{}
		all.AddExtra("payment_method_options", "")
		_, err := a.V1PaymentIntents.Update(t.Context(), asked.ID, all)
		refused(t, err, invalid("parameter_invalid_empty", "payment_method_options", ""))
	})

	t.Run("a browser confirms with the client secret and sees nothing of the merchant's", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		intent := a.intent(&stripe.PaymentIntentCreateParams{Metadata: map[string]string{"margin": "80 %"}})
		browser, _ := connect(t, in.url, a.newKey(apikey.Publishable))
		_, err := browser.V1PaymentIntents.Confirm(t.Context(), intent.ID,
			&stripe.PaymentIntentConfirmParams{PaymentMethod: stripe.String("pm_card_visa")})
		refused(t, err, missing("intent", "No such payment_intent: '"+intent.ID+"'"))
		empty := &stripe.PaymentIntentConfirmParams{}
		empty.AddExtra("client_secret", intent.ClientSecret) // the SDK is for servers
		_, err = browser.V1PaymentIntents.Confirm(t.Context(), intent.ID, empty)
		unpaid := refused(t, err, invalid("payment_intent_unexpected_state", "", "")).PaymentIntent
		confirm := &stripe.PaymentIntentConfirmParams{PaymentMethod: stripe.String("pm_card_visa")}
		confirm.AddExtra("client_secret", intent.ClientSecret)
		paid, err := browser.V1PaymentIntents.Confirm(t.Context(), intent.ID, confirm)
		noError(t, err)
		seen, err := browser.V1PaymentIntents.Retrieve(t.Context(), intent.ID,
			&stripe.PaymentIntentRetrieveParams{ClientSecret: &intent.ClientSecret})
		noError(t, err)
		_, err = browser.V1PaymentIntents.Confirm(t.Context(), intent.ID, confirm)
		again := refused(t, err, invalid("payment_intent_unexpected_state", "", "")).PaymentIntent
		equal(t, "states",
			[]stripe.PaymentIntentStatus{unpaid.Status, paid.Status, seen.Status,
				again.Status}, []stripe.PaymentIntentStatus{
				stripe.PaymentIntentStatusRequiresPaymentMethod, stripe.PaymentIntentStatusSucceeded,
				stripe.PaymentIntentStatusSucceeded, stripe.PaymentIntentStatusSucceeded})
		for _, p := range []*stripe.PaymentIntent{unpaid, paid, seen, again} {
			if len(p.Metadata) > 0 || p.LatestCharge != nil {
				t.Errorf("it shows %v, %v when it is %s", p.Metadata, p.LatestCharge, p.Status)
			}
		}
	})
}

func TestChallenges(t *testing.T) {
	inTurn(t)
	in := install(t)

	for _, c := range []struct {
		what, method, decision string
		confirmation           string
		state                  stripe.PaymentIntentStatus
		redirected             string
		failure                stripe.ErrorCode
	}{
		{"passed, the payment is made", "pm_card_authenticationRequired", "pass", "automatic",
			stripe.PaymentIntentStatusSucceeded, "succeeded", ""},
		{"failed, another method is wanted", "pm_card_authenticationRequired", "fail", "automatic",
			stripe.PaymentIntentStatusRequiresPaymentMethod, "failed", "payment_intent_authentication_failure"},
		{"passed, the issuer may still decline", "pm_card_authenticationRequiredChargeDeclinedInsufficientFunds",
			"pass", "automatic", stripe.PaymentIntentStatusRequiresPaymentMethod, "failed", "card_declined"},
		{"passed, a manual confirmation waits for the server", "pm_card_threeDSecure2Required", "pass", "manual",
			stripe.PaymentIntentStatusRequiresConfirmation, "succeeded", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			inTurn(t)
			a := in.account(t)
			intent := a.intent(&stripe.PaymentIntentCreateParams{PaymentMethod: &c.method, Confirm: stripe.Bool(true),
				ConfirmationMethod: &c.confirmation, ReturnURL: stripe.String("https://shop.example/back?cart=7")})
			equal(t, "state", intent.Status, stripe.PaymentIntentStatusRequiresAction)
			page := intent.NextAction.RedirectToURL.URL
			if shown := visit(t, page, nil); !strings.Contains(shown.body, "$20.00") {
				t.Errorf("the page does not say what is paid: %s", shown.body)
			}
			decided := visit(t, page, url.Values{"result": {c.decision}})
			again := visit(t, page, url.Values{"result": {"pass"}})
			equal(t, "where the second click leads", again.location, decided.location)
			back, err := url.Parse(decided.location)
			noError(t, err)
			equal(t, "the way back",
				[]string{back.Host, back.Query().Get("cart"), back.Query().Get("payment_intent"),
					back.Query().Get("redirect_status")},
				[]string{"shop.example", "7", intent.ID, c.redirected})

			after := a.retrieveIntent(intent.ID)
			equal(t, "state", after.Status, c.state)
			if c.failure != "" && (after.LastPaymentError == nil || after.LastPaymentError.Code != c.failure) {
				t.Errorf("it remembers %v", after.LastPaymentError)
			}
			if c.confirmation == "manual" {
				paid, err := a.V1PaymentIntents.Confirm(t.Context(), intent.ID, nil)
				noError(t, err)
				equal(t, "state when the server has confirmed", paid.Status, stripe.PaymentIntentStatusSucceeded)
			}
		})
	}

	t.Run("the return URL may have an application's scheme, but none that a browser executes", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		confirm := func(back string) (*stripe.PaymentIntent, error) {
			return a.V1PaymentIntents.Confirm(t.Context(), a.intent(nil).ID, &stripe.PaymentIntentConfirmParams{
				PaymentMethod: stripe.String("pm_card_authenticationRequired"), ReturnURL: &back})
		}
		for _, back := range []string{"javascript://shop.example/%0aalert(1)", "data://x", "file:///etc/hosts",
			"sledges:back", "//shop.example", "https://",
			"sledges:/x; frame-ancestors *; report-uri https://elsewhere.example/ ://y", "sledges:/x://y",
			"sledges://paid;v=1", "sledges://paid now", "sledges://paid\u00a0now"} {
			_, err := confirm(back)
			refused(t, err, invalid("url_invalid", "return_url", "Not a valid URL"))
		}
		intent, err := confirm("sledges://paid?cart=7")
		noError(t, err)
		page := intent.NextAction.RedirectToURL.URL
		if policy := visit(t, page, nil).policy; !strings.Contains(policy, "form-action * sledges:;") {
			t.Errorf("a browser would not follow: %s", policy)
		}
		decided := visit(t, page, url.Values{"result": {"pass"}})
		if !strings.HasPrefix(decided.location, "sledges://paid?cart=7&payment_intent="+intent.ID) {
			t.Errorf("it leads to %s", decided.location)
		}
	})

	t.Run("without a way back the page says how it ended", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		intent := a.confirmed("pm_card_authenticationRequired", "")
		equal(t, "next action", intent.NextAction.Type, stripe.PaymentIntentNextActionType("use_stripe_sdk"))
		page := in.challenge(t, intent.ID)
		ended := visit(t, page, url.Values{"result": {"pass"}})
		equal(t, "status", ended.status, http.StatusOK)
		equal(t, "state", a.retrieveIntent(intent.ID).Status, stripe.PaymentIntentStatusSucceeded)
	})

	t.Run("an address that belongs to no payment says so", func(t *testing.T) {
		inTurn(t)
		equal(t, "status", visit(t, in.url+"/3d_secure/3ds_none", nil).status, http.StatusNotFound)
	})
}

// challenge is the address of the page an intent waits for.
func (in *installation) challenge(t *testing.T, intent string) string {
	t.Helper()
	var name string
	noError(t, in.db.QueryRow(t.Context(), `SELECT challenge FROM payment_intents WHERE id = $1`, intent).Scan(&name))
	return in.url + "/3d_secure/" + name
}

// seen is what a browser gets.
type seen struct {
	status         int
	location, body string
	policy         string // what the page may do
}

// visit opens a page, or sends a form to it, and follows nothing.
func visit(t *testing.T, address string, form url.Values) seen {
	t.Helper()
	browser := &http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	noError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := browser.Do(request)
	noError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	noError(t, err)
	return seen{response.StatusCode, response.Header.Get("Location"), string(text),
		response.Header.Get("Content-Security-Policy")}
}

// A cardholder may take hours over a challenge. What becomes of the method meanwhile decides whether it can still pay.
func TestMethodsOfAChallenge(t *testing.T) {
	inTurn(t)
	in := install(t)
	movements := func(t *testing.T, amount int64) (n int) {
		t.Helper()
		noError(t, in.journal.QueryRow(t.Context(), `SELECT count(*) FROM acquirer.movements
			WHERE amount = $1 AND result = 'approved'`, amount).Scan(&n))
		return n
	}
	challenged := func(a *account, amount int64, method string, customer *string) *stripe.PaymentIntent {
		params := &stripe.PaymentIntentCreateParams{Amount: &amount, PaymentMethod: &method, Customer: customer,
			Confirm: stripe.Bool(true), ReturnURL: stripe.String("https://shop.example/back"),
			PaymentMethodOptions: &stripe.PaymentIntentCreatePaymentMethodOptionsParams{
				Card: &stripe.PaymentIntentCreatePaymentMethodOptionsCardParams{
					RequestThreeDSecure: stripe.String("any")}}}
		if customer != nil {
			params.SetupFutureUsage = stripe.String("off_session")
		}
		intent := a.intent(params)
		equal(a.t, "state", intent.Status, stripe.PaymentIntentStatusRequiresAction)
		return intent
	}

	for amount, gone := range map[int64]struct {
		what string
		do   func(a *account, method, customer string) error
	}{
		7001: {"detached", func(a *account, method, _ string) error {
			_, err := a.V1PaymentMethods.Detach(a.t.Context(), method, nil)
			return err
		}},
		7002: {"detached with its customer", func(a *account, _, customer string) error {
			_, err := a.V1Customers.Delete(a.t.Context(), customer, nil)
			return err
		}},
	} {
		t.Run("a card that is "+gone.what+" meanwhile is not charged", func(t *testing.T) {
			inTurn(t)
			a := in.account(t)
			customer := a.named("Ada").ID
			method := a.attach("pm_card_visa", customer).ID
			intent := challenged(a, amount, method, &customer)
			noError(t, gone.do(a, method, customer))
			visit(t, intent.NextAction.RedirectToURL.URL, url.Values{"result": {"pass"}})
			after := a.retrieveIntent(intent.ID)
			equal(t, "state", after.Status, stripe.PaymentIntentStatusRequiresPaymentMethod)
			if after.LastPaymentError == nil || !strings.Contains(after.LastPaymentError.Msg, "was detached") {
				t.Errorf("it remembers %v", after.LastPaymentError)
			}
			equal(t, "movements at the acquirer", movements(t, amount), 0)
			equal(t, "failures that the merchant hears of", len(collect(t, a.V1Events.List(t.Context(),
				&stripe.EventListParams{Type: stripe.String("payment_intent.payment_failed")}))), 1)
		})
	}

	t.Run("a method without a customer pays one of two payments", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		method, err := a.V1PaymentMethods.Create(t.Context(), &stripe.PaymentMethodCreateParams{
			Type: stripe.String("card"),
			Card: &stripe.PaymentMethodCreateCardParams{Token: stripe.String("tok_visa")}})
		noError(t, err)
		first, second := challenged(a, 7003, method.ID, nil), challenged(a, 7003, method.ID, nil)
		for _, intent := range []*stripe.PaymentIntent{first, second} {
			visit(t, intent.NextAction.RedirectToURL.URL, url.Values{"result": {"pass"}})
		}
		equal(t, "states", []stripe.PaymentIntentStatus{a.retrieveIntent(first.ID).Status,
			a.retrieveIntent(second.ID).Status}, []stripe.PaymentIntentStatus{stripe.PaymentIntentStatusSucceeded,
			stripe.PaymentIntentStatusRequiresPaymentMethod})
		equal(t, "movements at the acquirer", movements(t, 7003), 1)
	})

	t.Run("a setup of a card that is detached meanwhile fails", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		customer := a.named("Ada").ID
		method := a.attach("pm_card_authenticationRequired", customer).ID
		setup := a.setup(&stripe.SetupIntentCreateParams{Customer: &customer, PaymentMethod: &method,
			Confirm: stripe.Bool(true), ReturnURL: stripe.String("https://shop.example/back")})
		equal(t, "state", setup.Status, stripe.SetupIntentStatusRequiresAction)
		_, err := a.V1PaymentMethods.Detach(t.Context(), method, nil)
		noError(t, err)
		visit(t, setup.NextAction.RedirectToURL.URL, url.Values{"result": {"pass"}})
		after, err := a.V1SetupIntents.Retrieve(t.Context(), setup.ID, nil)
		noError(t, err)
		equal(t, "state", after.Status, stripe.SetupIntentStatusRequiresPaymentMethod)
		attempts := a.attempts(setup.ID)
		equal(t, "its attempt", []any{len(attempts), attempts[0].Status},
			[]any{1, stripe.SetupAttemptStatusFailed})
	})

	t.Run("a server may leave the challenge to Stripe.js", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		intent, err := a.V1PaymentIntents.Create(t.Context(), &stripe.PaymentIntentCreateParams{
			Amount: stripe.Int64(7005), Currency: stripe.String("usd"), Confirm: stripe.Bool(true),
			PaymentMethod: stripe.String("pm_card_threeDSecure2Required"), UseStripeSDK: stripe.Bool(true),
			ConfirmationMethod: stripe.String("manual"), ReturnURL: stripe.String("https://shop.example/back")})
		noError(t, err)
		equal(t, "the next action", intent.NextAction.Type, stripe.PaymentIntentNextActionType("use_stripe_sdk"))
		visit(t, in.challenge(t, intent.ID), url.Values{"result": {"pass"}})
		paid, err := a.V1PaymentIntents.Confirm(t.Context(), intent.ID, nil)
		noError(t, err)
		equal(t, "state", paid.Status, stripe.PaymentIntentStatusSucceeded)
	})

	t.Run("a card is not saved while its holder is absent", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		customer := a.named("Ada").ID
		_, err := a.V1PaymentIntents.Create(t.Context(), &stripe.PaymentIntentCreateParams{
			Amount: stripe.Int64(7006), Currency: stripe.String("usd"), Confirm: stripe.Bool(true),
			Customer: &customer, PaymentMethod: stripe.String("pm_card_visa"), OffSession: stripe.Bool(true),
			SetupFutureUsage: stripe.String("off_session")})
		refused(t, err, invalid("", "off_session", ""))
		_, err = a.V1PaymentIntents.Confirm(t.Context(), a.intent(&stripe.PaymentIntentCreateParams{
			Amount: stripe.Int64(7006), Customer: &customer}).ID, &stripe.PaymentIntentConfirmParams{
			PaymentMethod: stripe.String("pm_card_visa"), OffSession: stripe.Bool(true),
			SetupFutureUsage: stripe.String("on_session")})
		refused(t, err, invalid("", "off_session", ""))
		equal(t, "movements at the acquirer", movements(t, 7006), 0)
	})

	t.Run("what the cardholder agreed to is not used for another amount", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		intent := a.intent(&stripe.PaymentIntentCreateParams{
			PaymentMethod: stripe.String("pm_card_threeDSecure2Required"), Confirm: stripe.Bool(true),
			ConfirmationMethod: stripe.String("manual"), ReturnURL: stripe.String("https://shop.example/back")})
		visit(t, intent.NextAction.RedirectToURL.URL, url.Values{"result": {"pass"}})
		_, err := a.V1PaymentIntents.Update(t.Context(), intent.ID,
			&stripe.PaymentIntentUpdateParams{Amount: stripe.Int64(7004)})
		noError(t, err)
		again, err := a.V1PaymentIntents.Confirm(t.Context(), intent.ID,
			&stripe.PaymentIntentConfirmParams{ReturnURL: stripe.String("https://shop.example/back")})
		noError(t, err)
		equal(t, "state", again.Status, stripe.PaymentIntentStatusRequiresAction)
		equal(t, "movements at the acquirer", movements(t, 7004), 0)
	})
}

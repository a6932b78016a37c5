//go:build unix

package sdk_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/form"

	"github.com/ratchet-pay/ratchet/internal/apikey"
)

func TestCheckout(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("what Stripe's command line does for checkout.session.completed ends with that event", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		product, err := a.V1Products.Create(t.Context(), &stripe.ProductCreateParams{
			Name:        stripe.String("myproduct"),
			Description: stripe.String("made by a fixture"),
		})
		noError(t, err)
		price, err := a.V1Prices.Create(t.Context(), &stripe.PriceCreateParams{
			Product:    &product.ID,
			UnitAmount: stripe.Int64(1500),
			Currency:   stripe.String("usd"),
		})
		noError(t, err)
		session := a.session(&stripe.CheckoutSessionCreateParams{
			LineItems: []*stripe.CheckoutSessionCreateLineItemParams{{Price: &price.ID, Quantity: stripe.Int64(2)}},
			PaymentIntentData: &stripe.CheckoutSessionCreatePaymentIntentDataParams{
				Shipping: &stripe.ShippingDetailsParams{
					Name: stripe.String("Jenny Rosen"),
					Address: &stripe.AddressParams{
						Line1:   stripe.String("510 Townsend St"),
						Country: stripe.String("US"),
					},
				},
			},
		})
		shown := a.page(http.MethodGet, session.ID, nil)
		equal(t, "page", []any{shown.ID, shown.AmountTotal, shown.Status, shown.BusinessName, shown.PaymentIntent.ID},
			[]any{session.ID, int64(3000), "open", "Toboggans", ""})
		method, err := a.V1PaymentMethods.Create(t.Context(), &stripe.PaymentMethodCreateParams{
			Type: stripe.String("card"), Card: &stripe.PaymentMethodCreateCardParams{Token: stripe.String("tok_visa")},
			BillingDetails: &stripe.PaymentMethodCreateBillingDetailsParams{
				Email: stripe.String("stripe@example.com"),
				Name:  stripe.String("Jenny Rosen"),
			}})
		noError(t, err)
		paid := a.page(http.MethodPost, session.ID,
			url.Values{"payment_method": {method.ID}, "expected_amount": {"3000"}})
		equal(t, "page", []any{paid.Status, paid.PaymentStatus, paid.PaymentIntent.Status, paid.SuccessURL},
			[]any{"complete", "paid", stripe.PaymentIntentStatusSucceeded,
				"https://example.com/thanks?session=" + session.ID})

		complete := a.retrieveSession(session.ID, "payment_intent.latest_charge", "line_items.data.price.product")
		equal(t, "session",
			[]any{complete.Status, complete.PaymentStatus, complete.URL, complete.CustomerDetails.Email,
				complete.AmountTotal, complete.SuccessURL},
			[]any{stripe.CheckoutSessionStatusComplete, stripe.CheckoutSessionPaymentStatusPaid, "",
				"stripe@example.com", int64(3000), "https://example.com/thanks?session={CHECKOUT_SESSION_ID}"})
		intent := complete.PaymentIntent
		equal(t, "intent", []any{intent.AmountReceived, intent.LatestCharge.Captured, intent.Shipping.Name},
			[]any{int64(3000), true, "Jenny Rosen"})
		equal(t, "item", []any{complete.LineItems.Data[0].Description, complete.LineItems.Data[0].Price.Product.Name},
			[]any{"myproduct", "myproduct"})
		var emitted []string
		for _, e := range collect(t, a.V1Events.List(t.Context(), nil)) {
			emitted = append(emitted, string(e.Type))
		}
		equal(t, "the last event", emitted[0], "checkout.session.completed")
		var then stripe.CheckoutSession
		noError(t, json.Unmarshal(a.onlyEvent("checkout.session.completed").Data.Raw, &then))
		equal(t, "what it shows", []any{then.ID, then.Status, then.PaymentIntent.ID},
			[]any{session.ID, stripe.CheckoutSessionStatusComplete, intent.ID})
		equal(t, "sessions of the intent",
			len(collect(t,
				a.V1CheckoutSessions.List(t.Context(), &stripe.CheckoutSessionListParams{PaymentIntent: &intent.ID}))),
			1)
	})

	t.Run("an open session shows the email that the merchant gave, and is found by it", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		email := "jenny@example.com"
		session := a.session(&stripe.CheckoutSessionCreateParams{CustomerEmail: &email})
		equal(t, "details", *session.CustomerDetails, stripe.CheckoutSessionCustomerDetails{
			Email: email, TaxExempt: stripe.CheckoutSessionCustomerDetailsTaxExemptNone})
		if other := a.session(nil); other.CustomerDetails != nil {
			t.Errorf("a session without an email shows %+v", other.CustomerDetails)
		}
		byEmail := &stripe.CheckoutSessionListParams{
			CustomerDetails: &stripe.CheckoutSessionListCustomerDetailsParams{Email: &email}}
		found := func() []string {
			return ids(collect(t, a.V1CheckoutSessions.List(t.Context(), byEmail)),
				func(s *stripe.CheckoutSession) string { return s.ID })
		}
		equal(t, "found while it is open", found(), []string{session.ID})
		a.page(http.MethodPost, session.ID, url.Values{"payment_method": {"pm_card_visa"}})
		equal(t, "found when it is complete", found(), []string{session.ID})
	})

	t.Run("a session is not completed without an email address", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		visa := url.Values{"payment_method": {"pm_card_visa"}}
		pay := func(params *stripe.CheckoutSessionCreateParams) error {
			return a.send(a.session(params).ID+"/confirm", visa, nil)
		}
		nameless := a.customer(&stripe.CustomerCreateParams{Name: stripe.String("Jenny")})
		known := a.customer(&stripe.CustomerCreateParams{Email: stripe.String("jenny@example.com")})
		missing := invalid("parameter_missing", "email", "Missing required param: email.")
		refused(t, pay(nil), missing)
		refused(t, pay(&stripe.CheckoutSessionCreateParams{Customer: &nameless.ID}), missing)
		noError(t, pay(&stripe.CheckoutSessionCreateParams{Customer: &known.ID}))
		noError(t, pay(&stripe.CheckoutSessionCreateParams{CustomerEmail: stripe.String("jenny@example.com")}))
		setup, err := a.V1CheckoutSessions.Create(t.Context(), &stripe.CheckoutSessionCreateParams{
			Mode: stripe.String("setup"), UIMode: stripe.String("embedded_page"),
			ReturnURL: stripe.String("https://example.com")})
		noError(t, err)
		refused(t, a.send(setup.ID+"/confirm", visa, nil), missing)
	})

	t.Run("a declined card leaves the session open, and the next one pays with the same intent", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		session := a.session(nil)
		refused(t, a.press(session.ID, url.Values{"payment_method": {"pm_card_chargeDeclined"}}, nil),
			refusal{http.StatusPaymentRequired, stripe.ErrorTypeCard, "card_declined", "generic_decline",
				"try_again_later", "", "Your card was declined."})
		open := a.retrieveSession(session.ID)
		equal(t, "session", []any{open.Status, open.PaymentIntent == nil, open.URL},
			[]any{stripe.CheckoutSessionStatusOpen, true, in.url + "/c/pay/" + session.ID + "#checkout"})
		tried := a.page(http.MethodGet, session.ID, nil).PaymentIntent.ID
		paid := a.page(http.MethodPost, session.ID, url.Values{"payment_method": {"pm_card_visa"}})
		equal(t, "intent", []any{paid.PaymentIntent.ID, paid.Status}, []any{tried, "complete"})
		equal(t, "charges",
			len(collect(t, a.V1Charges.List(t.Context(), &stripe.ChargeListParams{PaymentIntent: &tried}))), 2)
	})

	t.Run("a challenge completes the session when it is passed", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		session := a.session(nil)
		asked := a.page(http.MethodPost, session.ID, url.Values{"payment_method": {"pm_card_authenticationRequired"}})
		equal(t, "page", []any{asked.Status, asked.PaymentIntent.Status},
			[]any{"open", stripe.PaymentIntentStatusRequiresAction})
		back := visit(t, asked.PaymentIntent.NextAction.RedirectToURL.URL, url.Values{"result": {"pass"}})
		equal(t, "where the challenge leads", back.location, session.URL)
		equal(t, "session", a.retrieveSession(session.ID).PaymentStatus, stripe.CheckoutSessionPaymentStatusPaid)
	})

	t.Run("a hold is paid when it is captured", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		session := a.session(&stripe.CheckoutSessionCreateParams{
			PaymentIntentData: &stripe.CheckoutSessionCreatePaymentIntentDataParams{
				CaptureMethod:    stripe.String("manual"),
				SetupFutureUsage: stripe.String("off_session"),
				Metadata:         map[string]string{"cart": "7"},
				TransferGroup:    stripe.String("order_1"),
			},
		})
		held := a.page(http.MethodPost, session.ID,
			url.Values{"payment_method": {"pm_card_visa"}, "email": {"jenny@example.com"}})
		equal(t, "page", []any{held.Status, held.PaymentStatus}, []any{"complete", "unpaid"})
		captured, err := a.V1PaymentIntents.Capture(t.Context(), held.PaymentIntent.ID, nil)
		noError(t, err)
		complete := a.retrieveSession(session.ID, "customer")
		equal(t, "session", []any{complete.PaymentStatus, captured.Metadata["cart"], complete.Customer.Email,
			captured.TransferGroup},
			[]any{stripe.CheckoutSessionPaymentStatusPaid, "7", "jenny@example.com", "order_1"})
		kept := collect(t,
			a.V1PaymentMethods.List(t.Context(), &stripe.PaymentMethodListParams{Customer: &complete.Customer.ID}))
		equal(t, "cards kept", len(kept), 1)
	})

	t.Run("a session for a setup keeps the card and moves no money", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		customer := a.customer(nil)
		params := &stripe.CheckoutSessionCreateParams{
			Mode:       stripe.String("setup"),
			Customer:   &customer.ID,
			SuccessURL: stripe.String("https://example.com/thanks"),
			SubmitType: stripe.String("pay"),
		}
		_, err := a.V1CheckoutSessions.Create(t.Context(), params)
		refused(t, err, invalid("", "submit_type", "You can not pass `submit_type` in `setup` mode."))
		params.SubmitType = nil
		session, err := a.V1CheckoutSessions.Create(t.Context(), params)
		noError(t, err)
		_, err = a.V1SetupIntents.Confirm(t.Context(), session.SetupIntent.ID,
			&stripe.SetupIntentConfirmParams{PaymentMethod: stripe.String("pm_card_visa")})
		refused(t, err, invalid("setup_intent_unexpected_state", "", ""))
		done := a.page(http.MethodPost, session.ID, url.Values{"payment_method": {"pm_card_visa"}})
		equal(t, "page", []any{done.Status, done.PaymentStatus}, []any{"complete", "no_payment_required"})
		kept := collect(t,
			a.V1PaymentMethods.List(t.Context(), &stripe.PaymentMethodListParams{Customer: &customer.ID}))
		equal(t, "cards kept", len(kept), 1)
		equal(t, "pending balance", a.pending(), int64(0))
	})

	t.Run("while its session is open an intent is nobody else's", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		session := a.session(nil)
		intent := a.page(http.MethodPost, session.ID,
			url.Values{"payment_method": {"pm_card_authenticationRequired"}}).PaymentIntent.ID
		_, err := a.V1PaymentIntents.Confirm(t.Context(), intent,
			&stripe.PaymentIntentConfirmParams{PaymentMethod: stripe.String("pm_card_visa")})
		refused(t, err, invalid("payment_intent_unexpected_state", "", ""))
		_, err = a.V1PaymentIntents.Cancel(t.Context(), intent, nil)
		refused(t, err, invalid("payment_intent_unexpected_state", "", ""))
		_, err = a.V1PaymentIntents.Update(t.Context(), intent,
			&stripe.PaymentIntentUpdateParams{Amount: stripe.Int64(1)})
		refused(t, err, invalid("payment_intent_unexpected_state", "", ""))

		expired, err := a.V1CheckoutSessions.Expire(t.Context(), session.ID, nil)
		noError(t, err)
		equal(t, "session", []any{expired.Status, expired.URL}, []any{stripe.CheckoutSessionStatusExpired, ""})
		equal(t, "intent", a.retrieveIntent(intent).Status, stripe.PaymentIntentStatusCanceled)
		equal(t, "event", a.onlyEvent("checkout.session.expired").GetObjectValue("id"), session.ID)
		refused(t, a.press(session.ID, url.Values{"payment_method": {"pm_card_visa"}}, nil),
			invalid("checkout_session_unexpected_state", "", ""))
		_, err = a.V1CheckoutSessions.Expire(t.Context(), session.ID, nil)
		refused(t, err, invalid("", "", ""))
	})

	t.Run("a browser sees and pays a session with a publishable key, without the merchant's notes", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		sledge := item("Sledge", 2000)
		sledge.Metadata = map[string]string{"margin": "huge"}
		session := a.session(&stripe.CheckoutSessionCreateParams{
			Metadata:          sledge.Metadata,
			LineItems:         []*stripe.CheckoutSessionCreateLineItemParams{sledge},
			PaymentIntentData: &stripe.CheckoutSessionCreatePaymentIntentDataParams{Metadata: sledge.Metadata},
		})
		browser := *a
		browser.key = a.newKey(apikey.Publishable)
		browser.Client, browser.backend = connect(t, in.url, browser.key)
		_, err := browser.V1CheckoutSessions.Retrieve(t.Context(), session.ID, nil)
		refused(t, err,
			refusal{Status: http.StatusUnauthorized, Type: stripe.ErrorTypeInvalidRequest, Code: "secret_key_required"})
		equal(t, "page", browser.page(http.MethodGet, session.ID, nil).Status, "open")
		paid := browser.page(http.MethodPost, session.ID, url.Values{"payment_method": {"pm_card_visa"}})
		equal(t, "page", paid.Status, "complete")
		if strings.Contains(string(paid.LastResponse.RawJSON), "huge") {
			t.Errorf("the page tells the merchant's notes: %s", paid.LastResponse.RawJSON)
		}
	})

	t.Run("a worker expires what is over, and nobody can pay in it before that either", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		over, open := a.session(nil), a.session(nil)
		_, err := in.db.Exec(t.Context(), `
			UPDATE checkout_sessions SET expires_at = now() - interval '1 second' WHERE id = $1`, over.ID)
		noError(t, err)
		refused(t, a.press(over.ID, url.Values{"payment_method": {"pm_card_visa"}}, nil),
			invalid("checkout_session_unexpected_state", "", ""))
		for range 2 { // two at once expire it once
			in.work(t)
		}
		deadline := time.Now().Add(timeout)
		for a.retrieveSession(over.ID).Status == stripe.CheckoutSessionStatusOpen {
			if time.Now().After(deadline) {
				t.Fatal("it is still open")
			}
			time.Sleep(20 * time.Millisecond)
		}
		equal(t, "event", a.onlyEvent("checkout.session.expired").GetObjectValue("id"), over.ID)
		equal(t, "the other one", a.retrieveSession(open.ID).Status, stripe.CheckoutSessionStatusOpen)
	})

	t.Run("items are listed in the order in which they were given", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		var given []string
		params := &stripe.CheckoutSessionCreateParams{}
		for _, name := range strings.Split("a b c d e f g h i j k l", " ") {
			given = append(given, name)
			params.LineItems = append(params.LineItems, item(name, 100))
		}
		params.AddExpand("line_items")
		session := a.session(params)
		equal(t, "first page",
			[]any{len(session.LineItems.Data), session.LineItems.HasMore, session.LineItems.Data[0].Description},
			[]any{10, true, "a"})
		list := &stripe.CheckoutSessionListLineItemsParams{Session: &session.ID}
		list.Limit = stripe.Int64(5)
		equal(t, "items",
			ids(collect(t, a.V1CheckoutSessions.ListLineItems(t.Context(), list)),
				func(i *stripe.LineItem) string { return i.Description }), given)
	})
}

// pageObject is what a test reads of a payment page, which the SDK does not know.
type pageObject struct {
	stripe.APIResource
	ID            string               `json:"id"`
	AmountTotal   int64                `json:"amount_total"`
	BusinessName  string               `json:"business_name"`
	Status        string               `json:"status"`
	PaymentStatus string               `json:"payment_status"`
	SuccessURL    string               `json:"success_url"`
	PaymentIntent stripe.PaymentIntent `json:"payment_intent"`
}

// page shows a session's page, or presses Pay on it.
func (a *account) page(method, session string, send url.Values) *pageObject {
	a.t.Helper()
	var shown pageObject
	if method == http.MethodPost {
		noError(a.t, a.press(session, send, &shown))
	} else {
		noError(a.t, a.backend.Call(http.MethodGet, "/v1/payment_pages/"+session, a.key, nil, &shown))
	}
	return &shown
}

// press presses Pay, with an email address if a test card is named, which has none.
func (a *account) press(session string, send url.Values, into *pageObject) error {
	if strings.HasPrefix(send.Get("payment_method"), "pm_card_") && !send.Has("email") {
		send = maps.Clone(send)
		send.Set("email", "jenny@example.com")
	}
	return a.send(session+"/confirm", send, into)
}

// send sends what the payment page sends.
func (a *account) send(path string, send url.Values, into *pageObject) error {
	if into == nil {
		into = &pageObject{}
	}
	body := &form.Values{}
	for name, values := range send {
		body.Add(name, values[0])
	}
	return a.backend.CallRaw(http.MethodPost, "/v1/payment_pages/"+path, a.key, []byte(body.Encode()),
		&stripe.Params{}, into)
}

// session opens a session, for one T-shirt if nothing else is asked for.
func (a *account) session(params *stripe.CheckoutSessionCreateParams) *stripe.CheckoutSession {
	a.t.Helper()
	if params == nil {
		params = &stripe.CheckoutSessionCreateParams{}
	}
	if params.LineItems == nil {
		params.LineItems = []*stripe.CheckoutSessionCreateLineItemParams{item("T-shirt", 2000)}
	}
	params.Mode = stripe.String("payment")
	params.SuccessURL = stripe.String("https://example.com/thanks?session={CHECKOUT_SESSION_ID}")
	params.CancelURL = stripe.String("https://example.com/cart")
	session, err := a.V1CheckoutSessions.Create(a.t.Context(), params)
	noError(a.t, err)
	return session
}

func item(name string, amount int64) *stripe.CheckoutSessionCreateLineItemParams {
	return &stripe.CheckoutSessionCreateLineItemParams{
		Quantity: stripe.Int64(1),
		PriceData: &stripe.CheckoutSessionCreateLineItemPriceDataParams{
			Currency:    stripe.String("usd"),
			UnitAmount:  &amount,
			ProductData: &stripe.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: &name},
		},
	}
}

func (a *account) retrieveSession(id string, expand ...string) *stripe.CheckoutSession {
	a.t.Helper()
	session, err := a.V1CheckoutSessions.Retrieve(a.t.Context(), id,
		&stripe.CheckoutSessionRetrieveParams{Expand: stripe.StringSlice(expand)})
	noError(a.t, err)
	return session
}

//go:build unix

package sdk_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stripe/stripe-go/v85"

	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/apitest"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

func TestAccess(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("an account is shown to whoever has its key", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		shown, err := a.V1Accounts.Retrieve(t.Context(), nil)
		noError(t, err)
		equal(t, "account",
			[]any{shown.ID, shown.BusinessProfile.Name, shown.Country, shown.DefaultCurrency, shown.ChargesEnabled},
			[]any{a.id, "Toboggans", "US", stripe.CurrencyUSD, true})
	})

	t.Run("a publishable key makes tokens and nothing else", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		public, _ := connect(t, in.url, a.newKey(apikey.Publishable))
		token, err := public.V1Tokens.Create(t.Context(), &stripe.TokenCreateParams{Card: typed(t, "visa")})
		noError(t, err)
		equal(t, "amount that the secret key charged it", a.charge(order(1000, token.ID)).Amount, int64(1000))

		secretOnly := refusal{
			Status: http.StatusUnauthorized,
			Type:   stripe.ErrorTypeInvalidRequest,
			Code:   "secret_key_required",
		}
		_, err = public.V1Charges.Create(t.Context(), order(1000, "tok_visa"))
		refused(t, err, secretOnly)
		_, err = public.V1Tokens.Retrieve(t.Context(), token.ID, nil)
		refused(t, err, secretOnly)
		_, err = public.V1Balance.Retrieve(t.Context(), nil)
		refused(t, err, secretOnly)
	})

	t.Run("a restricted key does what it may, and is told what it would need", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		clerk, _ := connect(t, in.url,
			a.newRestrictedKey(apikey.Permissions{"charges": apikey.Write, "customers": apikey.Read}))
		charge, err := clerk.V1Charges.Create(t.Context(), order(1000, "tok_visa"))
		noError(t, err)
		_, err = clerk.V1Charges.Retrieve(t.Context(), charge.ID, nil)
		noError(t, err)
		equal(t, "customers", len(collect(t, clerk.V1Customers.List(t.Context(), nil))), 0)

		forbidden := refusal{Status: http.StatusForbidden, Type: stripe.ErrorTypeInvalidRequest}
		_, err = clerk.V1Customers.Create(t.Context(), nil)
		said := refused(t, err, forbidden)
		if !strings.HasSuffix(said.Msg,
			"on account '"+a.id+"'. Having the 'rak_customer_write' permission would allow this request to continue.") {
			t.Error(said.Msg)
		}
		_, err = clerk.V1Refunds.Create(t.Context(), &stripe.RefundCreateParams{Charge: &charge.ID})
		refused(t, err, forbidden)
		equal(t, "what was refunded", a.retrieveCharge(charge.ID).AmountRefunded, int64(0))
	})

	t.Run("a key that nobody has opens nothing", func(t *testing.T) {
		inTurn(t)
		stranger, _ := connect(t, in.url, "sk_test_nobodyhasthiskey")
		_, err := stranger.V1Balance.Retrieve(t.Context(), nil)
		refused(t, err, refusal{Status: http.StatusUnauthorized, Type: stripe.ErrorTypeInvalidRequest})
	})

	t.Run("an account may name itself, and no other", func(t *testing.T) {
		inTurn(t)
		a, other := in.account(t), in.account(t)
		params := &stripe.BalanceRetrieveParams{}
		params.SetStripeAccount(a.id)
		balance, err := a.V1Balance.Retrieve(t.Context(), params)
		noError(t, err)
		equal(t, "account named in the answer", balance.LastResponse.Header.Get("Stripe-Account"), a.id)
		params.SetStripeAccount(other.id)
		_, err = a.V1Balance.Retrieve(t.Context(), params)
		refused(t, err,
			refusal{Status: http.StatusForbidden, Type: stripe.ErrorTypeInvalidRequest, Code: "account_invalid"})
	})

	t.Run("an account finds itself by its id, and no other", func(t *testing.T) {
		inTurn(t)
		a, other := in.account(t), in.account(t)
		shown, err := a.V1Accounts.GetByID(t.Context(), a.id, nil)
		noError(t, err)
		equal(t, "account", shown.ID, a.id)
		for _, id := range []string{other.id, "acct_nobody"} {
			_, err = a.V1Accounts.GetByID(t.Context(), id, nil)
			refused(t, err,
				refusal{Status: http.StatusForbidden, Type: stripe.ErrorTypeInvalidRequest, Code: "account_invalid"})
		}
	})

	t.Run("live mode and test mode see nothing of each other", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		_, key, err := apikey.Create(t.Context(), in.db, secret.Root(rootSecret).Keys(secret.APIKeys), a.id,
			apikey.Secret, true)
		noError(t, err)
		live, _ := connect(t, in.url, key)
		made, err := live.V1Customers.Create(t.Context(), &stripe.CustomerCreateParams{Name: stripe.String("Jenny")})
		noError(t, err)
		equal(t, "mode of what a live key makes", made.Livemode, true)
		equal(t, "mode of what a test key makes",
			a.customer(&stripe.CustomerCreateParams{Name: stripe.String("Jenny")}).Livemode, false)
		seen := collect(t, live.V1Customers.List(t.Context(), nil))
		equal(t, "customers in live mode", []any{len(seen), seen[0].ID}, []any{1, made.ID})
		_, err = a.V1Customers.Retrieve(t.Context(), made.ID, nil)
		refused(t, err, refusal{
			Status: http.StatusNotFound,
			Type:   stripe.ErrorTypeInvalidRequest,
			Code:   "resource_missing",
			Param:  "id",
		})
		_, err = live.V1Charges.Create(t.Context(), order(1000, "tok_visa"))
		refused(t, err, refusal{
			Status:      http.StatusPaymentRequired,
			Type:        stripe.ErrorTypeCard,
			Code:        "card_declined",
			DeclineCode: "live_mode_test_card",
		})
	})

	t.Run("a key can be the user of Basic authentication", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		status, body := a.get("/v1/account", func(r *http.Request) { r.SetBasicAuth(a.key, "") })
		equal(t, "status", status, http.StatusOK)
		equal(t, "account", body.ID, a.id)
	})

	t.Run("a version that Stripe never had is refused", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		status, body := a.get("/v1/account", func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+a.key)
			r.Header.Set("Stripe-Version", "2024-13-45")
		})
		equal(t, "status", status, http.StatusBadRequest)
		equal(t, "message", body.Error.Message, "Invalid Stripe API version: 2024-13-45")
	})
}

func TestAccountsSeeNothingOfEachOther(t *testing.T) {
	inTurn(t)
	in := install(t)
	mine, other := in.account(t), in.account(t)
	c := mine.customerWith("tok_visa")
	card, charge := c.DefaultSource.ID, mine.sell(1000)
	refund := mine.refund(&stripe.RefundCreateParams{Charge: &charge.ID, Amount: stripe.Int64(100)})
	token := mine.token(typed(t, "visa"))
	event := mine.onlyEvent("charge.succeeded")
	ctx := t.Context()

	for what, steal := range map[string]func() error{
		"read a customer":   func() error { _, err := other.V1Customers.Retrieve(ctx, c.ID, nil); return err },
		"change a customer": func() error { _, err := other.V1Customers.Update(ctx, c.ID, nil); return err },
		"delete a customer": func() error { _, err := other.V1Customers.Delete(ctx, c.ID, nil); return err },
		"read a card": func() error {
			_, err := other.V1PaymentSources.Retrieve(ctx, card, &stripe.PaymentSourceRetrieveParams{Customer: &c.ID})
			return err
		},
		"charge a customer": func() error {
			_, err := other.V1Charges.Create(ctx,
				&stripe.ChargeCreateParams{Amount: stripe.Int64(1000), Currency: stripe.String("usd"), Customer: &c.ID})
			return err
		},
		"spend a token": func() error { _, err := other.V1Charges.Create(ctx, order(1000, token.ID)); return err },
		"read a token":  func() error { _, err := other.V1Tokens.Retrieve(ctx, token.ID, nil); return err },
		"read a charge": func() error { _, err := other.V1Charges.Retrieve(ctx, charge.ID, nil); return err },
		"refund": func() error {
			_, err := other.V1Refunds.Create(ctx, &stripe.RefundCreateParams{Charge: &charge.ID})
			return err
		},
		"read a refund": func() error { _, err := other.V1Refunds.Retrieve(ctx, refund.ID, nil); return err },
		"read an event": func() error { _, err := other.V1Events.Retrieve(ctx, event.ID, nil); return err },
		"read a posting": func() error {
			_, err := other.V1BalanceTransactions.Retrieve(ctx, charge.BalanceTransaction.ID, nil)
			return err
		},
	} {
		err := steal()
		e, is := err.(*stripe.Error)
		if !is || e.Code != stripe.ErrorCodeResourceMissing {
			t.Errorf("another account may %s: %v", what, err)
		}
	}
	equal(t, "lists of the other", []int{
		len(collect(t, other.V1Customers.List(ctx, nil))), len(collect(t, other.V1Charges.List(ctx, nil))),
		len(collect(t, other.V1Refunds.List(ctx, nil))), len(collect(t, other.V1Events.List(ctx, nil))),
		len(collect(t, other.V1BalanceTransactions.List(ctx, nil)))}, []int{0, 0, 0, 0, 0})
	equal(t, "pending balance of the other", other.pending(), int64(0))
	equal(t, "what was refunded of the charge", mine.retrieveCharge(charge.ID).AmountRefunded, int64(100))
}

// answer is what a test reads of a body without the SDK.
type answer struct {
	ID    string
	Error struct{ Message string }
}

// get asks without the SDK, which always sends its own headers.
func (a *account) get(path string, prepare func(*http.Request)) (int, answer) {
	a.t.Helper()
	request, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.in.url+path, nil)
	noError(a.t, err)
	prepare(request)
	response, err := apitest.Checked(a.t, nil).RoundTrip(request)
	noError(a.t, err)
	defer response.Body.Close()
	var body answer
	noError(a.t, json.NewDecoder(response.Body).Decode(&body))
	return response.StatusCode, body
}

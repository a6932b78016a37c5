//go:build unix

package sdk_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/ratchet-pay/ratchet/internal/apitest"
)

// listedObject is what a test reads of an object in any list.
type listedObject struct {
	ID      string
	Created int64
}

// listed are the objects of a list, read without the SDK.
func (a *account) listed(path string) []listedObject {
	a.t.Helper()
	request, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.in.url+path, nil)
	noError(a.t, err)
	request.Header.Set("Authorization", "Bearer "+a.key)
	response, err := apitest.Checked(a.t, nil).RoundTrip(request)
	noError(a.t, err)
	defer response.Body.Close()
	var list struct{ Data []listedObject }
	noError(a.t, json.NewDecoder(response.Body).Decode(&list))
	return list.Data
}

// A list that is filtered by time is read by the IDs of that time. A test clock moves an account's time, and neither
// the IDs nor created.
func TestListsByTime(t *testing.T) {
	inTurn(t)
	in, _ := installNotified(t)
	a := in.account(t)
	a.advance(40 * 24 * time.Hour)
	a.earn(9000)
	refunded := a.sell(2000)
	a.refund(&stripe.RefundCreateParams{Charge: &refunded.ID})
	a.charge(order(2000, "tok_createDispute"))
	eventually(t, "the dispute arrives", func() bool { return len(a.listed("/v1/disputes?limit=1")) == 1 })
	a.payOut(dollars(1000))
	customer := a.customerWith("tok_visa")
	a.pay("pm_card_visa", "automatic")
	setup := a.setup(&stripe.SetupIntentCreateParams{Customer: &customer.ID, Confirm: stripe.Bool(true),
		PaymentMethod: stripe.String("pm_card_visa"), PaymentMethodTypes: stripe.StringSlice([]string{"card"})})
	a.session(nil)
	a.shippingRate("By sledge", 500)

	for _, list := range []string{
		"/v1/charges?", "/v1/payment_intents?", "/v1/refunds?", "/v1/disputes?", "/v1/payouts?", "/v1/customers?",
		"/v1/setup_intents?", "/v1/setup_attempts?setup_intent=" + setup.ID + "&", "/v1/checkout/sessions?",
		"/v1/balance_transactions?", "/v1/events?", "/v1/products?", "/v1/prices?", "/v1/shipping_rates?",
		"/v1/test_helpers/test_clocks?",
	} {
		all := a.listed(list + "limit=100")
		if len(all) == 0 {
			t.Errorf("%s is empty", list)
			continue
		}
		last := all[len(all)-1]
		was := last.Created
		for filter, shows := range map[string]bool{
			fmt.Sprintf("created=%d", was):                                 true,
			fmt.Sprintf("created[gte]=%d&created[lte]=%d", was, was):       true,
			fmt.Sprintf("created[gt]=%d&created[lt]=%d", was-1, was+1):     true,
			fmt.Sprintf("created[lte]=%d&starting_after=%s", was, last.ID): false,
			fmt.Sprintf("created[lt]=%d", was):                             false,
			fmt.Sprintf("created[gt]=%d", was):                             false,
			"created[gte]=0&created[lte]=253402300799":                     true,
		} {
			found := a.listed(list + "limit=100&" + filter)
			if got := slices.Contains(found, last); got != shows {
				t.Errorf("%s%s shows %s: %t, want %t", list, filter, last.ID, got, shows)
			}
		}
	}
}

//go:build unix

package sdk_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestSearch(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("a search finds every match once, over all pages, and nothing of another account", func(t *testing.T) {
		inTurn(t)
		a, other := in.account(t), in.account(t)
		var want []string
		var first, last int64
		for i := range 5 {
			made := a.customer(&stripe.CustomerCreateParams{
				Name:     stripe.String(fmt.Sprint("Åse ", i)),
				Metadata: map[string]string{"crm": `7"7`},
			})
			want = append(want, made.ID)
			first, last = cmp.Or(first, made.Created), made.Created
		}
		a.customer(&stripe.CustomerCreateParams{Name: stripe.String("Bo")})
		other.customer(&stripe.CustomerCreateParams{
			Name:     stripe.String("Åse"),
			Metadata: map[string]string{"crm": `7"7`},
		})
		for _, query := range []string{`metadata["crm"]:"7\"7"`, `name~"Åse"`, `-name:"bo"`,
			`name:"Åse 0" OR name~"Åse"`, `-metadata["crm"]:null AND created>1000`,
			fmt.Sprintf(`name~"Åse" AND created>=%d AND created<=%d`, first, last),
			fmt.Sprintf(`name~"Åse" AND -created<%d AND -created>%d`, first, last)} {
			params := &stripe.CustomerSearchParams{}
			params.Query, params.Limit = query, stripe.Int64(2)
			var got []string
			for c, err := range a.V1Customers.Search(t.Context(), params).All(t.Context()) {
				noError(t, err)
				got = append(got, c.ID)
			}
			equal(t, query, got, sortByAge(want))
		}
	})

	t.Run("charges and intents are searched by their amount, status and card", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		a.sell(900)
		big := a.charge(order(5000, "tok_mastercard"))
		for query, want := range map[string]int{
			`amount>1000`: 1,
			`payment_method_details.card.brand:"mastercard"`: 1,
			`payment_method_details.card.last4:"4242"`:       1,
			`payment_method_details.card.last4:4242`:         1,
			`status:"succeeded"`:                             2,
			`refunded:"true"`:                                0,
			`disputed:"true"`:                                0,
			`disputed:"false"`:                               2,
			`amount<=900 OR amount:5000`:                     2,
			`-customer:null`:                                 0,
			`payment_method_details.card.fingerprint:"` + big.PaymentMethodDetails.Card.Fingerprint + `"`: 1,
		} {
			params := &stripe.ChargeSearchParams{}
			params.Query = query
			found := 0
			for _, err := range a.V1Charges.Search(t.Context(), params).All(t.Context()) {
				noError(t, err)
				found++
			}
			equal(t, query, found, want)
		}
		intent, err := a.V1PaymentIntents.Create(t.Context(),
			&stripe.PaymentIntentCreateParams{Amount: stripe.Int64(777), Currency: stripe.String("usd")})
		noError(t, err)
		params := &stripe.PaymentIntentSearchParams{}
		params.Query = `amount:777 AND status:"requires_payment_method"`
		for found, err := range a.V1PaymentIntents.Search(t.Context(), params).All(t.Context()) {
			noError(t, err)
			equal(t, "intent", found.ID, intent.ID)
			intent = nil
		}
		equal(t, "intent not found", intent, nil)
	})

	t.Run("products and prices", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		sledge, err := a.V1Products.Create(t.Context(), &stripe.ProductCreateParams{
			Name:        stripe.String("Sledge"),
			Description: stripe.String("Made of ash"),
			Shippable:   stripe.Bool(true),
			Metadata:    map[string]string{"shelf": "7"},
		})
		noError(t, err)
		_, err = a.V1Products.Create(t.Context(),
			&stripe.ProductCreateParams{Name: stripe.String("Rope"), Active: stripe.Bool(false)})
		noError(t, err)
		price, err := a.V1Prices.Create(t.Context(), &stripe.PriceCreateParams{
			Product:    &sledge.ID,
			Currency:   stripe.String("usd"),
			UnitAmount: stripe.Int64(900),
			LookupKey:  stripe.String("standard"),
		})
		noError(t, err)
		for _, query := range []string{`active:"true"`, `name~"sled"`, `description:"made of ash"`, `shippable:"true"`,
			`metadata["shelf"]:"7"`, `-url:null OR name:"Sledge"`} {
			params := &stripe.ProductSearchParams{}
			params.Query = query
			var found []string
			for p, err := range a.V1Products.Search(t.Context(), params).All(t.Context()) {
				noError(t, err)
				found = append(found, p.ID)
			}
			equal(t, query, found, []string{sledge.ID})
		}
		for query, want := range map[string][]string{
			`active:"true" AND currency:"usd"`: {price.ID},
			`lookup_key:"standard"`:            {price.ID},
			`product:"` + sledge.ID + `"`:      {price.ID},
			`type:"one_time"`:                  {price.ID},
			`type:"recurring"`:                 nil,
		} {
			params := &stripe.PriceSearchParams{}
			params.Query = query
			var found []string
			for p, err := range a.V1Prices.Search(t.Context(), params).All(t.Context()) {
				noError(t, err)
				found = append(found, p.ID)
			}
			equal(t, query, found, want)
		}
	})

	t.Run("a query that cannot be searched for is refused", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		for query, message := range map[string]string{
			`color:"red"`:                       "Field `color` is an unsupported search field",
			`name~"ab"`:                         "at least 3 characters",
			`created:"soon"`:                    "whole number",
			`name>"x"`:                          "operator",
			`name:x`:                            "unable to parse",
			`name:"a" AND name:"b" OR name:"c"`: "AND with OR",
		} {
			params := &stripe.CustomerSearchParams{}
			params.Query = query
			answers := 0
			for _, err := range a.V1Customers.Search(t.Context(), params).All(t.Context()) {
				answers++
				if err == nil || !strings.Contains(err.Error(), message) {
					t.Errorf("%s is answered with %v, want %q", query, err, message)
				}
			}
			equal(t, "answers to "+query, answers, 1)
		}
	})
}

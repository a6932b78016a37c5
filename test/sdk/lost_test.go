//go:build unix

package sdk_test

import (
	"context"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

// given is what an operation is about, made before the answers begin to get lost.
type given struct {
	charge, intent, held, method, customer, session, setup, endpoint string
}

func (a *account) given() given {
	charge := a.sell(7000)
	intent := a.intent(&stripe.PaymentIntentCreateParams{
		PaymentMethod: stripe.String("pm_card_visa"),
	})
	held := a.pay("pm_card_visa", "manual")
	a.earn(9000)
	method, err := a.V1PaymentMethods.Create(a.t.Context(), &stripe.PaymentMethodCreateParams{
		Type: stripe.String("card"), Card: &stripe.PaymentMethodCreateCardParams{Token: stripe.String("tok_visa")}})
	noError(a.t, err)
	session, err := a.V1CheckoutSessions.Create(a.t.Context(), aSession())
	noError(a.t, err)
	setup, err := a.V1SetupIntents.Create(a.t.Context(),
		&stripe.SetupIntentCreateParams{PaymentMethodTypes: stripe.StringSlice([]string{"card"})})
	noError(a.t, err)
	endpoint, err := a.V1WebhookEndpoints.Create(a.t.Context(), anEndpoint())
	noError(a.t, err)
	return given{charge.ID, intent.ID, held.ID, method.ID, a.customer(&stripe.CustomerCreateParams{}).ID, session.ID,
		setup.ID, endpoint.ID}
}

func aSession() *stripe.CheckoutSessionCreateParams {
	return &stripe.CheckoutSessionCreateParams{
		Mode: stripe.String("payment"), SuccessURL: stripe.String("https://shop.example.com/thanks"),
		LineItems: []*stripe.CheckoutSessionCreateLineItemParams{{
			Quantity: stripe.Int64(2),
			PriceData: &stripe.CheckoutSessionCreateLineItemPriceDataParams{
				Currency: stripe.String("usd"), UnitAmount: stripe.Int64(1250),
				ProductData: &stripe.CheckoutSessionCreateLineItemPriceDataProductDataParams{
					Name: stripe.String("Sledge"),
				}},
		}},
	}
}

func anEndpoint() *stripe.WebhookEndpointCreateParams {
	return &stripe.WebhookEndpointCreateParams{
		URL:           stripe.String("http://127.0.0.1:9/hook"),
		EnabledEvents: stripe.StringSlice([]string{"charge.refunded"}),
	}
}

// lossy are operations of every kind, with the table each adds one row to.
var lossy = []struct {
	name  string
	makes string // a table, "" for none
	do    func(ctx context.Context, c *stripe.Client, g given) error
}{
	{"charge an intent at once", "payment_intents", func(ctx context.Context, c *stripe.Client, _ given) error {
		_, err := c.V1PaymentIntents.Create(ctx, &stripe.PaymentIntentCreateParams{
			Amount:             stripe.Int64(2000),
			Currency:           stripe.String("usd"),
			PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
			PaymentMethod:      stripe.String("pm_card_visa"),
			Confirm:            stripe.Bool(true),
		})
		return err
	}},
	{"confirm an intent", "charges", func(ctx context.Context, c *stripe.Client, g given) error {
		_, err := c.V1PaymentIntents.Confirm(ctx, g.intent, nil)
		return err
	}},
	{"capture an intent", "", func(ctx context.Context, c *stripe.Client, g given) error {
		_, err := c.V1PaymentIntents.Capture(ctx, g.held, nil)
		return err
	}},
	{"cancel an intent that holds money", "refunds", func(ctx context.Context, c *stripe.Client, g given) error {
		_, err := c.V1PaymentIntents.Cancel(ctx, g.held, nil)
		return err
	}},
	{"refund", "refunds", func(ctx context.Context, c *stripe.Client, g given) error {
		_, err := c.V1Refunds.Create(ctx, &stripe.RefundCreateParams{Charge: &g.charge, Amount: stripe.Int64(500)})
		return err
	}},
	{"pay out", "payouts", func(ctx context.Context, c *stripe.Client, _ given) error {
		_, err := c.V1Payouts.Create(ctx, dollars(500))
		return err
	}},
	{"open a checkout session", "checkout_sessions", func(ctx context.Context, c *stripe.Client, _ given) error {
		_, err := c.V1CheckoutSessions.Create(ctx, aSession())
		return err
	}},
	{"expire a checkout session", "", func(ctx context.Context, c *stripe.Client, g given) error {
		_, err := c.V1CheckoutSessions.Expire(ctx, g.session, nil)
		return err
	}},
	{"attach a payment method", "", func(ctx context.Context, c *stripe.Client, g given) error {
		_, err := c.V1PaymentMethods.Attach(ctx, g.method, &stripe.PaymentMethodAttachParams{Customer: &g.customer})
		return err
	}},
	{"set a card up", "payment_methods", func(ctx context.Context, c *stripe.Client, g given) error {
		_, err := c.V1SetupIntents.Confirm(ctx, g.setup,
			&stripe.SetupIntentConfirmParams{PaymentMethod: stripe.String("pm_card_visa")})
		return err
	}},
	{"make a customer with a method", "customers", func(ctx context.Context, c *stripe.Client, _ given) error {
		_, err := c.V1Customers.Create(ctx, &stripe.CustomerCreateParams{PaymentMethod: stripe.String("pm_card_visa")})
		return err
	}},
	{"register a webhook endpoint", "webhook_endpoints", func(ctx context.Context, c *stripe.Client, _ given) error {
		_, err := c.V1WebhookEndpoints.Create(ctx, anEndpoint())
		return err
	}},
}

// For every operation, an SDK that asks again because the answer got lost after
// the commit gets that answer, and nothing is done twice.
func TestEveryKindOfAnswerThatGetsLost(t *testing.T) {
	inTurn(t)
	in := install(t)
	for _, operation := range lossy {
		t.Run(operation.name, func(t *testing.T) {
			inTurn(t)
			a := in.account(t)
			g := a.given()
			rows := func() (n int) {
				if operation.makes != "" {
					noError(t, in.db.QueryRow(t.Context(),
						`SELECT count(*) FROM `+operation.makes+` WHERE account_id = $1`, a.id).Scan(&n))
				}
				return n
			}
			before, requests := rows(), a.requests()
			proxy := losing(t, in.url)
			client, _ := connectWithRetries(t, proxy.url, a.key, 2)
			noError(t, operation.do(t.Context(), client, g))
			proxy.lostOnce(t)
			equal(t, "whether each answer was a replay", proxy.replayed, []string{"", "true"})
			equal(t, "requests", a.requests()-requests, 1)
			if operation.makes != "" {
				equal(t, operation.makes, rows()-before, 1)
			}
			equal(t, "keys under which the acquirer did something twice", a.movedTwice(), []string{})
		})
	}
}

// requests counts what was asked for and has an answer.
func (a *account) requests() (n int) {
	a.t.Helper()
	noError(a.t, a.in.db.QueryRow(a.t.Context(), `
		SELECT count(*) FROM request_status WHERE account_id = $1 AND status IS NOT NULL`, a.id).Scan(&n))
	return n
}

// movedTwice are the keys of the account under which the acquirer's own journal
// has more than one line.
func (a *account) movedTwice() (keys []string) {
	a.t.Helper()
	var asked int
	noError(a.t, a.in.db.QueryRow(a.t.Context(), `
		SELECT count(*), coalesce(array_agg(derived_key), '{}') FROM request_calls
		WHERE account_id = $1`, a.id).Scan(&asked, &keys))
	if asked == 0 {
		a.t.Error("the acquirer was never asked")
	}
	noError(a.t, a.in.journal.QueryRow(a.t.Context(), `
		SELECT coalesce(array_agg(key), '{}')
		FROM (SELECT key FROM acquirer.movements WHERE key = ANY ($1) GROUP BY key
		    HAVING count(*) > 1) AS twice`, keys).Scan(&keys))
	return keys
}

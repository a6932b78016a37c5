//go:build unix

package sdk_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func TestCharges(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("a charge takes the amount, and keeps what it was told", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		params := order(2000, "tok_visa")
		params.Description, params.ReceiptEmail = stripe.String("One toboggan"), stripe.String("ada@example.com")
		params.StatementDescriptorSuffix, params.Metadata = stripe.String("SLEDGE"), map[string]string{"order": "6735"}
		params.Shipping = &stripe.ShippingDetailsParams{
			Name: stripe.String("Ada"), Carrier: stripe.String("Posten"), TrackingNumber: stripe.String("N1"),
			Address: &stripe.AddressParams{
				Line1:   stripe.String("Bakken 1"),
				City:    stripe.String("Oslo"),
				Country: stripe.String("NO"),
			}}
		c := a.retrieveCharge(a.charge(params).ID)
		equal(t, "amounts", []int64{c.Amount, c.AmountCaptured, c.AmountRefunded}, []int64{2000, 2000, 0})
		equal(t, "state", []any{c.Status, c.Paid, c.Captured, c.Refunded, c.Disputed},
			[]any{stripe.ChargeStatusSucceeded, true, true, false, false})
		equal(t, "texts", []string{c.Description, c.ReceiptEmail, c.StatementDescriptorSuffix, c.Metadata["order"]},
			[]string{"One toboggan", "ada@example.com", "SLEDGE", "6735"})
		equal(t, "shipping",
			[]string{c.Shipping.Name, c.Shipping.Carrier, c.Shipping.TrackingNumber, c.Shipping.Address.City},
			[]string{"Ada", "Posten", "N1", "Oslo"})
		equal(t, "outcome", []string{c.Outcome.Type, c.Outcome.NetworkStatus, c.Outcome.RiskLevel},
			[]string{"authorized", "approved_by_network", "normal"})
		equal(t, "card",
			[]any{c.PaymentMethodDetails.Card.Brand, c.PaymentMethodDetails.Card.Last4, c.Source.Card.Last4},
			[]any{stripe.PaymentMethodCardBrandVisa, "4242", "4242"})
	})

	t.Run("2000 cents cost 88 and leave 1912", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		params := order(2000, "tok_visa")
		params.AddExpand("balance_transaction")
		charge := a.charge(params)
		read, err := a.V1BalanceTransactions.Retrieve(t.Context(), charge.BalanceTransaction.ID, nil)
		noError(t, err)
		for _, b := range []*stripe.BalanceTransaction{charge.BalanceTransaction, read} {
			equal(t, "money", []int64{b.Amount, b.Fee, b.Net, b.FeeDetails[0].Amount}, []int64{2000, 88, 1912, 88})
			equal(t, "kind", []any{b.Type, b.Status, b.Source.ID},
				[]any{stripe.BalanceTransactionTypeCharge, stripe.BalanceTransactionStatusPending, charge.ID})
		}
	})

	t.Run("objects are expanded four deep", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customerWith("tok_visa")
		params := &stripe.ChargeCreateParams{Amount: stripe.Int64(900), Currency: stripe.String("usd"), Customer: &c.ID}
		charge := a.retrieveCharge(a.charge(params).ID, "balance_transaction.source.customer.default_source", "refunds")
		inner := charge.BalanceTransaction.Source.Charge
		equal(t, "the charge in its own balance transaction", []any{inner.ID, inner.Amount},
			[]any{charge.ID, int64(900)})
		equal(t, "its customer", []any{inner.Customer.ID, inner.Customer.Created}, []any{c.ID, c.Created})
		equal(t, "the customer's card", inner.Customer.DefaultSource.Card.Last4, "4242")
		equal(t, "refunds", len(charge.Refunds.Data), 0)

		_, err := a.V1Charges.Retrieve(t.Context(), charge.ID, &stripe.ChargeRetrieveParams{
			Expand: stripe.StringSlice([]string{"balance_transaction.source.balance_transaction.source.customer"})})
		refused(t, err, invalid("property_expansion_max_depth", "", ""))
		_, err = a.V1Charges.Retrieve(t.Context(), charge.ID,
			&stripe.ChargeRetrieveParams{Expand: stripe.StringSlice([]string{"amount"})})
		refused(t, err, invalid("", "", "This property cannot be expanded (amount)."))
	})

	t.Run("what may be changed of a charge is changed, and nothing else", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge, c := a.sell(1500), a.customer(nil)
		updated, err := a.V1Charges.Update(t.Context(), charge.ID, &stripe.ChargeUpdateParams{
			Description:  stripe.String("Two"),
			ReceiptEmail: stripe.String("bob@example.com"),
			Customer:     &c.ID,
			Metadata:     map[string]string{"k": "v"},
			FraudDetails: &stripe.ChargeUpdateFraudDetailsParams{UserReport: stripe.String("safe")},
		})
		noError(t, err)
		for _, u := range []*stripe.Charge{updated, a.retrieveCharge(charge.ID)} {
			equal(t, "charge",
				[]any{u.Description, u.ReceiptEmail, u.Customer.ID, u.Metadata["k"], u.FraudDetails.UserReport,
					u.Amount},
				[]any{"Two", "bob@example.com", c.ID, "v", stripe.ChargeFraudUserReportSafe, int64(1500)})
		}
		_, err = a.V1Charges.Update(t.Context(), charge.ID, &stripe.ChargeUpdateParams{Customer: &a.customer(nil).ID})
		refused(t, err, invalid("", "customer", ""))
	})

	t.Run("a charge that is not there cannot be read, changed or captured", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		_, err := a.V1Charges.Retrieve(t.Context(), "ch_nobody", nil)
		refused(t, err, missing("charge", "No such charge: 'ch_nobody'"))
		_, err = a.V1Charges.Update(t.Context(), "ch_nobody", nil)
		refused(t, err, missing("charge", "No such charge: 'ch_nobody'"))
		_, err = a.V1Charges.Capture(t.Context(), "ch_nobody", nil)
		refused(t, err, missing("charge", "No such charge: 'ch_nobody'"))
	})

	t.Run("a list shows a customer's charges, newest first, page by page", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customerWith("tok_visa")
		var oldestFirst []string
		for amount := range int64(5) {
			oldestFirst = append(oldestFirst,
				a.charge(&stripe.ChargeCreateParams{
					Amount:   stripe.Int64(100 + amount),
					Currency: stripe.String("usd"),
					Customer: &c.ID,
				}).ID)
			a.sell(100)
		}
		list := func(params *stripe.ChargeListParams) []string {
			return ids(collect(t, a.V1Charges.List(t.Context(), params)), func(c *stripe.Charge) string { return c.ID })
		}
		two := stripe.ListParams{Limit: stripe.Int64(2)}
		newestFirst := sortByAge(oldestFirst)
		equal(t, "forwards", list(&stripe.ChargeListParams{Customer: &c.ID, ListParams: two}), newestFirst)
		two.EndingBefore = &oldestFirst[1]
		equal(t, "backwards", list(&stripe.ChargeListParams{Customer: &c.ID, ListParams: two}), oldestFirst[2:])
		equal(t, "all", len(list(nil)), 10)
		a.sell(100) // more than a list without a limit shows
		for limit, want := range map[string]int{"-1": 1, "0": 1, "101": 11} {
			equal(t, "charges with limit="+limit, len(a.listed("/v1/charges?limit="+limit)), want)
		}
		paid := a.pay("pm_card_visa", "automatic")
		equal(t, "of a PaymentIntent", list(&stripe.ChargeListParams{PaymentIntent: &paid.ID}),
			[]string{paid.LatestCharge.ID})
		_, err := a.V1Customers.Delete(t.Context(), c.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "of a customer who is deleted", len(list(&stripe.ChargeListParams{Customer: &c.ID})), len(newestFirst))
		err = a.V1Charges.List(t.Context(), &stripe.ChargeListParams{Customer: stripe.String("cus_nobody")}).Err()
		refused(t, err, invalid("resource_missing", "customer", "No such customer: 'cus_nobody'"))
	})

	t.Run("a charge gets a transfer group once, and a list finds it by the group", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		group := func(name string) *stripe.ChargeUpdateParams {
			return &stripe.ChargeUpdateParams{TransferGroup: &name}
		}
		params := order(1500, "tok_visa")
		params.TransferGroup = stripe.String("order_1")
		created, held := a.charge(params), a.hold(1600)
		updated, err := a.V1Charges.Update(t.Context(), a.sell(1700).ID, group("order_1"))
		noError(t, err)
		captured, err := a.V1Charges.Capture(t.Context(), held.ID,
			&stripe.ChargeCaptureParams{TransferGroup: stripe.String("order_1")})
		noError(t, err)
		a.sell(1800)
		other, err := a.V1Charges.Update(t.Context(), a.sell(1900).ID, group("order_2"))
		noError(t, err)
		another := in.account(t)
		theirs := order(2000, "tok_visa")
		theirs.TransferGroup = stripe.String("order_1")
		another.charge(theirs)
		equal(t, "groups", []string{created.TransferGroup, updated.TransferGroup, captured.TransferGroup,
			a.retrieveCharge(other.ID).TransferGroup}, []string{"order_1", "order_1", "order_1", "order_2"})
		found := collect(t, a.V1Charges.List(t.Context(),
			&stripe.ChargeListParams{TransferGroup: stripe.String("order_1")}))
		equal(t, "charges of the group", ids(found, func(c *stripe.Charge) string { return c.ID }),
			sortByAge([]string{created.ID, held.ID, updated.ID}))

		_, err = a.V1Charges.Update(t.Context(), other.ID, group("order_2"))
		noError(t, err)
		_, err = a.V1Charges.Update(t.Context(), other.ID, group("order_1"))
		refused(t, err, invalid("", "transfer_group", ""))
		params = order(2100, "tok_visa")
		params.Capture, params.TransferGroup = stripe.Bool(false), stripe.String("order_2")
		_, err = a.V1Charges.Capture(t.Context(), a.charge(params).ID,
			&stripe.ChargeCaptureParams{TransferGroup: stripe.String("order_1")})
		refused(t, err, invalid("", "transfer_group", ""))
	})

	t.Run("a list says which parameter it does not know, and which cursor", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		ofSource := &stripe.ChargeListParams{}
		ofSource.Filters.AddFilter("source", "", "card_1")
		err := a.V1Charges.List(t.Context(), ofSource).Err()
		refused(t, err,
			invalid("parameter_unknown", "source", "Received unknown parameter: source"))
		ofPlatform := order(1500, "tok_visa")
		ofPlatform.OnBehalfOf = stripe.String("acct_1")
		_, err = a.V1Charges.Create(t.Context(), ofPlatform)
		refused(t, err,
			invalid("parameter_unknown", "on_behalf_of",
				"This installation does not support the parameter of Stripe's API: on_behalf_of"))
		err = a.V1Charges.List(t.Context(),
			&stripe.ChargeListParams{ListParams: stripe.ListParams{StartingAfter: stripe.String("ch_nobody")}}).Err()
		refused(t, err, invalid("resource_missing", "starting_after", "No such charge: 'ch_nobody'"))
	})
}

func TestCustomersThatPay(t *testing.T) {
	inTurn(t)
	in := install(t)
	of := func(c *stripe.Customer, card string) *stripe.ChargeCreateParams {
		params := order(800, card)
		params.Customer = &c.ID
		if card == "" {
			params.Source = nil
		}
		return params
	}

	t.Run("with the default card, or the one that is named", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c := a.customerWith("tok_visa")
		second := a.keep(c.ID, "tok_mastercard")
		byDefault, named := a.charge(of(c, "")), a.charge(of(c, second.ID))
		equal(t, "cards", []string{byDefault.Source.ID, named.Source.ID}, []string{c.DefaultSource.ID, second.ID})
		equal(t, "customers", []string{byDefault.Customer.ID, named.Customer.ID}, []string{c.ID, c.ID})
	})

	t.Run("but not without a card", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		_, err := a.V1Charges.Create(t.Context(), of(a.customer(nil), ""))
		refused(t, err, refusal{
			Status:  http.StatusPaymentRequired,
			Type:    stripe.ErrorTypeCard,
			Code:    "missing",
			Param:   "card",
			Message: "Cannot charge a customer that has no active card",
		})
	})

	t.Run("and not with somebody else's", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		c, other := a.customerWith("tok_visa"), a.customerWith("tok_visa")
		_, err := a.V1Charges.Create(t.Context(), of(c, other.DefaultSource.ID))
		refused(t, err,
			invalid("missing", "source",
				fmt.Sprintf("Customer %s does not have a linked source with ID %s.", c.ID, other.DefaultSource.ID)))
	})

	t.Run("nobody pays nothing with nothing", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		params := order(800, "")
		params.Source = nil
		_, err := a.V1Charges.Create(t.Context(), params)
		refused(t, err, invalid("parameter_missing", "", "Must provide source or customer."))
		_, err = a.V1Charges.Create(t.Context(), order(1, "tok_visa"))
		refused(t, err, invalid("amount_too_small", "amount", ""))
	})
}

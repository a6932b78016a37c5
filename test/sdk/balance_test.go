//go:build unix

package sdk_test

import (
	"github.com/stripe/stripe-go/v85"
	"net/http"
	"testing"
)

// pending is what the account will have in US dollars, in cents.
func (a *account) pending() int64 {
	a.t.Helper()
	balance, err := a.V1Balance.Retrieve(a.t.Context(), nil)
	noError(a.t, err)
	return inDollars(a.t, balance.Pending)
}

// available is what the account has in US dollars, in cents.
func (a *account) available() int64 {
	a.t.Helper()
	balance, err := a.V1Balance.Retrieve(a.t.Context(), nil)
	noError(a.t, err)
	return inDollars(a.t, balance.Available)
}

func inDollars(t *testing.T, amounts []*stripe.BalanceAmount) int64 {
	t.Helper()
	for _, a := range amounts {
		if a.Currency == stripe.CurrencyUSD {
			return a.Amount
		}
	}
	t.Fatal("there is no balance in US dollars")
	return 0
}

func TestBalance(t *testing.T) {
	inTurn(t)
	in := install(t)

	t.Run("the balance is what charges brought, less fees and refunds", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		equal(t, "at first", a.pending(), int64(0))
		charge := a.sell(2000)
		a.sell(1000)
		equal(t, "after two charges", a.pending(), int64(2000-88+1000-59))
		a.refund(&stripe.RefundCreateParams{Charge: &charge.ID, Amount: stripe.Int64(500)})
		equal(t, "after a refund", a.pending()+a.available(), int64(2000-88+1000-59-500))
	})

	t.Run("money that is available at once is not pending", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		a.charge(order(2000, "tok_bypassPending"))
		equal(t, "pending", a.pending(), int64(0))
		equal(t, "available", a.available(), int64(1912))
	})

	t.Run("balance transactions are listed by type, source and currency", func(t *testing.T) {
		inTurn(t)
		a := in.account(t)
		charge := a.sell(2000)
		refund := a.refund(&stripe.RefundCreateParams{Charge: &charge.ID})
		euros := order(700, "tok_visa")
		euros.Currency = stripe.String("eur")
		a.charge(euros)
		list := func(params *stripe.BalanceTransactionListParams) []string {
			return ids(collect(t, a.V1BalanceTransactions.List(t.Context(), params)),
				func(b *stripe.BalanceTransaction) string { return b.ID })
		}
		equal(t, "of the charge", list(&stripe.BalanceTransactionListParams{Source: &charge.ID}),
			[]string{charge.BalanceTransaction.ID})
		equal(t, "refunds", list(&stripe.BalanceTransactionListParams{Type: stripe.String("refund")}),
			[]string{refund.BalanceTransaction.ID})
		equal(t, "euros", len(list(&stripe.BalanceTransactionListParams{Currency: stripe.String("eur")})), 1)
		equal(t, "all, one at a time",
			len(list(&stripe.BalanceTransactionListParams{ListParams: stripe.ListParams{Limit: stripe.Int64(1)}})), 3)
		var page stripe.BalanceTransactionList
		noError(t, a.backend.Call(http.MethodGet, "/v1/balance/history?source="+charge.ID, a.key, nil, &page))
		equal(t, "of the charge, at the old address",
			ids(page.Data, func(b *stripe.BalanceTransaction) string { return b.ID }),
			[]string{charge.BalanceTransaction.ID})
		var one stripe.BalanceTransaction
		old := "/v1/balance/history/" + refund.BalanceTransaction.ID
		noError(t, a.backend.Call(http.MethodGet, old, a.key, nil, &one))
		equal(t, "the refund's, at the old address", one.Amount, int64(-2000))
		err := a.V1BalanceTransactions.List(t.Context(),
			&stripe.BalanceTransactionListParams{Payout: stripe.String("po_1")}).Err()
		refused(t, err, invalid("resource_missing", "payout", "No such payout: 'po_1'"))
		_, err = a.V1BalanceTransactions.Retrieve(t.Context(), "txn_nobody", nil)
		refused(t, err, missing("id", "No such balance transaction: 'txn_nobody'"))
	})
}

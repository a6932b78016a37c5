// Package sales has the dashboard's pages about a merchant's money: payments, customers, checkout sessions, products,
// disputes, payouts and the balance, and the forms that create them.
package sales

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
)

// Pages are the pages of this package.
type Pages struct{ *ui.Env }

// Routes registers each page under its address.
func (s Pages) Routes(handle func(pattern string, show ui.Handler)) {
	handle("GET /dashboard/new", s.creations)
	handle("GET /dashboard/new/{what}", s.creation)
	handle("POST /dashboard/new/{what}", s.postCreation)
	handle("GET /dashboard/products", products.Handler(s.Env))
	handle("GET /dashboard/products.csv", products.CSV(s.Env))
	handle("GET /dashboard/products/{id}", s.product)
	handle("POST /dashboard/products/{id}/{action}", s.postProduct)
	handle("GET /dashboard/prices/{id}", s.price)
	handle("POST /dashboard/prices/{id}/{action}", s.postPrice)
	handle("GET /dashboard/links", links.Handler(s.Env))
	handle("GET /dashboard/links.csv", links.CSV(s.Env))
	handle("GET /dashboard/links/{id}", s.link)
	handle("POST /dashboard/links/{id}/{action}", s.postLink)
	handle("GET /dashboard/payments", s.payments)
	handle("GET /dashboard/payments.csv", s.paymentsCSV)
	handle("GET /dashboard/refunds.csv", s.refundsCSV)
	handle("GET /dashboard/payments/selected", s.selectedRefund)
	handle("GET /dashboard/payments/selected.csv", s.selectedCSV)
	handle("POST /dashboard/payments/selected", s.postSelectedRefund)
	handle("GET /dashboard/payments/{id}", s.payment)
	handle("POST /dashboard/payments/{id}/{action}", s.postPayment)
	handle("POST /dashboard/payments/{id}/edit", s.postPaymentEdit)
	handle("GET /dashboard/customers", s.customers)
	handle("GET /dashboard/customers.csv", s.customersCSV)
	handle("GET /dashboard/customers/{id}", s.customer)
	handle("POST /dashboard/customers/{id}/edit", s.postCustomerEdit)
	handle("GET /dashboard/emails", s.emails)
	handle("GET /dashboard/emails/{id}", s.email)
	handle("GET /dashboard/balance", s.balance)
	handle("GET /dashboard/balance.csv", s.balanceCSV)
	handle("POST /dashboard/balance/schedule", s.postSchedule)
	handle("GET /dashboard/checkout", sessions.Handler(s.Env))
	handle("GET /dashboard/checkout.csv", sessions.CSV(s.Env))
	handle("GET /dashboard/checkout/{id}", s.session)
	handle("POST /dashboard/checkout/{id}/expire", s.postSessionExpire)
	handle("GET /dashboard/disputes", disputes.Handler(s.Env))
	handle("GET /dashboard/disputes.csv", disputes.CSV(s.Env))
	handle("GET /dashboard/disputes/{id}", s.dispute)
	handle("POST /dashboard/disputes/{id}/{action}", s.postDispute)
	handle("GET /dashboard/payouts", payouts.Handler(s.Env))
	handle("GET /dashboard/payouts.csv", payouts.CSV(s.Env))
	handle("GET /dashboard/payouts/{id}", s.payout)
	handle("POST /dashboard/payouts/{id}/cancel", s.postPayoutCancel)
}

// Latest reads an account's newest payments.
func Latest(d *ui.Env, r *http.Request, of ui.Scope, limit int) ([]Payment, error) {
	return payments.Latest(d, r, paymentFilter{}.args(of), limit)
}

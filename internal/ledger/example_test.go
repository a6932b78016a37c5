package ledger_test

import (
	"fmt"
	"time"

	"github.com/ratchet-pay/ratchet/internal/ledger"
)

// A sale moves the gross amount from the acquirer to the merchant, and the fee from
// the merchant to us. Each leg is debited to one account and credited to another.
func ExampleSale() {
	sale := ledger.Sale("txn_1", "ch_1", "usd", 2000, 88, time.Now())
	for _, leg := range sale.Legs {
		fmt.Println(leg.Amount, "debited to", leg.Debit, "and credited to", leg.Credit)
	}
	fmt.Println("the merchant has", sale.Gross()-sale.Fee())
	// Output:
	// 2000 debited to processor_receivable and credited to merchant_balance
	// 88 debited to merchant_balance and credited to fee_revenue
	// the merchant has 1912
}

// A settlement has one leg for each way: their difference may be zero.
func ExampleSettlement() {
	for _, leg := range ledger.Settlement("txn_2", "part_1", "usd", 5000, 700, time.Now()).Legs {
		fmt.Println(leg.Amount, "debited to", leg.Debit, "and credited to", leg.Credit)
	}
	// Output:
	// 5000 debited to bank_cash and credited to processor_receivable
	// 700 debited to processor_receivable and credited to bank_cash
}

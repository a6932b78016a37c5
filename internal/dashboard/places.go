package dashboard

import "strings"

// place is a page of the dashboard, or a form, as the search lists it.
type place struct {
	Name, Href, Icon string
	words            string // what else people call it
	acts             bool   // a form, which only some people may send
}

// places are what the search offers beside objects.
var places = []place{
	{"New payment", "/dashboard/new/payment", "plus", "create charge", true},
	{"New payment link", "/dashboard/new/payment-link", "plus", "create", true},
	{"New checkout link", "/dashboard/new/link", "plus", "create session", true},
	{"New customer", "/dashboard/new/customer", "plus", "create", true},
	{"New product", "/dashboard/new/product", "plus", "create price", true},
	{"New payout", "/dashboard/new/payout", "plus", "create bank", true},
	{"Overview", "/dashboard", "home", "home chart volume", false},
	{"Charts", "/dashboard/charts", "gauge", "reports volume success webhooks crash recovery", false},
	{"Payments", "/dashboard/payments", "card", "charges refunds intents", false},
	{"Customers", "/dashboard/customers", "people", "cards emails", false},
	{"Payment links", "/dashboard/links", "link", "", false},
	{"Checkout", "/dashboard/checkout", "cart", "sessions orders", false},
	{"Products", "/dashboard/products", "box", "prices catalog", false},
	{"Disputes", "/dashboard/disputes", "shield", "chargebacks evidence", false},
	{"Emails", "/dashboard/emails", "mail", "inbox receipts notices mails", false},
	{"Balance", "/dashboard/balance", "scale", "transactions fees", false},
	{"Payouts", "/dashboard/payouts", "bank", "transfers", false},
	{"Ledger", "/dashboard/ledger", "book", "trial balance entries", false},
	{"Logs", "/dashboard/requests", "list", "requests api", false},
	{"Idempotency", "/dashboard/idempotency", "repeat", "keys stuck review", false},
	{"Events", "/dashboard/events", "bolt", "", false},
	{"Webhooks", "/dashboard/webhooks", "send", "endpoints deliveries", false},
	{"API keys", "/dashboard/keys", "key", "secret", false},
	{"Processes", "/dashboard/processes", "chip", "workers heartbeat", false},
	{"Test clock", "/dashboard/clock", "clock", "time advance", false},
	{"Activity", "/dashboard/activity", "list", "audit trail people", false},
	{"Documentation", "/docs", "book", "docs help", false},
	{"API reference", "/docs/api", "list", "docs help", false},
}

// Acts is the address that only some people may send forms to, or "".
func (p place) Acts() string {
	if p.acts {
		return p.Href
	}
	return ""
}

// placesCalled are the places whose name or other words have every word of a query.
func placesCalled(query string) (found []place) {
	for _, p := range places {
		text, all := strings.ToLower(p.Name+" "+p.words), true
		for _, word := range strings.Fields(strings.ToLower(query)) {
			all = all && strings.Contains(text, word)
		}
		if all {
			found = append(found, p)
		}
	}
	return found
}

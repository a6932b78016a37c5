package shop

// currency is the only one the shop takes.
const currency = "usd"

// product is something on the shelf.
type product struct {
	ID    string // also the name of its drawing, in package web
	Name  string
	About string
	Price int64 // US cents
}

var goods = []product{
	{"mug", "Mug", "Holds one coffee. Filled twice, it is still one mug.", 1800},
	{"spanner", "Ratchet spanner", "Turns one way only, no matter what happens to the handle.", 2400},
	{"ledger", "Ledger", "192 pages, each ruled in two columns that agree.", 1400},
	{"stamp", "Rubber stamp", "Says PAID. Stamping harder does not pay more.", 950},
	{"bookends", "Bookends", "A debit and a credit. Not sold separately.", 3200},
	{"umbrella", "Umbrella", "Open or closed, and never seen in between.", 2700},
}

// onShelf finds a product; nil if it does not exist.
func onShelf(id string) *product {
	for i := range goods {
		if goods[i].ID == id {
			return &goods[i]
		}
	}
	return nil
}

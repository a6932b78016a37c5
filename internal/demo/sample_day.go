package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
)

// goods are on sale, with prices in the smallest unit of the buyer's currency.
var goods = []struct {
	name, about string
	price       int64
}{
	{"Mug", "Holds one coffee. Filled twice, it is still one mug.", 1800},
	{"Ratchet spanner", "Turns one way only, no matter what happens to the handle.", 2400},
	{"Ledger", "192 pages, each ruled in two columns that agree.", 1400},
	{"Rubber stamp", "Says PAID. Stamping harder does not pay more.", 950},
	{"Bookends", "A debit and a credit. Not sold separately.", 3200},
	{"Umbrella", "Open or closed, and never seen in between.", 2700},
}

// buyer is a customer. The first in the list come back most often.
type buyer struct{ name, street, city, postcode, country, card string }

var buyers = []buyer{
	{"Ada Okafor", "12 Alder Street", "Portland", "97205", "US", "visa"},
	{"Hugo Bernard", "210 Maple Avenue", "Burlington", "05401", "US", "discover"},
	{"Kavya Raman", "930 Lake Drive", "Chicago", "60607", "US", "visa"},
	{"Ines Carvalho", "Rua da Rosa 17", "Lisbon", "1200-383", "PT", "visa"},
	{"Quinn Abbott", "26 Mill Road", "Boston", "02110", "US", "mastercard_prepaid"},
	{"Mei Chen", "77 Orchard Lane", "San Jose", "95112", "US", "unionpay"},
	{"Ben Lindqvist", "Storgatan 4", "Helsinki", "00100", "FI", "mastercard"},
	{"Grace Whitfield", "41 Canal Road", "Leeds", "LS1 4AP", "GB", "mastercard_debit"},
	{"Priya Nair", "1504 Juniper Court", "Austin", "78701", "US", "amex"},
	{"Emi Tanaka", "88 Harbor Way", "Seattle", "98101", "US", "jcb"},
	{"Daniel Weiss", "Lindenstraße 9", "Leipzig", "04109", "DE", "visa_debit"},
	{"Carla Moreno", "Calle del Pez 31", "Madrid", "28004", "ES", "amex"},
	{"Jonas Keller", "Hauptstraße 60", "Freiburg", "79098", "DE", "mastercard"},
	{"Farid Haddad", "5 Rue des Lilas", "Lyon", "69003", "FR", "visa"},
	{"Nora Jansen", "Kerkstraat 22", "Utrecht", "3512 JK", "NL", "mastercard"},
	{"Owen Price", "8 Castle Hill", "Cardiff", "CF10 1BH", "GB", "visa"},
	{"Liam Doyle", "3 Quay Street", "Galway", "H91 K2X8", "IE", "visa_debit"},
	{"Rosa Ferrari", "Via dei Mille 5", "Turin", "10123", "IT", "diners"},
}

func (b buyer) currency() string {
	switch b.country {
	case "US":
		return "usd"
	case "GB":
		return "gbp"
	}
	return "eur"
}

func (b buyer) email() string {
	first, last, _ := strings.Cut(strings.ToLower(b.name), " ")
	return first + "." + last + "@example.com"
}

// address is a buyer's, as the parameters of an object's part, or of the object itself.
func (b buyer) address(part string) []string {
	in := "address"
	if part != "" {
		in = part + "[address]"
	}
	return []string{in + "[line1]", b.street, in + "[city]", b.city, in + "[postal_code]", b.postcode,
		in + "[country]", b.country}
}

// fate is what happens to an order that is not simply paid.
type fate struct {
	quantity int64  // a larger order than usual
	card     string // pays with this one, not with their own
	declined string // tries this one first
	givesUp  bool   // and none after that
	hold     bool   // is charged when the goods are sent
	crash    string // the boundary at which the server crashes
	then     func(context.Context, *sampler, order) error
}

// order is a paid one.
type order struct {
	sampled
	amount   int64
	currency string
}

// sampleOrders is how many orders the customers place.
const sampleOrders = 84

// fates belong to orders by their number. The payouts come early, before refunds and disputes take from
// the balance; the last orders are shown first.
var fates = map[int]fate{
	2:  {quantity: 40, card: "bypassPending", then: payOut}, // its money is available at once
	5:  {declined: "chargeDeclinedInsufficientFunds"},
	7:  {crash: "acquirer: after writing"},
	9:  {then: refund("reason", "requested_by_customer")},
	11: {quantity: 25, card: "bypassPending", then: payOut},
	14: {declined: "chargeDeclined", givesUp: true},
	16: {hold: true, then: capture()},
	18: {card: "createDispute", then: answerDispute("winning_evidence")},
	21: {card: "authenticationRequired"}, // the buyer never comes back from the bank's page
	24: {then: refund("amount", "500", "reason", "requested_by_customer")},
	26: {declined: "chargeDeclinedIncorrectCvc"},
	29: {hold: true, then: cancel("requested_by_customer")},
	32: {crash: "acquirer: answer read"},
	34: {declined: "chargeDeclinedExpiredCard"},
	37: {card: "createDisputeProductNotReceived", then: answerDispute("losing_evidence")},
	40: {card: "pendingRefund", then: refund()},
	43: {declined: "chargeDeclinedFraudulent", givesUp: true},
	45: {quantity: 3, hold: true, then: capture("amount_to_capture", "900")},
	48: {then: refund("reason", "duplicate")},
	51: {declined: "chargeDeclinedInsufficientFunds", givesUp: true},
	54: {crash: "acquirer: before writing"},
	57: {card: "refundFail", then: refund()},
	60: {declined: "chargeDeclinedProcessingError"},
	63: {hold: true},
	66: {card: "riskLevelElevated"},
	70: {then: refund("amount", "950")},
	73: {declined: "chargeDeclinedLostCard", givesUp: true},
	76: {card: "createDispute"},              // waits for evidence
	77: {quantity: 4, card: "bypassPending"}, // in euros: refunds would leave a negative balance
	79: {hold: true},
	81: {declined: "chargeDeclined"},
	82: {then: refund("reason", "requested_by_customer")},
}

// open is the shop's first day.
func (s *sampler) open(ctx context.Context) error {
	if err := s.stock(ctx); err != nil {
		return err
	}
	hangUp, err := s.subscribe(ctx)
	if err != nil {
		return err
	}
	defer hangUp()
	var customers, cards []string
	for _, b := range buyers {
		made, err := s.create(ctx, "/v1/customers", append(b.address(""), "name", b.name, "email", b.email())...)
		if err != nil {
			return err
		}
		card, err := s.post(ctx, "/v1/payment_methods/pm_card_"+b.card+"/attach", "customer", made.ID)
		if err != nil {
			return err
		}
		customers, cards = append(customers, made.ID), append(cards, card.ID)
	}
	chance := rand.New(rand.NewPCG(30, 1)) // the same in every demo
	for i := range sampleOrders {
		who := min(chance.IntN(len(buyers)), chance.IntN(len(buyers)))
		if err := s.order(ctx, i, buyers[who], customers[who], cards[who], chance); err != nil {
			return fmt.Errorf("order %d: %w", i, err)
		}
	}
	return s.unsubscribe(ctx)
}

// stock makes what there is before the first buyer comes.
func (s *sampler) stock(ctx context.Context) error {
	var prices []string
	for _, g := range goods {
		made, err := s.create(ctx, "/v1/products", "name", g.name, "description", g.about,
			"default_price_data[currency]", "usd", "default_price_data[unit_amount]", strconv.FormatInt(g.price, 10))
		if err != nil {
			return err
		}
		prices = append(prices, made.DefaultPrice)
	}
	for _, made := range [][]string{
		{"/v1/coupons", "id", "WELCOME", "name", "Welcome", "percent_off", "10", "duration", "once"},
		{"/v1/shipping_rates", "display_name", "Standard", "type", "fixed_amount", "fixed_amount[amount]", "490",
			"fixed_amount[currency]", "usd"},
		{"/v1/payment_links", "line_items[0][price]", prices[0], "line_items[0][quantity]", "1"},
	} {
		if _, err := s.create(ctx, made[0], made[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// order is placed, paid, and meets its fate.
func (s *sampler) order(ctx context.Context, i int, b buyer, customer, card string, chance *rand.Rand) (err error) {
	good, f := goods[chance.IntN(len(goods))], fates[i]
	quantity := max(f.quantity, min(1+chance.Int64N(3), 1+chance.Int64N(3)))
	o := order{amount: good.price * quantity, currency: b.currency()}
	params := append(b.address("shipping"), "shipping[name]", b.name, "amount", strconv.FormatInt(o.amount, 10),
		"currency", o.currency, "customer", customer, "receipt_email", b.email(), "payment_method_types[]", "card",
		"description", fmt.Sprintf("%d × %s", quantity, good.name), "metadata[order]", strconv.Itoa(2001+i))
	if f.hold {
		params = append(params, "capture_method", "manual")
	}
	if f.card != "" {
		card = "pm_card_" + f.card
	}
	paid := append(params, "confirm", "true", "payment_method", card)
	switch {
	case f.declined != "":
		o.sampled, err = s.payTwice(ctx, params, f, card)
	case f.crash != "":
		o.sampled, err = s.createDespite(ctx, f.crash, "/v1/payment_intents", paid...)
	default:
		o.sampled, err = s.create(ctx, "/v1/payment_intents", paid...)
	}
	if err != nil || f.then == nil {
		return err
	}
	return f.then(ctx, s, o)
}

// payTwice has the first card declined. The buyer pays with their own then, or gives up.
func (s *sampler) payTwice(ctx context.Context, params []string, f fate, card string) (sampled, error) {
	made, err := s.create(ctx, "/v1/payment_intents", params...)
	if err != nil {
		return made, err
	}
	confirm := "/v1/payment_intents/" + made.ID + "/confirm"
	if _, err := s.post(ctx, confirm, "payment_method", "pm_card_"+f.declined); err != nil || f.givesUp {
		return made, err
	}
	return s.post(ctx, confirm, "payment_method", card)
}

// payOut pays most of a large order out.
func payOut(ctx context.Context, s *sampler, o order) error {
	_, err := s.create(ctx, "/v1/payouts", "amount", strconv.FormatInt(o.amount*3/5, 10), "currency", o.currency,
		"description", "Weekly payout")
	return err
}

func refund(params ...string) func(context.Context, *sampler, order) error {
	return func(ctx context.Context, s *sampler, o order) error {
		_, err := s.create(ctx, "/v1/refunds", append(params, "payment_intent", o.ID)...)
		return err
	}
}

func capture(params ...string) func(context.Context, *sampler, order) error {
	return func(ctx context.Context, s *sampler, o order) error {
		_, err := s.post(ctx, "/v1/payment_intents/"+o.ID+"/capture", params...)
		return err
	}
}

func cancel(reason string) func(context.Context, *sampler, order) error {
	return func(ctx context.Context, s *sampler, o order) error {
		_, err := s.post(ctx, "/v1/payment_intents/"+o.ID+"/cancel", "cancellation_reason", reason)
		return err
	}
}

// answerDispute sends evidence. The acquirer decides by its text.
func answerDispute(evidence string) func(context.Context, *sampler, order) error {
	return func(ctx context.Context, s *sampler, o order) error {
		var found struct{ Data []sampled }
		if err := s.send(ctx, http.MethodGet, "/v1/disputes?charge="+o.LatestCharge, "", nil, &found); err != nil {
			return err
		}
		for _, d := range found.Data {
			_, err := s.post(ctx, "/v1/disputes/"+d.ID, "evidence[uncategorized_text]", evidence, "submit", "true")
			if err != nil {
				return err
			}
		}
		return nil
	}
}

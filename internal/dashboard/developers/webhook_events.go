package developers

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/dashboard/ui"
)

// eventTypes are those that this server sends, by the object they are about.
var eventTypes = []struct{ Name, Types string }{
	{"Payments",
		"payment_intent.created payment_intent.succeeded payment_intent.payment_failed " +
			"payment_intent.requires_action payment_intent.amount_capturable_updated payment_intent.canceled"},
	{"Charges", "charge.succeeded charge.failed charge.captured charge.expired charge.refunded charge.updated"},
	{"Refunds", "refund.created refund.updated refund.failed charge.refund.updated"},
	{"Disputes",
		"charge.dispute.created charge.dispute.updated charge.dispute.funds_withdrawn " +
			"charge.dispute.funds_reinstated charge.dispute.closed"},
	{"Checkout", "checkout.session.completed checkout.session.expired"},
	{"Payment links", "payment_link.created payment_link.updated"},
	{"Customers",
		"customer.created customer.updated customer.deleted customer.source.created customer.source.updated " +
			"customer.source.deleted payment_method.attached payment_method.updated payment_method.detached"},
	{"Setup", "setup_intent.created setup_intent.succeeded setup_intent.requires_action setup_intent.setup_failed " +
		"setup_intent.canceled"},
	{"Products", "product.created product.updated product.deleted price.created price.updated"},
	{"Payouts",
		"payout.created payout.updated payout.paid payout.failed payout.canceled payout.reconciliation_completed " +
			"balance.available"},
	{"Test clocks",
		"test_helpers.test_clock.created test_helpers.test_clock.advancing test_helpers.test_clock.ready " +
			"test_helpers.test_clock.deleted"},
}

// eventGroup is a part of the picker.
type eventGroup struct {
	Name  string
	Types []eventChoice
}

type eventChoice struct {
	Type   string
	Chosen bool
}

// picker is the list of event types with the chosen ones checked. Types that were chosen
// through the API, and are never sent here, stay chosen.
func picker(chosen []string) (all []eventGroup) {
	left := slices.Clone(chosen)
	for _, g := range eventTypes {
		group := eventGroup{Name: g.Name}
		for _, name := range strings.Fields(g.Types) {
			group.Types = append(group.Types, eventChoice{name, slices.Contains(chosen, name)})
			left = slices.DeleteFunc(left, func(other string) bool { return other == name })
		}
		all = append(all, group)
	}
	others := eventGroup{Name: "Others"}
	for _, name := range left {
		if name != "*" {
			others.Types = append(others.Types, eventChoice{name, true})
		}
	}
	if len(others.Types) > 0 {
		all = append(all, others)
	}
	return all
}

// picked are the event types that a form has checked: all events where there are none.
func picked(r *http.Request) []string {
	if events := r.PostForm["events"]; len(events) > 0 {
		return events
	}
	return []string{"*"}
}

// Rate is how many of a hundred finished deliveries succeeded, for people.
func (t tally) Rate() string {
	done := t.Succeeded + t.Failed
	if done == 0 {
		return "–"
	}
	return fmt.Sprintf("%d%%", (100*t.Succeeded+done/2)/done)
}

// trigger is a request whose event tests an endpoint.
type trigger struct {
	Type, path string
	params     url.Values
}

var triggers = []trigger{
	{"customer.created", "/v1/customers", url.Values{"name": {"Webhook test"}}},
	{"product.created", "/v1/products", url.Values{"name": {"Webhook test"}}},
	{"payment_intent.created", "/v1/payment_intents",
		url.Values{"amount": {"2000"}, "currency": {"usd"}, "description": {"Webhook test"}}},
	{"payment_intent.succeeded",
		"/v1/payment_intents", url.Values{
			"amount":                 {"2000"},
			"currency":               {"usd"},
			"description":            {"Webhook test"},
			"payment_method":         {"pm_card_visa"},
			"payment_method_types[]": {"card"},
			"confirm":                {"true"},
		}},
}

// Triggers are the tests whose event the endpoint receives.
func (e endpoint) Triggers() []trigger {
	return slices.DeleteFunc(slices.Clone(triggers), func(t trigger) bool {
		return e.Livemode || !slices.Contains(e.EnabledEvents, "*") && !slices.Contains(e.EnabledEvents, t.Type)
	})
}

// editEndpoint changes where events go, and which.
func (s Pages) editEndpoint(r *http.Request, e *endpoint) (*ui.Page, error) {
	params := url.Values{
		"url":              {strings.TrimSpace(r.PostFormValue("url"))},
		"description":      {strings.TrimSpace(r.PostFormValue("description"))},
		"enabled_events[]": picked(r),
	}
	a, err := s.Call(r, e.AccountID, e.Livemode, http.MethodPost, "/v1/webhook_endpoints/"+e.ID, r.PostFormValue("key"),
		params)
	return ui.RespondTo(a, err, "Endpoint updated.", "/dashboard/webhooks/"+e.ID)
}

// testEndpoint creates an object in test mode, so that its event is delivered as any other.
func (s Pages) testEndpoint(r *http.Request, e *endpoint) (*ui.Page, error) {
	offered := e.Triggers()
	at := slices.IndexFunc(offered, func(t trigger) bool { return t.Type == r.PostFormValue("type") })
	if at < 0 {
		return nil, ui.ErrNotFound
	}
	t := offered[at]
	a, err := s.Call(r, e.AccountID, e.Livemode, http.MethodPost, t.path, r.PostFormValue("key")+"-"+t.Type, t.params)
	return ui.RespondTo(a, err, "Sent a test "+t.Type+" event. Its delivery appears below.",
		"/dashboard/webhooks/"+e.ID)
}

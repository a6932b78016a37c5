package apiversion

import (
	"slices"

	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/wire"
)

// Gate is one change that Stripe made with a version. Requests and answers of
// older versions pass it; the code behind it knows the new behavior only.
type Gate struct {
	Day    string // of the version since which things are as they are now
	Change string // what changed, in a sentence

	// Request makes an old request a new one, by the name of its operation.
	Request map[string]func(form.Values) form.Values
	// Response makes a new object an old one, by the type of the object.
	Response map[string]func(object wire.Object)
	// Lists are what objects of a type showed without being asked, and show now only
	// if they are expanded or not at all.
	Lists map[string][]string
	// Shown are the paths that objects of a type expanded without being asked, before
	// Response changes them.
	Shown map[string][]string
}

// gates are the changes, the newest first: an answer passes them in this order, and
// a request in the opposite one.
var gates = []Gate{
	{
		Day: "2026-03-25",
		Change: "A checkout session's `ui_mode` is hosted_page, embedded_page or elements instead of hosted, " +
			"embedded or custom.",
		Request:  map[string]func(form.Values) form.Values{"checkout_session.create": newUIMode},
		Response: map[string]func(wire.Object){"checkout.session": oldUIMode},
	},
	{
		Day: "2025-09-30",
		Change: "A promotion code has a `promotion`, and a discount a `source`, which names a coupon; before, they " +
			"contained their `coupon`.",
		Request: map[string]func(form.Values) form.Values{"promotion_code.create": newPromotion},
		Response: map[string]func(wire.Object){
			"promotion_code": containCoupon("promotion"), "discount": containCoupon("source"),
		},
		Shown: map[string][]string{"promotion_code": {"promotion.coupon"}, "discount": {"source.coupon"}},
	},
	{
		Day: "2024-04-10",
		Change: "A payment is captured with `automatic_async` unless the request says otherwise; before, with " +
			"`automatic`.",
		Request: map[string]func(form.Values) form.Values{
			"payment_intent.create": captureAtOnce, "checkout_session.create": captureSessionAtOnce,
		},
	},
	{
		Day: "2023-08-16",
		Change: "An intent takes every suitable payment method unless the request names the types; before, cards " +
			"only. Such an intent is confirmed with a `return_url`.",
		Request: map[string]func(form.Values) form.Values{
			"payment_intent.create": cardsOnly,
			"setup_intent.create":   cardsOnly,
		},
	},
	{
		Day: "2022-11-15",
		Change: "A payment intent has `latest_charge` and no `charges`; a charge shows its `refunds` only if they " +
			"are expanded.",
		Lists: map[string][]string{"payment_intent": {"charges"}, "charge": {"refunds"}},
	},
	{
		Day: sessionsMakeIntentsLater,
		Change: "A checkout session makes its payment intent when the customer pays; before, when the session was " +
			"made.",
	},
	{
		Day:      "2020-08-27",
		Change:   "A customer shows `sources` only if they are expanded, and `subscriptions` and `tax_ids` likewise.",
		Lists:    map[string][]string{"customer": {"sources"}},
		Response: map[string]func(wire.Object){"customer": listNothing},
	},
}

const sessionsMakeIntentsLater = "2022-08-01"

// Gates are the changes, the newest first.
func Gates() []Gate { return slices.Clone(gates) }

// Request is a request of this version in the words of the current one. Values that
// were sent stay as they are: they are what the request is fingerprinted by.
func (v Version) Request(operation string, sent form.Values) form.Values {
	for _, gate := range slices.Backward(gates) {
		if change := gate.Request[operation]; change != nil && v.Before(gate.Day) {
			sent = change(sent)
		}
	}
	return sent
}

// Response changes one object into what it was in this version. Objects within it are
// changed one by one, like it.
func (v Version) Response(object wire.Object) {
	kind, _ := object["object"].(string)
	for _, gate := range gates {
		if change := gate.Response[kind]; change != nil && v.Before(gate.Day) {
			change(object)
		}
	}
}

// Lists are the lists that an object of a type shows in this version without being asked.
func (v Version) Lists(kind string) (names []string) {
	for _, gate := range gates {
		if v.Before(gate.Day) {
			names = append(names, gate.Lists[kind]...)
		}
	}
	return names
}

// Shown are the paths that an object of a type expands in this version without being asked.
func (v Version) Shown(kind string) (paths []string) {
	for _, gate := range gates {
		if v.Before(gate.Day) {
			paths = append(paths, gate.Shown[kind]...)
		}
	}
	return paths
}

// ChangesAnswers says whether there are objects that this version shows differently.
func (v Version) ChangesAnswers() bool {
	return slices.ContainsFunc(gates, func(g Gate) bool { return v.Before(g.Day) && len(g.Response)+len(g.Lists) > 0 })
}

// SessionsMakeIntents says whether a checkout session has its payment intent from
// the beginning.
func (v Version) SessionsMakeIntents() bool { return v.Before(sessionsMakeIntentsLater) }

// uiModes are the words for ui_mode, by the older ones.
var uiModes = map[string]string{"hosted": "hosted_page", "embedded": "embedded_page", "custom": "elements"}

func newUIMode(sent form.Values) form.Values {
	old, _ := sent.Text("ui_mode")
	if now, is := uiModes[old]; is {
		return sent.With(now, "ui_mode")
	}
	return sent
}

func oldUIMode(session wire.Object) {
	for old, now := range uiModes {
		if session["ui_mode"] == now {
			session["ui_mode"] = old
			return
		}
	}
}

func newPromotion(sent form.Values) form.Values {
	coupon, is := sent.Text("coupon")
	if !is {
		return sent
	}
	return sent.Without("coupon").With("coupon", "promotion", "type").With(coupon, "promotion", "coupon")
}

// containCoupon puts the coupon that a part names into the object itself.
func containCoupon(part string) func(wire.Object) {
	return func(object wire.Object) {
		if named, is := object[part].(wire.Object); is {
			object["coupon"] = named["coupon"]
			delete(object, part)
		}
	}
}

func captureAtOnce(sent form.Values) form.Values {
	if sent.Has("capture_method") {
		return sent
	}
	return sent.With("automatic", "capture_method")
}

// captureSessionAtOnce is for sessions that take a payment.
func captureSessionAtOnce(sent form.Values) form.Values {
	if mode, is := sent.Text("mode"); is && mode != "payment" {
		return sent
	}
	if sent.Has("payment_intent_data", "capture_method") {
		return sent
	}
	return sent.With("automatic", "payment_intent_data", "capture_method")
}

func cardsOnly(sent form.Values) form.Values {
	if sent.Has("payment_method_types") || sent.Has("automatic_payment_methods") {
		return sent
	}
	return sent.With("card", "payment_method_types", "0")
}

// listNothing adds the lists of products that are not here.
func listNothing(customer wire.Object) {
	if customer["deleted"] == true {
		return
	}
	id, _ := customer["id"].(string)
	for _, name := range []string{"subscriptions", "tax_ids"} {
		customer[name] = wire.Object{
			"object":   "list",
			"data":     []any{},
			"has_more": false,
			"url":      "/v1/customers/" + id + "/" + name,
		}
	}
}

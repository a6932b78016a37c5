package payments

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// expandable says which fields of which object can be asked for whole, and what
// they then are. A field of nothing is always null here (Connect, for one) and
// stays null, as at Stripe.
var expandable = map[string]map[string][]string{
	"charge": {
		"balance_transaction": {"balance_transaction"}, "customer": {"customer"}, "payment_intent": {"payment_intent"}, "refunds": {"refund"},
		"application": nil, "application_fee": nil, "failure_balance_transaction": nil, "on_behalf_of": nil,
		"review": nil, "source_transfer": nil, "transfer": nil, "transfer_data": nil,
	},
	"refund": {
		"balance_transaction": {"balance_transaction"}, "charge": {"charge"}, "payment_intent": {"payment_intent"},
		"failure_balance_transaction": {"balance_transaction"}, "customer": nil, "payment_method": nil,
		"source_transfer_reversal": nil, "transfer_reversal": nil,
	},
	"customer": {
		"default_source": {"card"}, "invoice_settings": {"invoice_settings"}, "sources": {"card"},
		"subscriptions": nil, "tax": nil, "tax_ids": nil, "cash_balance": nil, "test_clock": {"test_helpers.test_clock"}, "invoice_credit_balance": nil,
	},
	"card":                {"customer": {"customer"}, "account": nil},
	"balance_transaction": {"source": {"charge", "dispute", "payout", "refund"}},
	"payout": {
		"balance_transaction": {"balance_transaction"}, "failure_balance_transaction": {"balance_transaction"}, "original_payout": {"payout"},
		"reversed_by": {"payout"}, "application_fee": nil, "destination": {},
	},
	"test_helpers.test_clock": {},
	"dispute":                 {"charge": {"charge"}, "payment_intent": {"payment_intent"}},
	"payment_intent": {
		"customer": {"customer"}, "latest_charge": {"charge"}, "payment_method": {"payment_method"},
		"application": nil, "on_behalf_of": nil, "review": nil, "transfer_data": nil,
	},
	"payment_method": {"customer": {"customer"}},
	"checkout.session": {
		"customer": {"customer"}, "line_items": {"item"}, "payment_intent": {"payment_intent"}, "setup_intent": {"setup_intent"},
		"invoice": nil, "payment_link": nil, "subscription": nil,
	},
	"item":         {"price": {"price"}, "discounts": nil, "taxes": nil},
	"price":        {"product": {"product"}, "currency_options": nil, "tiers": nil},
	"product":      {"default_price": {"price"}, "tax_code": nil},
	"payment_page": {},
	"setup_intent": {
		"customer": {"customer"}, "latest_attempt": {"setup_attempt"}, "payment_method": {"payment_method"},
		"application": nil, "mandate": nil, "on_behalf_of": nil, "single_use_mandate": nil,
	},
	"setup_attempt": {
		"customer": {"customer"}, "payment_method": {"payment_method"}, "setup_intent": {"setup_intent"},
		"application": nil, "on_behalf_of": nil,
	},
	"invoice_settings": {"default_payment_method": {"payment_method"}}, // not an object of its own
	"token":            {},
	"event":            {},
	"balance":          {},
	"account":          {},
	"webhook_endpoint": {},
}

// collections are the expandable fields that are absent unless asked for, and
// how each is listed.
var collections = map[string]func(ctx context.Context, db phase.Reader, v Viewer, parent string) (ListObject, error){
	"payment_intent.charges":      chargesOfIntent,
	"charge.refunds":              refundsOfCharge,
	"customer.sources":            cardsOfCustomer,
	"checkout.session.line_items": itemsOfSession,
}

// listed are the kinds of object in the lists that only old versions show.
var listed = map[string][]string{"payment_intent.charges": {"charge"}}

// members are the kinds of object in a collection.
func members(kind, name string) []string {
	if of, can := expandable[kind][name]; can {
		return of
	}
	return listed[kind+"."+name]
}

// loaders find an object by the prefix of its id.
var loaders = map[string]func(ctx context.Context, db phase.Reader, v Viewer, id string) (any, error){
	"ch":   loadWire[Charge](chargeByID),
	"re":   loadWire[Refund](refundByID),
	"cus":  loadWire[Customer](customerByID),
	"card": loadWire[CustomerCard](cardByID),
	"pi":   loadWire[PaymentIntent](intentByID),
	"pm":   loadWire[PaymentMethod](methodByID),
	"cs":   loadWire[CheckoutSession](sessionByID),

	"price": loadWire[Price](priceByID),
	"prod":  loadWire[Product](productByID),

	"seti":   loadWire[SetupIntent](setupByID),
	"setatt": loadWire[SetupAttempt](setupAttemptByID),
	"po":     loadWire[Payout](payoutByID),
	"txn":    loadWire[BalanceTransaction](balanceTransactionByID),
	"du":     loadWire[Dispute](disputeByID),

	"clock": loadWire[TestClock](testClockByID),
}

func loadWire[Row any, R wired[Row]](sql string) func(context.Context, phase.Reader, Viewer, string) (any, error) {
	return func(ctx context.Context, db phase.Reader, v Viewer, id string) (any, error) {
		row, err := byID[Row](ctx, db, sql, v, id)
		if err != nil || row == nil {
			return nil, err
		}
		return R(row).wire(), nil
	}
}

// CheckExpand refuses what an answer of this kind cannot expand, before anything
// is done. object is "charge", or "list" with the kind of its items behind a
// colon: "list:charge". A "search:charge" can be asked for its total_count too.
// shown are the kinds of object that the answer will show besides.
func CheckExpand(version apiversion.Version, object string, paths form.Expand) (shown []string, err error) {
	for _, path := range paths {
		names := strings.Split(path, ".")
		kinds := []string{object}
		items, isList := strings.CutPrefix(object, "list:")
		if hits, isSearch := strings.CutPrefix(object, "search:"); isSearch {
			if path == "total_count" {
				continue
			}
			items, isList = hits, true
		}
		if isList {
			if names[0] != "data" {
				return nil, apierror.Invalid("", "This property cannot be expanded (%s). You may want to try expanding 'data.%s' instead.", form.Quote(path), form.Quote(path))
			}
			kinds, names = []string{items}, names[1:]
		}
		for _, name := range names {
			if name == "data" {
				continue // of a list in between: line_items.data.price
			}
			if kinds = targets(version, kinds, name); kinds == nil {
				return nil, apierror.Invalid("", "This property cannot be expanded (%s).", form.Quote(path))
			}
			if len(kinds) == 0 {
				break // always null here, and so is all below it
			}
			shown = append(shown, kinds...)
		}
	}
	return shown, nil
}

// targets is what a field of any of these kinds expands to: nil if it does not,
// empty if it is always null.
func targets(version apiversion.Version, kinds []string, name string) []string {
	var found []string
	for _, kind := range kinds {
		_, can := expandable[kind][name]
		if can || slices.Contains(version.Lists(kind), name) {
			found = append(slices.Concat([]string{}, found), members(kind, name)...)
			if found == nil {
				found = []string{}
			}
		}
	}
	return found
}

// expand replaces ids by objects where the caller asked for it. known are the
// objects that the transaction under way has just made or changed besides this
// one: the database does not show them yet.
func expand(ctx context.Context, db phase.Reader, v Viewer, paths form.Expand, object any, known ...any) (any, error) {
	if len(paths) == 0 && !v.Version.ChangesAnswers() {
		return object, nil
	}
	root, err := tree(object)
	if err != nil {
		return nil, err
	}
	x := expander{ctx: ctx, db: db, viewer: v, known: map[string]any{}}
	for _, k := range append([]any{object}, known...) {
		t, err := tree(k)
		if err != nil {
			return nil, err
		}
		if id, has := t["id"].(string); has { // a list has none
			x.known[id] = k
		}
	}
	for _, path := range paths {
		if err := x.follow(root, strings.Split(path, ".")); err != nil {
			return nil, err
		}
	}
	if err := x.asOf(v.Version, root); err != nil {
		return nil, err
	}
	return ordered(root), nil
}

// ordered is an object whose fields are written as Stripe writes them: id,
// object, and the rest by the alphabet.
type ordered map[string]any

// MarshalJSON writes the object and, in the same order, every object in it.
func (o ordered) MarshalJSON() ([]byte, error) {
	names := slices.SortedFunc(maps.Keys(o), func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	out := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(inOrder(o[name]))
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	return append(out, '}'), nil
}

// rank puts id and object in front of everything else.
func rank(name string) int {
	switch name {
	case "id":
		return 0
	case "object":
		return 1
	}
	return 2
}

func inOrder(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return ordered(v)
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = inOrder(item)
		}
		return items
	}
	return value
}

type expander struct {
	ctx    context.Context
	db     phase.Reader
	viewer Viewer
	known  map[string]any
}

// asOf makes an object, and every object in it, what it is in an older version. An
// event is left alone: it has a version of its own.
func (x *expander) asOf(version apiversion.Version, value any) error {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if err := x.asOf(version, item); err != nil {
				return err
			}
		}
	case map[string]any:
		if v["object"] == "event" {
			return nil
		}
		if err := x.list(version, v); err != nil {
			return err
		}
		version.Answer(v)
		for name, inner := range v {
			if name == "metadata" { // whose keys are the merchant's
				continue
			}
			if err := x.asOf(version, inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// list adds the lists that an object shows in an older version without being asked.
func (x *expander) list(version apiversion.Version, object map[string]any) error {
	kind, _ := object["object"].(string)
	if _, has := object["id"].(string); !has || object["deleted"] == true {
		return nil
	}
	for _, name := range version.Lists(kind) {
		if object[name] != nil {
			continue
		}
		list, err := x.collection(object, name, collections[kind+"."+name])
		if err != nil {
			return err
		}
		object[name] = list
	}
	return nil
}

// follow walks one path down from an object, expanding on its way.
func (x *expander) follow(object map[string]any, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if items, isList := object["data"].([]any); isList && names[0] == "data" {
		return x.followAll(items, names[1:])
	}
	name := names[0]
	if collect, is := collections[fmt.Sprint(object["object"], ".", name)]; is && object[name] == nil {
		list, err := x.collection(object, name, collect)
		if err != nil {
			return err
		}
		object[name] = list
	}
	if id, isID := object[name].(string); isID {
		found, err := x.load(name, id)
		if err != nil {
			return err
		}
		if found != nil {
			object[name] = found
		}
	}
	inner, isObject := object[name].(map[string]any)
	if !isObject {
		return nil // null stays null
	}
	if items, isList := inner["data"].([]any); isList && len(names) > 1 && names[1] != "data" {
		return x.followAll(items, names[1:])
	}
	return x.follow(inner, names[1:])
}

func (x *expander) followAll(items []any, names []string) error {
	for _, item := range items {
		object, isObject := item.(map[string]any)
		if !isObject {
			continue
		}
		if err := x.follow(object, names); err != nil {
			return err
		}
	}
	return nil
}

func (x *expander) load(field, id string) (any, error) {
	if k, is := x.known[id]; is {
		return tree(k) // of its own in each place: a customer's card's customer would stand inside itself
	}
	prefix, _, _ := strings.Cut(id, "_")
	if field == "product" { // whose id may be the merchant's own
		prefix = "prod"
	}
	load, can := loaders[prefix]
	if !can {
		return nil, nil
	}
	object, err := load(x.ctx, x.db, x.viewer, id)
	if err != nil || object == nil {
		return nil, err
	}
	return tree(object)
}

// collection lists what belongs to an object, with what was made just now and with
// what was changed as it is now.
func (x *expander) collection(of map[string]any, name string, collect func(context.Context, phase.Reader, Viewer, string) (ListObject, error)) (map[string]any, error) {
	parent := of["id"].(string)
	list, err := collect(x.ctx, x.db, x.viewer, parent)
	if err != nil {
		return nil, err
	}
	t, err := tree(list)
	if err != nil {
		return nil, err
	}
	items, kind := t["data"].([]any), fmt.Sprint(of["object"])
	for id, k := range x.known {
		child, err := tree(k)
		if err != nil {
			return nil, err
		}
		if child[kind] != parent || !slices.Contains(members(kind, name), fmt.Sprint(child["object"])) {
			continue // what belongs to a customer may be a payment, which is none of his sources
		}
		if at := slices.IndexFunc(items, hasID(id)); at >= 0 {
			items[at] = child
		} else {
			items = slices.Insert(items, 0, any(child))
		}
	}
	if len(items) > firstPage {
		items, t["has_more"] = items[:firstPage], true
	}
	t["data"] = items
	return t, nil
}

func hasID(id string) func(any) bool {
	return func(item any) bool { return item.(map[string]any)["id"] == id }
}

// tree is an object as maps and lists. Numbers keep their digits.
func tree(object any) (map[string]any, error) {
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", object, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var t map[string]any
	if err := decoder.Decode(&t); err != nil {
		return nil, fmt.Errorf("decode %T: %w", object, err)
	}
	return t, nil
}

// listOf reads the first page of a collection inside another object.
func listOf[Row any, R wired[Row]](ctx context.Context, db phase.Reader, sql, url string, args pgx.StrictNamedArgs) (ListObject, error) {
	args["limit"] = firstPage + 1
	rows, err := db.Query(ctx, sql, args)
	if err != nil {
		return ListObject{}, fmt.Errorf("list %s: %w", url, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Row])
	if err != nil {
		return ListObject{}, fmt.Errorf("list %s: %w", url, err)
	}
	list := ListObject{Object: "list", Data: []any{}, URL: url, HasMore: len(found) > firstPage}
	for _, row := range found[:min(len(found), firstPage)] {
		list.Data = append(list.Data, R(row).wire())
	}
	return list, nil
}

// firstPage is how many items a list inside another object shows.
const firstPage = 10

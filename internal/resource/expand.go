package resource

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/wire"
)

// Kind describes one kind of API object to the others that show it.
type Kind struct {
	Object string // as the object names itself: "charge"
	Prefix string // of its ids: "ch"; "" for an object that has no ID
	Table  string // whose rows the objects are, if each names the request that made it; "" for no such table
	Load   Loader // nil for an object that no field of another one names

	// Fields are the fields that can be expanded, and the kinds of object that they
	// then hold. A field of no kind is always null here (Connect, for one) and stays
	// null, as at Stripe.
	Fields map[string][]string
	// Former are the fields of that sort that only older API versions have.
	Former map[string][]string
	// Lists are the fields that are absent unless they are expanded.
	Lists map[string]Lister
	// Parts complete the fields, other than lists, that are absent unless they are expanded, or
	// that contain such a field.
	Parts map[string]Part
	// Search says how the object can be searched; nil if it can't be.
	Search *Searchable
}

// holds are the kinds of object that a field holds, in any version.
func (k Kind) holds(field string) []string {
	if of, has := k.Fields[field]; has {
		return of
	}
	return k.Former[field]
}

// Loader reads the objects with some ids, in any order. An id that is not found is left out.
type Loader func(ctx context.Context, db phase.Reader, v Principal, ids []string) ([]any, error)

// Lister reads the first page of what belongs to each of some parents, by the parent's id.
type Lister func(ctx context.Context, db phase.Reader, v Principal, parents []string) (map[string]ListObject, error)

// Part adds to objects of one kind what they show only if it is expanded. It comes before
// anything else in them is expanded.
type Part func(ctx context.Context, db phase.Reader, v Principal, objects []wire.Object) error

// kinds are the registered kinds by the name of their object.
var kinds = map[string]Kind{}

// Register makes kinds of object known. The package of an object calls it while it
// is initialized, so that importing the package is all it takes.
func Register(k ...Kind) {
	for _, kind := range k {
		if _, taken := kinds[kind.Object]; taken {
			panic("resource: two kinds are called " + kind.Object)
		}
		kinds[kind.Object] = kind
	}
}

// Kinds are all registered kinds, sorted by the name of their object.
func Kinds() []Kind {
	return slices.SortedFunc(maps.Values(kinds), func(a, b Kind) int { return cmp.Compare(a.Object, b.Object) })
}

// LoadWith is the Loader of a row's type: sql reads the rows whose id is one of @ids.
func LoadWith[Row any, R wired[Row]](sql string) Loader {
	return func(ctx context.Context, db phase.Reader, v Principal, ids []string) ([]any, error) {
		args := v.Args()
		args["ids"] = ids
		rows, err := queryAll[Row](ctx, db, sql, args)
		if err != nil {
			return nil, err
		}
		objects := make([]any, len(rows))
		for i, row := range rows {
			objects[i] = R(row).Render()
		}
		return objects, nil
	}
}

// CheckExpand refuses what an answer of this kind cannot expand, before anything
// is done. object is "charge", or "list" with the kind of its items behind a
// colon: "list:charge". A "search:charge" can be asked for its total_count too.
// shown are the kinds of object that the answer will show besides.
func CheckExpand(version apiversion.Version, object string, paths form.Expand) (shown []string, err error) {
	for _, path := range paths {
		names := strings.Split(path, ".")
		at := []string{object}
		items, isList := strings.CutPrefix(object, "list:")
		if hits, isSearch := strings.CutPrefix(object, "search:"); isSearch {
			if path == "total_count" {
				continue
			}
			items, isList = hits, true
		}
		if isList {
			if names[0] != "data" {
				return nil,
					apierror.Invalid("",
						"This property cannot be expanded (%s). You may want to try expanding 'data.%s' instead.",
						form.Quote(path), form.Quote(path))
			}
			at, names = []string{items}, names[1:]
		}
		for _, name := range names {
			if name == "data" {
				continue // of a list in between: line_items.data.price
			}
			if at = targets(version, at, name); at == nil {
				return nil, apierror.Invalid("", "This property cannot be expanded (%s).", form.Quote(path))
			}
			if len(at) == 0 {
				break // always null here, and so is all below it
			}
			shown = append(shown, at...)
		}
	}
	return shown, nil
}

// targets is what a field of any of these kinds expands to: nil if it does not,
// empty if it is always null.
func targets(version apiversion.Version, of []string, name string) []string {
	var found []string
	for _, kind := range of {
		to, can := kinds[kind].Fields[name]
		if slices.Contains(version.Lists(kind), name) {
			to, can = kinds[kind].holds(name), true
		}
		if can {
			found = append(slices.Concat([]string{}, found), to...)
			if found == nil {
				found = []string{}
			}
		}
	}
	return found
}

// Expand replaces ids by objects where the caller asked for it. It goes down the
// paths level by level, and reads all that a level needs of one kind with one query.
// fresh are the objects that the transaction under way has made or changed besides
// this one: the database does not show them yet.
func Expand(
	ctx context.Context, db phase.Reader, v Principal, paths form.Expand, object any, fresh ...Renderer,
) (any, error) {
	if len(paths) == 0 && !v.Version.ChangesAnswers() {
		return object, nil
	}
	root, err := Tree(object)
	if err != nil {
		return nil, err
	}
	x := expander{db: db, viewer: v, fresh: map[string]any{}}
	objects := []any{object}
	for _, f := range fresh {
		objects = append(objects, f.Render())
	}
	for _, o := range objects {
		t, err := Tree(o)
		if err != nil {
			return nil, err
		}
		if id, has := t["id"].(string); has { // a list has none
			x.fresh[id] = o
		}
	}
	level := make([]place, len(paths))
	for i, path := range paths {
		level[i] = placeIn(root, nil, strings.Split(path, "."))
	}
	for len(level) > 0 {
		if level, err = x.descend(ctx, level); err != nil {
			return nil, err
		}
	}
	if err := x.asOf(ctx, v.Version, root); err != nil {
		return nil, err
	}
	return ordered(root), nil
}

// ordered is an object whose fields are written as Stripe writes them: id,
// object, and the rest by the alphabet.
type ordered map[string]any

// MarshalJSON writes the object and, in the same order, every object in it.
func (o ordered) MarshalJSON() ([]byte, error) {
	names := slices.SortedFunc(maps.Keys(o), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	out := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(InOrder(o[name]))
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

// InOrder is decoded JSON whose objects encode id first, object second, and the other fields by name.
func InOrder(value any) any {
	switch v := value.(type) {
	case wire.Object:
		return ordered(v)
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = InOrder(item)
		}
		return items
	}
	return value
}

// place is an object of which a field is to be expanded, and the path below it.
type place struct {
	object wire.Object
	kind   Kind
	names  []string // the field, and what to expand in what it holds
}

// placeIn is a place in an object, which names its kind. An object that is only a part
// of another one doesn't, and has the kind that the field can hold.
func placeIn(object wire.Object, of []string, names []string) place {
	kind, is := kinds[fmt.Sprint(object["object"])]
	if !is && len(of) == 1 {
		kind = kinds[of[0]]
	}
	return place{object, kind, names}
}

// field is the field of the object that the path names next.
func (p place) field() any { return p.object[p.names[0]] }

type expander struct {
	db     phase.Reader
	viewer Principal
	fresh  map[string]any
}

// InVersion turns an object of the current version into one of another version.
func InVersion(
	ctx context.Context, db phase.Reader, v Principal, version apiversion.Version, object wire.Object,
) error {
	x := expander{db: db, viewer: v}
	return x.asOf(ctx, version, object)
}

// asOf makes an object, and every object in it, what it is in an older version.
func (x *expander) asOf(ctx context.Context, version apiversion.Version, root wire.Object) error {
	if !version.ChangesAnswers() {
		return nil
	}
	// The objects in a list may contain lists, too: charges have refunds.
	for missing := missingLists(version, root); len(missing) > 0; missing = missingLists(version, root) {
		if err := x.list(ctx, missing); err != nil {
			return err
		}
	}
	for level := shownIn(version, root); len(level) > 0; {
		var err error
		if level, err = x.descend(ctx, level); err != nil {
			return err
		}
	}
	eachObject(root, version.Response)
	return nil
}

// shownIn are the fields that objects expand in an older version without being asked.
func shownIn(version apiversion.Version, root wire.Object) (level []place) {
	eachObject(root, func(object wire.Object) {
		kind := fmt.Sprint(object["object"])
		for _, path := range version.Shown(kind) {
			level = append(level, placeIn(object, nil, strings.Split(path, ".")))
		}
	})
	return level
}

// missingLists are the lists that objects show in an older version without being asked.
func missingLists(version apiversion.Version, root wire.Object) (missing []place) {
	eachObject(root, func(object wire.Object) {
		p := placeIn(object, nil, nil)
		if _, has := object["id"].(string); !has || object["deleted"] == true {
			return
		}
		for _, name := range version.Lists(p.kind.Object) {
			if object[name] == nil && p.kind.Lists[name] != nil {
				missing = append(missing, place{object, p.kind, []string{name}})
			}
		}
	})
	return missing
}

// eachObject calls do for a value and all in it, outer objects first. It leaves events
// alone, which have their own version, and metadata, whose keys are the merchant's.
func eachObject(value any, do func(wire.Object)) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			eachObject(item, do)
		}
	case wire.Object:
		if v["object"] == "event" {
			return
		}
		do(v)
		for name, inner := range v {
			if name != "metadata" {
				eachObject(inner, do)
			}
		}
	}
}

// descend expands one field of each place, and returns the places below.
func (x *expander) descend(ctx context.Context, level []place) (below []place, err error) {
	level = intoLists(level)
	if err := x.list(ctx, level); err != nil {
		return nil, err
	}
	if err := x.complete(ctx, level); err != nil {
		return nil, err
	}
	if err := x.load(ctx, level); err != nil {
		return nil, err
	}
	for _, p := range level {
		if len(p.names) == 1 {
			continue
		}
		parts, isArray := p.field().([]any)
		if !isArray {
			parts = []any{p.field()}
		}
		for _, part := range parts {
			if inner, isObject := part.(wire.Object); isObject { // null stays null
				below = append(below, placeIn(inner, p.kind.holds(p.names[0]), p.names[1:]))
			}
		}
	}
	return below, nil
}

// intoLists replaces lists by their items. A path may leave "data" out below a list
// inside an object: line_items.price.
func intoLists(level []place) (items []place) {
	for _, p := range level {
		data, isList := p.object["data"].([]any)
		if !isList {
			items = append(items, p)
			continue
		}
		names := p.names
		if names[0] == "data" {
			names = names[1:]
		}
		if len(names) == 0 {
			continue
		}
		for _, item := range data {
			if object, isObject := item.(wire.Object); isObject {
				items = append(items, placeIn(object, nil, names))
			}
		}
	}
	return items
}

// list fills the fields that are absent unless they are expanded.
func (x *expander) list(ctx context.Context, level []place) error {
	wanted := map[string][]place{} // by kind and field
	for _, p := range level {
		if _, is := p.kind.Lists[p.names[0]]; is && p.field() == nil {
			field := p.kind.Object + "." + p.names[0]
			wanted[field] = append(wanted[field], p)
		}
	}
	for _, places := range wanted {
		parents := make([]string, len(places))
		for i, p := range places {
			parents[i] = fmt.Sprint(p.object["id"])
		}
		name := places[0].names[0]
		// Two paths may lead through one list: its parent is asked for once.
		once := slices.Compact(slices.Sorted(slices.Values(parents)))
		lists, err := places[0].kind.Lists[name](ctx, x.db, x.viewer, once)
		if err != nil {
			return err
		}
		for i, p := range places {
			list, err := Tree(lists[parents[i]])
			if err != nil {
				return err
			}
			if err := x.freshen(list, p.kind, name, parents[i]); err != nil {
				return err
			}
			p.object[name] = list
		}
	}
	return nil
}

// complete adds the parts that are absent unless they are expanded.
func (x *expander) complete(ctx context.Context, level []place) error {
	wanted := map[string][]place{} // by kind and field
	for _, p := range level {
		if p.kind.Parts[p.names[0]] != nil {
			field := p.kind.Object + "." + p.names[0]
			wanted[field] = append(wanted[field], p)
		}
	}
	for _, places := range wanted {
		objects := make([]wire.Object, len(places))
		for i, p := range places {
			objects[i] = p.object
		}
		first := places[0]
		if err := first.kind.Parts[first.names[0]](ctx, x.db, x.viewer, objects); err != nil {
			return err
		}
	}
	return nil
}

// freshen adds to a list what was made just now, and shows what was changed as it is now.
func (x *expander) freshen(list wire.Object, of Kind, name, parent string) error {
	items := list["data"].([]any)
	for id, f := range x.fresh {
		child, err := Tree(f)
		if err != nil {
			return err
		}
		if child[of.Object] != parent || !slices.Contains(of.holds(name), fmt.Sprint(child["object"])) {
			continue // a payment belongs to its customer, too, and is none of the customer's sources
		}
		if at := slices.IndexFunc(items, hasID(id)); at >= 0 {
			items[at] = child
		} else {
			items = slices.Insert(items, 0, any(child))
		}
	}
	if len(items) > FirstPage {
		items, list["has_more"] = items[:FirstPage], true
	}
	list["data"] = items
	return nil
}

func hasID(id string) func(any) bool {
	return func(item any) bool { return item.(wire.Object)["id"] == id }
}

// load replaces the ids in the fields by objects.
func (x *expander) load(ctx context.Context, level []place) error {
	wanted := map[string][]string{} // ids by kind
	for _, p := range level {
		if id, isID := p.field().(string); isID && x.fresh[id] == nil {
			if kind, can := p.target(id); can && !slices.Contains(wanted[kind.Object], id) {
				wanted[kind.Object] = append(wanted[kind.Object], id)
			}
		}
	}
	found := map[string]any{}
	for kind, ids := range wanted {
		objects, err := kinds[kind].Load(ctx, x.db, x.viewer, ids)
		if err != nil {
			return err
		}
		for _, object := range objects {
			t, err := Tree(object)
			if err != nil {
				return err
			}
			found[fmt.Sprint(t["id"])] = object
		}
	}
	maps.Copy(found, x.fresh)
	for _, p := range level {
		id, isID := p.field().(string)
		if !isID || found[id] == nil {
			continue
		}
		// Each place gets its own tree: a card's customer would be inside itself.
		object, err := Tree(found[id])
		if err != nil {
			return err
		}
		p.object[p.names[0]] = object
	}
	return nil
}

// target is the kind of object that a field's id names. Of several kinds that the
// field can hold, the id's prefix decides; the ids of products have none.
func (p place) target(id string) (Kind, bool) {
	to := p.kind.Fields[p.names[0]]
	prefix, _, _ := strings.Cut(id, "_")
	for _, name := range to {
		if kind := kinds[name]; kind.Load != nil && (len(to) == 1 || kind.Prefix == prefix) {
			return kind, true
		}
	}
	return Kind{}, false
}

// Tree is an object as maps and lists. Numbers keep their digits.
func Tree(object any) (wire.Object, error) {
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", object, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var t wire.Object
	if err := decoder.Decode(&t); err != nil {
		return nil, fmt.Errorf("decode %T: %w", object, err)
	}
	return t, nil
}

// ListInside reads the first page of what belongs to each parent, with one query: sql
// reads rows and their parent's id for all @parents.
func ListInside[Row any, R wired[Row]](ctx context.Context, db phase.Reader, sql string, v Principal, parents []string,
	parent func(R) string, url func(parent string) string,
) (map[string]ListObject, error) {
	args := v.Args()
	args["parents"], args["limit"] = parents, FirstPage+1
	rows, err := queryAll[Row](ctx, db, sql, args)
	if err != nil {
		return nil, fmt.Errorf("list inside %s: %w", url("{id}"), err)
	}
	lists := map[string]ListObject{}
	for _, id := range parents {
		lists[id] = ListObject{Object: "list", Data: []any{}, URL: url(id)}
	}
	for _, row := range rows {
		id := parent(R(row))
		list := lists[id]
		if len(list.Data) == FirstPage {
			list.HasMore = true
		} else {
			list.Data = append(list.Data, R(row).Render())
		}
		lists[id] = list
	}
	return lists, nil
}

// FirstPage is how many items a list inside another object shows.
const FirstPage = 10

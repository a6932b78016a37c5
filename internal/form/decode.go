package form

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/apierror"
)

// Decode fills a struct from values. The struct says what the operation accepts:
//
//	type CreateChargeParams struct {
//		Amount      int64         `form:"amount,required" min:"1"`
//		Description *string       `form:"description,unset" max:"40000"`
//		Reason      string        `form:"reason" enum:"duplicate,fraudulent"`
//		Shipping    *Shipping     `form:"shipping,unset"`
//		Metadata    form.Metadata `form:"metadata"`
//		ListParams                // embedded: its names are taken as our own
//	}
//
// A field may be a string, an int or int64, a bool, a struct with its own tags,
// a slice of any of these, a pointer to any of these (nil: not sent), one of this
// package's types, or anything that unmarshals text. A field without a form tag is
// none of the caller's business.
//
//   - required: it has to be sent.
//   - unset: it may be sent empty, to take a value away. A *string is then "", a
//     pointer to a struct points to a zero one; nil still means not sent. Without
//     it an empty value is an error. A list may always be sent empty.
//   - min, max: bounds of an integer. For a string, max counts characters; for a
//     list, items, of which there are never more than MaxItems.
//   - enum: the strings allowed, or of a list of strings those allowed in it.
//
// The first complaint is about unknown names, then about what is missing,
// then about values, each in the order sent or declared. It is an *apierror.Error
// with status 400. Any other error means that the struct can not be decoded into,
// for any input. After an error the struct's content is undefined.
//
// Decode changes one thing in values: the booleans True and False become true and
// false, for Canonical.
//
// A decoded struct survives encoding/json and back unchanged, unless a type that
// unmarshals text has its own reasons not to.
func Decode(values Values, into any) error { return DecodeOf(values, into, nil) }

// DecodeOf is Decode for an operation that Stripe has with more parameters than the
// struct. unsupported says of a name, card[networks], whether it is one of them: a
// client that uses it learns that it is missing here, not that it made a mistake.
func DecodeOf(values Values, into any, unsupported func(name string) bool) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() || target.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("form: decode into %T: want a pointer to a struct", into)
	}
	plan, err := planFor(target.Type().Elem())
	if err != nil {
		return fmt.Errorf("form: decode into %T: %w", into, err)
	}
	var d decoder
	d.path = d.room[:0]
	d.hash(plan, &values.root, target.Elem())
	if fault := d.fault(unsupported); fault != nil {
		return fault
	}
	return nil
}

// decoder walks the tree once and notes the first fault of each sort: which one
// is reported is known only at the end.
type decoder struct {
	path    []string // names from the root to the value at hand
	room    [MaxDepth + 2]string
	unknown []string
	missing *apierror.Error
	invalid *apierror.Error
}

func (d *decoder) fault(unsupported func(name string) bool) *apierror.Error {
	switch {
	case len(d.unknown) > 0:
		return d.unknownOr(unsupported)
	case d.missing != nil:
		return d.missing
	default:
		return d.invalid
	}
}

func (d *decoder) enter(name string) { d.path = append(d.path, name) }
func (d *decoder) leave()            { d.path = d.path[:len(d.path)-1] }

// at is the name of the value at hand as the caller wrote it: card[exp_month].
func (d *decoder) at() string {
	var out strings.Builder
	for i, name := range d.path {
		if i == 0 {
			out.WriteString(name)
			continue
		}
		out.WriteString("[" + name + "]")
	}
	return out.String()
}

// refuse notes a fault of the value at hand.
func (d *decoder) refuse(fault *apierror.Error) {
	if d.invalid == nil {
		d.invalid = fault
	}
}

// invalidf notes a fault without a code. Arguments that are input go through Quote first.
func (d *decoder) invalidf(format string, args ...any) {
	if d.invalid == nil {
		d.invalid = apierror.Invalid(Quote(d.at()), format, args...)
	}
}

// refuseEmpty is for what can not be unset.
func (d *decoder) refuseEmpty() {
	if d.invalid == nil {
		d.invalid = cannotUnset(Quote(d.at()))
	}
}

func cannotUnset(name string) *apierror.Error {
	return apierror.Invalid(name,
		"You passed an empty string for '%s'. We assume empty values are an attempt to unset a parameter; "+
			"however '%s' cannot be unset. You should remove '%s' from your request or supply a non-empty value.",
		name, name, name).
		WithCode("parameter_invalid_empty")
}

const (
	maxUnknown   = 32 // unknown names are gathered
	shownUnknown = 8  // and as many are in the message
)

func (d *decoder) refuseName(name string) {
	if len(d.unknown) == maxUnknown {
		return
	}
	d.enter(name)
	d.unknown = append(d.unknown, d.at())
	d.leave()
}

// unknownOr is the fault of names that the struct lacks. A name that Stripe does not
// have either is a mistake in the request, so it is reported first.
func (d *decoder) unknownOr(unsupported func(name string) bool) *apierror.Error {
	if unsupported == nil {
		return unknown(d.unknown)
	}
	if mistakes := slices.DeleteFunc(slices.Clone(d.unknown), unsupported); len(mistakes) > 0 {
		return unknown(mistakes)
	}
	return refuseNames("This installation does not support the %s of Stripe's API: %s", d.unknown)
}

// unknown is the 400 for names that the operation does not have.
func unknown(names []string) *apierror.Error { return refuseNames("Received unknown %s: %s", names) }

func refuseNames(message string, names []string) *apierror.Error {
	what := "parameter"
	if len(names) > 1 {
		what = "parameters"
	}
	var shown []string
	for _, name := range names[:min(len(names), shownUnknown)] {
		shown = append(shown, Quote(name))
	}
	if len(names) > len(shown) {
		shown = append(shown, "…")
	}
	return apierror.Invalid(shown[0], message, what, strings.Join(shown, ", ")).WithCode("parameter_unknown")
}

// hash fills a struct. A member that no field has is an unknown name.
func (d *decoder) hash(p *plan, h *hash, into reflect.Value) {
	for _, m := range h.members {
		f := p.byName[m.name]
		if f == nil {
			d.refuseName(m.name)
			continue
		}
		d.enter(m.name)
		f.set(d, f, m.value, into.FieldByIndex(f.index))
		d.leave()
	}
	for _, f := range p.required {
		if d.missing == nil && h.find(f.name) == nil {
			d.enter(f.name)
			d.missing = apierror.Missing(d.at())
			d.leave()
		}
	}
	for _, f := range p.defaults {
		if h.find(f.name) == nil {
			into.FieldByIndex(f.index).Addr().Interface().(defaulter).setDefault()
		}
	}
}

// structFrom fills a struct that is a field.
func structFrom(p *plan) setter {
	return func(d *decoder, f *field, n *node, into reflect.Value) {
		switch {
		case n.kind == hashKind:
			d.hash(p, &n.hash, into)
		case n.kind == text && n.text == "":
			if !f.unset {
				d.refuseEmpty()
			}
		default:
			d.invalidf("Invalid object")
		}
	}
}

// pointerTo fills what a pointer points to, and so tells "sent" from "not sent".
func pointerTo(inner setter) setter {
	return func(d *decoder, f *field, n *node, into reflect.Value) {
		into.Set(reflect.New(into.Type().Elem()))
		inner(d, f, n, into.Elem())
	}
}

// listOf fills a slice, from items in the order they came or by their indexes.
func listOf(inner setter) setter {
	return func(d *decoder, f *field, n *node, into reflect.Value) {
		items, ok := d.items(n, f.maxItems())
		if !ok {
			return
		}
		list := reflect.MakeSlice(into.Type(), len(items), len(items))
		for i, item := range items {
			d.enter(item.name)
			inner(d, f.item, item.value, list.Index(i))
			d.leave()
		}
		into.Set(list)
	}
}

// items is what a list holds, each under the index it is called by in messages.
// Indexes only order: a gap closes, and no index costs memory.
func (d *decoder) items(n *node, atMost int) ([]member, bool) {
	var items []member
	switch {
	case n.kind == text && n.text != "":
		d.invalidf("Invalid array")
		return nil, false
	case n.kind == listKind:
		for i, item := range n.items {
			items = append(items, member{strconv.Itoa(i), item})
		}
	case n.kind == hashKind:
		items = slices.Clone(n.hash.members)
		for _, item := range items {
			if !isIndex(item.name) {
				d.invalidf("Invalid array")
				return nil, false
			}
		}
		slices.SortFunc(items, func(a, b member) int {
			if byLength := len(a.name) - len(b.name); byLength != 0 {
				return byLength
			}
			return strings.Compare(a.name, b.name)
		})
	}
	if len(items) > atMost {
		d.invalidf("Invalid array: a list can have at most %d items", atMost)
		return nil, false
	}
	return items, true
}

// isIndex tells whether a name is a whole number below MaxItems, written the one way there is.
func isIndex(name string) bool {
	i, err := strconv.Atoi(name)
	return err == nil && 0 <= i && i < MaxItems && strconv.Itoa(i) == name
}

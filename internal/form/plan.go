package form

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// plan is what a struct's tags say, read once per type.
type plan struct {
	byName   map[string]*field
	required []*field
	defaults []*field // their types have a value for "not sent"
}

type field struct {
	name   string
	index  []int // through embedded structs, as reflect.Value.FieldByIndex takes it
	set    setter
	unset  bool
	enum   []string
	min    int64
	max    int64
	hasMin bool
	hasMax bool
	// item is the field as each item of a list sees it: unset and the bounds speak
	// of the list, not of what is in it.
	item *field
}

// setter puts the value at hand into a field, or notes with the decoder why not.
type setter func(d *decoder, f *field, n *node, into reflect.Value)

// selfDecoder is a type of this package that reads itself from a node of any kind.
type selfDecoder interface {
	decodeForm(d *decoder, f *field, n *node)
}

// defaulter is a type of this package that is not zero when it is not sent.
type defaulter interface{ setDefault() }

var (
	selfDecoderType     = reflect.TypeFor[selfDecoder]()
	defaulterType       = reflect.TypeFor[defaulter]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

var plans sync.Map // reflect.Type → *plan

func planFor(t reflect.Type) (*plan, error) {
	if known, ok := plans.Load(t); ok {
		return known.(*plan), nil
	}
	p := &plan{byName: map[string]*field{}}
	err := p.addFields(t, nil)
	if err != nil {
		return nil, err
	}
	plans.Store(t, p)
	return p, nil
}

func (p *plan) addFields(t reflect.Type, prefix []int) error {
	for sf := range t.Fields() {
		tag, tagged := sf.Tag.Lookup("form")
		index := append(slices.Clone(prefix), sf.Index...)
		if sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Struct {
			err := p.addFields(sf.Type, index)
			if err != nil {
				return err
			}
			continue
		}
		if !tagged || tag == "-" {
			continue
		}
		err := p.addField(sf, tag, index)
		if err != nil {
			return fmt.Errorf("field %s.%s: %w", t, sf.Name, err)
		}
	}
	return nil
}

func (p *plan) addField(sf reflect.StructField, tag string, index []int) error {
	if !sf.IsExported() {
		return fmt.Errorf("has a form tag but is not exported")
	}
	name, options, _ := strings.Cut(tag, ",")
	if name == "" || p.byName[name] != nil {
		return fmt.Errorf("name %q is empty or taken", name)
	}
	f := &field{name: name, index: index}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
		case "required":
			p.required = append(p.required, f)
		case "unset":
			f.unset = true
		default:
			return fmt.Errorf("unknown option %q", option)
		}
	}
	err := f.readBounds(sf.Tag)
	if err != nil {
		return err
	}
	f.item = &field{enum: f.enum}
	f.set, err = setterFor(sf.Type)
	if err != nil {
		return err
	}
	if f.unset && !unsettable(sf.Type) {
		return fmt.Errorf("a %s has no value for unset", sf.Type)
	}
	if reflect.PointerTo(sf.Type).Implements(defaulterType) {
		p.defaults = append(p.defaults, f)
	}
	p.byName[name] = f
	return nil
}

func (f *field) readBounds(tag reflect.StructTag) (err error) {
	least, ok := tag.Lookup("min")
	if ok {
		f.hasMin = true
		f.min, err = strconv.ParseInt(least, 10, 64)
		if err != nil {
			return fmt.Errorf("min: %w", err)
		}
	}
	most, ok := tag.Lookup("max")
	if ok {
		f.hasMax = true
		f.max, err = strconv.ParseInt(most, 10, 64)
		if err != nil {
			return fmt.Errorf("max: %w", err)
		}
	}
	allowed, ok := tag.Lookup("enum")
	if ok {
		f.enum = strings.Split(allowed, ",")
	}
	return nil
}

// maxItems is the bound of a list.
func (f *field) maxItems() int {
	if f.hasMax && f.max < MaxItems {
		return int(f.max)
	}
	return MaxItems
}

func setterFor(t reflect.Type) (setter, error) {
	switch self := reflect.PointerTo(t); {
	case self.Implements(selfDecoderType):
		return setSelf, nil
	case self.Implements(textUnmarshalerType):
		return setText, nil
	}
	switch t.Kind() {
	case reflect.String:
		return setString, nil
	case reflect.Bool:
		return setBool, nil
	case reflect.Int, reflect.Int64:
		return setInteger, nil
	case reflect.Struct:
		inner, err := planFor(t)
		if err != nil {
			return nil, err
		}
		return structFrom(inner), nil
	case reflect.Pointer:
		inner, err := setterFor(t.Elem())
		if err != nil {
			return nil, err
		}
		return pointerTo(inner), nil
	case reflect.Slice:
		inner, err := setterFor(t.Elem())
		if err != nil {
			return nil, err
		}
		return listOf(inner), nil
	default:
		return nil, fmt.Errorf("a %s cannot be read from a form", t)
	}
}

func setSelf(d *decoder, f *field, n *node, into reflect.Value) {
	into.Addr().Interface().(selfDecoder).decodeForm(d, f, n)
}

// unsettable tells whether a type can say "was emptied". A number can not: zero is a number.
func unsettable(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.String || t.Kind() == reflect.Struct || t.Kind() == reflect.Slice
}

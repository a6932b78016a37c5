package form

import (
	"reflect"
	"time"
)

// Created filters a list by time: created=1700000000, or created[gte]=… and its
// like. All are Unix seconds, as Stripe shows them, from 1970 to the end of the
// year 9999: what lies outside no object has, and Postgres would fail on it.
type Created struct {
	Equal *int64 `json:"equal,omitempty"`
	GT    *int64 `json:"gt,omitempty" form:"gt" min:"0" max:"253402300799"`
	GTE   *int64 `json:"gte,omitempty" form:"gte" min:"0" max:"253402300799"`
	LT    *int64 `json:"lt,omitempty" form:"lt" min:"0" max:"253402300799"`
	LTE   *int64 `json:"lte,omitempty" form:"lte" min:"0" max:"253402300799"`
}

var createdRange = &field{hasMin: true, hasMax: true, max: 253402300799}

func (c *Created) decodeForm(d *decoder, _ *field, n *node) {
	if n.kind != hashKind {
		c.Equal = new(int64)
		setInteger(d, createdRange, n, reflect.ValueOf(c.Equal).Elem())
		return
	}
	bounds, err := planFor(reflect.TypeFor[Created]())
	if err != nil {
		panic(err) // the tags above are at fault, for any input
	}
	d.hash(bounds, &n.hash, reflect.ValueOf(c).Elem())
}

// Between is the same filter as one interval: at or after from, and before to. A
// nil bound is open. Objects are made between whole seconds but show only whole
// ones, so created=5 is from 5 to 6, and created[gt]=5 is from 6.
func (c Created) Between() (from, to *time.Time) {
	for _, s := range []*int64{c.Equal, c.GTE, next(c.GT)} {
		if s != nil && (from == nil || *s > from.Unix()) {
			from = at(*s)
		}
	}
	for _, s := range []*int64{next(c.Equal), c.LT, next(c.LTE)} {
		if s != nil && (to == nil || *s < to.Unix()) {
			to = at(*s)
		}
	}
	return from, to
}

func next(second *int64) *int64 {
	if second == nil {
		return nil
	}
	after := *second + 1
	return &after
}

func at(second int64) *time.Time {
	t := time.Unix(second, 0).UTC()
	return &t
}

package form

import "reflect"

// Limit is how many objects a page of a list may have: 1 to 100, and 10 when the
// caller does not say. Only Decode fills in the 10.
type Limit int64

const defaultLimit = 10

var limitRange = &field{min: 1, hasMin: true, max: 100, hasMax: true}

func (l *Limit) setDefault() { *l = defaultLimit }

func (l *Limit) decodeForm(d *decoder, _ *field, n *node) {
	setInteger(d, limitRange, n, reflect.ValueOf(l).Elem())
}

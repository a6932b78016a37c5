package form

import "reflect"

// Limit is how many objects a page of a list may have: 1 to 100, and 10 when the
// caller does not say. Like Stripe, Decode takes any integer and cuts it to these
// bounds. Only Decode fills in the 10.
type Limit int64

const (
	minLimit     = 1
	maxLimit     = 100
	defaultLimit = 10
)

func (l *Limit) setDefault() { *l = defaultLimit }

func (l *Limit) decodeForm(d *decoder, _ *field, n *node) {
	setInteger(d, &field{}, n, reflect.ValueOf(l).Elem())
	*l = min(max(*l, minLimit), maxLimit)
}

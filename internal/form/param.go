package form

import "slices"

// Param is a parameter under its full name, as a page shows it: metadata[order], 6001.
type Param struct{ Name, Value string }

// Hidden is what Shown has in place of a secret.
const Hidden = "[hidden]"

// secretNames are the innermost names of parameters whose values no page shows.
var secretNames = []string{"number", "cvc", "client_secret", "account_number", "id_number", "secret", "password"}

// Shown are the values as a page may show them, in the order they came, at most so many: each is quoted, and card data
// and secrets are hidden.
func (v Values) Shown(most int) []Param {
	var all []Param
	for _, m := range v.root.members {
		all = m.value.shown(all, m.name, Quote(m.name), most)
	}
	return all
}

func (n *node) shown(all []Param, name, full string, most int) []Param {
	switch {
	case len(all) >= most:
	case n.kind == hashKind:
		for _, m := range n.hash.members {
			all = m.value.shown(all, m.name, full+"["+Quote(m.name)+"]", most)
		}
	case n.kind == listKind:
		for _, item := range n.items {
			all = item.shown(all, name, full+"[]", most)
		}
	case slices.Contains(secretNames, name):
		all = append(all, Param{full, Hidden})
	default:
		all = append(all, Param{full, Quote(n.text)})
	}
	return all
}

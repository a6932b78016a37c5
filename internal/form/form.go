// Package form reads the parameters of a request the way Stripe does.
//
// Clients send hashes and lists as flat pairs, card[exp_month]=12&expand[]=customer,
// and the server is strict: an unknown name, an empty value or "10.5" for an
// integer is an error with a name on it, not something to be guessed at. It
// happens in two steps:
//
//	bytes ──Parse──▶ Values (a tree) ──Decode──▶ a struct with form tags
//	                                     │
//	                                     └──Canonical──▶ bytes to fingerprint the request by
//
// Parse knows the encoding and no names; Decode knows the names and kinds of one
// operation. Every complaint about input is an *apierror.Error with a status of
// 400; any other error is a mistake in our own struct. Both take time linear in
// the size of the input, for any input.
package form

import (
	"fmt"
	"io"
	"slices"
)

// Values is what a client sent: a hash whose members are texts, lists and hashes.
//
// It may hold a card number, so it does not print, log or marshal its contents.
// The zero value is a request without parameters.
type Values struct{ root hash }

// Len is the number of top-level names.
func (v Values) Len() int { return len(v.root.members) }

// Has tells whether a name was sent, in any form. A name inside of a hash is
// given as its path: Has("card", "exp_month").
func (v Values) Has(path ...string) bool { return v.root.at(path) != nil }

// Text is the text that was sent under a name, and whether one was.
func (v Values) Text(path ...string) (string, bool) {
	n := v.root.at(path)
	if n == nil || n.kind != text {
		return "", false
	}
	return n.text, true
}

// With returns values in which a name has another text; v stays as it is. If a hash on
// the way was not sent, it is created. If something else was sent in its place, it stays
// for Decode to reject.
func (v Values) With(value string, path ...string) Values {
	return Values{root: v.root.with(value, path)}
}

// Without returns values that lack a name; v stays as it is. A name inside of a hash is
// given as its path.
func (v Values) Without(path ...string) Values { return Values{root: v.root.without(path)} }

// Format keeps the contents out of messages and logs, for every verb.
func (v Values) Format(f fmt.State, _ rune) {
	io.WriteString(f, "[form values]") //nolint:errcheck // fmt keeps the state of f
}

// kind is the shape of a node, as the brackets in its name made it.
type kind uint8

const (
	text     kind = iota // a=x
	listKind             // a[]=x
	hashKind             // a[b]=x, and a[0]=x: whether 0 is an index or a metadata key, only Decode knows
)

// node is one value of the tree. Only the part for its kind is filled.
type node struct {
	kind  kind
	text  string
	items []*node
	hash  hash
}

// hash keeps its members in the order they came, so that of two faults the
// first one sent is the one named.
type hash struct {
	members []member
	// index finds a member of a large hash. Small ones, which is nearly all of
	// them, are faster to look through; without it a thousand names take a
	// million comparisons.
	index map[string]*node
}

type member struct {
	name  string
	value *node
}

// smallHash is how many members are looked through before an index pays.
const smallHash = 12

func (h *hash) find(name string) *node {
	if h.index != nil {
		return h.index[name]
	}
	i := slices.IndexFunc(h.members, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return h.members[i].value
}

// at is the node at the end of a path, or nil.
func (h *hash) at(path []string) *node {
	n := h.find(path[0])
	if n == nil || len(path) == 1 {
		return n
	}
	return n.hash.at(path[1:])
}

func (h *hash) with(value string, path []string) (changed hash) {
	for _, m := range h.members {
		if m.name != path[0] {
			changed.add(m.name, m.value)
		}
	}
	now := &node{kind: text, text: value}
	if len(path) > 1 {
		now = &node{kind: hashKind}
		before := h.find(path[0])
		if before == nil {
			before = now
		}
		if before.kind != hashKind {
			changed.add(path[0], before)
			return changed
		}
		now.hash = before.hash.with(value, path[1:])
	}
	changed.add(path[0], now)
	return changed
}

func (h *hash) without(path []string) (changed hash) {
	for _, m := range h.members {
		switch {
		case m.name != path[0]:
			changed.add(m.name, m.value)
		case len(path) > 1 && m.value.kind == hashKind:
			changed.add(m.name, &node{kind: hashKind, hash: m.value.hash.without(path[1:])})
		case len(path) > 1:
			changed.add(m.name, m.value)
		}
	}
	return changed
}

func (h *hash) add(name string, value *node) {
	h.members = append(h.members, member{name, value})
	if h.index != nil {
		h.index[name] = value
		return
	}
	if len(h.members) <= smallHash {
		return
	}
	h.index = make(map[string]*node, 2*len(h.members))
	for _, m := range h.members {
		h.index[m.name] = m.value
	}
}

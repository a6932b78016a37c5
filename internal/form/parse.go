package form

import (
	"strings"
	"unicode/utf8"

	"github.com/ratchet-pay/ratchet/internal/apierror"
)

// What one request may hold, unless Limits say otherwise. Stripe publishes none
// of these; they are far above what its clients send and keep the cost of the
// worst request near that of a common one.
const (
	MaxPairs = 1000 // name=value pairs
	MaxDepth = 8    // bracket pairs in one name
	MaxItems = 100  // items of one list; also the first index that is too high
)

// Limits are what one request may hold.
type Limits struct{ Pairs, Depth int }

// Check returns why a parameter is not accepted, or nil.
type Check func(name, value string) *apierror.Error

// DefaultLimits are the limits of Parse: MaxPairs parameters, nested at most MaxDepth deep.
func DefaultLimits() Limits { return Limits{Pairs: MaxPairs, Depth: MaxDepth} }

// Parse calls Limits.Parse with DefaultLimits.
func Parse(raw string) (Values, error) { return DefaultLimits().Parse(raw) }

// Parse reads application/x-www-form-urlencoded bytes: a body, a query string,
// or both joined by "&". It is stricter than browsers' servers are: a value sent
// twice is refused, because money is never "the last one wins".
//
// The brackets of a name may be escaped or not. Items named with [] keep the
// order they came in; a hash in such a list is complete when one of its names
// comes again, as in a[][x]=1&a[][y]=2&a[][x]=3, which is two hashes.
//
// The error is always an *apierror.Error with status 400.
func (l Limits) Parse(raw string) (Values, error) {
	return l.ParseChecked(raw, func(string, string) *apierror.Error { return nil })
}

// ParseChecked is Parse with a check of each parameter, whose error it returns.
func (l Limits) ParseChecked(raw string, check Check) (Values, error) {
	p := parser{limits: l, check: check}
	for rest := raw; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		if pair == "" {
			continue
		}
		if err := p.pair(pair); err != nil {
			return Values{}, err
		}
	}
	return Values{root: p.root}, nil
}

type parser struct {
	limits Limits
	check  Check
	root   hash
	pairs  int
}

func (p *parser) pair(pair string) *apierror.Error {
	if p.pairs++; p.pairs > p.limits.Pairs {
		return apierror.Invalid("", "Received too many parameters: a request may have at most %d.", p.limits.Pairs)
	}
	rawName, rawValue, _ := strings.Cut(pair, "=")
	name, err := unescape(rawName)
	if err != nil {
		return err
	}
	value, err := unescape(rawValue)
	if err != nil {
		return err.WithParam(Quote(name))
	}
	if !storable(name) || !storable(value) {
		return apierror.Invalid(Quote(name),
			"Invalid characters: text must be UTF-8 and must not contain the NUL character.").
			WithCode("invalid_characters")
	}
	if err := p.check(name, value); err != nil {
		return err
	}
	var room [MaxDepth + 1]string
	steps, err := split(name, room[:0], p.limits.Depth)
	if err != nil {
		return err
	}
	if fault := put(&p.root, steps, value); fault != "" {
		return apierror.Invalid(Quote(name), "%s", fault)
	}
	return nil
}

// unescape undoes percent-encoding and "+". A semicolon is refused because some
// servers take it for "&": a client that sends one plain may mean either.
func unescape(raw string) (string, *apierror.Error) {
	if !strings.ContainsAny(raw, "%+;") {
		return raw, nil
	}
	var out strings.Builder
	out.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '+':
			out.WriteByte(' ')
		case ';':
			return "", apierror.Invalid("", "Invalid request: a semicolon in a name or value has to be sent as %%3B.")
		case '%':
			if i+2 >= len(raw) || !isHex(raw[i+1]) || !isHex(raw[i+2]) {
				return "", apierror.Invalid("", "Invalid percent-encoding: %s", Quote(raw[i:min(i+3, len(raw))]))
			}
			out.WriteByte(fromHex(raw[i+1])<<4 | fromHex(raw[i+2]))
			i += 2
		default:
			out.WriteByte(raw[i])
		}
	}
	return out.String(), nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func fromHex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}

// storable tells whether Postgres takes the text: it has no way to hold a NUL.
func storable(s string) bool {
	return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s)
}

// split takes card[exp_month] apart into card and exp_month, appended to steps.
// The step for [] is "". A name with unbalanced brackets matches no parameter.
func split(name string, steps []string, deepest int) ([]string, *apierror.Error) {
	base, rest := name, ""
	if open := strings.IndexByte(name, '['); open >= 0 {
		base, rest = name[:open], name[open:]
	}
	if base == "" || strings.IndexByte(base, ']') >= 0 {
		return nil, unknown([]string{name})
	}
	steps = append(steps, base)
	for rest != "" {
		closing := strings.IndexByte(rest, ']')
		if rest[0] != '[' || closing < 0 || strings.IndexByte(rest[1:closing], '[') >= 0 {
			return nil, unknown([]string{name})
		}
		if len(steps) > deepest {
			return nil,
				apierror.Invalid(Quote(base), "Invalid request: parameters can be nested at most %d levels deep.",
					deepest)
		}
		steps = append(steps, rest[1:closing])
		rest = rest[closing+1:]
	}
	return steps, nil
}

// put stores a value under the remaining steps of its name. What it returns is
// the message for a name that does not fit what came before, or "".
func put(h *hash, steps []string, value string) (fault string) {
	name, rest := steps[0], steps[1:]
	want := kindOf(rest)
	child := h.find(name)
	switch {
	case child == nil:
		child = &node{kind: want}
		h.add(name, child)
	case child.kind != want:
		return misfit(child.kind, want)
	case want == text:
		return "Received the same parameter more than once."
	}
	switch want {
	case listKind:
		return push(child, rest[1:], value)
	case hashKind:
		return put(&child.hash, rest, value)
	default:
		child.text = value
		return ""
	}
}

// push appends to a list, or adds to the hash at its end while that still lacks the name.
func push(list *node, steps []string, value string) (fault string) {
	want := kindOf(steps)
	if want == listKind {
		return "Invalid array" // a[][]=x: no parameter is a list of lists
	}
	if want == hashKind && len(list.items) > 0 {
		last := list.items[len(list.items)-1]
		if last.kind == hashKind && !last.contains(steps) {
			return put(&last.hash, steps, value)
		}
	}
	if len(list.items) == MaxItems {
		return "Invalid array: a list can have at most 100 items"
	}
	item := &node{kind: want, text: value}
	list.items = append(list.items, item)
	if want == text {
		return ""
	}
	item.text = ""
	return put(&item.hash, steps, value)
}

// contains tells whether something was already stored under exactly these steps.
// A name that ends in a list never counts as stored: lists take more.
func (n *node) contains(steps []string) bool {
	for _, step := range steps {
		if n == nil || step == "" || n.kind != hashKind {
			return false
		}
		n = n.hash.find(step)
	}
	return n != nil
}

// kindOf is the kind of value that the remaining steps of a name speak of.
func kindOf(steps []string) kind {
	switch {
	case len(steps) == 0:
		return text
	case steps[0] == "":
		return listKind
	default:
		return hashKind
	}
}

// misfit is the message for one name used as two kinds, the same in either order.
func misfit(a, b kind) string {
	if a == listKind || b == listKind {
		return "Invalid array"
	}
	return "Invalid hash"
}

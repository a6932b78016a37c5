package form

import (
	"slices"
	"strconv"
	"strings"
)

// Canonical encodes values so that two requests have the same bytes exactly when
// they say the same: the order of names does not matter, the order of a list does.
// It may contain a card number. Hash it at once, with a key, and let it go.
//
// Decode has to run first: it writes every boolean in lower case, so True and true
// are the same request. As plain text, in a description or a metadata value, they
// stay different ones.
//
// This is encoding 1, and its first byte says so. A fingerprint is compared with
// ones made years ago, so the encoding never changes; another one gets another
// number. The rest is one value:
//
//	text  t<bytes>:<the text>
//	list  l<items>:<each value, in order>
//	hash  h<members>:<each name as a text, then its value, by name in byte order>
//
// with counts in decimal ASCII. Every length precedes what it measures, so
// no content can be taken for structure, and an auditor can write a reader for it
// in an afternoon. a=1&b[c]=x is "1h2:t1:at1:1t1:bh1:t1:ct1:x".
func Canonical(values Values) []byte {
	out := make([]byte, 0, 256)
	out = append(out, '1')
	return appendHash(out, &values.root)
}

func appendNode(out []byte, n *node) []byte {
	switch n.kind {
	case hashKind:
		return appendHash(out, &n.hash)
	case listKind:
		out = appendCount(out, 'l', len(n.items))
		for _, item := range n.items {
			out = appendNode(out, item)
		}
		return out
	default:
		return appendText(out, n.text)
	}
}

func appendHash(out []byte, h *hash) []byte {
	sorted := slices.Clone(h.members)
	slices.SortFunc(sorted, func(a, b member) int { return strings.Compare(a.name, b.name) })
	out = appendCount(out, 'h', len(sorted))
	for _, m := range sorted {
		out = appendText(out, m.name)
		out = appendNode(out, m.value)
	}
	return out
}

func appendText(out []byte, s string) []byte {
	return append(appendCount(out, 't', len(s)), s...)
}

func appendCount(out []byte, tag byte, count int) []byte {
	out = strconv.AppendInt(append(out, tag), int64(count), 10)
	return append(out, ':')
}

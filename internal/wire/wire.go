// Package wire encodes an API object: as JSON indented by two spaces, with a space after each
// colon and a final line break.
//
// Stripe sends its answers and its webhooks so. People read them in a terminal,
// and shell scripts look for a line such as `"id": "cus_…"`. The signature of a
// webhook and the replay of a stored answer are over these bytes, so an answer
// is encoded once, before it is stored, and sent as it was stored.
package wire

import (
	"bytes"
	"encoding/json"
)

// Object is an object that was decoded from JSON, by the names of its fields.
type Object = map[string]any

// Encode returns an object as Stripe sends it: JSON, indented by two spaces, with a line break at its end.
func Encode(object any) ([]byte, error) {
	compact, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return append(indent(compact), '\n'), nil
}

// indent does what json.Indent does, to what json.Marshal has just written: that
// needs no checking, and checking it takes ten times as long.
func indent(compact []byte) []byte {
	out := make([]byte, 0, len(compact)+len(compact)/2)
	depth := 0
	for i := 0; i < len(compact); i++ {
		switch c := compact[i]; c {
		case '"':
			end := i + 1 + textLength(compact[i+1:])
			out = append(out, compact[i:end+1]...)
			i = end
		case '{', '[':
			out = append(out, c)
			if next := compact[i+1]; next == '}' || next == ']' {
				out = append(out, next)
				i++
				continue
			}
			depth++
			out = newLine(out, depth)
		case '}', ']':
			depth--
			out = append(newLine(out, depth), c)
		case ',':
			out = newLine(append(out, c), depth)
		case ':':
			out = append(out, c, ' ')
		default:
			out = append(out, c)
		}
	}
	return out
}

// textLength is how many bytes there are before the quotation mark that ends a text.
func textLength(rest []byte) int {
	length := 0
	for {
		at := bytes.IndexByte(rest[length:], '"')
		length += at
		escapes := 0
		for length-1-escapes >= 0 && rest[length-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return length
		}
		length++
	}
}

// newLine begins a line with two spaces for each level.
func newLine(out []byte, depth int) []byte {
	out = append(out, '\n')
	for range depth {
		out = append(out, "  "...)
	}
	return out
}

package form

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/ratchet-pay/ratchet/internal/apierror"
)

// Bounds of metadata, in characters and keys, as Stripe documents them.
const (
	maxMetadataKeys  = 50
	maxMetadataKey   = 40
	maxMetadataValue = 500
)

// Metadata is what a request wants done to an object's metadata. The zero value
// leaves it as it is.
//
//	metadata[k]=v  sets k
//	metadata[k]=   removes k
//	metadata=      removes everything, of what is there already
type Metadata struct {
	Clear bool              `json:"clear,omitempty"`
	Set   map[string]string `json:"set,omitempty"`
	Unset []string          `json:"unset,omitempty"`
}

// Apply returns what an object's metadata becomes: never nil, and never the map
// given. The error is the caller's, for more keys than an object may have.
func (m Metadata) Apply(old map[string]string) (map[string]string, error) {
	merged := make(map[string]string, len(old)+len(m.Set))
	if !m.Clear {
		maps.Copy(merged, old)
	}
	for _, key := range m.Unset {
		delete(merged, key)
	}
	maps.Copy(merged, m.Set)
	if len(merged) > maxMetadataKeys {
		return nil, tooManyKeys(len(merged))
	}
	return merged, nil
}

// New returns the metadata of something that is being made and from which, at
// Stripe, nothing can be taken away: metadata= is refused.
func (m Metadata) New() (map[string]string, error) {
	if m.Clear {
		return nil, cannotUnset("metadata")
	}
	return m.Apply(nil)
}

func tooManyKeys(count int) *apierror.Error {
	return apierror.Invalid("metadata", "You can have up to %d metadata keys per object, but this request makes it %d.",
		maxMetadataKeys, count)
}

func (m *Metadata) decodeForm(d *decoder, _ *field, n *node) {
	switch {
	case n.kind == hashKind:
		m.decodeKeys(d, &n.hash)
	case n.kind == text && n.text == "":
		m.Clear = true
	default:
		d.invalidf("Invalid object")
	}
}

// Square brackets in a key need no check: a name that has them does not parse.
func (m *Metadata) decodeKeys(d *decoder, h *hash) {
	m.Set = make(map[string]string, len(h.members))
	for _, pair := range h.members {
		key, value := pair.name, pair.value.text
		if n := utf8.RuneCountInString(key); n > maxMetadataKey {
			d.invalidf("Metadata keys can have up to %d characters, but you passed in a key that is %d characters. "+
				"Invalid key: %s",
				maxMetadataKey, n, Quote(key))
			return
		}
		if pair.value.kind != text {
			d.enter(key)
			d.invalidf("Invalid string: {…}")
			d.leave()
			return
		}
		if n := utf8.RuneCountInString(value); n > maxMetadataValue {
			d.invalidf("Metadata values can have up to %d characters, but you passed in a value that is %d "+
				"characters. Invalid value: %s",
				maxMetadataValue, n, Quote(value))
			return
		}
		if value == "" {
			m.Unset = append(m.Unset, key)
			continue
		}
		m.Set[key] = value
	}
	slices.Sort(m.Unset)
	if len(m.Set) == 0 {
		m.Set = nil
	}
	if len(m.Set) > maxMetadataKeys {
		d.refuse(tooManyKeys(len(m.Set)).WithParam(Quote(d.at())))
	}
}

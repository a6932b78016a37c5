package docsite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// object is what operations answer with: its fields, and one as an example.
type object struct {
	Name    string // of its schema
	ID      string // of its place on the page
	About   template.HTML
	Fields  []field
	Never   []string // fields of products that this installation does not have: always null, or left out
	Example string   // "" if the contract has none
}

// objectID is the place of a schema on its page.
func objectID(schema string) string { return "object-" + strings.ReplaceAll(schema, "_", "-") }

// field is a field of an object.
type field struct {
	Name, Type  string
	Nullable    bool
	Optional    bool // left out in some answers
	Description template.HTML
}

const (
	alwaysNull = "always_null"
	neverSent  = "never_sent"
)

// objectOf describes the schema of a name; nil for a list of objects, and for what a deletion
// answers, which has three fields.
func (c *contract) objectOf(name string) *object {
	s := c.Components.Schemas[name]
	if s == nil || len(s.Properties) == 0 || s.Properties["deleted"] != nil || s.Properties["data"] != nil &&
		name != "event" {
		return nil
	}
	o := &object{Name: name, ID: objectID(name), About: prose(s.Description)}
	for _, name := range sorted(s.Properties) {
		p := s.Properties[name]
		if ref := strings.TrimPrefix(p.Ref, schemasRef); ref == alwaysNull || ref == neverSent {
			o.Never = append(o.Never, name)
			continue
		}
		o.Fields = append(o.Fields, field{name, c.typeOf(p), c.schema(p).Nullable || p.Nullable,
			!slices.Contains(s.Required, name), prose(c.schema(p).Description)})
	}
	if !s.Example.IsZero() {
		o.Example = inJSON(&s.Example)
	}
	return o
}

// typeOf is what a value is: a type, the name of an object, or one of several.
func (c *contract) typeOf(s *schemaSpec) string {
	if name, named := strings.CutPrefix(s.Ref, schemasRef); named {
		if of := c.Components.Schemas[name]; of != nil && of.Type != "object" {
			return c.typeOf(of)
		}
		return name
	}
	var all []string
	for _, one := range s.AnyOf {
		if kind := c.typeOf(one); kind != "" && !slices.Contains(all, kind) {
			all = append(all, kind)
		}
	}
	switch {
	case len(all) > 0:
		return strings.Join(all, " or ")
	case s.Type == "array" && s.Items != nil:
		return "array of " + c.typeOf(s.Items)
	case len(s.Enum) > 0 && s.Type == "string":
		words := make([]string, 0, len(s.Enum))
		for _, word := range s.Enum {
			if word != nil {
				words = append(words, fmt.Sprint(word))
			}
		}
		return strings.Join(words, " | ")
	}
	return s.Type
}

// answerOf is the name of the schema that an operation answers with, "" for a list.
func (c *contract) answerOf(op *operationSpec) string {
	r := op.Responses["200"]
	if r == nil {
		return ""
	}
	if name, named := strings.CutPrefix(r.Ref, responsesRef); named {
		r = c.Components.Responses[name]
	}
	if r == nil {
		return ""
	}
	for _, media := range r.Content {
		if media.Schema != nil {
			return strings.TrimPrefix(media.Schema.Ref, schemasRef)
		}
	}
	return ""
}

// inJSON writes a value of the contract as the API sends it, with its keys in their order.
func inJSON(n *yaml.Node) string {
	var compact, out bytes.Buffer
	writeJSON(&compact, n)
	if json.Indent(&out, compact.Bytes(), "", "  ") != nil {
		return ""
	}
	return out.String()
}

// pairsOf are the keys of a mapping, each with its value behind it. A mapping that is merged into
// it comes first.
func pairsOf(n *yaml.Node) (pairs []*yaml.Node) {
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" && value.Kind == yaml.AliasNode {
			pairs = append(pairs, pairsOf(value.Alias)...)
			continue
		}
		pairs = append(pairs, key, value)
	}
	return pairs
}

func writeJSON(out *bytes.Buffer, n *yaml.Node) {
	separate := func(i int) {
		if i > 0 {
			out.WriteByte(',')
		}
	}
	switch n.Kind {
	case yaml.MappingNode:
		out.WriteByte('{')
		pairs := pairsOf(n)
		for i := 0; i < len(pairs); i += 2 {
			separate(i)
			key, _ := json.Marshal(pairs[i].Value) // a text
			out.Write(key)
			out.WriteByte(':')
			writeJSON(out, pairs[i+1])
		}
		out.WriteByte('}')
	case yaml.SequenceNode:
		out.WriteByte('[')
		for i, item := range n.Content {
			separate(i)
			writeJSON(out, item)
		}
		out.WriteByte(']')
	case yaml.AliasNode:
		writeJSON(out, n.Alias)
	default:
		var value any
		text := []byte("null")
		if n.Decode(&value) == nil {
			if encoded, err := json.Marshal(value); err == nil {
				text = encoded
			}
		}
		out.Write(text)
	}
}

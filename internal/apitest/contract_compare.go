package apitest

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/ratchet-pay/ratchet/internal/form"
)

// CompareRoutes says how the routes of the code differ from openapi.yaml. Each is
// written as "POST /v1/charges/:charge" or "POST /v1/charges/{charge}"; what a
// variable is called does not matter. Routes outside /v1 are not the API's.
func CompareRoutes(registered []string) (differences []string) {
	coded, declared := map[string]bool{}, map[string]bool{}
	for _, r := range registered {
		if _, path, _ := strings.Cut(r, " "); strings.HasPrefix(path, "/v1/") {
			coded[nameless(r)] = true
		}
	}
	for _, o := range Operations() {
		declared[nameless(o.Method+" "+o.Path)] = true
	}
	for r := range coded {
		if !declared[r] {
			differences = append(differences, r+" is routed but not in openapi.yaml")
		}
	}
	for r := range declared {
		if !coded[r] {
			differences = append(differences, r+" is in openapi.yaml but not routed")
		}
	}
	slices.Sort(differences)
	return differences
}

var variable = regexp.MustCompile(`:[a-z_]+|\{[a-z_]+\}`)

func nameless(route string) string { return variable.ReplaceAllString(route, "{}") }

// CompareParameters says how the struct that an operation's parameters are
// decoded into differs from openapi.yaml: in names, nested ones too, in what is
// required or may be sent empty, in kinds, bounds and enums.
func CompareParameters(o Operation, params reflect.Type) (differences []string) {
	coded, declared := byName(ParametersOf(params)), byName(o.Parameters)
	for name, p := range coded {
		d, is := declared[name]
		if !is {
			differences = append(differences,
				fmt.Sprintf("%s: %s is in %s but not in openapi.yaml", o.ID, name, params))
			continue
		}
		if p.Type == "" { // it reads itself: a tag says no more of it than this
			d = Parameter{Name: d.Name, Required: d.Required}
		}
		if !reflect.DeepEqual(p, d) {
			differences = append(differences,
				fmt.Sprintf("%s: %s is %s in %s but %s in openapi.yaml", o.ID, name, p.traits(), params, d.traits()))
		}
	}
	for name := range declared {
		if _, is := coded[name]; !is {
			differences = append(differences,
				fmt.Sprintf("%s: %s is in openapi.yaml but not in %s", o.ID, name, params))
		}
	}
	slices.Sort(differences)
	return differences
}

func byName(all []Parameter) map[string]Parameter {
	named := make(map[string]Parameter, len(all))
	for _, p := range all {
		named[p.Name] = p
	}
	return named
}

func (p Parameter) traits() string {
	traits := []string{p.Type}
	for trait, has := range map[string]bool{
		"required":                             p.Required,
		"unset":                                p.Unset,
		"min " + p.Min:                         p.Min != "",
		"max " + p.Max:                         p.Max != "",
		"one of " + strings.Join(p.Enum, ", "): p.Enum != nil,
	} {
		if has {
			traits = append(traits, trait)
		}
	}
	slices.Sort(traits[1:])
	return "(" + strings.TrimSpace(strings.Join(traits, "; ")) + ")"
}

// ParametersOf reads a struct's form tags the way form.Decode does.
func ParametersOf(params reflect.Type) []Parameter {
	named := map[string]Parameter{}
	readFields("", params, named)
	return slices.SortedFunc(maps.Values(named), func(a, b Parameter) int { return strings.Compare(a.Name, b.Name) })
}

func readFields(hash string, t reflect.Type, into map[string]Parameter) {
	for field := range t.Fields() {
		tag, tagged := field.Tag.Lookup("form")
		switch {
		case field.Anonymous && !tagged && field.Type.Kind() == reflect.Struct:
			readFields(hash, field.Type, into)
		case tagged && tag != "-":
			readField(hash, field, into)
		}
	}
}

func readField(hash string, field reflect.StructField, into map[string]Parameter) {
	options := strings.Split(field.Tag.Get("form"), ",")
	p := Parameter{
		Name:     nested(hash, options[0]),
		Required: slices.Contains(options, "required"),
		Unset:    slices.Contains(options, "unset"),
		Min:      field.Tag.Get("min"),
		Max:      field.Tag.Get("max"),
	}
	if enum := field.Tag.Get("enum"); enum != "" {
		p.Enum = strings.Split(enum, ",")
	}
	readType(p, field.Type, into)
}

// readSelf are the types that read themselves, and of which a tag says nothing.
var readSelf = []reflect.Type{
	reflect.TypeFor[form.Created](), reflect.TypeFor[form.Expand](), reflect.TypeFor[form.Limit](),
	reflect.TypeFor[form.Metadata](),
}

func readType(p Parameter, t reflect.Type, into map[string]Parameter) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.PkgPath() == reflect.TypeFor[form.Values]().PkgPath() && strings.HasPrefix(t.Name(), "Either["):
		hash, _ := t.FieldByName("Hash")
		readFields(p.Name, hash.Type.Elem(), into)
		into[p.Name] = Parameter{Name: p.Name, Required: p.Required}
		return
	case slices.Contains(readSelf, t), reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		into[p.Name] = Parameter{Name: p.Name, Required: p.Required}
		return
	case t.Kind() == reflect.Struct:
		p.Type = "hash"
		readFields(p.Name, t, into)
	case t.Kind() == reflect.Slice:
		item := Parameter{Name: p.Name + "[]", Enum: p.Enum}
		p.Type, p.Enum = "list", nil
		readType(item, t.Elem(), into)
	case t.Kind() == reflect.String:
		p.Type = "string"
	case t.Kind() == reflect.Bool:
		p.Type = "boolean"
	default:
		p.Type = "integer"
	}
	into[p.Name] = p
}

package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/ratchet-pay/ratchet/internal/wire"
)

// Operation is an operation as openapi.yaml declares it.
type Operation struct {
	ID         string // charge.create
	Method     string
	Path       string // /v1/charges/{charge}
	Flow       string // the table of phases it runs; "" if it only reads
	Deprecated bool
	Parameters []Parameter // of the query or the body, nested ones too, by name
	Examples   []Example
}

// Example is a request to send and what has to come back.
type Example struct {
	Name   string
	Path   map[string]string // values for the path's variables
	Given  map[string]string // where values come from: "charge.create/authorized:id"
	Query  string
	Body   string
	Until  string // a field that appears later; the request is repeated until it does
	Status int
	Code   string // of the error, "" if it has none
	Param  string
}

// Operations are all operations of openapi.yaml, by path and then by method.
func Operations() []Operation {
	all := make([]Operation, 0, len(routes()))
	for _, r := range routes() {
		flow, _ := r.operation.Extensions["x-ratchet-flow"].(string)
		all = append(all, Operation{
			ID: r.operation.OperationID, Method: r.method, Path: r.path, Flow: flow, Deprecated: r.operation.Deprecated,
			Parameters: r.parameters(), Examples: r.examples(),
		})
	}
	return all
}

// OperationByID finds an operation; false if there is none.
func OperationByID(id string) (Operation, bool) {
	all := Operations()
	i := slices.IndexFunc(all, func(o Operation) bool { return o.ID == id })
	if i < 0 {
		return Operation{}, false
	}
	return all[i], true
}

// Example finds an example by name, or the first if name is "".
func (o Operation) Example(name string) (Example, bool) {
	i := slices.IndexFunc(o.Examples, func(e Example) bool { return name == "" || e.Name == name })
	if i < 0 {
		return Example{}, false
	}
	return o.Examples[i], true
}

func (r route) examples() (all []Example) {
	written, err := json.Marshal(r.operation.Extensions["x-examples"])
	if err != nil {
		panic(fmt.Sprintf("api/openapi.yaml: %s: %v", r.operation.OperationID, err))
	}
	mustDecode("examples of "+r.operation.OperationID, written, &all)
	for i := range all {
		all[i].Body, all[i].Query = unfold(all[i].Body), unfold(all[i].Query)
	}
	return all
}

// unfold undoes what makes an example readable: lines that break before an &, and
// plain spaces.
func unfold(form string) string {
	return strings.ReplaceAll(strings.ReplaceAll(form, " &", "&"), " ", "+")
}

// target puts values into an example and returns what to ask for, and the body.
func (e Example) target(o Operation, values map[string]string) (target, body string) {
	target, query, body := o.Path, e.Query, e.Body
	for name, value := range values {
		target = strings.ReplaceAll(target, "{"+name+"}", url.PathEscape(value))
		query = strings.ReplaceAll(query, "{"+name+"}", url.QueryEscape(value))
		body = strings.ReplaceAll(body, "{"+name+"}", url.QueryEscape(value))
	}
	if query != "" {
		target += "?" + query
	}
	return target, body
}

// Sender sends a request to the API under test, body form-encoded, and returns
// the answer.
type Sender func(t testing.TB, method, target, body string) (status int, answer []byte)

// Send sends an example, after those that it takes values from, and fails the
// test if something else than the example says comes back. It returns the answer.
func (o Operation) Send(t testing.TB, send Sender, e Example) wire.Object {
	t.Helper()
	return o.sendAt(t, send, e, 0)
}

// maxGiven is how long a chain of examples may be. Ours are four; a circle has no end.
const maxGiven = 8

// longestUntil is how long such a field may take.
const longestUntil = time.Minute

// there tells whether an answer has what its example waits for.
func (e Example) there(written []byte) bool {
	var answer any
	if e.Until == "" || json.Unmarshal(written, &answer) != nil {
		return true // what is not JSON is complained of later
	}
	_, missing := pick(answer, e.Until)
	return missing == nil
}

func (o Operation) sendAt(t testing.TB, send Sender, e Example, depth int) wire.Object {
	t.Helper()
	if depth > maxGiven {
		t.Fatalf("%s/%s: its givens go in a circle", o.ID, e.Name)
	}
	target, body := e.target(o, o.values(t, send, e, depth))
	status, written := send(t, o.Method, target, body)
	for wait := time.Now().Add(longestUntil); status == http.StatusOK &&
		!e.there(written); status, written = send(t, o.Method, target, body) {
		if time.Now().After(wait) {
			t.Fatalf("%s/%s: %s has not come: %s", o.ID, e.Name, e.Until, written)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if status != e.Status {
		t.Fatalf("%s/%s: %s %s answered %d, want %d: %s", o.ID, e.Name, o.Method, target, status, e.Status, written)
	}
	var answer wire.Object
	err := json.Unmarshal(written, &answer)
	if err != nil {
		t.Fatalf("%s/%s: %v: %s", o.ID, e.Name, err, written)
	}
	if status != http.StatusOK {
		fault, _ := answer["error"].(wire.Object)
		if code, _ := fault["code"].(string); code != e.Code {
			t.Errorf("%s/%s: error.code is %q, want %q: %s", o.ID, e.Name, code, e.Code, written)
		}
		if param, _ := fault["param"].(string); e.Param != "" && param != e.Param {
			t.Errorf("%s/%s: error.param is %q, want %q: %s", o.ID, e.Name, param, e.Param, written)
		}
	}
	return answer
}

// values are what an example's placeholders stand for. Two that come from the
// same example come from one request: a card and the customer it belongs to.
func (o Operation) values(t testing.TB, send Sender, e Example, depth int) map[string]string {
	t.Helper()
	values, answers := map[string]string{}, map[string]wire.Object{}
	for name, value := range e.Path {
		values[name] = value
	}
	for name, given := range e.Given {
		from, example, field, err := resolve(given)
		if err != nil {
			t.Fatalf("%s/%s: %v", o.ID, e.Name, err)
		}
		made := from.ID + "/" + example.Name
		if answers[made] == nil {
			answers[made] = from.sendAt(t, send, example, depth+1)
		}
		values[name], err = pick(answers[made], field)
		if err != nil {
			t.Fatalf("%s/%s: %s: %v", o.ID, e.Name, given, err)
		}
	}
	return values
}

// resolve reads operation[/example][:field].
func resolve(given string) (Operation, Example, string, error) {
	source, field, hasField := strings.Cut(given, ":")
	if !hasField {
		field = "id"
	}
	id, name, _ := strings.Cut(source, "/")
	operation, known := OperationByID(id)
	if !known {
		return Operation{}, Example{}, "", fmt.Errorf("%s: there is no operation %s", given, id)
	}
	example, known := operation.Example(name)
	if !known {
		return Operation{}, Example{}, "", fmt.Errorf("%s: %s has no example %q", given, id, name)
	}
	return operation, example, field, nil
}

// pick finds a text in an answer: "id", "customer.id", "data.0.id".
func pick(answer any, field string) (string, error) {
	for name := range strings.SplitSeq(field, ".") {
		switch part := answer.(type) {
		case wire.Object:
			answer = part[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(part) {
				return "", fmt.Errorf("there is no item %s", name)
			}
			answer = part[i]
		default:
			return "", fmt.Errorf("there is no %s", name)
		}
	}
	text, is := answer.(string)
	if !is {
		return "", fmt.Errorf("%s is %v, not a text", field, answer)
	}
	return text, nil
}

// Parameter is a parameter, as openapi.yaml declares it or as a struct does.
type Parameter struct {
	Name     string // card[number]; items of a list are name[]
	Type     string // string, integer, boolean, list, hash; "" for what reads itself, such as metadata
	Required bool
	Unset    bool     // may be sent empty
	Enum     []string // of a string
	Min, Max string   // of an integer; Max also of a string's characters and a list's items
}

// selfRead are the parameters whose kind package form has a type for.
var selfRead = []string{"arrival_date", "created", "expand", "limit", "metadata"}

func (r route) parameters() (all []Parameter) {
	for _, p := range slices.Concat(r.shared, r.operation.Parameters) {
		if p.Value.In == openapi3.ParameterInQuery {
			all = append(all, parametersOf(p.Value.Name, p.Value.Required, p.Value.Schema.Value)...)
		}
	}
	if r.operation.RequestBody != nil {
		body := r.operation.RequestBody.Value.Content["application/x-www-form-urlencoded"].Schema.Value
		all = append(all, membersOf("", body)...)
	}
	slices.SortFunc(all, func(a, b Parameter) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func membersOf(hash string, schema *openapi3.Schema) (all []Parameter) {
	for name, member := range schema.Properties {
		all = append(all, parametersOf(nested(hash, name), slices.Contains(schema.Required, name), member.Value)...)
	}
	return all
}

func nested(hash, name string) string {
	if hash == "" {
		return name
	}
	return hash + "[" + name + "]"
}

func parametersOf(name string, required bool, schema *openapi3.Schema) []Parameter {
	if slices.Contains(selfRead, name) {
		return []Parameter{{Name: name, Required: required}}
	}
	p := Parameter{Name: name, Required: required}
	p.Unset, _ = schema.Extensions["x-unset"].(bool)
	for _, value := range schema.Enum {
		p.Enum = append(p.Enum, fmt.Sprint(value))
	}
	switch {
	case len(schema.OneOf) > 0: // a text or a hash: form.Either reads itself, and the members as any hash
		all := []Parameter{{Name: name, Required: required}}
		for _, variant := range schema.OneOf {
			all = append(all, membersOf(name, variant.Value)...)
		}
		return all
	case schema.Type.Is(openapi3.TypeObject):
		p.Type = "hash"
		return append([]Parameter{p}, membersOf(name, schema)...)
	case schema.Type.Is(openapi3.TypeArray):
		p.Type, p.Max = "list", written(schema.MaxItems)
		return append([]Parameter{p}, parametersOf(name+"[]", false, schema.Items.Value)...)
	case schema.Type.Is(openapi3.TypeString):
		p.Type, p.Max = "string", written(schema.MaxLength)
	case schema.Type.Is(openapi3.TypeInteger):
		p.Type, p.Min, p.Max = "integer", written(schema.Min), written(schema.Max)
	case schema.Type.Is(openapi3.TypeBoolean):
		p.Type = "boolean"
	}
	return []Parameter{p}
}

func written[Number uint64 | float64](bound *Number) string {
	if bound == nil {
		return ""
	}
	return strconv.FormatInt(int64(*bound), 10)
}

package apitest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/ratchet-pay/ratchet/api"
	"github.com/ratchet-pay/ratchet/internal/wire"
)

// route is an operation of ours as a request finds it.
type route struct {
	method    string
	path      string   // /v1/charges/{charge}
	segments  []string // of the path; one in braces matches anything
	operation *openapi3.Operation
	shared    openapi3.Parameters // those of the path
}

// document is openapi.yaml. That it does not load is a fault in the tree, not in
// what a test tests.
var document = sync.OnceValue(func() *openapi3.T {
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		panic(fmt.Sprintf("api/openapi.yaml: %v", err))
	}
	return doc
})

// routes are all operations, by path and then by method.
var routes = sync.OnceValue(func() (all []route) {
	for path, item := range document().Paths.Map() {
		for method, operation := range item.Operations() {
			all = append(all, route{method, path, strings.Split(path, "/"), operation, item.Parameters})
		}
	}
	slices.SortFunc(all, func(a, b route) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return all
})

func findRoute(method, path string) (route, bool) {
	segments := strings.Split(path, "/")
	i := slices.IndexFunc(routes(), func(r route) bool { return r.method == method && r.matches(segments) })
	if i < 0 {
		return route{}, false
	}
	return routes()[i], true
}

func (r route) matches(segments []string) bool {
	return slices.EqualFunc(r.segments, segments, func(pattern, segment string) bool {
		return pattern == segment || strings.HasPrefix(pattern, "{") && segment != ""
	})
}

// checkContract holds an answer to what openapi.yaml says about its status.
func (r route) checkContract(a Response, body wire.Object) []Violation {
	response := r.operation.Responses.Status(a.Status)
	if response == nil && slices.Contains(statusesOfAll(), a.Status) {
		response = document().Components.Responses["not_read"]
	}
	if response == nil {
		return []Violation{{RuleContract, "", fmt.Sprintf("%s does not answer %d", r.operation.OperationID, a.Status)}}
	}
	schema := response.Value.Content["application/json"].Schema.Value
	return append(checkHeaders(a.Header, response.Value.Headers), visit(RuleContract, "", schema, body)...)
}

// statusesOfAll are those that every operation can answer, because the request
// does not get as far as an operation.
var statusesOfAll = sync.OnceValue(func() (statuses []int) {
	listed, _ := document().Components.Responses["not_read"].Value.Extensions["x-statuses"].([]any)
	for _, status := range listed {
		statuses = append(statuses, int(status.(float64)))
	}
	return statuses
})

func checkHeaders(sent http.Header, want openapi3.Headers) (found []Violation) {
	for name, header := range want {
		value := sent.Get(name)
		if value == "" {
			if header.Value.Required {
				found = append(found, Violation{RuleContract, name, "is missing"})
			}
			continue
		}
		for _, v := range visit(RuleContract, "", header.Value.Schema.Value, value) {
			found = append(found, Violation{RuleContract, name, fmt.Sprintf("is %q: %s", value, v.Message)})
		}
	}
	return sorted(found)
}

// visit holds a value to a schema and says what is wrong, and where.
func visit(rule, at string, schema *openapi3.Schema, value any) []Violation {
	return sorted(explain(rule, at, schema.VisitJSON(value, openapi3.MultiErrors())))
}

func explain(rule, at string, err error) (found []Violation) {
	switch e := err.(type) {
	case nil:
		return nil
	case openapi3.MultiError:
		for _, each := range e {
			found = append(found, explain(rule, at, each)...)
		}
		return found
	case *openapi3.SchemaError:
		for _, name := range e.JSONPointer() {
			at += "/" + name
		}
		return explainSchema(rule, at, e)
	default:
		return []Violation{{rule, at, err.Error()}}
	}
}

// The library reports an unknown key at the object that has it; a missing one at
// the key.
var unsupported = regexp.MustCompile(`^property "(.*)" is unsupported$`)

func explainSchema(rule, at string, e *openapi3.SchemaError) []Violation {
	switch e.SchemaField {
	case "anyOf":
		if meant := branchFor(e.Value, e.Schema.AnyOf); meant != nil {
			return visit(rule, at, meant, e.Value)
		}
	case "allOf":
		var found []Violation
		for _, part := range e.Schema.AllOf {
			found = append(found, visit(rule, at, part.Value, e.Value)...)
		}
		return found
	case "not":
		return []Violation{{rule, at, "has to be left out"}}
	}
	if unknown := unsupported.FindStringSubmatch(e.Reason); unknown != nil {
		return []Violation{{rule, at + "/" + unknown[1], "is not a key this object has"}}
	}
	return []Violation{{rule, at, e.Reason + shown(e.Value)}}
}

// branchFor finds the one schema of several that a value was meant for, by its
// type and by what it says it is, so that a violation can be named where it is
// instead of "matches none of them". nil if that is not clear.
func branchFor(value any, branches openapi3.SchemaRefs) *openapi3.Schema {
	var likely []*openapi3.Schema
	for _, branch := range branches {
		if permits(branch.Value, value) {
			likely = append(likely, branch.Value)
		}
	}
	if len(likely) != 1 {
		return nil
	}
	return likely[0]
}

func permits(schema *openapi3.Schema, value any) bool {
	object, isObject := value.(wire.Object)
	if !isObject {
		_, isText := value.(string)
		return isText && schema.Type.Is(openapi3.TypeString)
	}
	if !schema.Type.Is(openapi3.TypeObject) {
		return false
	}
	kind := schema.Properties["object"]
	if kind == nil {
		return true
	}
	_, isDeleted := object["deleted"]
	_, tellsDeleted := schema.Properties["deleted"]
	return isDeleted == tellsDeleted && slices.Contains(kind.Value.Enum, object["object"])
}

// shown is a short value as part of a message.
func shown(value any) string {
	switch v := value.(type) {
	case nil:
		return " (it is null)"
	case string:
		if len(v) < 60 {
			return " (it is " + strconv.Quote(v) + ")"
		}
	case bool, float64:
		return fmt.Sprintf(" (it is %v)", v)
	}
	return ""
}

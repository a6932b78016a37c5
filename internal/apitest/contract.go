// Package apitest lets tests call the API and check its responses.
//
// Every response that a test receives is checked against two contracts and some rules that no
// schema can express:
//
//	api/openapi.yaml        ours, strictly: no key more, no key less
//	Stripe's own schema     the types, no unknown key, and every key its samples have
//	the transport           JSON, a Request-Id, one error shape, no secrets
//
// Only tests import it: it brings Stripe's schema along, which is megabytes.
package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/ratchet-pay/ratchet/api"
	"github.com/ratchet-pay/ratchet/internal/apiversion"
	"github.com/ratchet-pay/ratchet/internal/wire"
)

// Response is a response of the API, with what of its request says how it has to look.
type Response struct {
	Method string
	Path   string // escaped, without the query
	Status int
	Header http.Header
	Body   []byte
}

// The rules an answer can break.
const (
	RuleTransport = "transport"    // what holds for every answer
	RuleContract  = "openapi.yaml" // ours
	RuleStripe    = "Stripe's schema"
	RuleSample    = "Stripe's samples"
)

// Violation is one way in which an answer breaks a rule.
type Violation struct {
	Rule    string
	At      string // where in the body, as a JSON pointer; or the name of a header; "" for all of it
	Message string
}

// String is the violation in a line: where, which rule, and what was found.
func (v Violation) String() string {
	if v.At == "" {
		return fmt.Sprintf("%s: %s", v.Rule, v.Message)
	}
	return fmt.Sprintf("%s: %s: %s", v.Rule, v.At, v.Message)
}

// Check returns everything that is wrong with an answer, nil if nothing is. It is
// safe for concurrent use. The first call reads the contracts, which takes about
// half a second; others take less than a millisecond.
func Check(a Response) []Violation {
	found := checkTransport(a)
	var body wire.Object
	if err := json.Unmarshal(a.Body, &body); err != nil || body == nil {
		return append(found, Violation{RuleTransport, "", "the body is not a JSON object"})
	}
	found = append(found, checkErrorKey(a.Status, body)...)
	route, known := findRoute(a.Method, a.Path)
	switch {
	case !known && a.Method == http.MethodGet && slices.ContainsFunc(api.EmptyLists(), a.isFor):
		return append(found, checkEmptyList(a, body)...)
	case !known && a.Status != http.StatusNotFound:
		return append(found,
			Violation{RuleContract, "",
				fmt.Sprintf("there is no %s %s, and yet it answers %d", a.Method, a.Path, a.Status)})
	case !known:
		return append(found, route.checkError(body)...)
	}
	v, known := apiversion.Parse(a.Header.Get("Stripe-Version"))
	if known && a.Status == http.StatusOK && v.ChangesAnswers() {
		return found // the contract describes the current version
	}
	found = append(found, route.checkContract(a, body)...)
	if a.Status != http.StatusOK {
		return append(found, route.checkError(body)...)
	}
	return append(found, route.checkStripe(body)...)
}

// isFor says whether the answer is to a request for a path, in which {customer} is any customer.
func (a Response) isFor(path string) bool {
	before, after, named := strings.Cut(path, "{customer}")
	id, is := strings.CutPrefix(a.Path, before)
	id, ends := strings.CutSuffix(id, after)
	return is && ends && named == (id != "") && !strings.Contains(id, "/")
}

// checkEmptyList holds an answer to what Stripe says of a product that was never used.
func checkEmptyList(a Response, body wire.Object) []Violation {
	if a.Status != http.StatusOK {
		return route{}.checkError(body)
	}
	want := wire.Object{"object": "list", "data": []any{}, "has_more": false, "url": a.Path}
	if !reflect.DeepEqual(body, want) {
		return []Violation{{RuleContract, "", "the list is not empty, or has another shape than a list"}}
	}
	return nil
}

// checkErrorKey holds the one thing that some of Stripe's clients go by instead
// of the status: whether there is an error in the body.
func checkErrorKey(status int, body wire.Object) []Violation {
	_, failed := body["error"]
	switch {
	case failed && status == http.StatusOK:
		return []Violation{{RuleTransport, "/error",
			"a client takes an answer with this key for a failure, regardless of its status"}}
	case !failed && status != http.StatusOK:
		return []Violation{{RuleTransport, "/error",
			fmt.Sprintf("an answer with status %d has to have this key", status)}}
	}
	return nil
}

// Report writes violations as one message, the request first.
func Report(a Response, found []Violation) string {
	lines := []string{fmt.Sprintf("%s %s answered %d against the contract:", a.Method, a.Path, a.Status)}
	for _, v := range found {
		lines = append(lines, "  "+v.String())
	}
	lines = append(lines, "  body: "+string(a.Body))
	return strings.Join(lines, "\n")
}

// sorted puts violations into an order that does not depend on that of a map.
func sorted(found []Violation) []Violation {
	slices.SortFunc(found, func(a, b Violation) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(found)
}

//go:build unix

package sdk_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/stripe/stripe-go/v85"
)

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal compares what a test got with what it wants. what is a noun.
func equal[V any](t *testing.T, what string, got, want V) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// refusal is what an error says. The zero Message matches any.
type refusal struct {
	Status      int
	Type        stripe.ErrorType
	Code        string
	DeclineCode string
	AdviceCode  string
	Param       string
	Message     string
}

// invalid is the refusal of a request that is wrong in itself.
func invalid(code, param, message string) refusal {
	return refusal{
		Status:  http.StatusBadRequest,
		Type:    stripe.ErrorTypeInvalidRequest,
		Code:    code,
		Param:   param,
		Message: message,
	}
}

// missing is the refusal of a path to an object that does not exist.
func missing(param, message string) refusal {
	return refusal{
		Status:  http.StatusNotFound,
		Type:    stripe.ErrorTypeInvalidRequest,
		Code:    "resource_missing",
		Param:   param,
		Message: message,
	}
}

// refused requires an error of the API and returns it for a closer look.
func refused(t *testing.T, err error, want refusal) *stripe.Error {
	t.Helper()
	var e *stripe.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a refusal", err)
	}
	got := refusal{e.HTTPStatusCode, e.Type, string(e.Code), string(e.DeclineCode), adviceCode(t, e), e.Param, e.Msg}
	if want.Message == "" {
		got.Message = ""
	}
	if got != want {
		t.Errorf("refused with\n\t%+v, want\n\t%+v", got, want)
	}
	if e.RequestID == "" {
		t.Error("the refusal names no request")
	}
	return e
}

// adviceCode reads what the SDK has no field for yet.
func adviceCode(t *testing.T, e *stripe.Error) string {
	t.Helper()
	var body struct {
		Error struct {
			AdviceCode string `json:"advice_code"`
		}
	}
	noError(t, json.Unmarshal(e.LastResponse.RawJSON, &body))
	return body.Error.AdviceCode
}

// collect reads every page of a list.
func collect[T any](t *testing.T, list *stripe.V1List[T]) (all []T) {
	t.Helper()
	for item, err := range list.All(t.Context()) {
		noError(t, err)
		all = append(all, item)
	}
	return all
}

// ids are the ids of objects, in order.
func ids[T any](objects []T, id func(T) string) []string {
	named := make([]string, 0, len(objects))
	for _, o := range objects {
		named = append(named, id(o))
	}
	return named
}

// sortByAge puts ids into the order of their making, and returns them newest
// first. Ids tell the millisecond: those of one millisecond come in any order.
func sortByAge(made []string) (newestFirst []string) {
	slices.Sort(made)
	newestFirst = slices.Clone(made)
	slices.Reverse(newestFirst)
	return newestFirst
}

package apitest

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stripe/stripe-mock/embedded"
)

// RATCHET_WRITE_CONTRACT=1 writes the file that the test below compares.
var writeContract = os.Getenv("RATCHET_WRITE_CONTRACT") != ""

const unsupportedFile = "../../api/unsupported_parameters.txt"

// stripeSchema is what matters here of a schema in Stripe's document.
type stripeSchema struct {
	Properties map[string]stripeSchema
	AnyOf      []stripeSchema
	Items      *stripeSchema
}

// members are the schemas of what a hash, or a hash in a list, holds.
func (s stripeSchema) members() map[string]stripeSchema {
	all := maps.Clone(s.Properties)
	if all == nil {
		all = map[string]stripeSchema{}
	}
	for _, variant := range s.AnyOf {
		maps.Copy(all, variant.members())
	}
	return all
}

// item is the schema of what a list holds.
func (s stripeSchema) item() *stripeSchema {
	if s.Items != nil {
		return s.Items
	}
	for _, variant := range s.AnyOf {
		if item := variant.item(); item != nil {
			return item
		}
	}
	return nil
}

// lacking are the names in a hash of Stripe's that ours does not have, by the names
// of all of ours.
func (s stripeSchema) lacking(hash string, ours map[string]Parameter) (names []string) {
	for name, member := range s.members() {
		name = nested(hash, name)
		own, has := ours[name]
		switch {
		case !has:
			names = append(names, name)
		case own.Type == "hash":
			names = append(names, member.lacking(name, ours)...)
		case own.Type == "list" && member.item() != nil && ours[name+"[]"].Type == "hash":
			names = append(names, member.item().lacking(name+"[]", ours)...)
		}
	}
	return names
}

// TestUnsupportedParametersAreStripesOthers compares api/unsupported_parameters.txt
// with what Stripe publishes: every parameter of an operation of ours that
// api/openapi.yaml does not describe.
func TestUnsupportedParametersAreStripesOthers(t *testing.T) {
	t.Parallel()
	type parameter struct {
		Name, In string
		Schema   stripeSchema
	}
	var spec struct {
		Paths map[string]map[string]struct {
			Parameters  []parameter
			RequestBody struct {
				Content map[string]struct{ Schema stripeSchema }
			}
		}
	}
	mustDecode("Stripe's schema", embedded.OpenAPISpec, &spec)
	paths := map[string]string{} // Stripe's, by ours: what a variable is called does not matter
	for path := range spec.Paths {
		paths[nameless(path)] = path
	}
	var want strings.Builder
	for _, o := range slices.SortedFunc(slices.Values(Operations()), byAddress) {
		stripes := spec.Paths[paths[nameless(o.Path)]][strings.ToLower(o.Method)]
		all := stripes.RequestBody.Content["application/x-www-form-urlencoded"].Schema
		all.Properties = all.members()
		for _, p := range stripes.Parameters {
			if p.In == "query" {
				all.Properties[p.Name] = p.Schema
			}
		}
		if lacking := all.lacking("", byName(o.Parameters)); len(lacking) > 0 {
			slices.Sort(lacking)
			want.WriteString(o.Method + " " + o.Path + "\n  " + strings.Join(lacking, "\n  ") + "\n")
		}
	}
	if writeContract {
		if err := os.WriteFile(unsupportedFile, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(unsupportedFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("%s is not what Stripe publishes less what we serve.\n"+
			"RATCHET_WRITE_CONTRACT=1 go test ./internal/apitest -run %s writes it anew.", unsupportedFile, t.Name())
	}
}

func byAddress(a, b Operation) int {
	return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method)
}

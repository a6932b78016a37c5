package apitest

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stripe/stripe-mock/embedded"

	"github.com/ratchet-pay/ratchet/api"
)

// neverEmpty are the lists of which an empty one would be wrong: Stripe fills them
// for accounts that have made nothing there, or they show payments by another name.
var neverEmpty = []string{
	"/v1/balance/history", "/v1/billing/feedback_options", "/v1/climate/products", "/v1/climate/suppliers",
	"/v1/country_specs", "/v1/customers/{customer}/cards", "/v1/exchange_rates", "/v1/issuing/physical_bundles",
	"/v1/payment_method_configurations", "/v1/payment_records", "/v1/radar/value_lists",
	"/v1/reporting/report_types", "/v1/tax_codes", "/v1/terminal/configurations",
}

// TestEmptyListsAreStripesOtherLists compares api/empty_lists.txt with what Stripe
// publishes: every list that takes no required parameter but a customer, that this installation
// does not serve, and that can be empty at Stripe.
func TestEmptyListsAreStripesOtherLists(t *testing.T) {
	t.Parallel()
	var spec struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				In, Name string
				Required bool
			}
			Responses map[string]struct {
				Content map[string]struct {
					Schema struct {
						Properties map[string]struct{ Enum []string }
					}
				}
			}
		}
	}
	mustDecode("Stripe's schema", embedded.OpenAPISpec, &spec)
	var want []string
	for _, path := range slices.Sorted(maps.Keys(spec.Paths)) {
		get, reads := spec.Paths[path]["get"]
		object := get.Responses["200"].Content["application/json"].Schema.Properties["object"].Enum
		required := false
		for _, p := range get.Parameters {
			required = required || p.Required && (p.In != "path" || p.Name != "customer")
		}
		_, served := findRoute(http.MethodGet, path)
		if reads && slices.Equal(object, []string{"list"}) && !required && !served &&
			!slices.Contains(neverEmpty, path) {
			want = append(want, path)
		}
	}
	if got := api.EmptyLists(); !slices.Equal(got, want) {
		t.Errorf("api/empty_lists.txt has to be:\n%s\nit is:\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

package api_test

import (
	"net/http"
	"strings"
	"testing"

	contract "github.com/ratchet-pay/ratchet/api"
	"github.com/ratchet-pay/ratchet/internal/apikey"
)

// TestEmptyLists asks for what belongs to products that this installation does not have.
func TestEmptyLists(t *testing.T) {
	t.Parallel()
	s := newEnv(t)

	made := s.ask(t, sent{target: "/v1/customers", body: "name=Ada"})
	for _, path := range contract.EmptyLists() {
		path = strings.Replace(path, "{customer}", made.object["id"].(string), 1)
		t.Run(path+" is an empty list", func(t *testing.T) {
			a := s.ask(t, sent{
				method: http.MethodGet,
				target: path + "?limit=100&status=all&created[gte]=1&expand[]=data.customer",
			})
			data, isList := a.object["data"].([]any)
			if a.status != http.StatusOK || a.object["object"] != "list" || !isList || len(data) != 0 ||
				a.object["has_more"] != false ||
				a.object["url"] != path {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}

	t.Run("a restricted key reads one, since it shows nothing of the account", func(t *testing.T) {
		s.restrict(t, "nothing", apikey.Permissions{})
		if a := s.ask(t, sent{as: "nothing", method: http.MethodGet, target: "/v1/plans"}); a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.body)
		}
	})

	t.Run("a restricted key reads a customer's only if it may read customers", func(t *testing.T) {
		s.restrict(t, "no customers", apikey.Permissions{})
		target := "/v1/customers/" + made.object["id"].(string) + "/tax_ids"
		a := s.ask(t, sent{as: "no customers", method: http.MethodGet, target: target})
		if a.status != http.StatusForbidden {
			t.Errorf("%d %s", a.status, a.body)
		}
	})

	for _, row := range []refused{
		{"a customer's, where there is no such customer",
			sent{method: "GET", target: "/v1/customers/cus_none/tax_ids"}, 404,
			fault{Type: invalid, Code: "resource_missing", Param: "id"}},
		{"a publishable key", sent{as: "toboggans publishable", method: "GET", target: "/v1/plans"}, 401,
			fault{Type: invalid, Code: "secret_key_required"}},
		{"no key", sent{method: "GET", target: "/v1/plans", header: http.Header{"Authorization": nil}}, 401,
			fault{Type: invalid}},
		{"one that is created", sent{target: "/v1/plans", body: "currency=usd"}, 404, unknownURL},
		{"one that is retrieved", sent{method: "GET", target: "/v1/plans/plan_1"}, 404, unknownURL},
		{"one that is deleted", sent{method: "DELETE", target: "/v1/subscriptions/sub_1"}, 404, unknownURL},
		{"a list of its own", sent{method: "GET", target: "/v1/subscriptions/sub_1/discounts"}, 404, unknownURL},
	} {
		t.Run(row.name+" is refused", func(t *testing.T) { requireRefusal(t, s.ask(t, row.sent), row) })
	}
}

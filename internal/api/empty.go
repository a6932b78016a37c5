package api

import (
	"context"
	"net/http"
	"strings"

	contract "github.com/ratchet-pay/ratchet/api"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
	"github.com/ratchet-pay/ratchet/internal/wire"
)

// emptyLists are the routes of lists that never hold anything. Programs that copy
// or export an account read every list there is, and stop at a 404. Anything else
// the address of such a list is asked for is an unrecognized URL.
func emptyLists() (all []route) {
	for _, path := range contract.EmptyLists() {
		list := route{method: http.MethodGet, path: path, empty: true, answer: answerEmptyList}
		if strings.Contains(path, "{customer}") {
			list.kind, list.empty = "list:customer", false // it shows whether the customer exists
		}
		all = append(all, list)
	}
	return all
}

// answerEmptyList takes any parameters: no filter of Stripe's finds anything here.
func answerEmptyList(ctx context.Context, s *Server, r *request) (phase.Response, []byte, error) {
	list := resource.ListObject{Object: "list", Data: []any{}, URL: r.route.path}
	if len(r.names) > 0 {
		id := r.pathParam("customer")
		if err := customer.CustomerExists(ctx, s.engine.Pool(), r.principal(), id); err != nil {
			return phase.Response{}, nil, err
		}
		list.URL = strings.Replace(list.URL, "{customer}", id, 1)
	}
	body, err := wire.Encode(list)
	return phase.Response{}, body, err
}

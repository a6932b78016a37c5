package api

import (
	"context"
	"net/http"

	contract "github.com/ratchet-pay/ratchet/api"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// emptyLists are the routes of lists that never hold anything. Programs that copy
// or export an account read every list there is, and stop at a 404. Anything else
// the address of such a list is asked for is an unrecognized URL.
func emptyLists() (all []route) {
	for _, path := range contract.EmptyLists() {
		all = append(all, route{method: http.MethodGet, path: path, empty: true, answer: answerEmptyList})
	}
	return all
}

// answerEmptyList takes any parameters: no filter of Stripe's finds anything here.
func answerEmptyList(_ context.Context, _ *Server, r *request) (phase.Response, any, error) {
	return phase.Response{}, resource.ListObject{Object: "list", Data: []any{}, URL: r.route.path}, nil
}

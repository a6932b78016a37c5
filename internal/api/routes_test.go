package api

import (
	"slices"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/apitest"
)

// TestRoutesAreThoseOfTheContract compares the table in routes.go with api/openapi.yaml.
func TestRoutesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()

	t.Run("code and contract have the same routes", func(t *testing.T) {
		t.Parallel()
		var registered []string
		for _, r := range routes() {
			registered = append(registered, r.method+" "+r.path)
		}
		for _, difference := range apitest.CompareRoutes(registered) {
			t.Error(difference)
		}
	})

	for _, o := range apitest.Operations() {
		t.Run(o.ID+" takes the parameters of the contract and runs its flow", func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(routes(), func(r route) bool { return r.method == o.Method && r.path == o.Path })
			if i < 0 {
				t.Fatalf("%s %s has no route whose variables are called the same", o.Method, o.Path)
			}
			r := routes()[i]
			if r.operation != o.Flow {
				t.Errorf("runs the flow %q, openapi.yaml says %q", r.operation, o.Flow)
			}
			for _, difference := range apitest.CompareParameters(o, r.params) {
				t.Error(difference)
			}
		})
	}
}

//go:build unix

package crash_test

import (
	"slices"
	"testing"
)

// TestEveryFlowIsKilled requires a row for every flow that the server knows. A row
// checks, in a run without a crash, that it runs the flow it names.
func TestEveryFlowIsKilled(t *testing.T) {
	t.Parallel()
	var killed []string
	for _, o := range slices.Concat(operations, smallOperations) {
		killed = append(killed, o.flow)
	}
	for _, d := range deliveries {
		killed = append(killed, d.flow())
	}
	for _, j := range jobs {
		killed = append(killed, j.flows...)
	}
	i := installOnFastServer(t, startAcquirer(t))
	i.serve(t)
	known, err := lines(t.Context(), i.db, "SELECT DISTINCT flow FROM flows", nil)
	if err != nil || len(known) == 0 {
		t.Fatalf("%d flows, %v", len(known), err)
	}
	for _, flow := range known {
		if !slices.Contains(killed, flow) {
			t.Errorf("nobody is killed in %s: it needs a line in small_test.go, or in operations_test.go if it asks "+
				"the acquirer", flow)
		}
	}
	for _, flow := range killed {
		if !slices.Contains(known, flow) {
			t.Errorf("%s is killed, and no flow is called so", flow)
		}
	}
}

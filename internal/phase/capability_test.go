package phase_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

// The rule that no call is made inside a transaction and no write outside one is
// kept by the compiler, so the test of it is a program that must not compile.
func TestCapabilities(t *testing.T) {
	t.Parallel()

	for _, tc := range []struct{ does, dir, want string }{
		{"an atomic phase cannot call another system", "network_in_transaction",
			"cannot use tx (variable of type *phase.Tx) as phase.ForeignCall[bankAPI] value"},
		{"a foreign phase cannot write", "write_in_call", "call.Write undefined"},
		{"a foreign phase cannot call through another port than its own", "wrong_port",
			"does not match inferred type func(ctx context.Context, call phase.ForeignCall[bankAPI]"},
		{"only the engine can fill in a permit", "forged_permit", "unexported field key"},
		{"only the engine can fill in a foreign call", "forged_call", "unexported field to"},
		{"a phase of one flow does not fit into another", "wrong_flow", "type phase.Phase[another, struct{}] of"},
		{"the same phases with the right capabilities compile", "allowed", ""},
	} {
		t.Run(tc.does, func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command("go", "build", "./testdata/capabilities/"+tc.dir).CombinedOutput()
			if (err == nil) != (tc.want == "") || !strings.Contains(string(out), tc.want) {
				t.Errorf("the compiler says %q (%v), want %q", out, err, tc.want)
			}
		})
	}

	t.Run("a foreign call that the engine did not make reaches nothing", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if recover() == nil {
				t.Error("a foreign call that the engine did not make reached the bank")
			}
		}()
		var forged phase.ForeignCall[bankAPI]
		_, _ = forged.To().Pay(t.Context(), forged.Permit, 1)
	})
}

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
		{"an atomic phase cannot ask another system", "network_in_transaction", "cannot use tx (variable of type *phase.Tx) as phase.Slip value"},
		{"a foreign phase cannot write", "write_in_call", "slip.Write undefined"},
		{"nobody but the engine can fill in a slip", "forged_slip", "unexported field key"},
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

	t.Run("an empty slip opens no port", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if recover() == nil {
				t.Error("a slip that the engine did not make reached the bank")
			}
		}()
		bankPort.Dial(phase.Slip{})
	})
}

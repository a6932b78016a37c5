//go:build unix

package sdk_test

import (
	"os/exec"
	"testing"
)

// TestOtherSDKs runs a few of the SDKs that `make sdks` runs: three majors of stripe-go
// and of stripe-node, and the stripe-python of the system, python3-stripe on Debian. It
// fails where one of them is missing, and says how to get it.
func TestOtherSDKs(t *testing.T) {
	inTurn(t)
	in := install(t)
	in.work(t)
	out, err := exec.CommandContext(t.Context(), "go", "run", "./matrix", "-few", "-url", in.url, "-key",
		in.account(t).key).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

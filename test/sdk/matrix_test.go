//go:build unix

package sdk_test

import (
	"os/exec"
	"testing"
)

// TestOtherSDKs runs a few of the SDKs that `make sdks` runs: the oldest Go and Node
// ones, and the Python one that the system has, if it has one.
func TestOtherSDKs(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.work(t)
	out, err := exec.CommandContext(t.Context(), "go", "run", "./matrix", "-few", "-url", in.url, "-key",
		in.account(t).key).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

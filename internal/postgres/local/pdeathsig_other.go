//go:build unix && !linux

package local

import "os/exec"

// endWithParent has no counterpart here. A server left behind is stopped by the
// next start (stopOrphan).
func endWithParent(*exec.Cmd) {}

//go:build unix && !linux

package demo

import (
	"os/exec"
	"syscall"
)

// apart keeps Ctrl-C from reaching a part before its turn has come. A demo that
// is ended by kill -9 leaves its parts behind on this system.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

//go:build unix && !linux

package runner

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// apart keeps Ctrl-C from the process.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// halted says whether a process is stopped by a signal.
func halted(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(out)), "T")
}

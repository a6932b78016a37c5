package runner

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// apart keeps Ctrl-C from the process, and has the kernel end it when we die.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// halted says whether a process is stopped by a signal.
func halted(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, found := strings.Cut(string(stat), ") ") // the name before it may contain anything
	return err == nil && found && strings.HasPrefix(state, "T")
}

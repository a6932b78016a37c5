package demo

import (
	"os/exec"
	"syscall"
)

// apart keeps Ctrl-C from reaching a part before its turn has come, and has the
// kernel end the part when we die, even by kill -9. What a part leaves
// unfinished then is what the next run's worker is for.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

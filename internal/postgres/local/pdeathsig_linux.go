package local

import "os/exec"

// endWithParent has the kernel send a fast shutdown when we die, even by
// kill -9: the cluster is left cleanly shut down. It survives the change of user.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = fastShutdown }

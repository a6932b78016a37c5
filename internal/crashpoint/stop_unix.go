//go:build unix

package crashpoint

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// stop halts the process and returns when it is continued. It waits for
// the signal that does: the one that halts may reach other threads first.
func stop() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		panic(fmt.Sprintf("crashpoint: %v", err))
	}
	<-continued
}

//go:build unix

package demo

import (
	"errors"
	"os"
	"syscall"
)

// letOthersIn undoes a strict umask of root's: PostgreSQL runs as another user
// then, who has to enter the data directory. Secrets are written for their owner alone.
func letOthersIn() {
	if os.Geteuid() == 0 {
		syscall.Umask(0o022)
	}
}

// lockFile takes the lock until f is closed, or reports that another process has it.
func lockFile(f *os.File) (free bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

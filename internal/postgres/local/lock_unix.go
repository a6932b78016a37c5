//go:build unix

package local

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes the lock until f is closed, or reports that another process has it.
func lockFile(f *os.File) (free bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

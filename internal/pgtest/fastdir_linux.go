package pgtest

import (
	"os"
	"syscall"
)

// fastDir is memory where there is room for it: copying and dropping databases
// is most of what a test costs. Containers often have 64 MB of /dev/shm, too
// little for one server.
func fastDir() string {
	const memory, enough = "/dev/shm", 1 << 30
	var stat syscall.Statfs_t
	err := syscall.Statfs(memory, &stat)
	if err != nil || stat.Bavail*uint64(stat.Bsize) < enough {
		return os.TempDir()
	}
	return memory
}

//go:build !linux

package pgtest

import "os"

// fastDir: other systems have no memory file system that is always there.
func fastDir() string { return os.TempDir() }

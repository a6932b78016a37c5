//go:build !unix

package crashpoint

// stop cannot be done here: a process has no way to halt itself.
func stop() { panic("crashpoint: this system cannot stop a process") }

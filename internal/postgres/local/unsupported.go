//go:build !unix

package local

import (
	"context"
	"os"
	"time"
)

func startCluster(context.Context, Options, *stateDir, installation) (*Server, error) {
	return nil, unavailablef("not on this system: use WSL, or set DATABASE_URL")
}

// RemoveAbandoned has nothing to remove where no server can be started.
func RemoveAbandoned(string, time.Duration) {}

// lockFile does nothing: the one thing that can be started here is a container.
func lockFile(*os.File) (free bool, err error) { return true, nil }

package local

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// RunContainer runs a server in Docker with settings, which are name=value pairs.
// It returns the URL with which superuser logs in, and what ends the server and its
// data. Any error means that Docker cannot be used here.
type RunContainer func(
	ctx context.Context, superuser string, settings []string,
) (url string, stop func() error, err error)

// startContainer runs the server in Docker. The data ends with the container, so it
// refuses where there is data already.
func startContainer(ctx context.Context, o Options, state *stateDir) (*Server, error) {
	if o.Docker == nil {
		return nil, unavailablef("this program does not use Docker")
	}
	if state.clusterMajor() != 0 {
		return nil, unavailablef("not used: it would hide the data in %s behind a new empty database", state.data())
	}
	began := time.Now()
	url, stop, err := o.Docker(ctx, superuser, containerSettings(o))
	if err != nil {
		return nil, unavailablef("%s", firstLine([]byte(err.Error())))
	}
	version, err := ping(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("docker: %w", errors.Join(err, stop()))
	}
	o.Log("postgres: %s in Docker, ready after %v; its data ends with it", version,
		time.Since(began).Round(time.Millisecond))
	return &Server{URL: url, Version: version, run: container(stop)}, nil
}

func containerSettings(o Options) []string {
	settings := []string{"timezone=UTC", "log_timezone=UTC"}
	if o.Ephemeral {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	return append(settings, o.ExtraSettings...)
}

// container is a server that Docker runs, by what ends it.
type container func() error

func (c container) stop() error         { return c() }
func (container) pid() int              { return 0 }
func (container) done() <-chan struct{} { return nil }

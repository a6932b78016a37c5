package local

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

const (
	image = "postgres:17-alpine"

	// imagePatience includes pulling the image the first time.
	imagePatience = 3 * time.Minute
)

// startContainer runs the server in Docker. It is the last resort: the data ends
// with the container, so it refuses where there is data already.
func startContainer(ctx context.Context, o Options, state *stateDir) (*Server, error) {
	err := daemonAnswers(ctx)
	if err != nil {
		return nil, unavailablef("the Docker daemon does not answer: %s", firstLine([]byte(err.Error())))
	}
	if state.clusterMajor() != 0 {
		return nil, unavailablef("not used: it would hide the data in %s behind a new empty database", state.data())
	}

	ctx, cancel := context.WithTimeout(ctx, imagePatience)
	defer cancel()
	began := time.Now()
	secret := make([]byte, 24)
	_, _ = rand.Read(secret) // never fails
	c, err := postgres.Run(ctx, image,
		postgres.WithUsername(superuser),
		postgres.WithPassword(hex.EncodeToString(secret)),
		postgres.WithDatabase("postgres"),
		testcontainers.WithCmd(containerCommand(o)...),
		testcontainers.WithLogger(quiet{}),
		postgres.BasicWaitStrategies(),
	)
	if err != nil {
		_ = testcontainers.TerminateContainer(c)
		return nil, unavailablef("%s: %s", image, firstLine([]byte(err.Error())))
	}
	server, err := inContainer(ctx, c)
	if err != nil {
		_ = testcontainers.TerminateContainer(c)
		return nil, fmt.Errorf("docker: %w", err)
	}
	o.Log("postgres: %s in Docker, ready after %v; its data ends with it", server.Version, time.Since(began).Round(time.Millisecond))
	return server, nil
}

func inContainer(ctx context.Context, c *postgres.PostgresContainer) (*Server, error) {
	url, err := c.ConnectionString(ctx, "sslmode=disable")
	if err != nil {
		return nil, err
	}
	version, err := ping(ctx, url)
	if err != nil {
		return nil, err
	}
	return &Server{URL: url, Version: version, run: &container{c}}, nil
}

// containerCommand replaces the module's own, which turns fsync off for everybody.
func containerCommand(o Options) []string {
	settings := []string{"timezone=UTC", "log_timezone=UTC"}
	if o.Ephemeral {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	command := []string{"postgres"}
	for _, setting := range append(settings, o.ExtraSettings...) {
		command = append(command, "-c", setting)
	}
	return command
}

// daemonAnswers asks before anything is pulled. The library panics in some of
// the ways Docker can be absent.
func daemonAnswers(ctx context.Context) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%v", reason)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()

	provider, err := testcontainers.NewDockerProvider(testcontainers.WithLogger(quiet{}))
	if err != nil {
		return err
	}
	defer provider.Close()
	return provider.Health(ctx)
}

// container is a server that Docker runs.
type container struct{ *postgres.PostgresContainer }

func (c *container) stop() error           { return testcontainers.TerminateContainer(c.PostgresContainer) }
func (c *container) pid() int              { return 0 }
func (c *container) done() <-chan struct{} { return nil }

// quiet keeps the library's progress off the user's terminal.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

const (
	image = "postgres:17-alpine"

	// imageTimeout includes pulling the image the first time.
	imageTimeout = 3 * time.Minute
)

// runContainer is a local.RunContainer. Only tests use Docker: its client is no
// part of the program.
func runContainer(ctx context.Context, superuser string, settings []string) (url string, stop func() error, err error) {
	if err := daemonAnswers(ctx); err != nil {
		return "", nil, fmt.Errorf("the Docker daemon does not answer: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, imageTimeout)
	defer cancel()
	// The module's own command turns fsync off for all tests.
	command := []string{"postgres"}
	for _, setting := range settings {
		command = append(command, "-c", setting)
	}
	c, err := postgres.Run(ctx, image,
		postgres.WithUsername(superuser),
		postgres.WithPassword(rand.Text()),
		postgres.WithDatabase("postgres"),
		testcontainers.WithCmd(command...),
		testcontainers.WithLogger(quiet{}),
		postgres.BasicWaitStrategies(),
	)
	stop = func() error { return testcontainers.TerminateContainer(c) }
	if err == nil {
		url, err = c.ConnectionString(ctx, "sslmode=disable")
	}
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", image, errors.Join(err, stop()))
	}
	return url, stop, nil
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

// quiet keeps the library's progress off the user's terminal.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

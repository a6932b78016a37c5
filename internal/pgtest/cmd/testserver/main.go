// Command testserver runs a command with one test database server for all the
// processes it starts:
//
//	testserver -- go test ./...
//
// Without it every package's tests start their own server, which is what
// one package alone wants and twenty at once do not. It sets TEST_DATABASE_URL
// and exits with the command's code. If TEST_DATABASE_URL is set already it
// starts nothing. Databases of failed tests end with the server, unless
// KEEP_DB=1: then the server stays.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// exitFailed tells our own failures from most commands' (go test exits with 1 or 2).
const exitFailed = 125

func main() {
	command := os.Args[1:]
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		fmt.Fprintln(os.Stderr, "usage: testserver -- COMMAND [ARGUMENT…]")
		os.Exit(exitFailed)
	}
	code, err := run(command)
	if err != nil {
		fmt.Fprintf(os.Stderr, "testserver: %v\n", err)
	}
	os.Exit(code)
}

func run(command []string) (code int, err error) {
	// Before the server starts: a Ctrl-C must not end us while it stays.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	if os.Getenv("TEST_DATABASE_URL") != "" {
		return execute(command, nil, signals)
	}
	server, err := pgtest.StartServer(context.Background())
	if err != nil {
		return exitFailed, err
	}
	code, err = execute(command, pgtest.Environ(server), signals)
	if code != 0 && pgtest.Keeping() && server.PID() != 0 {
		fmt.Fprintf(os.Stderr, "testserver: the databases of failed tests are kept; kill -INT %d stops their server\n",
			server.PID())
		return code, err
	}
	return code, errors.Join(err, server.Stop())
}

func execute(command, env []string, signals <-chan os.Signal) (code int, err error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	err = cmd.Start()
	if err != nil {
		return exitFailed, err
	}
	go func() {
		for s := range signals {
			// The terminal sends Ctrl-C to both of us; SIGTERM comes to us alone.
			if s == syscall.SIGTERM {
				_ = cmd.Process.Signal(s)
			}
		}
	}()

	err = cmd.Wait()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.Exited() {
		return failed.ExitCode(), nil
	}
	if err != nil {
		return exitFailed, err
	}
	return 0, nil
}

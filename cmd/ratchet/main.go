// Command ratchet is the whole of Ratchet in one binary: the API, the worker, the
// acquirer it talks to, the demo that runs all of them, and an operator's tools.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// The exit codes. A usageError, and everything that goes wrong before a command
// begins, is the second.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second Ctrl-C ends us at once
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) (code int) {
	cmd, begun := root()
	cmd.SetArgs(args)
	called, err := cmd.ExecuteContextC(ctx)
	var usage *usageError
	var found *exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &found):
		return found.code // the report has said why
	case errors.As(err, &usage), demonstration.misused != nil && demonstration.misused(err), !*begun:
		fmt.Fprintf(os.Stderr, "ratchet: %v\nSee: %s --help\n", err, called.CommandPath())
		return exitUsage
	}
	fmt.Fprintln(os.Stderr, "ratchet:", forPeople(err))
	return exitFailed
}

// forPeople is an error as an operator wants to read it.
func forPeople(err error) string {
	var refusal *apierror.Error
	switch {
	case errors.As(err, &refusal):
		return refusal.Message // its status and type are for clients of the API
	case postgres.LacksSchema(err):
		return err.Error() + "\nThe database schema is missing or older than this program: run ratchet migrate up"
	}
	return err.Error()
}

// usageError is a mistake in how a command was called.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

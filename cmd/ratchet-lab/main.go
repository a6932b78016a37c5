// Command ratchet-lab runs the crash lab: the designs that people use to make a
// payment idempotent, as processes that are killed for real. It is a program of its
// own, so that ratchet carries nothing of it. `ratchet lab` builds and calls it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		time.Sleep(oneInterrupt)
		stop() // the next Ctrl-C ends us at once
	})
	err := root().ExecuteContext(ctx)
	if ctx.Err() != nil {
		err = errInterrupted // and not what that made fail
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ratchet lab:", err)
		os.Exit(1)
	}
}

// oneInterrupt is how long one Ctrl-C may arrive twice: a terminal interrupts this process
// and `ratchet lab`, which passes its interrupt on.
const oneInterrupt = time.Second

var errInterrupted = errors.New("interrupted")

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:         "lab",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "ratchet lab"}, // which starts this program
		Short:       "Crash common payment designs and count what the bank charged",
		Long: `Crash common payment designs and count what the bank charged.

Each design runs as a process and is killed at a named I/O boundary of one request.
The client then retries with the same idempotency key. Charges are counted in the
acquirer's journal and in the design's own tables.

  DATABASE_URL  a PostgreSQL server to create databases on; by default one is found
                or downloaded, and stops with the command
  REDIS_URL     a Redis server; by default the lab starts this machine's
                redis-server, or a stand-in
  NATS_URL      a NATS server with JetStream, for the designs that consume a queue; by
                default the lab starts this machine's nats-server, or compiles one`,
		Example:       "  ratchet lab run --at answer-not-recorded --design all",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		// completion is of ratchet, which people call
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(runCommand(), matrixCommand(), listCommand(), siteCommand(), mutantsCommand(), designCommand(),
		redisCommand(), consumeCommand(), serveCommand())
	return cmd
}

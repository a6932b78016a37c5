package main

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ratchet-pay/ratchet/internal/process"
)

// limitFlags defines the limits of a command. Each is a flag and a RATCHET_…
// variable of the same name; docs/limits.md gives the reason for each, and a test
// holds the page and the flags together.
func limitFlags(cmd *cobra.Command, c *process.Config) {
	c.Limits, c.MaxConns = process.DefaultLimits(), process.DefaultMaxConns
	f, l := cmd.Flags(), &c.Limits
	f.Int32Var(&c.MaxConns, "database-connections", c.MaxConns, "connections to the database at most, besides two for liveness")
	f.DurationVar(&l.AcquirerTimeout, "acquirer-timeout", l.AcquirerTimeout, "for one answer of the acquirer; past it the outcome is unknown, and is asked for again")
	f.IntVar(&l.BreakerFailures, "breaker-failures", l.BreakerFailures, "calls in a row without an answer, until the acquirer is left alone")
	f.DurationVar(&l.BreakerPause, "breaker-pause", l.BreakerPause, "how long the acquirer is left alone")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return limitsFromEnvironment(cmd.Flags()) }
}

// clientLimitFlags defines the limits of a command that answers clients.
func clientLimitFlags(cmd *cobra.Command, l *process.Limits) {
	f := cmd.Flags()
	f.IntVar(&l.API.BodyBytes, "max-body-bytes", l.API.BodyBytes, "size of a request's body")
	f.IntVar(&l.API.HeaderBytes, "max-header-bytes", l.API.HeaderBytes, "size of a request's headers, names and values together")
	f.IntVar(&l.API.URLBytes, "max-url-bytes", l.API.URLBytes, "length of a request's path and query")
	f.IntVar(&l.API.Form.Pairs, "max-parameters", l.API.Form.Pairs, "parameters of a request")
	f.IntVar(&l.API.Form.Depth, "max-parameter-depth", l.API.Form.Depth, "brackets in a parameter's name")

	f.IntVar(&l.Connections, "max-connections", l.Connections, "connections of clients at once; 0: any number")
	f.DurationVar(&l.HeaderTime, "header-timeout", l.HeaderTime, "until a request's head is there")
	f.DurationVar(&l.BodyTime, "body-timeout", l.BodyTime, "until all of a request is there")
	f.DurationVar(&l.API.ReadTime, "read-timeout", l.API.ReadTime, "for answering a request that only reads")
	f.DurationVar(&l.WriteTime, "write-timeout", l.WriteTime, "until a client has taken its answer")
	f.DurationVar(&l.IdleTime, "idle-timeout", l.IdleTime, "between two requests on a connection")

	f.IntVar(&l.API.KeyRate, "key-rate", l.API.KeyRate, "requests a second with one API key, and twice as many at once; 0: any number")
	f.IntVar(&l.API.AccountConcurrency, "account-concurrency", l.API.AccountConcurrency, "requests of one account under way at once; 0: any number")
	f.IntVar(&l.API.AuthFailureRate, "auth-failure-rate", l.API.AuthFailureRate,
		"unknown API keys a second from one peer, and twice as many at once; 0: any number")
	f.IntVar(&l.WorkPlaces, "work-places", l.WorkPlaces, "new requests at work on the database at once; 0: any number")
	f.IntVar(&l.LookUpPlaces, "look-up-places", l.LookUpPlaces, "requests whose key is looked up although there is no place for new work; 0: any number")
	f.IntVar(&l.ReadPlaces, "read-places", l.ReadPlaces, "requests that only read at once; 0: any number")
	f.IntVar(&l.Queue, "queue", l.Queue, "requests that wait for a place at most")
	f.DurationVar(&l.QueueTime, "queue-time", l.QueueTime, "how long they wait at most")
	f.IntVar(&l.MemoryMiB, "memory-mib", l.MemoryMiB, "memory that the garbage collector aims to stay within; 0: as much as it likes")

	f.DurationVar(&l.DrainGrace, "drain-grace", l.DrainGrace, "after SIGTERM, from saying so at /readyz until no more connections are taken")
	f.DurationVar(&l.DrainTime, "drain-timeout", l.DrainTime, "after that, for requests that are under way")
}

// aimAtMemory has the collector work harder near the limit. Whoever has set Go's
// own variable means it.
func aimAtMemory(mib int) {
	if os.Getenv("GOMEMLIMIT") == "" && mib > 0 {
		debug.SetMemoryLimit(int64(mib) << 20)
	}
}

// notLimits are flags that say where, and not how much. They have their variables
// from env.
var notLimits = []string{"dashboard", "webhook-allow-loopback", "webhook-loopback-ports", "webhook-schedule", "webhook-disable-after", "addr", "public-url", "metrics-addr", "acquirer-url", "help"}

// variable is where a limit is read from when its flag is not given.
func variable(flag string) string {
	return "RATCHET_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// limitsFromEnvironment lets variables stand in for flags.
func limitsFromEnvironment(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(notLimits, f.Name) {
			return
		}
		name, value := "--"+f.Name, f.Value.String()
		if given, is := os.LookupEnv(variable(f.Name)); is && !f.Changed {
			name, value = variable(f.Name), given
			if wrong := flags.Set(f.Name, given); wrong != nil {
				err = usagef("%s=%s: %v", name, given, wrong)
			}
		}
		if strings.HasPrefix(value, "-") {
			err = usagef("%s must not be negative", name)
		}
	})
	return err
}

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
	f.Int32Var(&c.MaxConns, "database-connections", c.MaxConns,
		"maximum database connections for work; a process opens a few more for liveness and group commits")
	f.DurationVar(&l.AcquirerTimeout, "acquirer-timeout", l.AcquirerTimeout,
		"timeout of one call to the acquirer; after it the outcome is unknown and the call is retried")
	f.IntVar(&l.BreakerFailures, "breaker-failures", l.BreakerFailures,
		"consecutive calls without an answer that open the breaker")
	f.DurationVar(&l.BreakerPause, "breaker-pause", l.BreakerPause, "how long the breaker stays open")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return limitsFromEnvironment(cmd.Flags()) }
}

// clientLimitFlags defines the limits of a command that answers clients.
func clientLimitFlags(cmd *cobra.Command, l *process.Limits) {
	f := cmd.Flags()
	f.IntVar(&l.API.BodyBytes, "max-body-bytes", l.API.BodyBytes, "maximum size of a request's body")
	f.IntVar(&l.API.HeaderBytes, "max-header-bytes", l.API.HeaderBytes,
		"maximum size of a request's headers, names and values")
	f.IntVar(&l.API.URLBytes, "max-url-bytes", l.API.URLBytes, "maximum length of a request's path and query")
	f.IntVar(&l.API.Form.Pairs, "max-parameters", l.API.Form.Pairs, "maximum number of parameters")
	f.IntVar(&l.API.Form.Depth, "max-parameter-depth", l.API.Form.Depth, "maximum nesting of a parameter's name")

	f.BoolVar(&l.API.AllowCardNumbers, "allow-card-numbers", l.API.AllowCardNumbers,
		"accept card numbers in descriptions, metadata and other text, and store them")

	f.IntVar(&l.Connections, "max-connections", l.Connections, "maximum client connections; 0: no limit")
	f.DurationVar(&l.HeaderTime, "header-timeout", l.HeaderTime, "time to receive a request's headers")
	f.DurationVar(&l.BodyTime, "body-timeout", l.BodyTime, "time to receive a whole request")
	f.DurationVar(&l.API.ReadTime, "read-timeout", l.API.ReadTime, "time to process a read")
	f.DurationVar(&l.API.SearchTime, "search-timeout", l.API.SearchTime, "time to process a search")
	f.DurationVar(&l.WriteTime, "write-timeout", l.WriteTime, "time to process a request and send its response")
	f.DurationVar(&l.IdleTime, "idle-timeout", l.IdleTime, "how long a connection may stay idle")

	f.IntVar(&l.API.KeyRate, "key-rate", l.API.KeyRate,
		"requests per second with one API key, with bursts of twice as many; 0: no limit")
	f.IntVar(&l.API.AccountConcurrency, "account-concurrency", l.API.AccountConcurrency,
		"concurrent requests of one account; 0: no limit")
	f.DurationVar(&l.API.RejectionDelay, "rejection-delay", l.API.RejectionDelay,
		"how long the 429 for exceeding a rate or a concurrency is delayed")
	f.IntVar(&l.API.AuthFailureRate, "auth-failure-rate", l.API.AuthFailureRate,
		"requests per second with an unknown API key from one peer, with bursts of twice as many; 0: no limit")
	f.IntVar(&l.ConcurrentWrites, "max-concurrent-writes", l.ConcurrentWrites,
		"concurrent new requests that use the database; 0: no limit")
	f.IntVar(&l.AccountWrites, "max-account-writes", l.AccountWrites,
		"concurrent new requests of one account that use the database; 0: no limit")
	f.IntVar(&l.ConcurrentLookups, "max-concurrent-lookups", l.ConcurrentLookups,
		"concurrent key lookups of requests without a slot for new work; 0: no limit")
	f.IntVar(&l.ConcurrentReads, "max-concurrent-reads", l.ConcurrentReads, "concurrent reads; 0: no limit")
	f.IntVar(&l.AccountReads, "max-account-reads", l.AccountReads,
		"concurrent reads of one account; 0: no limit")
	f.IntVar(&l.ConcurrentSearches, "max-concurrent-searches", l.ConcurrentSearches,
		"concurrent reads that search; 0: no limit")
	f.IntVar(&l.AccountSearches, "max-account-searches", l.AccountSearches,
		"concurrent searches of one account; 0: no limit")
	f.IntVar(&l.AccountLongLists, "max-account-long-lists", l.AccountLongLists,
		"concurrent lists of more than 25 objects of one account; 0: no limit")
	f.IntVar(&l.AccountTurns, "account-turns", l.AccountTurns,
		"while other accounts are active, concurrent transactions and reads of one account per CPU, and half as "+
			"many searches; 0: no limit")
	f.IntVar(&l.Queue, "queue", l.Queue, "maximum requests waiting for a slot")
	f.DurationVar(&l.QueueTime, "queue-timeout", l.QueueTime, "maximum wait for a slot")
	f.IntVar(&l.MemoryMiB, "memory-mib", l.MemoryMiB, "soft memory limit of the garbage collector; 0: no limit")

	f.DurationVar(&l.DrainGrace, "drain-grace-period", l.DrainGrace,
		"after SIGTERM, how long to keep serving while /readyz fails")
	f.DurationVar(&l.DrainTime, "drain-timeout", l.DrainTime, "after that, time for running requests to finish")
}

// aimAtMemory has the collector work harder near the limit. A user who has set Go's
// own variable means it.
func aimAtMemory(mib int) {
	if os.Getenv("GOMEMLIMIT") == "" && mib > 0 {
		debug.SetMemoryLimit(int64(mib) << 20)
	}
}

// notLimits are flags that say where, and not how much. They have their variables
// from env.
var notLimits = []string{"dashboard", "dashboard-totp",
	"webhook-allow-loopback", "webhook-loopback-ports", "webhook-networks", "webhook-schedule",
	"webhook-disable-after", "addr", "public-url", "trusted-proxies", "metrics-addr", "acquirer-url", "help"}

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

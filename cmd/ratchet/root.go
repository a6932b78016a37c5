package main

import (
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/verify"
)

// root is the command line. begun becomes true when a command was found and its
// flags and arguments were in order: an error before that is one of usage.
func root() (cmd *cobra.Command, begun *bool) {
	begun = new(bool)
	cmd = &cobra.Command{
		Use:   "ratchet",
		Short: "A Stripe-compatible payments API that charges a card exactly once, no matter what crashes",
		Long: `A Stripe-compatible payments API that charges a card exactly once, no matter what crashes.

Settings are flags and RATCHET_… variables; a flag wins. Secrets and database
addresses are never flags, because every user of the machine can see flags: set the
variable, or name a file in the variable that ends in _FILE.`,
		Example:           "  ratchet demo",
		Args:              cobra.NoArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRun:  func(*cobra.Command, []string) { *begun = true },
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	cmd.AddGroup(
		&cobra.Group{ID: "start", Title: "Getting started:"},
		&cobra.Group{ID: "parts", Title: "Production processes:"},
		&cobra.Group{ID: "operate", Title: "Operations:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			cmd.AddCommand(c)
		}
	}
	for group, commands := range demonstration.commands {
		for _, command := range commands {
			add(group, command())
		}
	}
	add("parts", serveCommand(), workCommand(), migrateCommand(), healthCommand(), setupCommand())
	add("operate", inspectCommand(), accountsCommand(), keysCommand(), usersCommand(), secretsCommand(),
		requestsCommand(), inboxCommand(), webhooksCommand(), payoutsCommand(),
		ledgerCommand(), reconcileCommand(), eraseCommand(), verifyCommand())
	cmd.AddCommand(versionCommand())
	cmd.RunE = help
	return cmd, begun
}

// demonstration is what the demo adds to the program. demonstration.go fills it in, and
// a fork deletes that file.
var demonstration struct {
	commands map[string][]func() *cobra.Command // by the group that lists them
	// environ reads the settings of the demo that runs in a data directory. Without one
	// its error is fs.ErrNotExist.
	environ func(dir string) (map[string]string, error)
	// misused says whether an error is about how the demo was called.
	misused func(error) bool
	// journal reads the simulated acquirer's own database.
	journal func(*pgxpool.Pool) verify.Journal
}

// help is what a command does that only has others below it. Without it the
// library would take a word it does not know for a wish to read the help.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// env is the default of a flag: every flag can be given as RATCHET_….
func env(name, otherwise string) string {
	if value, is := os.LookupEnv(name); is {
		return value
	}
	return otherwise
}

// envDuration is env for a time such as 500ms. One that cannot be read counts as not given.
func envDuration(name string, otherwise time.Duration) time.Duration {
	given, err := time.ParseDuration(os.Getenv(name))
	if err != nil {
		return otherwise
	}
	return given
}

func logger() *slog.Logger { return slog.New(slog.NewJSONHandler(os.Stderr, nil)) }

package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/process"
)

func secretsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secrets",
		Short: "Rotate the root secret, or replace one that is lost",
		Long: `Rotate the root secret, or replace one that is lost.

An installation runs under the secret of its first start. Processes and commands
that are given another one in RATCHET_SECRET refuse to work. To rotate it while the
processes run:

  1. Make a secret. Restart the processes one by one with the new secret in
     RATCHET_SECRET and the older one in RATCHET_SECRET_OLD. They keep using the
     older one.
  2. ratchet secrets rotate makes the new one active.
  3. ratchet secrets status shows what was made under which secret.
  4. ratchet secrets retire 1 ends the older one. Remove it from RATCHET_SECRET_OLD.`,
		Example: `  ratchet secrets rotate --reason "once a year"
  ratchet secrets status
  ratchet secrets retire 1 --reason "once a year"`,
		Args: cobra.NoArgs,
		RunE: help,
	}
	cmd.AddCommand(secretsRotateCommand(), secretsStatusCommand(), secretsRetireCommand(), secretsReplaceCommand())
	return cmd
}

// rotation is what the commands need to change secrets: the schema owner's login, and all secrets that are in use.
func rotation(cmd *cobra.Command, reason string) (r process.Rotation, end func(), err error) {
	if reason == "" {
		return r, nil, usagef("--reason is missing: it goes into the audit trail")
	}
	pool, s, err := operate(cmd.Context(), "")
	if err != nil {
		return r, nil, err
	}
	newest, older, err := s.roots()
	if err != nil {
		pool.Close()
		return r, nil, err
	}
	say := func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) }
	return process.Rotation{Pool: pool, Newest: newest, Older: older, User: operator(), Reason: reason, Say: say},
		pool.Close, nil
}

func secretsRotateCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Make the secret in RATCHET_SECRET the one that makes new values",
		Long: `Make the secret in RATCHET_SECRET the one that makes new values, while the processes
run. Each of them must have it, and the older one in RATCHET_SECRET_OLD; otherwise the
command says which does not, and changes nothing.

From then on API keys, signing secrets, fingerprints, sealed texts and blocks of the
audit trail are made under the new secret, and what the older one made stays valid.
Second factors of users are sealed again in batches. The keys that were derived from
the older secret are sealed under the new one, so the older one can be retired.

Keys of calls to the acquirer stay the same, so a charge that is under way, or whose
request was lost in a failover, is not charged a second time. Fingerprints of cards
stay the same, because merchants compare them.

The command can be interrupted and run again. It needs RATCHET_DATABASE_URL with the
schema owner's login. The change and its audit row are one transaction.`,
		Example: `  RATCHET_SECRET_FILE=new RATCHET_SECRET_OLD_FILE=old ratchet secrets rotate --reason "once a year"`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, end, err := rotation(cmd, reason)
			if err != nil {
				return err
			}
			defer end()
			if err := r.Run(cmd.Context()); err != nil {
				return err
			}
			return printSecrets(cmd, r)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit trail")
	return cmd
}

func secretsRetireCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "retire VERSION",
		Short: "End an older secret, so that no process needs it",
		Long: `End an older secret, so that no process needs it. The command refuses while the
secret is needed: see "ratchet secrets status". Values made under it stay valid,
with its keys that are sealed under the newest secret.

If the older secret has leaked, also roll the API keys and signing secrets that were
made under it: its holder can compute the signing secrets.`,
		Example: `  ratchet secrets retire 1 --reason "once a year"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := strconv.ParseInt(args[0], 10, 16)
			if err != nil {
				return usagef("%s is not a version: see ratchet secrets status", args[0])
			}
			r, end, err := rotation(cmd, reason)
			if err != nil {
				return err
			}
			defer end()
			if err := r.Retire(cmd.Context(), int16(version)); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "retired; processes need it no longer in RATCHET_SECRET_OLD")
			return nil
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit trail")
	return cmd
}

func secretsStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the versions of the secret, and what was made under each",
		Long: `Show the versions of the root secret, and what was made under each. It also says
which versions processes still need. This command needs RATCHET_DATABASE_URL with the
schema owner's login, and no secret.`,
		Example: `  ratchet secrets status`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pool, _, err := operate(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer pool.Close()
			return printSecrets(cmd, process.Rotation{Pool: pool})
		},
	}
}

func printSecrets(cmd *cobra.Command, r process.Rotation) error {
	states, uses, err := process.SecretStates(cmd.Context(), r.Pool)
	if err != nil {
		return err
	}
	out := newTable(cmd.OutOrStdout())
	fmt.Fprintln(out, "VERSION\tSTATE\tACTIVE SINCE\tDIGEST")
	for _, s := range states {
		fmt.Fprintf(out, "%d\t%s\t%s\t%.4x…\n", s.Version, stateOf(s), moment(s.ActiveAt), s.Digest)
	}
	printUses(out, states, uses)
	return out.Flush()
}

func stateOf(s process.SecretState) string {
	switch {
	case s.RetiredAt != nil:
		return "retired"
	case s.Current:
		return "current"
	case s.ActiveAt == nil:
		return "added"
	}
	return "older"
}

func printUses(out io.Writer, states []process.SecretState, uses []process.Use) {
	for _, s := range states {
		if s.Current || s.ActiveAt == nil {
			continue
		}
		needed := false
		fmt.Fprintf(out, "\nMade under version %d:\n", s.Version)
		for _, u := range uses {
			if u.Version == s.Version {
				fmt.Fprintf(out, "  %d %s\n", u.Count, u.What)
				needed = needed || u.Needs
			}
		}
		switch {
		case needed:
			fmt.Fprintln(out, "  The secret is needed: run ratchet secrets rotate again.")
		case s.RetiredAt == nil:
			fmt.Fprintf(out, "  Its keys are kept under a newer secret. End it with: ratchet secrets retire %d\n",
				s.Version)
		}
	}
}

func secretsReplaceCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "replace",
		Short: "Make RATCHET_SECRET the installation's secret, while no process runs",
		Long: `Make RATCHET_SECRET the installation's secret. Stop all processes first.

What was derived from the old secret is lost: API keys, the signing secrets of webhook
endpoints, second factors and sessions of users, and secrets in stored responses. Card
fingerprints change. Retries of earlier requests are refused. ratchet verify cannot
check blocks of the audit trail's chain that were made before.

Calls to the acquirer that are under way keep their keys, so a request that is
unfinished charges no card twice. A request that was itself lost in a failover gets
another key when its client retries it: wait until clients have stopped to retry.

This command needs RATCHET_DATABASE_URL with the schema owner's login. The change and
its audit row are one transaction.`,
		Example: `  RATCHET_SECRET=$(openssl rand -hex 32) ratchet secrets replace --reason "a laptop was stolen"`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if reason == "" {
				return usagef("--reason is missing: it goes into the audit trail")
			}
			pool, s, err := operate(cmd.Context(), "")
			if err != nil {
				return err
			}
			defer pool.Close()
			root, err := s.root()
			if err != nil {
				return err
			}
			if err := process.ReplaceSecret(cmd.Context(), pool, root, operator(), reason); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "replaced; start the processes with this secret, then create API keys"+
				" and roll the secrets of webhook endpoints")
			return nil
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit trail")
	return cmd
}

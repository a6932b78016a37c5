package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

func requestsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "requests",
		Short: "List requests, and resolve those that need an operator",
		Long: `List requests, and resolve those that need an operator.

A request is running (a process executes it), parked (retried when it is due),
needs_review (held for an operator), finished or archived. These commands need
RATCHET_DATABASE_URL, or a running demo.`,
		Example: "  ratchet requests list --state needs_review",
		Args:    cobra.NoArgs,
		RunE:    help,
	}
	cmd.AddCommand(requestsListCommand(), requestsShowCommand(), requestsResumeCommand(), requestsReleaseCommand())
	return cmd
}

var states = []string{idempotency.Running, idempotency.Parked, idempotency.Held, idempotency.Finished,
	idempotency.Archived}

func requestsListCommand() *cobra.Command {
	var wanted []string
	var account string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List requests, oldest first; by default only unfinished ones",
		Example: "  ratchet requests list\n  ratchet requests list --state needs_review,parked\n  ratchet requests " +
			"list --state finished --account acct_shop --limit 20",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, state := range wanted {
				if !slices.Contains(states, state) {
					return usagef("state must be one of %s, not %q", strings.Join(states, ", "), state)
				}
			}
			if limit < 1 {
				return usagef("--limit must be at least 1, not %d", limit)
			}
			pool, _, err := operate(cmd.Context(), workerRole)
			if err != nil {
				return err
			}
			defer pool.Close()
			found, err := idempotency.List(cmd.Context(), pool, wanted, account, limit)
			if err != nil {
				return err
			}
			return printRequests(cmd, found)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&wanted, "state", idempotency.Unfinished(),
		"only requests in these states: "+strings.Join(states, ", "))
	f.StringVar(&account, "account", "", "only requests of this account")
	f.IntVar(&limit, "limit", 100, "maximum number of requests")
	return cmd
}

func printRequests(cmd *cobra.Command, found []idempotency.Summary) error {
	if len(found) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "none")
		return nil
	}
	table := newTable(cmd.OutOrStdout())
	fmt.Fprintln(table, "REQUEST\tACCOUNT\tOPERATION\tSTATE\tAGE\tPOINT\tTRIES\tWHY")
	for _, r := range found {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", r.ID, r.AccountID, r.Flow, r.State,
			age(r.Now.Sub(r.CreatedAt)), r.Point, r.Attempts, why(r))
	}
	return table.Flush()
}

// why says why a request is in the state it is in.
func why(r idempotency.Summary) string {
	switch r.State {
	case idempotency.Held:
		return orDash(r.HeldReason)
	case idempotency.Parked:
		if wait := r.DueAt.Sub(r.Now); wait > 0 {
			return "due in " + age(wait)
		}
		return "due"
	case idempotency.Running:
		if r.Executing {
			return fmt.Sprintf("executed by pid %d on %s", *r.OwnerPID, *r.OwnerHost)
		}
		return "its process crashed; the completer will take it over"
	}
	if r.Status == nil {
		return "damaged: it has neither a run nor an answer"
	}
	return fmt.Sprintf("response %d %s", *r.Status, orDash(r.ObjectID))
}

func requestsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show REQUEST",
		Short:   "Print the details of a request, by its ID or its idempotency key",
		Example: "  ratchet requests show req_0VbTq1s3Zk…\n  ratchet requests show my-idempotency-key",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pool, _, err := operate(cmd.Context(), workerRole)
			if err != nil {
				return err
			}
			defer pool.Close()
			found, err := idempotency.LookUp(cmd.Context(), pool, args[0])
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return fmt.Errorf("request not found: no ID or idempotency key is %q", args[0])
			}
			for i, r := range found {
				if i > 0 {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				err := printRequest(cmd.Context(), cmd.OutOrStdout(), pool, r)
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func printRequest(ctx context.Context, out io.Writer, pool *pgxpool.Pool, r idempotency.Summary) error {
	journal, err := idempotency.RecoveryPoints(ctx, pool, r.AccountID, r.ID)
	if err != nil {
		return err
	}
	calls, err := idempotency.Calls(ctx, pool, r.AccountID, r.ID)
	if err != nil {
		return err
	}
	key := r.Key
	if r.KeyGenerated {
		key += "  (generated: the client sent none)"
	}
	table := newTable(out)
	fmt.Fprintf(table, "request\t%s\naccount\t%s, %s mode\nasked\t%s %s\nkey\t%s\n", r.ID, r.AccountID,
		mode(r.Livemode), r.Method, r.Path, key)
	fmt.Fprintf(table, "operation\t%s, version %d\n", r.Flow, r.Version)
	fmt.Fprintf(table, "state\t%s: %s\nepoch\t%d\nattempts\t%d without an outcome\n", r.State, why(r), r.Epoch,
		r.Attempts)
	fmt.Fprintf(table, "created\t%s, %s ago\nfinished\t%s\n", moment(&r.CreatedAt), age(r.Now.Sub(r.CreatedAt)),
		moment(r.FinishedAt))
	fmt.Fprintln(table, "\npassed\tAT\tEPOCH")
	for _, line := range journal {
		fmt.Fprintf(table, "%s\t%s\t%d\n", line.Point, moment(&line.At), line.Epoch)
	}
	if len(calls) > 0 {
		fmt.Fprintln(table, "\ncalls\tAT\tKEY\tATTEMPTS\tOUTCOME\tPROOF")
	}
	for _, c := range calls {
		fmt.Fprintf(table, "%s %d\t%s\t%s\t%d\t%s\t%s\n", c.Phase, c.Generation, moment(&c.SentAt), c.DerivedKey,
			c.Attempts, c.Outcome, orDash(c.Proof))
	}
	err = table.Flush()
	if err != nil || r.Status == nil {
		return err
	}
	return printAnswer(out, r)
}

func printAnswer(out io.Writer, r idempotency.Summary) error {
	fmt.Fprintf(out, "\nanswer %d, replayed until %s\n", *r.Status, moment(r.ExpiresAt))
	var body bytes.Buffer
	err := json.Indent(&body, r.Body, "", "  ")
	if err != nil {
		return fmt.Errorf("read the stored answer: %w", err)
	}
	_, err = fmt.Fprintln(out, strings.TrimSpace(body.String()))
	return err
}

// one finds the request that an operator means to change. A key that belongs to
// several is no way to name one.
func one(ctx context.Context, pool *pgxpool.Pool, name string) (idempotency.Summary, error) {
	found, err := idempotency.LookUp(ctx, pool, name)
	if err != nil {
		return idempotency.Summary{}, err
	}
	if len(found) == 0 {
		return idempotency.Summary{}, fmt.Errorf("request not found: no ID or idempotency key is %q", name)
	}
	if len(found) > 1 {
		return idempotency.Summary{},
			fmt.Errorf("%d requests have the idempotency key %q: pass a request ID", len(found), name)
	}
	return found[0], nil
}

func requestsResumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resume REQUEST",
		Short: "Retry a held or parked request now",
		Long: `Retry a held or parked request now, with a new set of attempts.

This is always safe. The engine calls under the same key, or looks the call up. If
the request was held because the acquirer proved five keys unused, the engine calls
under the next key, and up to five keys are used before the request is held again.
Use this after the acquirer was repaired.

The completer runs the request. It does not charge a card late: after ten minutes,
or at any age if the client sent no key, it only looks the call up, and fails the
charge if the acquirer never acted. If the client itself retries under its key, the
charge is made.`,
		Example: "  ratchet requests resume req_0VbTq1s3Zk…",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			pool, _, err := operate(ctx, workerRole)
			if err != nil {
				return err
			}
			defer pool.Close()
			r, err := one(ctx, pool, args[0])
			if err != nil {
				return err
			}
			calls, err := idempotency.Calls(ctx, pool, r.AccountID, r.ID)
			if err != nil {
				return err
			}
			err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
				err := idempotency.TryNow(ctx, tx, r.AccountID, r.ID)
				if err != nil {
					return err
				}
				return audit.RecordOperator(ctx, tx,
					act(r, "request.resume", map[string]any{"was": r.State, "because": r.HeldReason}))
			})
			if errors.Is(err, idempotency.ErrNotYours) {
				return fmt.Errorf("%s is %s: only parked or held requests can be resumed", r.ID, r.State)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s was %s and is due now; the completer will run it%s\n", r.ID, r.State,
				under(calls))
			return nil
		},
	}
}

// under says which key a request is tried under that is resumed.
func under(calls []idempotency.RequestCall) string {
	last := make(map[string]idempotency.RequestCall)
	for _, c := range calls { // the generations of a phase follow each other
		last[c.Phase] = c
	}
	for phase, c := range last {
		switch c.Outcome {
		case "not_executed":
			return fmt.Sprintf(".\nIts %d keys for %s are proved unused, so the next call uses a new key",
				c.Generation, phase)
		case "unknown":
			return ", under " + c.DerivedKey
		}
	}
	return ""
}

func act(r idempotency.Summary, operation string, details any) audit.OperatorAct {
	a := audit.OperatorAct{
		User:      operator(),
		Operation: operation,
		AccountID: r.AccountID,
		Livemode:  r.Livemode,
		RequestID: r.ID,
		Details:   details,
	}
	if !r.KeyGenerated {
		a.Key = r.Key
	}
	return a
}

// notExecuted is the only decision. That the acquirer did act needs
// none: it is found by looking it up.
const notExecuted = "not-executed"

func requestsReleaseCommand() *cobra.Command {
	var as, evidence, phase string
	cmd := &cobra.Command{
		Use:   "release REQUEST",
		Short: "Declare that a held request's call did nothing, so that it is made again",
		Long: `Declare that a held request's call did nothing, so that it is made again.

A request is held if Ratchet cannot prove whether the acquirer acted. Ask the
acquirer about the key that "ratchet requests show" prints. If it acted, do not
release. If it did not and never will, release: the next call uses a new key. If you
are wrong, the customer is charged twice. The audit trail records your name.`,
		Example: `  ratchet requests release req_0VbTq1s3Zk… --as not-executed --evidence "ticket 4711: no such key"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if as != notExecuted {
				return usagef("--as is required: %s", notExecuted)
			}
			if strings.TrimSpace(evidence) == "" {
				return usagef("--evidence is required")
			}
			return release(cmd, args[0], phase, evidence)
		},
	}
	f := cmd.Flags()
	f.StringVar(&as, "as", "", "your finding: "+notExecuted)
	f.StringVar(&evidence, "evidence", "", "your evidence, for the audit trail")
	f.StringVar(&phase, "phase", "", "the call, if several have an unknown outcome")
	return cmd
}

func release(cmd *cobra.Command, name, phase, evidence string) error {
	ctx := cmd.Context()
	pool, s, err := operate(ctx, workerRole)
	if err != nil {
		return err
	}
	defer pool.Close()
	roots, err := s.rootsOf(ctx, pool)
	if err != nil {
		return err
	}
	r, err := one(ctx, pool, name)
	if err != nil {
		return err
	}
	var retired, next idempotency.ForeignCall
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
		retired, next, err = idempotency.Release(ctx, tx, roots.Keys(secret.Idempotency).Oldest(), r.AccountID, r.ID,
			phase, "operator "+operator()+": "+evidence)
		if err != nil {
			return err
		}
		return audit.RecordOperator(ctx, tx, act(r, "request.release", map[string]any{
			"decision": notExecuted,
			"evidence": evidence,
			"held":     r.HeldReason,
			"phase":    retired.Phase,
			"retired":  retired.Key,
			"next":     next.Key,
		}))
	})
	if errors.Is(err, idempotency.ErrNotYours) {
		return fmt.Errorf("%s is %s: only held requests can be released", r.ID, r.State)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s is recorded as unused; the next call uses %s and is due now\n", r.ID,
		retired.Key, next.Key)
	return nil
}

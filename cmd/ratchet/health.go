package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// healthTimeout is how long a healthy part may take to say so.
const healthTimeout = 3 * time.Second

func healthCommand() *cobra.Command {
	var url, kind string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check the health of a process on this machine, for containers",
		Long: `Check the health of a process on this machine, for containers.

Exits with 0 if all checks pass. --url checks that a URL responds. --alive checks in
the database that a process of that kind on this host renews its liveness row; it
needs RATCHET_DATABASE_URL.`,
		Example: "  ratchet health --url http://127.0.0.1:8080/readyz --alive serve",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if url == "" && kind == "" {
				return usagef("--url or --alive is required")
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), healthTimeout)
			defer cancel()
			if url != "" {
				err := answersAt(ctx, url)
				if err != nil {
					return err
				}
			}
			if kind == "" {
				return nil
			}
			return aliveHere(ctx, kind)
		},
	}
	cmd.Flags().StringVar(&url, "url", "", "URL that must respond with a status below 500")
	cmd.Flags().StringVar(&kind, "alive", "", `kind of process that must be alive: "serve" or "work"`)
	return cmd
}

func answersAt(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("%s returned %s", url, response.Status)
	}
	return nil
}

const workersAlive = `SELECT count(*) FROM workers w WHERE w.kind = @kind AND w.host = @host AND ` + idempotency.Alive

func aliveHere(ctx context.Context, kind string) error {
	url, err := given().databaseURL()
	if err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, postgres.Config{URL: url, ApplicationName: "ratchet health", MaxConns: 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	var alive int
	err = pool.QueryRow(ctx, workersAlive, postgres.Args{"kind": kind, "host": host}).Scan(&alive)
	if err != nil {
		return fmt.Errorf("read liveness: %w", err)
	}
	if alive == 0 {
		return fmt.Errorf("no live %q process on host %s", kind, host)
	}
	return nil
}

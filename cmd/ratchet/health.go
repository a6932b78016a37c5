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

// healthPatience is how long a healthy part may take to say so.
const healthPatience = 3 * time.Second

func healthCommand() *cobra.Command {
	var url, kind string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Exit with 0 if a part on this machine is alive: for container health checks",
		Long: `Exit with 0 if a part on this machine is alive: for container health checks.

--url asks whether anything answers there. --alive asks the database whether a
process of that kind renews its liveness row from this host; it needs RATCHET_DATABASE_URL.`,
		Example: "  ratchet health --url http://127.0.0.1:8080/readyz --alive serve",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if url == "" && kind == "" {
				return usagef("say what to check: --url or --alive")
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), healthPatience)
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
	cmd.Flags().StringVar(&url, "url", "", "something has to answer here, with a status below 500")
	cmd.Flags().StringVar(&kind, "alive", "", `a process of this kind has to be alive: "serve" or "work"`)
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
		return fmt.Errorf("%s answers %s", url, response.Status)
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
		return fmt.Errorf("no %q process on host %s is alive", kind, host)
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/audit"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

// workerRole may do to requests what an operator may, and no more.
const workerRole = "ratchet_worker"

// operate opens the database for an operator's command: with a role's grants, or
// with the login's own where role is empty.
func operate(ctx context.Context, role string) (*pgxpool.Pool, settings, error) {
	s, err := operators()
	if err != nil {
		return nil, settings{}, err
	}
	url, err := s.databaseURL()
	if err != nil {
		return nil, settings{}, err
	}
	pool, err := postgres.Open(ctx,
		postgres.Config{URL: url, Role: role, ApplicationName: "ratchet operator", MaxConns: 1})
	if err != nil {
		return nil, settings{}, err
	}
	return pool, s, nil
}

// operator is who the audit trail will say did it.
func operator() string { return audit.Operator() }

// newTable aligns the columns of what is written to it, which tabs separate, when it is flushed.
func newTable(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0) }

// age says how long ago something was in one unit and a bit: 3h12m, 45s.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return d.Round(100 * time.Millisecond).String()
}

// moment is a time as tables show it, and "-" for none.
func moment(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format("2006-01-02 15:04:05.000")
}

// orDash is a text that may be missing.
func orDash(text *string) string {
	if text == nil || *text == "" {
		return "-"
	}
	return *text
}

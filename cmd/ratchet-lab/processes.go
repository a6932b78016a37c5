package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ratchet-pay/ratchet/internal/crashpoint"
	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/design"
	"github.com/ratchet-pay/ratchet/internal/lab/redis"
	"github.com/ratchet-pay/ratchet/internal/lab/runner"
)

// designCommand is the process of one design. The lab starts it, and kills it.
func designCommand() *cobra.Command {
	return &cobra.Command{
		Use: "design NAME", Hidden: true, Args: cobra.ExactArgs(1),
		Short: "Run the process of one design",
		RunE:  func(cmd *cobra.Command, args []string) error { return serveDesign(cmd.Context(), args[0]) },
	}
}

// bankTimeout is how long a design waits for the bank if nothing else is said.
const bankTimeout = 8 * time.Second

// drainTime is how long requests may take that are under way when the process is
// told to end.
const drainTime = 10 * time.Second

// openDatabase opens the database that the environment names, over watched connections.
func openDatabase(ctx context.Context, crash *crashpoint.Points, maxConns int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(os.Getenv(runner.DatabaseVariable))
	if err != nil {
		return nil, err
	}
	config.MaxConns = maxConns
	if dial := crash.DialDatabase(); dial != nil {
		config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dial(ctx, network, addr)
		}
	}
	db, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := db.Ping(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("reach database: %w", err)
	}
	return db, nil
}

// timeoutOfBank is how long the design waits for the bank.
func timeoutOfBank() (time.Duration, error) {
	text := os.Getenv(runner.TimeoutVariable)
	if text == "" {
		return bankTimeout, nil
	}
	return time.ParseDuration(text)
}

// openBank is the bank's client of the designs.
func openBank(crash *crashpoint.Points) (*design.Bank, error) {
	timeout, err := timeoutOfBank()
	return design.NewBank(os.Getenv(runner.AcquirerVariable), os.Getenv(runner.SecretVariable), timeout,
		design.DialFunc(crash.DialAcquirer())), err
}

// partsOf are what a design's handler is made of, with the switches of the run.
func partsOf(ctx context.Context, crash *crashpoint.Points) (p design.Parts, err error) {
	const conns = 4
	if p.Bank, err = openBank(crash); err != nil {
		return p, err
	}
	p.Redis = redis.NewClient(os.Getenv(runner.RedisVariable), redis.DialFunc(crash.DialRedis()))
	settings, err := lab.ParseSettings("", os.Getenv(runner.LockVariable), os.Getenv(runner.StoreVariable))
	if err != nil {
		return p, err
	}
	p.LockSeconds = settings.LockSeconds
	if settings.Store != "" {
		first := settings.Store == lab.AnswerFirst
		p.AnswerFirst = &first
	}
	p.DB, err = openDatabase(ctx, crash, conns)
	return p, err
}

func serveDesign(ctx context.Context, name string) error {
	crash := crashpoint.FromEnvironment()
	parts, err := partsOf(ctx, crash)
	if err != nil {
		return err
	}
	defer parts.DB.Close()
	handler, err := design.New(name, parts)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: crash.Handler(handler), ReadHeaderTimeout: bankTimeout}
	slog.New(slog.NewJSONHandler(os.Stderr, nil)).Info("serving", "addr", l.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(crash.Listener(l)) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return server.Shutdown(ctx)
}

// redisCommand is the stand-in for Redis.
func redisCommand() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use: "redis", Hidden: true, Args: cobra.NoArgs,
		Short: "Run the stand-in for Redis",
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := net.Listen("tcp", addr)
			if err != nil {
				return err
			}
			context.AfterFunc(cmd.Context(), func() { l.Close() })
			err = redis.NewStandIn().Serve(l)
			if cmd.Context().Err() != nil {
				return nil
			}
			return err
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:6379", "address to listen on")
	return cmd
}

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
	"github.com/ratchet-pay/ratchet/internal/lab/design"
	"github.com/ratchet-pay/ratchet/internal/lab/redis"
	"github.com/ratchet-pay/ratchet/internal/lab/stand"
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

func serveDesign(ctx context.Context, name string) error {
	crash := crashpoint.FromEnvironment()
	config, err := pgxpool.ParseConfig(os.Getenv(stand.DatabaseVariable))
	if err != nil {
		return err
	}
	config.MaxConns = 4
	if dial := crash.DialDatabase(); dial != nil {
		config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dial(ctx, network, addr)
		}
	}
	db, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Ping(ctx); err != nil {
		return fmt.Errorf("reach database: %w", err)
	}
	timeout := bankTimeout
	if text := os.Getenv(stand.TimeoutVariable); text != "" {
		if timeout, err = time.ParseDuration(text); err != nil {
			return err
		}
	}
	bank := design.NewBank(os.Getenv(stand.AcquirerVariable), os.Getenv(stand.SecretVariable), timeout,
		design.DialFunc(crash.DialAcquirer()))
	keys := redis.NewClient(os.Getenv(stand.RedisVariable), redis.DialFunc(crash.DialRedis()))
	handler, err := design.New(name, design.Parts{DB: db, Bank: bank, Redis: keys})
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

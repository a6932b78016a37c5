// Package simulator is an acquirer for test cards, in a separate process with its own database.
//
// It keeps the promises of the port. It acts once per key: the same order gets the same answer,
// another order is rejected, and so is any order under a reversed key. It commits before it
// answers. An append-only journal records what it did to each card. Tests count charges in that
// journal, not in our tables.
//
// It can be made to misbehave as real ones do: see fault.
package simulator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Config says where the acquirer keeps its books and who may talk to it.
type Config struct {
	// DatabaseURL is any Postgres; everything lives in the schema "acquirer".
	DatabaseURL string
	// Secret is what clients present as a bearer token. It may not be empty.
	Secret string
	// Certificate and Key are the files of a TLS certificate in PEM. Without them the acquirer speaks plain HTTP.
	Certificate, Key string
	// AllowFault lets a request ask for a fault in its Acquirer-Fault header.
	AllowFault bool
	// Fault goes wrong with every request, such as "slow:50,drop_after_acting=0.2".
	Fault string
	// NotifyURL is where notifications are posted; empty keeps them in the outbox.
	NotifyURL string
	// NotifySecret signs them.
	NotifySecret string
	// NotifyDelay is the delay between a change and its notification.
	NotifyDelay time.Duration
	// SettleEvery is how often a batch of what is owed is paid, where there is a
	// NotifyURL to tell it to; a full part is paid at once. 0 is never.
	SettleEvery time.Duration
	// Log may be nil.
	Log *slog.Logger
}

// Simulator is a running acquirer. Close it.
type Simulator struct {
	secret           string
	certificate, key string
	allowFault       bool
	faults           atomic.Pointer[faults]
	pool             *pgxpool.Pool
	writing          *pgxpool.Pool // the writer's own connection
	writer           *writer
	announcer        *announcer
	log              *slog.Logger
}

// New connects to the database, brings its schema up to date and starts the writer.
func New(ctx context.Context, cfg Config) (*Simulator, error) {
	if cfg.Secret == "" {
		return nil, errors.New("the acquirer needs a secret")
	}
	if cfg.NotifyURL != "" && cfg.NotifySecret == "" {
		return nil, errors.New("the acquirer needs a secret to sign its notifications")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	faults, err := parseFaults(cfg.Fault)
	if err != nil {
		return nil, err
	}
	pool, err := connect(ctx, cfg.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("connect to the acquirer's database: %w", err)
	}
	err = migrateSchema(ctx, pool)
	if err != nil {
		pool.Close()
		return nil, err
	}
	writing, err := connectWriter(ctx, cfg.DatabaseURL)
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the acquirer's database: %w", err)
	}
	s := &Simulator{
		secret:      cfg.Secret,
		certificate: cfg.Certificate,
		key:         cfg.Key,
		allowFault:  cfg.AllowFault,
		pool:        pool,
		writing:     writing,
		writer:      startWriter(writing),
		log:         cfg.Log,
	}
	s.faults.Store(faults)
	s.announcer = startAnnouncer(ctx, cfg, pool)
	s.Notify(cfg.NotifyURL, cfg.NotifySecret)
	return s, nil
}

// connect opens few connections, for the announcer and for readers of the journal.
func connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 5
	config.ConnConfig.RuntimeParams["application_name"] = "ratchet acquirer"
	// A plan for key = ANY(…) that was kept from when the table was empty reads
	// the whole table forever. One plan per batch is cheap.
	config.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
	return pgxpool.NewWithConfig(ctx, config)
}

// connectWriter opens the writer's connection. Its few statements are planned once:
// planning costs more than they do. A plan that was made while the tables were empty
// would read all of them forever, so it may only use indexes.
func connectWriter(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 1
	session := config.ConnConfig.RuntimeParams
	session["application_name"] = "ratchet acquirer"
	session["plan_cache_mode"] = "force_generic_plan"
	session["enable_seqscan"], session["enable_hashjoin"], session["enable_mergejoin"] = "off", "off", "off"
	session["jit"] = "off"
	return pgxpool.NewWithConfig(ctx, config)
}

// Close waits for the batch that is being committed and disconnects.
func (s *Simulator) Close() {
	s.announcer.stop()
	s.writer.stop()
	s.writing.Close()
	s.pool.Close()
}

// SetFault replaces what goes wrong with every request; "" ends it.
func (s *Simulator) SetFault(text string) error {
	faults, err := parseFaults(text)
	if err != nil {
		return err
	}
	s.faults.Store(faults)
	s.log.Info("faults set", "fault", text)
	return nil
}

// Notify has notifications posted to an address, or with "" kept, from now on.
func (s *Simulator) Notify(url, secret string) { s.announcer.listener.Store(&listener{url, secret}) }

// Settle pays what is owed now.
func (s *Simulator) Settle(ctx context.Context) error { return settleDue(ctx, s.pool) }

// Unacknowledged counts the notifications that are still to be sent, settlements and repetitions included.
func (s *Simulator) Unacknowledged(ctx context.Context) (left int, err error) {
	err = s.pool.QueryRow(ctx, countUnacknowledged).Scan(&left)
	return left, err
}

// Journal reads what this acquirer did to which card, oldest first.
func (s *Simulator) Journal(ctx context.Context) ([]Movement, error) {
	return Journal(ctx, s.pool)
}

// Run serves on the address until the context is done, then lets what is under
// way finish for up to ten seconds. It does not close the simulator.
func (s *Simulator) Run(ctx context.Context, addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	s.log.Info("acquirer is listening", "address", listener.Addr().String())

	ended := make(chan error, 1)
	go func() {
		if s.certificate == "" {
			ended <- server.Serve(listener)
			return
		}
		ended <- server.ServeTLS(listener, s.certificate, s.key)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err = server.Shutdown(grace)
	if err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}

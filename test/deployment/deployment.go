// Package deployment starts a whole installation on this machine for programs that
// measure it: PostgreSQL with its ordinary durability, the API, the worker, and
// the acquirer with its own PostgreSQL, each as the process it is in
// production. Two servers keep apart what the acquirer costs, which is another
// company.
package deployment

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/port"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/postgres/local"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// Ours is the name of our database.
const Ours = "deployment"

const (
	rootSecret         = "a secret for measuring and for nothing else"
	notificationSecret = "notifications of a measurement"
)

// Options say what the deployment has beside its defaults.
type Options struct {
	Settings []string // of PostgreSQL, as name=value
	Env      []string // of all processes, as NAME=value

	Serves, Works int // how many processes of each; 0: one

	ReuseWAL bool // the servers already have WAL files to reuse, like servers that have run for a while
}

// Deployment is an installation that runs. Stop it.
type Deployment struct {
	Server      *local.Server // of our database
	Theirs      *local.Server // of the acquirer's
	Pool        *pgxpool.Pool // of our database, as its owner
	URL         string        // of our database
	AcquirerURL string        // of the acquirer's database
	Addr        string        // of the API
	Addrs       []string      // of all processes that serve it
	MetricsAddr map[string]string

	dir     string
	options Options
	running map[string]*exec.Cmd // by name: serve, and serve 2 if there is another
}

// Start makes the databases and builds the program. Nothing runs yet but PostgreSQL.
func Start(ctx context.Context, o Options) (s *Deployment, err error) {
	s = &Deployment{options: o, running: map[string]*exec.Cmd{}, MetricsAddr: map[string]string{}}
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	if s.dir, err = os.MkdirTemp("", "ratchet-deployment-"); err != nil {
		return s, err
	}
	if err := os.Chmod(s.dir, 0o755); err != nil { // the server may run as another user
		return s, err
	}
	for name, server := range map[string]**local.Server{"postgres": &s.Server, "acquirer": &s.Theirs} {
		*server, err = local.Start(ctx, local.Options{StateDir: filepath.Join(s.dir, name),
			ExtraSettings: append([]string{"max_connections=500", "min_wal_size=1GB"}, o.Settings...)})
		if err != nil {
			return s, err
		}
		if o.ReuseWAL {
			if err := fillWAL(ctx, (*server).URL); err != nil {
				return s, err
			}
		}
	}
	if s.URL, err = s.Database(ctx, Ours); err != nil {
		return s, err
	}
	s.AcquirerURL = s.Theirs.URL
	if err := postgres.Migrate(ctx, s.URL); err != nil {
		return s, err
	}
	s.Pool, err = postgres.Open(ctx, postgres.Config{URL: s.URL, MaxConns: 80, ApplicationName: "deployment"})
	if err != nil {
		return s, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", s.program(), "./cmd/ratchet")
	if out, err := build.CombinedOutput(); err != nil {
		return s, fmt.Errorf("build: %w\n%s", err, out)
	}
	return s, nil
}

// fillWAL has a server write as much WAL as min_wal_size keeps, and then reuse those files. A server that has run for a
// while does the same. A new one creates each file of 16 MB when it needs the file, and commits wait for that: up to
// 59 ms in one measurement (docs/performance.md).
func fillWAL(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx,
		"SELECT pg_logical_emit_message(false, 'fill', repeat('x', 1 << 20)) FROM generate_series(1, 1024)")
	if err == nil {
		_, err = conn.Exec(ctx, "CHECKPOINT")
	}
	if err != nil {
		return fmt.Errorf("fill the WAL: %w", err)
	}
	return nil
}

func (s *Deployment) program() string { return filepath.Join(s.dir, "ratchet") }

// Database makes another database beside ours and returns its address.
func (s *Deployment) Database(ctx context.Context, name string) (string, error) {
	conn, err := pgx.Connect(ctx, s.Server.URL)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	return strings.Replace(s.Server.URL, "/postgres?", "/"+name+"?", 1), nil
}

// Run starts acquirer, work and serve, and waits until they answer.
func (s *Deployment) Run(ctx context.Context) error {
	theirs, err := port.Reserve()
	if err != nil {
		return err
	}
	if s.Addr, err = port.Reserve(); err != nil {
		return err
	}
	s.Addrs = []string{s.Addr}
	env := append(append(os.Environ(), s.Environ()...), "RATCHET_ACQUIRER_URL=http://"+theirs,
		"RATCHET_ACQUIRER_NOTIFY_URL=http://"+s.Addr+acquirer.NotificationsPath, "RATCHET_ACQUIRER_NOTIFY_DELAY=0s",
		"RATCHET_WEBHOOK_ALLOW_LOOPBACK=1", "RATCHET_DRAIN_GRACE_PERIOD=0s",
		"RATCHET_KEY_RATE=0", "RATCHET_ACCOUNT_CONCURRENCY=0", "RATCHET_MAX_ACCOUNT_WRITES=0",
	)
	env = append(env, s.options.Env...)
	all := [][]string{{"acquirer", "--addr", theirs}, {"work"}, {"serve", "--addr", s.Addr}}
	for range s.options.Works - 1 {
		all = append(all, []string{"work"})
	}
	for range s.options.Serves - 1 {
		addr, err := port.Reserve()
		if err != nil {
			return err
		}
		s.Addrs = append(s.Addrs, addr)
		all = append(all, []string{"serve", "--addr", addr})
	}
	started := map[string]int{}
	for _, args := range all {
		name := args[0]
		if started[args[0]]++; started[args[0]] > 1 {
			name = fmt.Sprintf("%s %d", name, started[args[0]])
		}
		if err := s.start(ctx, name, env, args); err != nil {
			return err
		}
	}
	ready := answers(theirs)
	for _, addr := range s.Addrs {
		ready = errors.Join(ready, answers(addr))
	}
	return ready
}

// Environ are the secrets and databases of the installation, for its processes and for commands such as verify.
func (s *Deployment) Environ() []string {
	return []string{"RATCHET_SECRET=" + rootSecret, "RATCHET_ACQUIRER_SECRET=deployment",
		"RATCHET_NOTIFICATION_SECRET=" + notificationSecret,
		"RATCHET_DATABASE_URL=" + s.URL, "RATCHET_ACQUIRER_DATABASE_URL=" + s.AcquirerURL}
}

// start starts one process.
func (s *Deployment) start(ctx context.Context, name string, env, args []string) (err error) {
	if s.MetricsAddr[name], err = port.Reserve(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, s.program(), args...)
	cmd.Env = append(env[:len(env):len(env)], "RATCHET_METRICS_ADDR="+s.MetricsAddr[name])
	log, err := os.Create(s.Log(name))
	if err != nil {
		return err
	}
	defer log.Close() // the process has it
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.running[name] = cmd
	return nil
}

// Halt ends the processes, and leaves PostgreSQL.
func (s *Deployment) Halt() {
	for name, cmd := range s.running {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		delete(s.running, name)
	}
}

// Stop ends everything and removes what it left on disk.
func (s *Deployment) Stop() {
	s.Halt()
	if s.Pool != nil {
		s.Pool.Close()
	}
	for _, server := range []*local.Server{s.Server, s.Theirs} {
		if server != nil {
			_ = server.Stop()
		}
	}
	_ = os.RemoveAll(s.dir)
}

// PID is a process's: of "serve", "work" or "acquirer"; 0 if it does not run.
func (s *Deployment) PID(part string) int {
	if cmd := s.running[part]; cmd != nil {
		return cmd.Process.Pid
	}
	return 0
}

// PIDs are those of all processes of a kind: "serve", "work" or "acquirer".
func (s *Deployment) PIDs(part string) (all []int) {
	for name, cmd := range s.running {
		if kind, _, _ := strings.Cut(name, " "); kind == part {
			all = append(all, cmd.Process.Pid)
		}
	}
	return all
}

// Log is where a process writes its lines.
func (s *Deployment) Log(part string) string { return filepath.Join(s.dir, part+".log") }

// AuditKeys are the keys of the audit trail's chain.
func (s *Deployment) AuditKeys() secret.Keys { return secret.Root(rootSecret).Keys(secret.AuditChain) }

// OpenAccount makes a merchant and returns its id and its secret key.
func (s *Deployment) OpenAccount(ctx context.Context, name string) (account, key string, err error) {
	root, err := secret.New(rootSecret)
	if err != nil {
		return "", "", err
	}
	account = id.New("acct", time.Now())
	if _, err := s.Pool.Exec(ctx, "INSERT INTO accounts (id, name) VALUES ($1, $2)", account, name); err != nil {
		return "", "", err
	}
	_, key, err = apikey.Create(ctx, s.Pool, root.Keys(secret.APIKeys), account, apikey.Secret, false)
	return account, key, err
}

func answers(addr string) error {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			return conn.Close()
		}
	}
	return fmt.Errorf("nothing answers on %s", addr)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/apikey"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/postgres/local"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// bench is the stand everything is measured on.
type bench struct {
	dir     string
	server  *local.Server
	pool    *pgxpool.Pool
	addr    string
	serve   *exec.Cmd
	running []*exec.Cmd
	parts   []string // names of running
	keys    []string // API keys, one per merchant
	account []string
	body    string // the answer of a charge
}

const (
	merchants   = 64
	benchSecret = "a secret for measuring and for nothing else"
)

// start brings up Postgres, the acquirer, the API and the worker.
func start(ctx context.Context) (b *bench, err error) {
	b = &bench{}
	defer func() {
		if err != nil {
			b.stop()
		}
	}()
	if b.dir, err = os.MkdirTemp("", "ratchet-bench-"); err != nil {
		return b, err
	}
	if err := os.Chmod(b.dir, 0o755); err != nil { // the server may run as another user
		return b, err
	}
	b.server, err = local.Start(ctx, local.Options{StateDir: filepath.Join(b.dir, "postgres"), Log: func(string, ...any) {},
		ExtraSettings: []string{"max_connections=300"}})
	if err != nil {
		return b, err
	}
	url, err := b.database(ctx, "bench")
	if err != nil {
		return b, err
	}
	acquirerURL, err := b.database(ctx, "bench_acquirer")
	if err != nil {
		return b, err
	}
	if err := postgres.Migrate(ctx, url); err != nil {
		return b, err
	}
	if b.pool, err = postgres.Open(ctx, postgres.Config{URL: url, MaxConns: 80}); err != nil {
		return b, err
	}
	if err := b.makeMerchants(ctx); err != nil {
		return b, err
	}
	binary := filepath.Join(b.dir, "ratchet")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/ratchet").CombinedOutput(); err != nil {
		return b, fmt.Errorf("build: %w\n%s", err, out)
	}
	acquirer := freeAddr()
	b.addr = freeAddr()
	shared := []string{"RATCHET_SECRET=" + benchSecret, "RATCHET_ACQUIRER_SECRET=bench", "RATCHET_DATABASE_URL=" + url,
		"RATCHET_ACQUIRER_DATABASE_URL=" + acquirerURL, "RATCHET_ACQUIRER_URL=http://" + acquirer,
		// One merchant's rate is what we measure.
		"RATCHET_KEY_RATE=0", "RATCHET_ACCOUNT_CONCURRENCY=0", "RATCHET_DRAIN_GRACE=0s"}
	for _, args := range [][]string{{"acquirer", "--addr", acquirer}, {"work"}, {"serve", "--addr", b.addr}} {
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Env = append(os.Environ(), shared...)
		if err := cmd.Start(); err != nil {
			return b, err
		}
		b.running, b.parts, b.serve = append(b.running, cmd), append(b.parts, args[0]), cmd
	}
	if err := errors.Join(answers(acquirer), answers(b.addr)); err != nil {
		return b, err
	}
	b.body, err = b.sampleAnswer()
	return b, err
}

func (b *bench) stop() {
	for _, cmd := range b.running {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}
	if b.pool != nil {
		b.pool.Close()
	}
	if b.server != nil {
		_ = b.server.Stop()
	}
	_ = os.RemoveAll(b.dir)
}

func (b *bench) database(ctx context.Context, name string) (string, error) {
	conn, err := pgx.Connect(ctx, b.server.URL)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	return strings.Replace(b.server.URL, "/postgres?", "/"+name+"?", 1), nil
}

func (b *bench) makeMerchants(ctx context.Context) error {
	root, err := secret.New(benchSecret)
	if err != nil {
		return err
	}
	for range merchants {
		account := id.New("acct", time.Now())
		if _, err := b.pool.Exec(ctx, "INSERT INTO accounts (id, name) VALUES ($1, 'Bench')", account); err != nil {
			return err
		}
		_, key, err := apikey.Create(ctx, b.pool, root.For(secret.APIKeys), account, apikey.Secret, false)
		if err != nil {
			return err
		}
		b.account, b.keys = append(b.account, account), append(b.keys, key)
	}
	// The ceiling's requests are driven by "bench", which must not look dead to the worker.
	_, err = b.pool.Exec(ctx, `INSERT INTO workers (id, kind, host, pid, started_at, alive_until) VALUES ('bench', 'bench', '', 0, now(), 'infinity')`)
	return err
}

func freeAddr() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err) // no port is free: nothing can be measured here
	}
	defer l.Close()
	return l.Addr().String()
}

func answers(addr string) error {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			return conn.Close()
		}
	}
	return fmt.Errorf("nothing answers on %s", addr)
}

// resident is the memory of serve, in bytes.
func (b *bench) resident() int64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(b.serve.Process.Pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(status))
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// sampleAnswer charges once and returns what came back.
func (b *bench) sampleAnswer() (string, error) {
	request, err := http.NewRequest(http.MethodPost, "http://"+b.addr+"/v1/charges", strings.NewReader(chargeForm))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+b.keys[0])
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("a charge answered %s: %s", response.Status, body)
	}
	return strings.TrimSpace(string(body)), err
}

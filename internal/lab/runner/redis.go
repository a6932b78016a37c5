//go:build unix

package runner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"runtime"
	"time"

	"github.com/ratchet-pay/ratchet/internal/lab/redis"
	"github.com/ratchet-pay/ratchet/internal/port"
)

// What keeps the keys of the designs on Redis.
const (
	RealRedis = "redis"
	StandIn   = "stand-in"
)

// RedisServer is the program redis-server, or "" if there is none.
func RedisServer() string { return installed("redis-server") }

// keyStore is a Redis for one run, or an external one.
type keyStore struct {
	kind   string
	addr   string
	run    *exec.Cmd // nil if it is external
	gone   chan struct{}
	runner *Runner
}

// openStore starts a key store for one run. A server that the lab was given is used
// as it is, unless the run needs one that can lose its data.
func (s *Runner) openStore(ctx context.Context, mustRestart bool) (*keyStore, error) {
	if s.RedisURL != "" && !mustRestart && !s.Config.StandIn {
		addr, err := pingStore(ctx, s.RedisURL)
		return &keyStore{kind: RealRedis, addr: addr, runner: s}, err
	}
	addr, err := port.Reserve()
	if err != nil {
		return nil, err
	}
	k := &keyStore{kind: StandIn, addr: addr, runner: s}
	if s.redis != "" {
		k.kind = RealRedis
	}
	return k, k.start(ctx)
}

// pingStore returns the address of a server that was running before the lab, if it responds.
func pingStore(ctx context.Context, redisURL string) (addr string, err error) {
	u, err := url.Parse(redisURL)
	if err != nil || u.Host == "" {
		return "", errors.New("REDIS_URL is not a URL such as redis://127.0.0.1:6379")
	}
	if err := redis.NewClient(u.Host, nil).Ping(ctx); err != nil {
		return "", fmt.Errorf("REDIS_URL is set but the server does not respond: %w", err)
	}
	return u.Host, nil
}

// start returns when the store answers. It keeps nothing on disk: what it has
// is lost with its process.
func (k *keyStore) start(ctx context.Context) error {
	k.run = exec.Command(k.runner.Lab, "redis", "--addr", k.addr)
	if k.kind == RealRedis {
		host, port, err := net.SplitHostPort(k.addr)
		if err != nil {
			return err
		}
		k.run = exec.Command(k.runner.redis, "--port", port, "--bind", host, "--save", "", "--appendonly", "no",
			"--daemonize", "no", "--dir", k.runner.dir)
	}
	apart(k.run)
	started, gone := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread() // as in process.launch
		defer close(gone)
		err := k.run.Start()
		started <- err
		if err == nil {
			_ = k.run.Wait() // it is killed
		}
	}()
	if err := <-started; err != nil {
		k.run = nil
		return fmt.Errorf("start the key store: %w", err)
	}
	k.gone = gone
	client := redis.NewClient(k.addr, nil)
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(5 * time.Millisecond) {
		err := client.Ping(ctx)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("the key store does not respond: %w", err)
		}
	}
}

// restart kills the store and starts it again. It comes back empty.
func (k *keyStore) restart(ctx context.Context) error {
	k.close()
	return k.start(ctx)
}

func (k *keyStore) close() {
	if k != nil && k.run != nil {
		_ = k.run.Process.Kill() // it may be gone
		<-k.gone
	}
}

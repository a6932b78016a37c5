package redis_test

import (
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/lab/redis"
)

// servers are the stand-in and, where there is one, a real Redis.
func servers(t *testing.T) map[string]string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { _ = redis.NewStandIn().Serve(l) }() // ends with the listener
	found := map[string]string{"the stand-in": l.Addr().String()}
	if program, err := exec.LookPath("redis-server"); err == nil {
		found["Redis"] = startRedis(t, program)
	}
	return found
}

func startRedis(t *testing.T, program string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	server := exec.CommandContext(t.Context(), program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir",
		t.TempDir())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	client := redis.NewClient(addr, nil)
	for deadline := time.Now().Add(5 * time.Minute); client.Ping(
		t.Context()) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("redis-server does not answer")
		}
	}
	return addr
}

func TestServersAnswerAlike(t *testing.T) {
	t.Parallel()
	for name, addr := range servers(t) {
		t.Run(name+" sets a key that does not exist, once, until it expires", func(t *testing.T) {
			c, ctx := redis.NewClient(addr, nil), t.Context()
			if _, found, err := c.Get(ctx, "lock"); err != nil || found {
				t.Fatalf("found %v, %v: want no key", found, err)
			}
			if set, err := c.SetNX(ctx, "lock", "mine", 1); err != nil || !set {
				t.Fatalf("set %v, %v", set, err)
			}
			if set, err := c.SetNX(ctx, "lock", "yours", 1); err != nil || set {
				t.Errorf("set %v, %v: the key exists", set, err)
			}
			if value, found, err := c.Get(ctx, "lock"); err != nil || !found || value != "mine" {
				t.Errorf("%q, %v, %v", value, found, err)
			}
			time.Sleep(1100 * time.Millisecond)
			if set, err := c.SetNX(ctx, "lock", "yours", 1); err != nil || !set {
				t.Errorf("set %v, %v: the key has expired", set, err)
			}
		})
		t.Run(name+" replaces a key, whatever is in it", func(t *testing.T) {
			c, ctx := redis.NewClient(addr, nil), t.Context()
			for _, value := range []string{"processing", "{\"body\": \"a\\r\\nb\"}", "", strings.Repeat("x", 9999)} {
				if err := c.SetEX(ctx, "answer", value, 60); err != nil {
					t.Fatal(err)
				}
				if got, found, err := c.Get(ctx, "answer"); err != nil || !found || got != value {
					t.Errorf("%q, %v, %v: want %q", got, found, err, value)
				}
			}
		})
		t.Run(name+" refuses a key that lives for no time, and answers the next command", func(t *testing.T) {
			c, ctx := redis.NewClient(addr, nil), t.Context()
			err := c.SetEX(ctx, "answer", "x", 0)
			if err == nil || !strings.Contains(err.Error(), "invalid expire time") {
				t.Errorf("%v", err)
			}
			if err := c.Ping(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

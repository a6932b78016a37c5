package postgres_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

func TestHosts(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)

	// far more than it takes, and far less than pgx would wait
	soon := func(t *testing.T) context.Context {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		t.Cleanup(cancel)
		return ctx
	}
	session := func(ctx context.Context, t *testing.T, pool *pgxpool.Pool) (pid int) {
		t.Helper()
		if err := pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
			t.Fatal(err)
		}
		return pid
	}

	t.Run("a host that accepts connections and answers nothing is passed over", func(t *testing.T) {
		t.Parallel()
		silent, _ := silentHost(t)
		address, err := url.Parse(db.URL)
		if err != nil {
			t.Fatal(err)
		}
		address.Host = silent + "," + address.Host

		pool, err := postgres.Open(soon(t), postgres.Config{URL: address.String()})
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		t.Cleanup(pool.Close)
		if err := postgres.Migrate(soon(t), address.String()); err != nil {
			t.Errorf("migrate: %v", err)
		}
	})

	t.Run("once a server was seen to lead, a silent host before it is no longer waited for", func(t *testing.T) {
		t.Parallel()
		silent, asked := silentHost(t)
		address, err := url.Parse(db.URL)
		if err != nil {
			t.Fatal(err)
		}
		address.Host = silent + "," + address.Host
		pool, err := postgres.Open(soon(t), postgres.Config{URL: address.String(), Leader: new(postgres.Leader)})
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		t.Cleanup(pool.Close)
		before := asked.Load()
		if before == 0 {
			t.Fatal("the silent host was not tried: that proves nothing")
		}
		for range 3 {
			pool.Reset()
			session(soon(t), t, pool)
		}
		if after := asked.Load(); after != before {
			t.Errorf("the silent host was tried %d times more", after-before)
		}
	})

	t.Run("a pool replaces a connection whose server has stalled", func(t *testing.T) {
		t.Parallel()
		var stalled atomic.Bool
		pool, err := postgres.Open(soon(t), postgres.Config{URL: db.URL, MaxConns: 1,
			DialFunc: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
				if err != nil || stalled.Load() {
					return conn, err
				}
				return behindProxy(t, conn, &stalled), nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		before := session(soon(t), t, pool)
		stalled.Store(true)
		time.Sleep(1500 * time.Millisecond) // it is idle for so long that the pool tries it
		if session(soon(t), t, pool) == before {
			t.Error("a connection that had stalled answered")
		}
	})

	t.Run("a connection on which the server refused to write is closed", func(t *testing.T) {
		t.Parallel()
		pool, err := postgres.Open(t.Context(), postgres.Config{URL: db.URL, MaxConns: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		before := session(t.Context(), t, pool)
		if _, err := pool.Exec(t.Context(), "SET default_transaction_read_only = on"); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(t.Context(), "CREATE TABLE written ()"); postgres.Code(err) != "25006" {
			t.Fatalf("got %v, want that the server is read-only", err)
		}
		if session(t.Context(), t, pool) == before {
			t.Error("the connection is used again")
		}
	})
}

// silentHost accepts connections, which it counts, and says nothing.
func silentHost(t *testing.T) (address string, asked *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	asked = new(atomic.Int32)
	go func() {
		var open []net.Conn
		for {
			conn, err := listener.Accept()
			if err != nil {
				break // the test is over
			}
			asked.Add(1)
			open = append(open, conn)
		}
		for _, conn := range open {
			conn.Close()
		}
	}()
	return listener.Addr().String(), asked
}

// behindProxy is the near end of a connection that answers nothing once it is stalled.
func behindProxy(t *testing.T, server net.Conn, stalled *atomic.Bool) net.Conn {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
		return server
	}
	defer listener.Close()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Error(err)
		return server
	}
	far, err := listener.Accept()
	if err != nil {
		t.Error(err)
		return near
	}
	t.Cleanup(func() { far.Close(); server.Close() })
	go func() { _, _ = io.Copy(server, far) }() // it ends with the connection
	go func() {
		buffer := make([]byte, 32<<10)
		for {
			n, err := server.Read(buffer)
			if err != nil {
				return
			}
			if !stalled.Load() {
				_, _ = far.Write(buffer[:n]) // the near end may be closed
			}
		}
	}()
	return near
}

// A server that has stalled never ends a statement. The process that knows the new leader does.
func TestStatementsOnAFormerLeaderEnd(t *testing.T) {
	t.Parallel()
	primary := pgtest.Durable(t)
	standby := primary.Standby(false)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	pool, err := postgres.Open(ctx, postgres.Config{URL: primary.Either(standby), Leader: new(postgres.Leader),
		Session: map[string]string{"statement_timeout": "0"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	ended := make(chan error, 1)
	go func() {
		_, err := pool.Exec(ctx, "SELECT pg_sleep(600)")
		ended <- err
	}()
	waitFor(t, primary.Pool, "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
	thaw := primary.Freeze()
	t.Cleanup(thaw)
	standby.Promote()
	if _, err := pool.Exec(ctx, "SELECT 1"); err != nil {
		t.Fatalf("the new leader does not answer: %v", err)
	}
	if err := <-ended; err == nil || ctx.Err() != nil {
		t.Errorf("the statement on the former leader ended with %v, want an error when the new leader is known", err)
	}
}

func waitFor(t *testing.T, pool *pgxpool.Pool, condition string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var holds bool
		if err := pool.QueryRow(t.Context(), condition).Scan(&holds); err != nil {
			t.Fatal(err)
		}
		if holds {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within five minutes: %s", condition)
		}
	}
}

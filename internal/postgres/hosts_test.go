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
		silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { silent.Close() })
		address, err := url.Parse(db.URL)
		if err != nil {
			t.Fatal(err)
		}
		address.Host = silent.Addr().String() + "," + address.Host

		pool, err := postgres.Open(soon(t), postgres.Config{URL: address.String()})
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		t.Cleanup(pool.Close)
		if err := postgres.Migrate(soon(t), address.String()); err != nil {
			t.Errorf("migrate: %v", err)
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

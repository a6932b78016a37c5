package idempotency_test

import (
	"context"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/idempotency"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

func TestLiveness(t *testing.T) {
	t.Parallel()

	t.Run("a process is as alive as the database's clock says, not its own", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		_, err := db.Pool.Exec(t.Context(), `
			CREATE SCHEMA ahead; CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
			$$ SELECT pg_catalog.clock_timestamp() + interval '3 hours' $$`)
		if err != nil {
			t.Fatal(err)
		}
		address, err := url.Parse(db.URL)
		if err != nil {
			t.Fatal(err)
		}
		query := address.Query()
		query.Set("search_path", "ahead,pg_catalog,public")
		address.RawQuery = query.Encode()
		pool, liveness := living(t, postgres.Config{URL: address.String(), MaxConns: 2})
		var until time.Time
		err = pool.QueryRow(t.Context(), "SELECT alive_until FROM workers WHERE id = $1", liveness.ID).Scan(&until)
		if err != nil {
			t.Fatal(err)
		}
		if ahead := time.Until(until); ahead < 2*time.Hour {
			t.Errorf("alive until %s from now on this machine's clock, want three hours: others take the process "+
				"for dead", ahead)
		}
	})

	t.Run("a process that ends takes its row along, so that its work is taken over at once", func(t *testing.T) {
		t.Parallel()
		pool := pgtest.New(t).Pool
		liveness, err := idempotency.NewLiveness(t.Context(), pool, "test")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		ctx, end := context.WithCancel(t.Context())
		go func() { defer close(ended); liveness.Run(ctx) }()
		end()
		<-ended
		var rows int
		err = pool.QueryRow(t.Context(), "SELECT count(*) FROM workers").Scan(&rows)
		if err != nil || rows != 0 {
			t.Errorf("%d rows are left, error %v", rows, err)
		}
	})

	t.Run("a connection that goes silent does not make a living process look dead for long", func(t *testing.T) {
		t.Parallel()
		db := pgtest.New(t)
		var silent atomic.Bool
		_, liveness := living(t, postgres.Config{
			URL:      db.URL,
			MaxConns: 2,
			DialFunc: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				if silent.Load() {
					return conn, err // what is opened afterwards works
				}
				return &wire{conn, &silent}, err
			},
		})
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { liveness.Run(ctx) })
		t.Cleanup(func() { end(); running.Wait() })

		silent.Store(true)
		time.Sleep(2 * idempotency.AliveFor) // its last renewal has lapsed
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			var alive bool
			err := db.Pool.QueryRow(t.Context(), "SELECT alive_until > clock_timestamp() FROM workers WHERE id = $1",
				liveness.ID).Scan(&alive)
			if err != nil {
				t.Fatal(err)
			}
			if alive {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("the process looks dead as long as its old connection is silent")
			}
		}
	})
}

// living is a process that has announced itself, with its own pool.
func living(t *testing.T, c postgres.Config) (*pgxpool.Pool, *idempotency.Liveness) {
	t.Helper()
	pool, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	liveness, err := idempotency.NewLiveness(t.Context(), pool, "test")
	if err != nil {
		t.Fatal(err)
	}
	return pool, liveness
}

// wire is a connection whose packets are lost once it is silent.
type wire struct {
	net.Conn
	silent *atomic.Bool
}

func (w *wire) Write(b []byte) (int, error) {
	if w.silent.Load() {
		return len(b), nil
	}
	return w.Conn.Write(b)
}

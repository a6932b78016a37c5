package phase_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// queries counts a pool's queries for keys: of one key, and of all that callers wait for.
type queries struct{ find, released atomic.Int32 }

func (q *queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	switch {
	case strings.Contains(data.SQL, "always_one_row"):
		q.find.Add(1)
	case strings.Contains(data.SQL, "@accounts"):
		q.released.Add(1)
	}
	return ctx
}

func (q *queries) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestWaiting(t *testing.T) {
	t.Parallel()

	t.Run("one query asks for all who wait, and each asks for itself only when there is something to know", func(t *testing.T) {
		t.Parallel()
		s, counted := setup(t), &queries{}
		config := s.pool.Config()
		config.ConnConfig.Tracer = counted
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		p, held := s.processOn(pool), newStall()
		s.bank.has(held.day)

		const callers = 6
		var asking sync.WaitGroup
		serve := func() {
			waiting := call("k", order{Amount: 2000})
			waiting.Wait = time.Minute
			response, err := p.buy.Serve(t.Context(), p.engine, waiting, order{Amount: 2000})
			if err != nil || response.Status != http.StatusOK {
				t.Errorf("answered %d, %v", response.Status, err)
			}
		}
		asking.Go(serve)
		<-held.began
		for range callers {
			asking.Go(serve)
		}
		time.Sleep(500 * time.Millisecond)
		close(held.release)
		asking.Wait()
		// The first caller looks once, each of the others when it comes and when it is woken;
		// twice that leaves room for a slow machine. If each polled alone, they would look 150 times.
		if most := int32(1 + 4*callers); counted.find.Load() > most {
			t.Errorf("%d callers looked %d times for their key, want at most %d", callers+1, counted.find.Load(), most)
		}
		if counted.released.Load() == 0 {
			t.Error("no query asked for all who wait")
		}
	})
}

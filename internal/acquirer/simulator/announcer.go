package simulator

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

const (
	announceEvery = 100 * time.Millisecond
	atOnce        = 32
	sendTimeout   = 10 * time.Second
)

// listener is the receiver of notifications, and the secret that signs them. url "" disables them.
type listener struct{ url, secret string }

// announcer tells what is in the outbox, each notice until it is acknowledged,
// and pays what it owes. Any number of them can share a database.
type announcer struct {
	pool     *pgxpool.Pool
	listener atomic.Pointer[listener]
	delay    time.Duration // between a change and its notification
	settle   time.Duration // between settlements; 0 is never
	log      *slog.Logger
	http     *http.Client

	cease context.CancelFunc
	ended chan struct{}
}

func startAnnouncer(ctx context.Context, cfg Config, pool *pgxpool.Pool) *announcer {
	a := &announcer{
		pool: pool, delay: cfg.NotifyDelay, settle: cfg.SettleEvery, log: cfg.Log,
		http: &http.Client{Timeout: sendTimeout}, ended: make(chan struct{}),
	}
	ctx, a.cease = context.WithCancel(context.WithoutCancel(ctx))
	a.listener.Store(&listener{})
	go a.run(ctx)
	return a
}

func (a *announcer) stop() {
	a.cease()
	<-a.ended
	a.http.CloseIdleConnections()
}

func (a *announcer) run(ctx context.Context) {
	defer close(a.ended)
	settled := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(announceEvery):
		}
		to := a.listener.Load()
		if to.url == "" {
			continue // settlement needs a receiver for its notifications
		}
		if a.settle > 0 && a.settlementIsDue(ctx, settled) {
			settled = time.Now()
			a.complain(ctx, "settle", settleDue(ctx, a.pool))
		}
		for sent := atOnce; sent == atOnce && ctx.Err() == nil; { // as long as more is due
			var err error
			sent, err = a.announce(ctx, *to)
			a.complain(ctx, "announce", err)
		}
	}
}

// settlementIsDue says whether the interval has passed, or a part is full before that.
func (a *announcer) settlementIsDue(ctx context.Context, settled time.Time) bool {
	if time.Since(settled) >= a.settle {
		return true
	}
	full, err := partIsFull(ctx, a.pool)
	a.complain(ctx, "search for a full part", err)
	return full
}

func (a *announcer) complain(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		a.log.Error("cannot "+what, "error", err)
	}
}

// announce tells some of what is due, all at once, and returns how many notices
// those were: order is not promised.
func (a *announcer) announce(ctx context.Context, to listener) (sent int, err error) {
	due, err := a.take(ctx)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	acknowledged, noted := make(chan int64, len(due)), make(chan struct{})
	go func() {
		defer close(noted)
		a.acknowledge(ctx, acknowledged)
	}()
	var telling sync.WaitGroup
	for _, n := range due {
		telling.Go(func() {
			if err := a.send(ctx, to, n); err != nil {
				a.log.Warn("a notification was not acknowledged", "number", n.Number, "error", err)
				return
			}
			acknowledged <- n.Number
		})
	}
	telling.Wait()
	close(acknowledged)
	<-noted
	return len(due), nil
}

func (a *announcer) send(ctx context.Context, to listener, n notice) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(n.Body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(acquirer.SignatureHeader, acquirer.Sign(to.secret, n.Body, time.Now()))
	response, err := a.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxBodyBytes)) // only the status matters
	if response.StatusCode >= 300 {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return nil
}

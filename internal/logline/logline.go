// Package logline writes one log line per piece of work: a request, a takeover, a round of the
// worker. Code on the way adds what it knows to the line in the context, and the code that
// started the line writes it.
//
// A line never holds a parameter, an API key or a card. What a caller chose
// itself, such as an idempotency key, is cut short and loses its long digits
// before it is added (apierror.Quote).
package logline

import (
	"context"
	"log/slog"
	"time"
)

// Line belongs to one goroutine at a time. A nil Line takes everything and keeps nothing.
type Line struct {
	message string
	started time.Time
	attrs   []slog.Attr
	err     error

	points  []string // recovery points passed, in order
	commits int
	retries int // transactions that had to be run again
	waits   []wait
}

// wait is the time spent waiting for another system.
type wait struct {
	port string
	took time.Duration
}

// Begin starts a line, and the clock of its "ms".
func Begin(message string) *Line { return &Line{message: message, started: time.Now()} }

type key struct{}

// With puts a line where From finds it.
func With(ctx context.Context, l *Line) context.Context { return context.WithValue(ctx, key{}, l) }

// From is the line of what is being done, or nil.
func From(ctx context.Context) *Line {
	l, _ := ctx.Value(key{}).(*Line)
	return l
}

// Add adds attributes to the line. On a nil line it does nothing.
func (l *Line) Add(attrs ...slog.Attr) {
	if l != nil {
		l.attrs = append(l.attrs, attrs...)
	}
}

// Committed counts a transaction and the recovery points it passed.
func (l *Line) Committed(points []string) {
	if l != nil {
		l.commits++
		l.points = append(l.points, points...)
	}
}

// Retried counts a transaction that had to be run again.
func (l *Line) Retried() {
	if l != nil {
		l.retries++
	}
}

// Waited adds to the time spent waiting for another system.
func (l *Line) Waited(port string, took time.Duration) {
	if l == nil {
		return
	}
	for i := range l.waits {
		if l.waits[i].port == port {
			l.waits[i].took += took
			return
		}
	}
	l.waits = append(l.waits, wait{port, took})
}

// Fail says what went wrong. The last one counts.
func (l *Line) Fail(err error) {
	if l != nil {
		l.err = err
	}
}

// Since is how long the work has taken so far.
func (l *Line) Since() time.Duration { return time.Since(l.started) }

// Write logs the line, with the recovery points and commits that it has collected. Call it once.
func (l *Line) Write(ctx context.Context, log *slog.Logger, level slog.Level) {
	attrs := l.attrs
	if l.commits > 0 {
		attrs = append(attrs, slog.Any("points", l.points), slog.Int("commits", l.commits))
	}
	if l.retries > 0 {
		attrs = append(attrs, slog.Int("retries", l.retries))
	}
	for _, w := range l.waits {
		attrs = append(attrs, slog.Float64(w.port+"_ms", milliseconds(w.took)))
	}
	attrs = append(attrs, slog.Float64("ms", milliseconds(l.Since())))
	if l.err != nil {
		attrs = append(attrs, slog.String("error", l.err.Error()))
	}
	log.LogAttrs(ctx, level, l.message, attrs...)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

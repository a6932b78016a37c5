// Package phasetest lets the test of an adapter call it as the engine does, and counts what the fence refuses.
package phasetest

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/phase/internal/testonly"
)

// permitTime is more than any adapter waits for an answer.
const permitTime = time.Minute

// Permit is a permit for one key and mode. The engine makes all others, and only for
// keys that are durable.
func Permit(t testing.TB, key string, mode phase.Mode) phase.Permit {
	t.Helper()
	return phase.PermitForTest(testonly.Caller{}, key, mode, time.Now().Add(permitTime))
}

// FenceCounter listens to an engine's log for the line that an operator would look for as well.
type FenceCounter struct {
	slog.Handler
	Fenced *atomic.Int32
}

// Enabled is true at every level.
func (c FenceCounter) Enabled(context.Context, slog.Level) bool { return true }

// Handle counts a line about a commit that the fence refused.
func (c FenceCounter) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "overtaken") {
		c.Fenced.Add(1)
	}
	return nil
}

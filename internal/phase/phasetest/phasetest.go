// Package phasetest lets the test of an adapter call it as the engine does.
package phasetest

import (
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/phase/internal/testonly"
)

// patience is more than any adapter waits for an answer.
const patience = time.Minute

// Permit is a permit for one key and mode. The engine makes all others, and only for
// keys that are durable.
func Permit(t testing.TB, key string, mode phase.Mode) phase.Permit {
	t.Helper()
	return phase.PermitForTest(testonly.Caller{}, key, mode, time.Now().Add(patience))
}

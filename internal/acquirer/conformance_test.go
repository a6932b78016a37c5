package acquirer_test

import (
	"testing"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

// The client passes in front of the simulator: both conform.
func TestConformance(t *testing.T) {
	t.Parallel()
	acquirertest.Conformance(t, acquirertest.Start(t, pgtest.New(t).URL).Subject(t))
}

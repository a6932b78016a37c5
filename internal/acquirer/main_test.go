package acquirer_test

import (
	"testing"

	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

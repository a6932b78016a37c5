// Package forged constructs a foreign call, and does not compile.
package forged

import "github.com/ratchet-pay/ratchet/internal/phase"

var call = phase.ForeignCall[string]{to: "the bank"}

// Package forged makes a foreign call of its own, and does not compile.
package forged

import "github.com/ratchet-pay/ratchet/internal/phase"

var call = phase.ForeignCall[string]{to: "the bank"}

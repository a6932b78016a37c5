// Package forged makes a slip of its own, and does not compile.
package forged

import "github.com/ratchet-pay/ratchet/internal/phase"

var slip = phase.Slip{key: "a key that is written down nowhere"}

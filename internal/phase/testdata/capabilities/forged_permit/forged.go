// Package forged constructs a permit, and does not compile.
package forged

import "github.com/ratchet-pay/ratchet/internal/phase"

var permit = phase.Permit{key: "a key that is not stored"}

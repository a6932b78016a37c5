package resource

import (
	"crypto/sha256"
	"time"

	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Unkeyed is a request of a job that needs no key: rows that it locks say what is
// left to do.
func (t Task) Unkeyed(what string) phase.Request {
	name := sha256.Sum256([]byte(what))
	return phase.Request{
		Caller: phase.Caller{AccountID: t.AccountID, Livemode: t.Livemode, RequestID: id.New("req", time.Now()),
			Caller: t.caller()},
		Method: "JOB", Path: "/worker/settlements", Fingerprint: name[:],
	}
}

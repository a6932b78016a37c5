package phase

import (
	"net/http"

	"github.com/ratchet-pay/ratchet/internal/apierror"
)

// Outcome is what an atomic phase commits: Next, or the request's answer.
type Outcome struct {
	final    bool
	status   int
	objectID string
	body     any
}

// Next goes on to the next phase.
var Next = Outcome{}

// Reply ends the request with an object. It is encoded once, stored, and every
// replay returns those bytes. objectID is what the request made or changed.
func Reply(status int, objectID string, body any) Outcome {
	return Outcome{final: true, status: status, objectID: objectID, body: body}
}

// OK is Reply with 200, which Stripe uses for everything that worked.
func OK(objectID string, body any) Outcome { return Reply(http.StatusOK, objectID, body) }

// Refuse ends the request with an error that is its outcome: a declined card, a
// refund of more than is left. It is stored and replayed like any answer.
func Refuse(objectID string, err *apierror.Error) Outcome {
	return Reply(err.Status, objectID, apierror.Envelope{Error: err})
}

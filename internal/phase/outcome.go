package phase

import "net/http"

// Outcome is what an atomic phase commits: Next, or the request's response.
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

// OK is Reply with 200.
func OK(objectID string, body any) Outcome { return Reply(http.StatusOK, objectID, body) }

// ErrorResponse is an error that knows how it is answered.
type ErrorResponse interface {
	error
	Response() (status int, body any)
}

// Refuse ends the request with an error that is its outcome: a declined card, a
// refund of more than is left. It is stored and replayed like any response.
func Refuse(objectID string, err ErrorResponse) Outcome {
	status, body := err.Response()
	return Reply(status, objectID, body)
}

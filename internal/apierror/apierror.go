// Package apierror is the error type that callers of the API receive.
//
// Deep code returns an *Error when the caller should see it and any other
// error when an operator should. Only internal/api turns either into a response.
package apierror

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// The four types of error that Stripe's published schema allows.
const (
	TypeAPI            = "api_error"
	TypeCard           = "card_error"
	TypeIdempotency    = "idempotency_error"
	TypeInvalidRequest = "invalid_request_error"
)

// Error is what a caller reads in {"error": {…}}. Absent fields are left out of
// the JSON, never null: Stripe's schema has no nullable field here.
type Error struct {
	// Status is the HTTP status it travels under.
	Status int `json:"-"`
	// Retry is the Stripe-Should-Retry header: "true", "false" or "" for no opinion.
	Retry string `json:"-"`
	// RetryAfter is the Retry-After header in seconds; 0 leaves it out.
	RetryAfter int `json:"-"`
	// Limit names the limit that refused the request. A 429 says it in its
	// Stripe-Rate-Limited-Reason header, in Stripe's words.
	Limit string `json:"-"`

	AdviceCode    string `json:"advice_code,omitempty"`
	Charge        string `json:"charge,omitempty"` // id of the failed charge a card error leaves behind
	Code          string `json:"code,omitempty"`
	DeclineCode   string `json:"decline_code,omitempty"`
	DocURL        string `json:"doc_url,omitempty"`
	Message       string `json:"message"`
	Param         string `json:"param,omitempty"`          // bracket form for nested ones: card[exp_month]
	PaymentIntent any    `json:"payment_intent,omitempty"` // as it is now, whole; likewise the next two
	PaymentMethod any    `json:"payment_method,omitempty"`
	RequestLogURL string `json:"request_log_url,omitempty"`
	SetupIntent   any    `json:"setup_intent,omitempty"`
	Type          string `json:"type"`
}

// Error is for logs: status, type, code, parameter and message. The client receives Message in the API's JSON.
func (e *Error) Error() string {
	if e.Param != "" {
		return fmt.Sprintf("%d %s %s (%s): %s", e.Status, e.Type, e.Code, e.Param, e.Message)
	}
	return fmt.Sprintf("%d %s %s: %s", e.Status, e.Type, e.Code, e.Message)
}

// Envelope is the only shape an error body has.
type Envelope struct {
	Error *Error `json:"error"`
}

// Remember returns the error as an object keeps it that shows its last error.
func (e *Error) Remember() (json.RawMessage, error) {
	remembered, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode the last error: %w", err)
	}
	return remembered, nil
}

// Response is how the error is answered: its status, and its body.
func (e *Error) Response() (status int, body any) { return e.Status, Envelope{e} }

// WithCode names the documented code and its page.
func (e *Error) WithCode(code string) *Error {
	e.Code = code
	e.DocURL = "https://stripe.com/docs/error-codes/" + strings.ReplaceAll(code, "_", "-")
	return e
}

// WithParam names the offending parameter, as in items[0][price]. It changes and returns e.
func (e *Error) WithParam(param string) *Error {
	e.Param = param
	return e
}

// Invalid is a 400 about one parameter, or about the request as a whole when param is "".
func Invalid(param, format string, args ...any) *Error {
	return &Error{
		Status:  http.StatusBadRequest,
		Type:    TypeInvalidRequest,
		Param:   param,
		Message: fmt.Sprintf(format, args...),
	}
}

// Missing is the 400 for a parameter that has to be there.
func Missing(param string) *Error {
	return Invalid(param, "Missing required param: %s.", param).WithCode("parameter_missing")
}

// NotFound is the 404 for an object named in the path. The answer for another
// account's object is this one too: no client learns that it exists.
func NotFound(object, param, id string) *Error {
	e := noSuch(object, param, id)
	e.Status = http.StatusNotFound
	return e
}

// NoSuch is the 400 for an object named by a parameter.
func NoSuch(object, param, id string) *Error { return noSuch(object, param, id) }

func noSuch(object, param, id string) *Error {
	return Invalid(param, "No such %s: '%s'", object, Quote(id)).WithCode("resource_missing")
}

// NoAccess is the 403 for an account that is not the key's, whether there is one
// or not. key is the API key as it may be shown.
func NoAccess(key, account string) *Error {
	e := Invalid("", "The provided key '%s' does not have access to account '%s' (or that account does not exist). "+
		"Application access may have been revoked.", key, Quote(account)).WithCode("account_invalid")
	e.Status = http.StatusForbidden
	return e
}

// Conflict is the 409 for a key whose first request is still running.
// Stripe's clients retry it when told to; the type is the one most recorded answers show.
func Conflict(key string) *Error {
	e := &Error{
		Status: http.StatusConflict,
		Type:   TypeIdempotency,
		Message: "There is currently another in-progress request using this Idempotent Key (that probably means you " +
			"submitted twice, and the other request is still going through): " + Excerpt(key) +
			". Please try again later.",
		Retry:      "true",
		RetryAfter: 1,
	}
	return e.WithCode("idempotency_key_in_use")
}

// Idempotency is the 400 for a key that was used for something else.
func Idempotency(format string, args ...any) *Error {
	return &Error{
		Status:  http.StatusBadRequest,
		Type:    TypeIdempotency,
		Message: fmt.Sprintf(format, args...),
		Retry:   "false",
	}
}

// Locked is the 429 for an object another request is working on. Nothing was done; a retry helps.
func Locked() *Error {
	e := &Error{
		Status: http.StatusTooManyRequests,
		Type:   TypeInvalidRequest,
		Message: "This object cannot be accessed right now because another API request or Stripe process is " +
			"currently accessing it. If you see this error intermittently, retry the request. If you see this error " +
			"frequently and are making multiple concurrent requests to a single object, make your requests serially " +
			"or at a lower rate.",
		Retry:      "true",
		RetryAfter: 1,
	}
	return e.WithCode("lock_timeout")
}

// RateLimited is the 429 for a client with too many requests. Nothing was
// done; in a moment there is room again. reason is one of Stripe's, such as "global-rate".
func RateLimited(reason string) *Error {
	e := &Error{
		Status: http.StatusTooManyRequests,
		Type:   TypeInvalidRequest,
		Message: "Request rate limit exceeded. Learn more about rate limits here " +
			"https://stripe.com/docs/rate-limits.",
		Retry:      "true",
		RetryAfter: 1,
		Limit:      reason,
	}
	return e.WithCode("rate_limit")
}

// Unfinished is the 503 for work that has begun and will be finished, whose
// outcome is not known yet. It is never stored: the same key asks again and, in
// the end, gets the one answer there is.
func Unfinished() *Error {
	return &Error{
		Status: http.StatusServiceUnavailable,
		Type:   TypeAPI,
		Message: "The request is being processed but its outcome is not known yet. Retry with the same " +
			"idempotency key; nothing will be done twice.",
		Retry:      "true",
		RetryAfter: 1,
	}
}

// Unavailable is the 503 for work that has not begun. Nothing was done.
func Unavailable() *Error {
	return &Error{
		Status:     http.StatusServiceUnavailable,
		Type:       TypeAPI,
		Message:    "The service is temporarily unavailable. Nothing was done; retry with the same idempotency key.",
		Retry:      "true",
		RetryAfter: 1,
	}
}

// Overloaded is the 503 for work that was not begun because there is more of it
// than can be done. Nothing was done.
func Overloaded(limit string) *Error {
	e := Unavailable()
	e.Limit = limit
	return e
}

// Internal is the 500 for a fault of ours. The reason is in the log, under the request's id.
func Internal() *Error {
	return &Error{Status: http.StatusInternalServerError, Type: TypeAPI, Message: "An unknown error occurred"}
}

// Held is the 500 for work that a person has to look at. Asking again does not help.
func Held(requestID string) *Error {
	return &Error{
		Status: http.StatusInternalServerError,
		Type:   TypeAPI,
		Message: "The outcome of this request could not be established and it is held for an operator. " +
			"Nothing further will be done without one. Reference: " + requestID,
		Retry: "false",
	}
}

// excerptLength is how much of a caller's own input an error may repeat.
const excerptLength = 64

// cardLike is what may be a card number, as people type it: twelve digits or
// more, with spaces, dots or dashes between them. Card numbers have at most 19,
// but one with a digit too many still gives the card away.
var cardLike = regexp.MustCompile(`[0-9](?:[ .-]*[0-9]){11,}`)

// HiddenDigits is what Quote has in place of what may be a card number.
const HiddenDigits = "[digits hidden]"

// Quote prepares a caller's own text for being repeated in a message: short,
// storable, and without anything that looks like a card number.
func Quote(input string) string {
	return Excerpt(cardLike.ReplaceAllLiteralString(strings.ReplaceAll(input, "\x00", "\uFFFD"), HiddenDigits))
}

// Excerpt cuts text to a length that is fit for a message. What a caller typed
// goes through Quote instead, unless it is a name that cannot be a card's.
func Excerpt(input string) string {
	input = strings.ToValidUTF8(input, "�")
	runes := []rune(input)
	if len(runes) <= excerptLength {
		return input
	}
	return string(runes[:excerptLength]) + "…"
}

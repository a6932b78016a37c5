package apirequest

import (
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Refuse says a refusal of the engine in the words of Stripe's API.
func Refuse(r *phase.Refusal) error {
	switch r.Reason {
	case phase.DifferentEndpoint:
		return apierror.Idempotency("Keys for idempotent requests can only be used for the same endpoint they were "+
			"first used for ('%s' vs '%s'). Try using a key other than '%s' if you meant to execute a different request.",
			apierror.Excerpt(r.RefusedPath), apierror.Excerpt(r.Path), apierror.Excerpt(r.Key))
	case phase.DifferentParameters:
		return apierror.Idempotency("Keys for idempotent requests can only be used with the same parameters they were "+
			"first used with. Try using a key other than '%s' if you meant to execute a different request.", apierror.Excerpt(r.Key))
	case phase.ResponseArchived:
		return noReplay(r, "is no longer kept")
	case phase.ResponseRedacted:
		return noReplay(r, "can no longer be given, because it held a person's data that has been erased")
	case phase.InProgress:
		return apierror.Conflict(r.Key)
	case phase.NeedsReview:
		return apierror.Held(r.RequestID)
	case phase.Locked:
		return apierror.Locked()
	case phase.Unavailable:
		return apierror.Unavailable()
	}
	return apierror.Unfinished()
}

// noReplay is the refusal of a key whose response no longer exists. It names
// what the request made, so that a merchant can look that up.
func noReplay(r *phase.Refusal, why string) error {
	made := "its request was refused"
	if r.ObjectID != "" {
		made = "it made or changed " + r.ObjectID
	}
	return apierror.Idempotency("The key '%s' was first used on %s and its answer %s (%s). "+
		"Use a new key for a new request.", apierror.Excerpt(r.Key), r.CreatedAt.UTC().Format(time.DateOnly), why, made)
}

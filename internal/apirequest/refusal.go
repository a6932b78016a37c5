package apirequest

import (
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// BrowserKeys begins the idempotency keys of requests with a publishable key, as they
// are stored. No other key begins with it.
const BrowserKeys = "publishable:"

// JobKeys begins the idempotency keys of requests that jobs make. No client's key begins with it, so a client cannot
// take the key of a job's request.
const JobKeys = "job:"

// Refuse says a refusal of the engine in the words of Stripe's API. A browser does not
// learn what the key was used for: perhaps another client's request.
func Refuse(r *phase.Refusal) error {
	key, browser := strings.CutPrefix(r.Key, BrowserKeys)
	switch r.Reason {
	case phase.DifferentEndpoint:
		if browser {
			return apierror.Idempotency("Keys for idempotent requests can only be used for the same endpoint they "+
				"were first used for. Try using a key other than '%s' if you meant to execute a different request.",
				apierror.Excerpt(key))
		}
		return apierror.Idempotency("Keys for idempotent requests can only be used for the same endpoint they were "+
			"first used for ('%s' vs '%s'). Try using a key other than '%s' if you meant to execute a different "+
			"request.",
			apierror.Excerpt(r.RefusedPath), apierror.Excerpt(r.Path), apierror.Excerpt(key))
	case phase.DifferentParameters:
		return apierror.Idempotency("Keys for idempotent requests can only be used with the same parameters they were "+
			"first used with. Try using a key other than '%s' if you meant to execute a different request.",
			apierror.Excerpt(key))
	case phase.ResponseArchived:
		return noReplay(r, "is no longer kept")
	case phase.ResponseRedacted:
		return noReplay(r, "can no longer be given, because it held a person's data that has been erased")
	case phase.InProgress:
		return apierror.Conflict(key)
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
	key, browser := strings.CutPrefix(r.Key, BrowserKeys)
	switch {
	case browser:
		made = "ask the merchant what came of it"
	case r.ObjectID != "":
		made = "it made or changed " + r.ObjectID
	}
	return apierror.Idempotency("The key '%s' was first used on %s and its answer %s (%s). "+
		"Use a new key for a new request.", apierror.Excerpt(key), r.CreatedAt.UTC().Format(time.DateOnly), why, made)
}

package resource

import (
	"crypto/subtle"
)

// MayUse says whether a caller may work on an intent: with a secret key always,
// with a publishable one if it knows the intent's secret. A wrong one is refused
// in any case.
func (v Principal) MayUse(secret, shown string) bool {
	if shown == "" {
		return !v.Publishable
	}
	return subtle.ConstantTimeCompare([]byte(secret), []byte(shown)) == 1
}

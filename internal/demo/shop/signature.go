package shop

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// oldest is how long ago an event may have been signed, so that an attacker cannot replay
// a recorded delivery later. Each delivery gets a new signature.
const oldest = 5 * time.Minute

var (
	errNoSignature = errors.New("it does not have the form t=…,v1=…")
	errTooOld      = errors.New("it was made more than five minutes ago")
	errForged      = errors.New("it was not made with this endpoint's secret")
)

// verify holds a body against the Stripe-Signature header that came with it:
// t=TIME,v1=SIGNATURE, with a second v1 while the secret is being rolled. It must be
// given the bytes that came, before anything has read them as JSON.
func verify(body []byte, header, secret string, now time.Time) error {
	var at string
	var signatures []string
	for part := range strings.SplitSeq(header, ",") {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "t":
			at = value
		case "v1":
			signatures = append(signatures, value)
		}
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || len(signatures) == 0 {
		return errNoSignature
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	ours := mac.Sum(nil)
	for _, signature := range signatures {
		theirs, err := hex.DecodeString(signature)
		if err == nil && hmac.Equal(theirs, ours) {
			if now.Sub(time.Unix(seconds, 0)) > oldest {
				return errTooOld
			}
			return nil
		}
	}
	return errForged
}

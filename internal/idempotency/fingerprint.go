package idempotency

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// Fingerprint is what makes two requests the same: method, path and parameters,
// in any order. It is keyed, because parameters may hold a card number and a
// bare hash of one can be guessed. A row keeps the version of the root secret that
// its key comes from.
func Fingerprint(secret []byte, method, path string, canonicalParams []byte) []byte {
	return keyedHash(secret, "fingerprint/1", method, path, string(canonicalParams))
}

// DeriveKey names one foreign call forever. It is derived from what the caller
// repeats on a retry, never from a row's id, an epoch or a time: after a failover
// that lost the last milliseconds, the same retry reaches the acquirer under
// the same key. So secret stays the same when the root secret is rotated. The hash
// hides the merchant's key from the acquirer.
func DeriveKey(secret []byte, r *Request, phase string, generation int16) string {
	mode := "test"
	if r.Livemode {
		mode = "live"
	}
	sum := keyedHash(secret, "derived-key/1", r.AccountID, mode, r.Key, r.Flow, phase, number(generation))
	return "rk_" + base64.RawURLEncoding.EncodeToString(sum)
}

func number(n int16) string { return string(binary.BigEndian.AppendUint16(nil, uint16(n))) }

// keyedHash is HMAC-SHA-256 over length-prefixed parts, so that no two lists of
// parts can run together into the same bytes.
func keyedHash(secret []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, secret)
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		mac.Write(length[:])
		mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}

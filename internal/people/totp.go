package people

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // authenticator apps know RFC 6238 with this one
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/ratchet-pay/ratchet/internal/secret"
)

// Time-based one-time passwords as RFC 6238 has them, with the parameters that every authenticator app knows: SHA-1,
// 30 seconds, six digits.
const (
	totpPeriod = 30
	totpDigits = 1_000_000
	totpBytes  = 20
	// totpSkew is how many periods a phone's clock may be off.
	totpSkew = 1
)

var base32Plain = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewTOTPSecret is a secret as people type it into an app.
func NewTOTPSecret() string {
	raw := make([]byte, totpBytes)
	rand.Read(raw) // never fails
	return base32Plain.EncodeToString(raw)
}

// TOTPLink is what an app reads from a QR code.
func TOTPLink(shared, email string) string {
	query := url.Values{"secret": {shared}, "issuer": {"Ratchet"}}
	return "otpauth://totp/" + url.PathEscape("Ratchet:"+email) + "?" + query.Encode()
}

// code is the password of one period.
func code(shared string, step int64) (string, error) {
	key, err := base32Plain.DecodeString(shared)
	if err != nil {
		return "", fmt.Errorf("decode a TOTP secret: %w", err)
	}
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], uint64(step))
	mac := hmac.New(sha1.New, key)
	mac.Write(counter[:])
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 0xf
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(sum[at:])&0x7fffffff)%totpDigits), nil
}

// TOTP is the password that an app shows at a time.
func TOTP(shared string, at time.Time) (string, error) { return code(shared, at.Unix()/totpPeriod) }

// stepOf is the period that a code belongs to, or 0 if it is wrong or not of now.
func stepOf(shared, typed string, now time.Time) int64 {
	typed = strings.ReplaceAll(strings.TrimSpace(typed), " ", "")
	present := now.Unix() / totpPeriod
	for step := present - totpSkew; step <= present+totpSkew; step++ {
		want, err := code(shared, step)
		if err == nil && hmac.Equal([]byte(want), []byte(typed)) {
			return step
		}
	}
	return 0
}

// SealTOTP encrypts a user's TOTP secret. It can be opened only for the same user.
func SealTOTP(keys secret.Keys, userID, shared string) (string, error) {
	return keys.Seal(userID, shared)
}

// OpenTOTP is the secret that was sealed for a user.
func OpenTOTP(keys secret.Keys, userID, sealed string) (string, error) {
	return keys.Open(userID, sealed)
}

// recoveryCodes is how many a user gets. Each replaces the phone once.
const recoveryCodes = 10

// newRecoveryCodes makes codes of 50 bits, and what is kept of them. Guessing is limited, so a fast hash is enough.
func newRecoveryCodes() (codes, hashes []string) {
	for range recoveryCodes {
		text := strings.ToLower(rand.Text()[:10])
		codes = append(codes, text[:5]+"-"+text[5:])
		hashes = append(hashes, digest(text))
	}
	return codes, hashes
}

// recoveryHash is what is kept of a code as it was typed.
func recoveryHash(typed string) string {
	return digest(strings.NewReplacer("-", "", " ", "").Replace(strings.ToLower(strings.TrimSpace(typed))))
}

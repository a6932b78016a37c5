package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// secretDigits is 190 bits.
const secretDigits = 32

// Secret is an endpoint's signing secret, derived from the installation's key
// for webhooks: no table holds it. Rolling it raises the generation.
func Secret(key []byte, endpoint EndpointKey, generation int32) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s/%s/%d", endpoint.AccountID, endpoint.EndpointID, generation)
	text := new(big.Int).SetBytes(mac.Sum(nil)).Text(62)
	return "whsec_" + strings.Repeat("0", max(0, secretDigits-len(text))) + text[max(0, len(text)-secretDigits):]
}

// Sign is the Stripe-Signature header of a body sent at a time: one signature for
// each secret that is valid. The receiver rejects old times, so
// every attempt has a new signature.
func Sign(body []byte, at time.Time, secrets ...string) string {
	t := strconv.FormatInt(at.Unix(), 10)
	header := "t=" + t
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(t + "."))
		mac.Write(body)
		header += ",v1=" + hex.EncodeToString(mac.Sum(nil))
	}
	return header
}

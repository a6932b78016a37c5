package payment

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/secret"
)

// receiptURL is where the receipt of a charge is. The token is derived from the
// installation's secret: every attempt of a request makes the same address, and another
// charge's address cannot be guessed.
func receiptURL(tx *phase.Tx, charge string) *string {
	_, key := tx.Keys(secret.Receipts).Newest()
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(tx.AccountID + "/" + charge))
	token := base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
	return new(apirequest.Of(tx.Caller).BaseURL + apirequest.ReceiptPath + tx.AccountID + "/" + charge + "/" + token)
}

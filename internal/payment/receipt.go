package payment

import (
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

// receiptURL is a new address for a charge's receipt, with a token of 142 random bits. It is nil for a request that
// came without an address of this installation, such as an operator's command.
func receiptURL(tx *phase.Tx, charge string) *string {
	base := apirequest.Of(tx.Caller).BaseURL
	if base == "" {
		return nil
	}
	return new(base + apirequest.ReceiptPath + tx.AccountID + "/" + charge + "/" + id.Random(24))
}

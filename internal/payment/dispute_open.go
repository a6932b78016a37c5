package payment

import (
	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

// ChargeBack queues the UPDATE that adds amount, in the smallest unit of the charge's currency, to what was charged
// back, and marks the charge as disputed. The caller posts to the ledger.
func (c *Charge) ChargeBack(tx *phase.Tx, amount int64) {
	tx.WriteOne(chargeBack, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": c.ID, "amount": amount})
}

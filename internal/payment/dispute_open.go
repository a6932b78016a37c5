package payment

import (
	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

func (c *Charge) ChargeBack(tx *phase.Tx, amount int64) {
	tx.WriteOne(chargeBack, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": c.ID, "amount": amount})
}

package payments

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/inbox"
	"github.com/ratchet-pay/ratchet/internal/ledger"
	"github.com/ratchet-pay/ratchet/internal/phase"
)

const insertSettlement = `
	INSERT INTO settlements (account_id, id, livemode, request_id, charge_id, batch, acquirer_reference, movement, amount, currency, settled_at, created_at)
	VALUES (@account_id, @id, @livemode, @request_id, @charge_id, @batch, @acquirer_reference, @movement, @amount, @currency, @settled_at, @created_at)`

const chargeHasSettled = `UPDATE charges SET settling = false WHERE account_id = @account_id AND id = @id AND settling`

// What the acquirer pays us for, and what it takes from us for.
var (
	paidIn  = []string{"sale", "capture", "refund_failed", "chargeback_reversal"}
	takenIn = []string{"refund", "chargeback"}
)

// SettlementObject is what the inbox's request answers; no address of the API shows it.
type SettlementObject struct {
	ID     string `json:"id"`
	Object string `json:"object"`
}

// SettleMovement books that the acquirer has paid, or taken, what it owed or was
// owed for one movement of a card. A charge made with capture_method=automatic_async
// shows its balance transaction from then on.
var SettleMovement = notice(acquirer.MovementSettled, "movement_settled", func(_ context.Context, tx *phase.Tx, in Notified, charge *Charge) (phase.Outcome, error) {
	news := in.News
	amount := news.Amount
	switch {
	case slices.Contains(takenIn, news.Movement):
		amount = -amount
	case !slices.Contains(paidIn, news.Movement):
		return phase.Outcome{}, inbox.Refused("nothing is known of settling a %q", news.Movement)
	}
	settlement := id.New("stl", tx.Now())
	tx.Write(insertSettlement, pgx.StrictNamedArgs{
		"account_id": tx.AccountID, "id": settlement, "livemode": tx.Livemode, "request_id": tx.RequestID, "charge_id": charge.ID,
		"batch": news.Batch, "acquirer_reference": news.Reference, "movement": news.Movement, "amount": news.Amount, "currency": news.Currency,
		"settled_at": news.At, "created_at": tx.Now(),
	})
	ledger.Post(tx, ledger.Settle(id.New("txn", tx.Now()), settlement, news.Currency, amount, tx.Now()))
	if charge.Settling && news.Movement == "sale" {
		charge.Settling = false
		tx.WriteOne(chargeHasSettled, pgx.StrictNamedArgs{"account_id": tx.AccountID, "id": charge.ID})
		emit(tx, "charge.updated", charge.ID, charge.wire(), map[string]any{"balance_transaction": nil})
	}
	return phase.OK(settlement, SettlementObject{settlement, "settlement"}), nil
})

package payments

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

const balanceTold = "balance_told"

// ToldBalance is what the worker's request answers; no address of the API shows it.
type ToldBalance struct {
	Account string `json:"account"`
	Object  string `json:"object"`
}

// TellBalance tells a merchant that money of his has become available. Nothing
// moves: a charge's money becomes available by time alone.
var TellBalance = phase.Define("balance.tell", 1,
	phase.Atomic(balanceTold, func(ctx context.Context, tx *phase.Tx, _ struct{}, _ *struct{}) (phase.Outcome, error) {
		balance, err := RetrieveBalance(ctx, tx, viewer(tx.Caller), RetrieveBalanceParams{})
		if err != nil {
			return phase.Outcome{}, err
		}
		emit(tx, "balance.available", tx.AccountID, balance, nil)
		return phase.OK(tx.AccountID, ToldBalance{tx.AccountID, "balance"}), nil
	}),
)

// The key names the moment up to which money has become available: whoever finds
// it first tells, and once it has been used there is nothing to tell.
const balancesToTell = `
	SELECT b.account_id, b.livemode, ` + merchantColumns + `, account_ahead(b.account_id, b.livemode) AS ahead, m.key
	FROM (SELECT DISTINCT account_id, livemode FROM ledger_books) b
	JOIN accounts a ON a.id = b.account_id
	CROSS JOIN LATERAL (SELECT money_to_tell_of(b.account_id, b.livemode) AS key) m
	WHERE m.key IS NOT NULL
	LIMIT @limit`

// TellBalances tells every merchant whose money has become available since he
// was told last.
func TellBalances(ctx context.Context, e *phase.Engine, db *pgxpool.Pool) (done int, err error) {
	type due struct {
		task
		Key string
	}
	found, err := jobs[due](ctx, db, balancesToTell)
	for _, d := range found {
		err = errors.Join(err, ask(ctx, e, TellBalance, d.task, d.Key, struct{}{}))
	}
	return len(found), err
}

package simulator

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/postgres"
)

const selectDisputes = `
	SELECT id, authorization_id, card, currency, amount, state
	FROM acquirer.disputes
	WHERE id = ANY(@ids)
	ORDER BY id
	FOR UPDATE`

func disputesNeeded(batch []*question) []string {
	var ids []string
	for _, q := range batch {
		if q.kind == askFor && q.asked.Order.Dispute != "" {
			ids = append(ids, q.asked.Order.Dispute)
		}
	}
	return ids
}

func (b *book) loadDisputes(ctx context.Context, conn *pgxpool.Conn, ids []string) error {
	rows, err := conn.Query(ctx, selectDisputes, postgres.Args{"ids": ids})
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		d := &dispute{}
		err := rows.Scan(&d.id, &d.authorization, &d.card, &d.currency, &d.amount, &d.state)
		if err != nil {
			return err
		}
		b.disputes[d.id] = d
	}
	return rows.Err()
}

const insertDispute = `
	INSERT INTO acquirer.disputes (id, authorization_id, card, currency, amount, state, at)
	VALUES (@id, @authorization, @card, @currency, @amount, @state, @at)`

const updateDispute = `
	UPDATE acquirer.disputes SET state = @state
	WHERE id = @id AND state <> 'closed'`

func (b *book) changesDisputes() bool {
	for _, d := range b.disputes {
		if d.change == updated {
			return true
		}
	}
	return false
}

// queueDisputes writes one statement per dispute: they are rare.
func (b *book) queueDisputes(changes *pgx.Batch) {
	for _, d := range b.disputes {
		switch d.change {
		case inserted:
			changes.Queue(insertDispute, postgres.Args{
				"id":            d.id,
				"authorization": d.authorization,
				"card":          d.card,
				"currency":      d.currency,
				"amount":        d.amount,
				"state":         d.state,
				"at":            b.at,
			})
		case updated:
			queueExact(changes, updateDispute, postgres.Args{"id": d.id, "state": d.state}, 1)
		}
	}
}

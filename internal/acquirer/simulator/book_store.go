package simulator

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

const forgetOperations = `
	DELETE FROM acquirer.operations WHERE key = ANY(@keys)`

// Time is the database's, so that the journals of several processes agree on it.
const selectNow = `SELECT now()`

const selectOperations = `
	SELECT key, state, coalesce(authorization_id, ''), coalesce(asked, '{}'), coalesce(answer, '{}')
	FROM acquirer.operations
	WHERE key = ANY(@keys)`

// Locked in one order, so that two processes do not wait for each other in a circle.
const selectAuthorizations = `
	SELECT id, merchant, livemode, card, currency, held, captured, refunded, released
	FROM acquirer.authorizations
	WHERE id = ANY(@ids)
	ORDER BY id
	FOR UPDATE`

// loadBook reads what the questions are about.
func loadBook(ctx context.Context, tx pgx.Tx, batch []*question) (*book, error) {
	b := &book{
		operations:     make(map[string]*operation, len(batch)),
		authorizations: make(map[string]*authorization, len(batch)),
		disputes:       map[string]*dispute{},
	}
	keys := make([]string, len(batch))
	for i, q := range batch {
		keys[i] = q.key
	}
	err := b.loadOperations(ctx, tx, keys)
	if err != nil {
		return nil, err
	}
	if ids := disputesNeeded(batch); len(ids) > 0 {
		if err := b.loadDisputes(ctx, tx, ids); err != nil {
			return nil, err
		}
	}
	ids := b.authorizationsNeeded(batch)
	if len(ids) == 0 {
		return b, nil
	}
	return b, b.loadAuthorizations(ctx, tx, ids)
}

func (b *book) loadOperations(ctx context.Context, tx pgx.Tx, keys []string) error {
	var queries pgx.Batch
	queries.Queue(selectNow).QueryRow(func(row pgx.Row) error {
		return row.Scan(&b.at)
	})
	queries.Queue(selectOperations, pgx.StrictNamedArgs{"keys": keys}).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			op := &operation{}
			err := rows.Scan(&op.key, &op.state, &op.authorizationID, &op.asked, &op.answer)
			if err != nil {
				return err
			}
			b.operations[op.key] = op
		}
		return rows.Err()
	})
	return tx.SendBatch(ctx, &queries).Close()
}

// authorizationsNeeded lists what new orders name and what reversals would undo.
func (b *book) authorizationsNeeded(batch []*question) []string {
	var ids []string
	for _, q := range batch {
		if q.kind == askFor && q.asked.Order.Authorization != "" {
			ids = append(ids, q.asked.Order.Authorization)
		}
		op, ok := b.operations[q.key]
		if q.kind == reverse && ok && op.authorizationID != "" {
			ids = append(ids, op.authorizationID)
		}
	}
	return ids
}

func (b *book) loadAuthorizations(ctx context.Context, tx pgx.Tx, ids []string) error {
	rows, err := tx.Query(ctx, selectAuthorizations, pgx.StrictNamedArgs{"ids": ids})
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		auth := &authorization{}
		err := rows.Scan(&auth.id, &auth.merchant, &auth.livemode, &auth.card, &auth.currency, &auth.held, &auth.captured, &auth.refunded, &auth.released)
		if err != nil {
			return err
		}
		b.authorizations[auth.id] = auth
	}
	return rows.Err()
}

// store writes what changed, in one round trip.
func (b *book) store(ctx context.Context, tx pgx.Tx) error {
	var changes pgx.Batch
	if len(b.forgotten) > 0 {
		changes.Queue(forgetOperations, pgx.StrictNamedArgs{"keys": b.forgotten})
	}
	err := b.queueOperations(&changes)
	if err != nil {
		return err
	}
	b.queueAuthorizations(&changes)
	b.queueDisputes(&changes)
	b.queueMovements(&changes)
	err = queueNotices(&changes, b.at, b.notices)
	if err != nil {
		return err
	}
	if changes.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, &changes).Close()
}

const insertOperations = `
	INSERT INTO acquirer.operations (key, state, reference, authorization_id, verb, asked, answer, at)
	SELECT key, state, nullif(reference, ''), nullif(authorization_id, ''), nullif(verb, ''),
	       nullif(asked, '')::json, nullif(answer, '')::json, @at
	FROM unnest(@keys::text[], @states::text[], @references::text[], @authorizations::text[], @verbs::text[],
	            @asked::text[], @answers::text[])
	     AS new (key, state, reference, authorization_id, verb, asked, answer)`

// Only a reversal changes an operation, and only one of the processes that try may win.
const reverseOperations = `
	UPDATE acquirer.operations SET state = 'reversed'
	WHERE key = ANY(@keys) AND state <> 'reversed'`

func (b *book) queueOperations(changes *pgx.Batch) error {
	var keys, states, references, authorizations, verbs, asked, answers, undone []string
	for _, op := range b.operations {
		switch op.change {
		case updated:
			undone = append(undone, op.key)
		case inserted:
			question, answer, err := op.marshal()
			if err != nil {
				return err
			}
			keys = append(keys, op.key)
			states = append(states, op.state)
			references = append(references, op.answer.Reference)
			authorizations = append(authorizations, op.authorizationID)
			verbs = append(verbs, string(op.asked.Verb))
			asked = append(asked, question)
			answers = append(answers, answer)
		}
	}
	if len(keys) > 0 {
		changes.Queue(insertOperations, pgx.StrictNamedArgs{
			"keys": keys, "states": states, "references": references, "authorizations": authorizations,
			"verbs": verbs, "asked": asked, "answers": answers, "at": b.at,
		})
	}
	if len(undone) > 0 {
		queueExact(changes, reverseOperations, pgx.StrictNamedArgs{"keys": undone}, len(undone))
	}
	return nil
}

// marshal returns the question and the answer as JSON; "" for a tombstone.
func (op *operation) marshal() (asked, answer string, err error) {
	if op.asked == (acquirer.Request{}) {
		return "", "", nil
	}
	askedJSON, err := json.Marshal(op.asked)
	if err != nil {
		return "", "", err
	}
	answerJSON, err := json.Marshal(op.answer)
	return string(askedJSON), string(answerJSON), err
}

const insertAuthorizations = `
	INSERT INTO acquirer.authorizations (id, merchant, livemode, card, currency, held, captured, refunded, released, at)
	SELECT id, merchant, livemode, card, currency, held, captured, refunded, released, @at
	FROM unnest(@ids::text[], @merchants::text[], @livemodes::boolean[], @cards::text[], @currencies::text[], @held::bigint[],
	            @captured::bigint[], @refunded::bigint[], @released::boolean[])
	     AS new (id, merchant, livemode, card, currency, held, captured, refunded, released)`

const updateAuthorizations = `
	UPDATE acquirer.authorizations a
	SET captured = new.captured, refunded = new.refunded, released = new.released
	FROM unnest(@ids::text[], @captured::bigint[], @refunded::bigint[], @released::boolean[])
	     AS new (id, captured, refunded, released)
	WHERE a.id = new.id`

// authorizationColumns are rows turned into arrays for unnest.
type authorizationColumns struct {
	ids, merchants, cards, currencies []string
	held, captured, refunded          []int64
	livemodes, released               []bool
}

func (c *authorizationColumns) add(auth *authorization) {
	c.ids = append(c.ids, auth.id)
	c.merchants = append(c.merchants, auth.merchant)
	c.livemodes = append(c.livemodes, auth.livemode)
	c.cards = append(c.cards, auth.card)
	c.currencies = append(c.currencies, auth.currency)
	c.held = append(c.held, auth.held)
	c.captured = append(c.captured, auth.captured)
	c.refunded = append(c.refunded, auth.refunded)
	c.released = append(c.released, auth.released)
}

func (b *book) queueAuthorizations(changes *pgx.Batch) {
	var fresh, changed authorizationColumns
	for _, auth := range b.authorizations {
		switch auth.change {
		case inserted:
			fresh.add(auth)
		case updated:
			changed.add(auth)
		}
	}
	if len(fresh.ids) > 0 {
		changes.Queue(insertAuthorizations, pgx.StrictNamedArgs{
			"ids": fresh.ids, "merchants": fresh.merchants, "livemodes": fresh.livemodes, "cards": fresh.cards, "currencies": fresh.currencies, "held": fresh.held,
			"captured": fresh.captured, "refunded": fresh.refunded, "released": fresh.released, "at": b.at,
		})
	}
	if len(changed.ids) > 0 {
		queueExact(changes, updateAuthorizations, pgx.StrictNamedArgs{
			"ids": changed.ids, "captured": changed.captured, "refunded": changed.refunded, "released": changed.released,
		}, len(changed.ids))
	}
}

// A movement that is paid for waits in unsettled for the next batch of its merchant.
const insertMovements = `
	WITH moved AS (
		INSERT INTO acquirer.movements (key, reference, authorization_id, verb, card, kind, amount, currency, result, at)
		SELECT key, reference, nullif(authorization_id, ''), verb, card, kind, amount, currency, result, @at
		FROM unnest(@keys::text[], @references::text[], @authorizations::text[], @verbs::text[], @cards::text[],
		            @kinds::text[], @amounts::bigint[], @currencies::text[], @results::text[])
		     AS new (key, reference, authorization_id, verb, card, kind, amount, currency, result)
		RETURNING number, authorization_id, kind, currency
	)
	INSERT INTO acquirer.unsettled (movement, merchant, livemode, currency)
	SELECT m.number, a.merchant, a.livemode, m.currency
	FROM moved m JOIN acquirer.authorizations a ON a.id = m.authorization_id
	WHERE m.kind = ANY (@settled::text[]) AND a.merchant <> ''`

// settledKinds are the movements that owe money to one side or the other.
var settledKinds = slices.Concat(acquirer.PaidKinds, acquirer.TakenKinds)

func (b *book) queueMovements(changes *pgx.Batch) {
	if len(b.movements) == 0 {
		return
	}
	var keys, references, authorizations, verbs, cards, kinds, currencies, results []string
	var amounts []int64
	for _, m := range b.movements {
		keys = append(keys, m.Key)
		references = append(references, m.Reference)
		authorizations = append(authorizations, m.Authorization)
		verbs = append(verbs, m.Verb)
		cards = append(cards, m.Card)
		kinds = append(kinds, m.Kind)
		amounts = append(amounts, m.Amount)
		currencies = append(currencies, m.Currency)
		results = append(results, m.Result)
	}
	changes.Queue(insertMovements, pgx.StrictNamedArgs{
		"keys": keys, "references": references, "authorizations": authorizations, "verbs": verbs, "cards": cards,
		"kinds": kinds, "amounts": amounts, "currencies": currencies, "results": results, "at": b.at,
		"settled": settledKinds,
	})
}

// queueExact queues an update that has to find every one of its rows.
func queueExact(changes *pgx.Batch, sql string, args pgx.StrictNamedArgs, rows int) {
	changes.Queue(sql, args).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != int64(rows) {
			return errOvertaken
		}
		return nil
	})
}

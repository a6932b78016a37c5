package simulator

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/postgres"
)

const forgetOperations = `
	DELETE FROM acquirer.operations WHERE key = ANY(@keys)`

// Time is the database's, so that the journals of several processes agree on it.
// There is always a row to tell it.
const selectOperations = `
	SELECT now(), coalesce(o.key, ''), coalesce(o.state, ''), coalesce(o.authorization_id, ''), coalesce(o.asked, '{}'),
	       coalesce(o.answer, '{}')
	FROM (VALUES (1)) AS always_one (row) LEFT JOIN acquirer.operations o ON o.key = ANY(@keys)`

// Locked in one order, so that two processes do not wait for each other in a circle.
const selectAuthorizations = `
	SELECT id, merchant, livemode, card, currency, held, captured, refunded, released
	FROM acquirer.authorizations
	WHERE id = ANY(@ids)
	ORDER BY id
	FOR UPDATE`

// loadBook begins a transaction and reads what the questions are about.
func loadBook(ctx context.Context, conn *pgxpool.Conn, batch []*question) (*book, error) {
	b := &book{
		operations:     make(map[string]*operation, len(batch)),
		authorizations: make(map[string]*authorization, len(batch)),
		disputes:       map[string]*dispute{},
	}
	keys := make([]string, len(batch))
	for i, q := range batch {
		keys[i] = q.key
	}
	err := b.loadOperations(ctx, conn, keys)
	if err != nil {
		return nil, err
	}
	if ids := disputesNeeded(batch); len(ids) > 0 {
		if err := b.loadDisputes(ctx, conn, ids); err != nil {
			return nil, err
		}
	}
	ids := b.authorizationsNeeded(batch)
	if len(ids) == 0 {
		return b, nil
	}
	return b, b.loadAuthorizations(ctx, conn, ids)
}

func (b *book) loadOperations(ctx context.Context, conn *pgxpool.Conn, keys []string) error {
	var queries pgx.Batch
	queries.Queue("BEGIN")
	queries.Queue(selectOperations, postgres.Args{"keys": keys}).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			op := &operation{}
			err := rows.Scan(&b.at, &op.key, &op.state, &op.authorizationID, &op.asked, &op.answer)
			if err != nil {
				return err
			}
			if op.key != "" {
				b.operations[op.key] = op
			}
		}
		return rows.Err()
	})
	return conn.SendBatch(ctx, &queries).Close()
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

func (b *book) loadAuthorizations(ctx context.Context, conn *pgxpool.Conn, ids []string) error {
	rows, err := conn.Query(ctx, selectAuthorizations, postgres.Args{"ids": ids})
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		auth := &authorization{}
		err := rows.Scan(&auth.id, &auth.merchant, &auth.livemode, &auth.card, &auth.currency, &auth.held,
			&auth.captured, &auth.refunded, &auth.released)
		if err != nil {
			return err
		}
		b.authorizations[auth.id] = auth
	}
	return rows.Err()
}

// store writes what changed and commits. Only rows that are changed, and not
// added, can be gone: then the answer to the changes is read before the COMMIT is
// sent. Otherwise both leave together.
func (b *book) store(ctx context.Context, conn *pgxpool.Conn) error {
	var changes pgx.Batch
	if len(b.forgotten) > 0 {
		changes.Queue(forgetOperations, postgres.Args{"keys": b.forgotten})
	}
	if err := b.queueNew(&changes); err != nil {
		return err
	}
	added := changes.Len()
	b.queueReversals(&changes)
	b.queueAuthorizations(&changes)
	exact := changes.Len() > added || b.changesDisputes()
	b.queueDisputes(&changes)
	b.letters.queue(&changes, b.at)
	if !exact {
		changes.Queue("COMMIT")
		return conn.SendBatch(ctx, &changes).Close()
	}
	if err := conn.SendBatch(ctx, &changes).Close(); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "COMMIT")
	return err
}

// insertNew adds everything that a batch of sales leaves, in one statement: what
// was answered, what is held, what happened to which card, and what is owed for it.
const insertNew = `
	WITH operations AS (
		INSERT INTO acquirer.operations (key, state, reference, authorization_id, verb, asked, answer, at)
		SELECT key, state, nullif(reference, ''), nullif(authorization_id, ''), nullif(verb, ''),
		       nullif(asked, '')::json, nullif(answer, '')::json, @at
		FROM unnest(@keys::text[], @states::text[], @references::text[], @operations_of::text[], @verbs::text[],
		    @asked::text[], @answers::text[])
		     AS new (key, state, reference, authorization_id, verb, asked, answer)
	), authorizations AS (
		INSERT INTO acquirer.authorizations (id, merchant, livemode, card, currency, held, captured, refunded, released,
			at)
		SELECT id, merchant, livemode, card, currency, held, captured, refunded, released, @at
		FROM unnest(@ids::text[], @merchants::text[], @livemodes::boolean[], @cards::text[], @currencies::text[],
		            @held::bigint[], @captured::bigint[], @refunded::bigint[], @released::boolean[])
		     AS new (id, merchant, livemode, card, currency, held, captured, refunded, released)
	), movements AS (
		INSERT INTO acquirer.movements (key, reference, authorization_id, verb, card, kind, amount, currency, result,
			at)
		SELECT key, reference, nullif(authorization_id, ''), verb, card, kind, amount, currency, result, @at
		FROM unnest(@moved_keys::text[], @moved_references::text[], @moved_of::text[], @moved_verbs::text[],
		            @moved_cards::text[], @kinds::text[], @amounts::bigint[], @moved_currencies::text[],
		            @results::text[])
		     AS new (key, reference, authorization_id, verb, card, kind, amount, currency, result)
		RETURNING number, kind
	)
	INSERT INTO acquirer.owed (movement)
	SELECT number FROM movements WHERE kind = ANY (@settled_kinds::text[])`

// settledKinds are the movements that owe money to one side or the other.
var settledKinds = slices.Concat(acquirer.PaidKinds, acquirer.TakenKinds)

// newRows are rows turned into the arrays that insertNew takes.
type newRows struct {
	At time.Time `db:"at"`

	Keys         []string `db:"keys"`
	States       []string `db:"states"`
	References   []string `db:"references"`
	OperationsOf []string `db:"operations_of"`
	Verbs        []string `db:"verbs"`
	Asked        []string `db:"asked"`
	Answers      []string `db:"answers"`

	IDs        []string `db:"ids"`
	Merchants  []string `db:"merchants"`
	Livemodes  []bool   `db:"livemodes"`
	Cards      []string `db:"cards"`
	Currencies []string `db:"currencies"`
	Held       []int64  `db:"held"`
	Captured   []int64  `db:"captured"`
	Refunded   []int64  `db:"refunded"`
	Released   []bool   `db:"released"`

	MovedKeys       []string `db:"moved_keys"`
	MovedReferences []string `db:"moved_references"`
	MovedOf         []string `db:"moved_of"`
	MovedVerbs      []string `db:"moved_verbs"`
	MovedCards      []string `db:"moved_cards"`
	Kinds           []string `db:"kinds"`
	Amounts         []int64  `db:"amounts"`
	MovedCurrencies []string `db:"moved_currencies"`
	Results         []string `db:"results"`

	SettledKinds []string `db:"settled_kinds"`
}

func (b *book) queueNew(changes *pgx.Batch) error {
	rows := newRows{At: b.at, SettledKinds: settledKinds}
	for _, op := range b.operations {
		if op.change != inserted {
			continue
		}
		if err := rows.addOperation(op); err != nil {
			return err
		}
	}
	for _, auth := range b.authorizations {
		if auth.change == inserted {
			rows.addAuthorization(auth)
		}
	}
	for _, m := range b.movements {
		rows.addMovement(m)
	}
	if len(rows.Keys)+len(rows.IDs)+len(rows.Kinds) > 0 {
		changes.Queue(insertNew, postgres.Row(&rows))
	}
	return nil
}

func (r *newRows) addOperation(op *operation) error {
	question, answer, err := op.marshal()
	if err != nil {
		return err
	}
	r.Keys = append(r.Keys, op.key)
	r.States = append(r.States, op.state)
	r.References = append(r.References, op.answer.Reference)
	r.OperationsOf, r.Verbs = append(r.OperationsOf, op.authorizationID), append(r.Verbs, string(op.asked.Verb))
	r.Asked, r.Answers = append(r.Asked, question), append(r.Answers, answer)
	return nil
}

func (r *newRows) addAuthorization(auth *authorization) {
	r.Merchants, r.Livemodes = append(r.Merchants, auth.merchant), append(r.Livemodes, auth.livemode)
	r.IDs = append(r.IDs, auth.id)
	r.Cards = append(r.Cards, auth.card)
	r.Currencies = append(r.Currencies, auth.currency)
	r.Held, r.Captured = append(r.Held, auth.held), append(r.Captured, auth.captured)
	r.Refunded, r.Released = append(r.Refunded, auth.refunded), append(r.Released, auth.released)
}

func (r *newRows) addMovement(m Movement) {
	r.MovedKeys = append(r.MovedKeys, m.Key)
	r.MovedReferences = append(r.MovedReferences, m.Reference)
	r.MovedOf = append(r.MovedOf, m.Authorization)
	r.MovedVerbs = append(r.MovedVerbs, m.Verb)
	r.MovedCards = append(r.MovedCards, m.Card)
	r.Kinds = append(r.Kinds, m.Kind)
	r.Amounts, r.MovedCurrencies = append(r.Amounts, m.Amount), append(r.MovedCurrencies, m.Currency)
	r.Results = append(r.Results, m.Result)
}

// Only a reversal changes an operation, and only one of the processes that try may win.
const reverseOperations = `
	UPDATE acquirer.operations SET state = 'reversed'
	WHERE key = ANY(@keys) AND state <> 'reversed'`

func (b *book) queueReversals(changes *pgx.Batch) {
	var undone []string
	for _, op := range b.operations {
		if op.change == updated {
			undone = append(undone, op.key)
		}
	}
	if len(undone) > 0 {
		queueExact(changes, reverseOperations, postgres.Args{"keys": undone}, len(undone))
	}
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

const updateAuthorizations = `
	UPDATE acquirer.authorizations a
	SET captured = new.captured, refunded = new.refunded, released = new.released
	FROM unnest(@ids::text[], @captured::bigint[], @refunded::bigint[], @released::boolean[])
	     AS new (id, captured, refunded, released)
	WHERE a.id = new.id`

func (b *book) queueAuthorizations(changes *pgx.Batch) {
	var ids []string
	var captured, refunded []int64
	var released []bool
	for _, auth := range b.authorizations {
		if auth.change == updated {
			ids, released = append(ids, auth.id), append(released, auth.released)
			captured, refunded = append(captured, auth.captured), append(refunded, auth.refunded)
		}
	}
	if len(ids) > 0 {
		queueExact(changes, updateAuthorizations, postgres.Args{
			"ids": ids, "captured": captured, "refunded": refunded, "released": released,
		}, len(ids))
	}
}

// queueExact queues an update that has to find every one of its rows.
func queueExact(changes *pgx.Batch, sql string, args postgres.Args, rows int) {
	changes.Queue(sql, args).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != int64(rows) {
			return errOvertaken
		}
		return nil
	})
}

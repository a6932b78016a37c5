package main

import (
	"context"
	"crypto/sha256"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/id"
)

// The bare minimum of SQL for a charge: the rows that have to be there at the
// end, in the two transactions the acquirer's call forces apart.
const (
	ceilingRequest = `INSERT INTO requests (account_id, id, livemode, key, keyless, method, path, fingerprint, fingerprint_version, params, context,
		flow, version, point, ord, memo, state, owner, lease_until, created_at)
		VALUES ($1, $2, false, $2, false, 'POST', '/v1/charges', $3, 1, $4, '{}', 'charge.create', 1, 'charge_recorded', 1, $4, 'running', 'bench', now() + interval '30 s', now())`
	ceilingJournal = `INSERT INTO journal (account_id, request_id, point, epoch) VALUES ($1, $2, $3, 1)`
	ceilingCall    = `INSERT INTO calls (account_id, request_id, phase, derived_key) VALUES ($1, $2, 'acquirer_answered', $2)`
	ceilingCharge  = `INSERT INTO charges (account_id, id, livemode, request_id, amount, currency, status, card, created_at)
		VALUES ($1, $2, false, $3, 2000, 'usd', 'pending', $4, now())`

	ceilingAnswer = `UPDATE requests SET state = 'finished', owner = NULL, lease_until = NULL, point = 'charge_settled', ord = 3, status = 200,
		headers = '{}', body = $3, finished_at = now(), expires_at = now() + interval '30 d' WHERE account_id = $1 AND id = $2`
	ceilingCalled  = `UPDATE calls SET verdict = 'executed' WHERE account_id = $1 AND request_id = $2`
	ceilingSettled = `UPDATE charges SET status = 'succeeded', captured = true, amount_captured = 2000, acquirer_reference = $2, balance_transaction = $3, outcome = '{}'
		WHERE account_id = $1 AND id = $2`
	ceilingPosting = `INSERT INTO ledger_postings (book_id, id, source, kind, purposes, debits, credits, amounts, available_on, created_at, request_id)
		VALUES ($1, $2, $3, 'charge', '{gross,stripe_fee}', '{processor_receivable,merchant_balance}', '{merchant_balance,fee_revenue}', '{2000,88}',
		        now() + interval '2 d', now(), $4)`
	ceilingEvent = `INSERT INTO events (account_id, id, livemode, type, object_id, data, api_version, request_id, created_at)
		VALUES ($1, $2, false, 'charge.succeeded', $3, $4, '', $5, now())`
	ceilingAudit = `INSERT INTO audit_events (at, id, account_id, livemode, request_id, actor, operation, status, commitment)
		VALUES (now(), $1, $2, false, $1, 'bench', 'charge.create', 200, $3)`
)

func (b *bench) ceiling(n int) worker {
	account := b.account[n%len(b.account)]
	hash := sha256.Sum256([]byte(account))
	memo := b.body[:len(b.body)/3] // about what a charge's parameters are
	memo = strconv.Quote(memo)     // as JSON
	var book int64
	return func(ctx context.Context) error {
		if book == 0 {
			if err := b.openCeiling(ctx, account, &book); err != nil {
				return err
			}
		}
		now := time.Now()
		request, charge, posting, event := id.New("req", now), id.New("ch", now), id.New("txn", now), id.New("evt", now)
		first := &pgx.Batch{}
		first.Queue(ceilingRequest, account, request, hash[:], memo)
		first.Queue(ceilingJournal, account, request, "charge_recorded")
		first.Queue(ceilingCall, account, request)
		first.Queue(ceilingCharge, account, charge, request, memo)
		if err := b.pool.SendBatch(ctx, first).Close(); err != nil {
			return err
		}
		second := &pgx.Batch{}
		second.Queue(ceilingAnswer, account, request, []byte(b.body))
		second.Queue(ceilingJournal, account, request, "charge_settled")
		second.Queue(ceilingCalled, account, request)
		second.Queue(ceilingSettled, account, charge, posting)
		second.Queue(ceilingPosting, book, posting, charge, request)
		second.Queue(ceilingEvent, account, event, charge, b.body, request)
		second.Queue(ceilingAudit, request, account, hash[:])
		return b.pool.SendBatch(ctx, second).Close()
	}
}

func (b *bench) openCeiling(ctx context.Context, account string, book *int64) error {
	_, err := b.pool.Exec(ctx, `INSERT INTO ledger_books (account_id, livemode, currency) VALUES ($1, false, 'usd') ON CONFLICT DO NOTHING`, account)
	if err != nil {
		return err
	}
	return b.pool.QueryRow(ctx, `SELECT id FROM ledger_books WHERE account_id = $1 AND currency = 'usd'`, account).Scan(book)
}

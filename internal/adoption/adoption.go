// Package adoption books what a restored database has lost: charges, captures and refunds that
// the acquirer executed after the backup was made.
package adoption

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/apirequest"
	"github.com/ratchet-pay/ratchet/internal/id"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// Lost is a movement that the acquirer executed and that nothing here knows.
type Lost struct {
	acquirer.Authorization // without its other movements
	acquirer.Executed
	Why string // it cannot be adopted; empty: it can
}

// Find lists what the acquirer executed since a time and nothing here knows, in the
// order in which it can be adopted. It changes nothing.
//
// The acquirer is read first: a call that it has executed was announced here before.
func Find(ctx context.Context, db *pgxpool.Pool, reports acquirer.Reports, since time.Time) ([]Lost, error) {
	all, err := reports.Authorizations(ctx, since, time.Now().Add(time.Hour)) // its clock may be ahead of ours
	if err != nil {
		return nil, err
	}
	unknown, err := unknownKeys(ctx, db, all)
	if err != nil {
		return nil, err
	}
	merchants, err := accounts(ctx, db, all)
	if err != nil {
		return nil, err
	}
	var lost []Lost
	for _, a := range all {
		executed := a.Executed
		a.Executed = nil
		for _, e := range executed {
			if !unknown[e.Key] {
				continue
			}
			l := Lost{Authorization: a, Executed: e}
			if !merchants[a.Merchant] {
				l.Why = fmt.Sprintf("account %q is not here: create it first", a.Merchant)
			} else if e.Kind == acquirer.KindCapture && isIntent(executed[0].Object) && e.Amount < executed[0].Amount {
				l.Why = "it is a part of a PaymentIntent's hold: refund it at the acquirer"
			}
			lost = append(lost, l)
		}
	}
	return lost, nil
}

// isIntent says whether an authorization was made for a PaymentIntent.
func isIntent(object string) bool { return strings.HasPrefix(object, "pi_") }

// A call is known if a request here made it or an adoption has booked it.
const selectUnknown = `
	SELECT m.key
	FROM unnest(@merchants::text[], @livemodes::boolean[], @keys::text[], @adoptions::text[])
		AS m (account_id, livemode, key, adoption)
	WHERE NOT EXISTS (SELECT FROM runs r WHERE r.account_id = m.account_id AND m.key = ANY (r.call_keys))
	  AND NOT EXISTS (SELECT FROM answers a
	                  WHERE a.account_id = m.account_id AND cardinality(a.call_keys) > 0 AND a.call_keys[1] = m.key)
	  AND NOT EXISTS (SELECT FROM foreign_calls f WHERE f.account_id = m.account_id AND f.derived_key = m.key)
	  AND NOT EXISTS (SELECT FROM requests q
	                  WHERE q.account_id = m.account_id AND q.livemode = m.livemode AND q.key = m.adoption)`

func unknownKeys(ctx context.Context, db *pgxpool.Pool, all []acquirer.Authorization) (map[string]bool, error) {
	var merchants, keys, adoptions []string
	var livemodes []bool
	for _, a := range all {
		for _, e := range a.Executed {
			merchants, livemodes = append(merchants, a.Merchant), append(livemodes, a.Livemode)
			keys, adoptions = append(keys, e.Key), append(adoptions, acquirer.AdoptionKey(e.Key))
		}
	}
	found, err := resource.QueryWithTimeout[struct{ Key string }](ctx, db, selectUnknown,
		pgx.StrictNamedArgs{"merchants": merchants, "livemodes": livemodes, "keys": keys, "adoptions": adoptions})
	if err != nil {
		return nil, fmt.Errorf("look for the acquirer's movements: %w", err)
	}
	unknown := make(map[string]bool, len(found))
	for _, f := range found {
		unknown[f.Key] = true
	}
	return unknown, nil
}

const selectAccounts = `SELECT id FROM accounts WHERE id = ANY (@ids::text[])`

func accounts(ctx context.Context, db *pgxpool.Pool, all []acquirer.Authorization) (map[string]bool, error) {
	var ids []string
	for _, a := range all {
		if !slices.Contains(ids, a.Merchant) {
			ids = append(ids, a.Merchant)
		}
	}
	rows, err := db.Query(ctx, selectAccounts, pgx.StrictNamedArgs{"ids": ids})
	if err != nil {
		return nil, fmt.Errorf("look for accounts: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for accounts: %w", err)
	}
	here := make(map[string]bool, len(found))
	for _, account := range found {
		here[account] = true
	}
	return here, nil
}

const selectMerchant = `
	SELECT a.id AS account_id, @livemode::boolean AS livemode, ` + resource.MerchantColumns + `,
	       account_ahead(a.id, @livemode) AS ahead
	FROM accounts a WHERE a.id = @account_id`

// flows book the kinds of movements.
var flows = map[string]*phase.Flow[payment.AdoptParams, struct{}]{
	acquirer.KindHold: Charge, acquirer.KindSale: Charge, acquirer.KindCapture: Capture,
	acquirer.KindRefund: Refund, acquirer.KindRelease: Refund,
}

// lockTimeout is how long Adopt waits for another command that adopts the same movement.
const lockTimeout = 10 * time.Second

// Adopt books a movement on behalf of an operator and returns the ID of the object
// that it made or changed. Adopting it again returns the same. A Refused error says why
// it cannot be adopted; any other error may go away.
func (l Lost) Adopt(ctx context.Context, e *phase.Engine, operator string) (objectID string, err error) {
	found, err := resource.QueryOne[resource.Task](ctx, e.Pool(), selectMerchant,
		pgx.StrictNamedArgs{"account_id": l.Merchant, "livemode": l.Livemode})
	if err != nil {
		return "", fmt.Errorf("read account %s: %w", l.Merchant, err)
	}
	if found == nil {
		return "", &Refused{fmt.Sprintf("account %q is not here", l.Merchant)}
	}
	caller := apirequest.Context{APIVersion: found.DefaultVersion.OrCurrent(), Merchant: found.Merchant}
	fingerprint := sha256.Sum256([]byte(l.Key))
	answer, err := flows[l.Kind].Serve(ctx, e, phase.Request{
		Caller: phase.Caller{
			AccountID: found.AccountID, Livemode: found.Livemode, RequestID: id.New("req", time.Now()),
			Key: acquirer.AdoptionKey(l.Key), Caller: caller.By("operator:"+operator, ""),
		},
		Method: "COMMAND", Path: "ratchet reconcile --adopt", Fingerprint: fingerprint[:], Wait: lockTimeout,
	}, payment.AdoptParams{Authorization: l.ID, Card: l.Card, Currency: l.Currency, Executed: l.Executed})
	var refusal *apierror.Error
	if errors.As(err, &refusal) {
		return "", &Refused{refusal.Message}
	}
	if postgres.IsUniqueViolation(err, "charges_one_per_acquirer_reference") ||
		postgres.IsUniqueViolation(err, "refunds_one_per_acquirer_reference") {
		return "", &Refused{"a retry of the lost request is here by now"}
	}
	if err != nil {
		return "", fmt.Errorf("adopt %s: %w", l.Reference, err)
	}
	return answer.ObjectID, nil
}

// Refused says why a movement is not adopted.
type Refused struct{ Why string }

// Error is the reason, a sentence for the operator.
func (r *Refused) Error() string { return r.Why }

package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

// Journal is the acquirer's own record of what it did to cards and bank accounts.
type Journal interface {
	// Movements lists all of it, oldest first.
	Movements(context.Context) ([]acquirer.Movement, error)
	// Unacknowledged lists the authorizations of which it has reports that we have not acknowledged.
	Unacknowledged(context.Context) ([]string, error)
}

// unasked says whether no call caused a movement, so that no key of ours belongs to it.
func unasked(m acquirer.Movement) bool {
	return m.Kind == "refund_failed" || m.Kind == "chargeback" || m.Kind == "chargeback_reversal"
}

// charged is what our books say of one authorization at the acquirer, or of one
// payout, which the bank keeps like a sale that can be taken back.
type charged struct {
	Reference string
	ID        string // of the charge or payout
	Amount    int64
	Captured  int64
	Refunded  int64
	Withdrawn int64 // by disputes that are not won
	Voided    bool
	Currency  string
	Card      string // as the acquirer's vault names it, or the bank account of a payout
}

const selectCharged = `
	SELECT c.acquirer_reference AS reference, c.id, c.amount, c.amount_captured AS captured,
	       c.amount_charged_back AS withdrawn, c.currency,
	       coalesce(sum(r.amount) FILTER (WHERE r.kind = 'refund'), 0)::bigint AS refunded,
	       coalesce(bool_or(r.kind = 'void'), false) AS voided, coalesce(c.card->>'vault', '') AS card
	FROM charges c LEFT JOIN refunds r ON r.account_id = c.account_id AND r.charge_id = c.id AND r.status = 'succeeded'
	WHERE c.status = 'succeeded'
	GROUP BY c.account_id, c.id
	UNION ALL
	SELECT p.bank_reference, p.id, p.amount, p.amount, 0, p.currency,
	       CASE WHEN p.status = 'canceled' OR p.reversed_by IS NOT NULL THEN p.amount ELSE 0 END, false, p.destination
	FROM payouts p
	WHERE p.bank_reference IS NOT NULL AND p.amount > 0`

// derived are the keys we have asked under, and whether we know what came of it.
type derived struct {
	Key  string
	Open bool
}

// The call of an adopted movement was made by a request that a restored backup has lost.
const selectDerived = `WITH ` + keys + `
	SELECT key, bool_or(open) AS open
	FROM (SELECT key, open FROM keys
	      UNION ALL SELECT substr(key, length('adopt ') + 1), false FROM requests WHERE flow IN (` + adoptions + `)) k
	GROUP BY key`

// moved is what the journal says of one authorization.
type moved struct {
	times             int // how often the card was held or charged
	held, taken, back int64
	chargedBack       int64 // by the cardholder
	released, open    bool
	strange           string   // a key that no request here derived
	currencies, cards []string // each of them once; more than one is never in order
}

// otherSide is the acquirer's journal. Two databases have no common snapshot, so
// it is read before ours and after: what it held before must be explained by our
// snapshot, and what our snapshot claims must be there after. Calls made
// meanwhile, or still in progress, are left out.
type otherSide struct {
	journal        Journal
	before         []acquirer.Movement
	unacknowledged []string // authorizations with reports that we had not acknowledged
	err            error
}

// unapplied is an authorization of which a message waits in our inbox.
type unapplied struct{ Reference string }

// A settlement changes nothing that is compared here, so one that waits leaves
// nothing out.
const selectUnapplied = `
	SELECT convert_from(body, 'UTF8')::json->>'authorization' AS reference FROM inbox
	WHERE state = 'waiting' AND kind <> 'batch.settled'`

func references(waiting []unapplied) (all []string) {
	for _, w := range waiting {
		all = append(all, w.Reference)
	}
	return all
}

func unknownSide() otherSide { return otherSide{err: errors.New("no acquirer was named")} }

func readBefore(ctx context.Context, journal Journal) otherSide {
	before, err := journal.Movements(ctx)
	if err != nil {
		return otherSide{err: err}
	}
	unacknowledged, err := journal.Unacknowledged(ctx)
	return otherSide{journal, before, unacknowledged, err}
}

const acquirerRuleName = "our books agree with the acquirer's journal"

func (o otherSide) check(ctx context.Context, db reader) Check {
	c := Check{
		Rule:    acquirerRuleName,
		Counted: "lines of the journal",
		Count:   int64(len(o.before)),
	}
	err := o.err
	if err == nil {
		c.Violations, err = o.compare(ctx, db)
	}
	if err != nil {
		c.Unchecked = err.Error()
	}
	return c
}

// compare goes through the authorizations, both ways.
func (o otherSide) compare(ctx context.Context, db reader) ([]Violation, error) {
	charges, err := read[charged](ctx, db, selectCharged)
	if err != nil {
		return nil, err
	}
	keys, err := read[derived](ctx, db, selectDerived)
	if err != nil {
		return nil, err
	}
	after, err := o.journal.Movements(ctx)
	if err != nil {
		return nil, err
	}
	unacknowledged, err := o.journal.Unacknowledged(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := read[unapplied](ctx, db, selectUnapplied)
	if err != nil {
		return nil, err
	}
	theirs := tally(o.before, after, keys)
	ours := make(map[string]bool, len(charges))
	for _, c := range charges {
		ours[c.Reference] = true
	}
	for _, reference := range append(append(unacknowledged, o.unacknowledged...), references(waiting)...) {
		// A notification that has not arrived yet explains why a charge of ours differs. It
		// does not explain a missing charge: that is what a lost charge looks like.
		if m, there := theirs[reference]; there && ours[reference] {
			m.open = true
		}
	}
	var found []Violation
	for _, c := range charges {
		m, there := theirs[c.Reference]
		delete(theirs, c.Reference)
		switch {
		case !there:
			found = append(found, Violation{c.ID, "the acquirer's journal has no authorization " + c.Reference})
		case !m.open:
			found = append(found, c.compare(m)...)
		}
	}
	for _, reference := range slices.Sorted(maps.Keys(theirs)) {
		if m := theirs[reference]; !m.open {
			found = append(found, m.unexplained(reference)...)
		}
	}
	return found, nil
}

func read[T any](ctx context.Context, db reader, sql string) ([]T, error) {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// tally adds the journal up by authorization.
func tally(before, after []acquirer.Movement, keys []derived) map[string]*moved {
	open := map[string]bool{} // by key: asked under, and undecided
	for _, k := range keys {
		open[k.Key] = k.Open
	}
	strange := map[string]bool{}
	for _, m := range before {
		if _, ours := open[m.Key]; !ours && !unasked(m) {
			strange[m.Key] = true
		}
	}
	theirs := map[string]*moved{}
	for _, m := range after {
		undecided, ours := open[m.Key]
		if m.Kind == "none" || !ours && !strange[m.Key] && !unasked(m) {
			continue
		}
		t := theirs[m.Authorization]
		if t == nil {
			t = &moved{}
			theirs[m.Authorization] = t
		}
		t.open = t.open || undecided
		if strange[m.Key] {
			t.strange = m.Key
		}
		t.add(m)
	}
	return theirs
}

func (m *moved) add(of acquirer.Movement) {
	m.currencies, m.cards = withOne(m.currencies, of.Currency), withOne(m.cards, of.Card)
	switch of.Kind {
	case "hold":
		m.times, m.held = m.times+1, m.held+of.Amount
	case "sale", "payout":
		m.times, m.held, m.taken = m.times+1, m.held+of.Amount, m.taken+of.Amount
	case "capture":
		m.taken += of.Amount
	case "refund", "recall":
		m.back += of.Amount
	case "release":
		m.released = true
	case "refund_failed":
		m.back -= of.Amount
	case "chargeback":
		m.chargedBack += of.Amount
	case "chargeback_reversal":
		m.chargedBack -= of.Amount
	}
}

func withOne(list []string, one string) []string {
	if slices.Contains(list, one) {
		return list
	}
	return append(list, one)
}

func (c charged) compare(m *moved) []Violation {
	var found []Violation
	differ := func(what string, here, there any) {
		if here != there {
			found = append(found, Violation{c.ID, fmt.Sprintf("%s: here %v, at the acquirer %v", what, here, there)})
		}
	}
	differ("charged, held or sent, times", 1, m.times)
	differ("amount asked for", c.Amount, m.held)
	differ("amount taken", c.Captured, m.taken)
	differ("amount given back", c.Refunded, m.back)
	differ("amount charged back", c.Withdrawn, m.chargedBack)
	differ("authorization voided", c.Voided, m.released)
	differ("currency", c.Currency, strings.Join(m.currencies, " and "))
	differ("card or bank account", c.Card, strings.Join(m.cards, " and "))
	if m.strange != "" {
		found = append(found,
			Violation{c.ID, "the acquirer moved its money under a key that no request derived: " + m.strange})
	}
	return found
}

// unexplained is an authorization no charge of ours names: in order only if all
// of it has been undone.
func (m *moved) unexplained(reference string) []Violation {
	switch {
	case m.taken != m.back:
		return []Violation{{reference,
			fmt.Sprintf("the acquirer took or sent %d and gave or fetched %d back, and no charge or payout here "+
				"says so", m.taken, m.back)}}
	case m.taken == 0 && !m.released:
		return []Violation{{reference,
			fmt.Sprintf("the acquirer holds %d on a card, and no charge here says so", m.held)}}
	case m.strange != "":
		return []Violation{{reference, "the acquirer moved money under a key that no request derived: " + m.strange}}
	}
	return nil
}

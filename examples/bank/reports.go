//go:build unix

package bank

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/id"
)

// Statement implements acquirer.Reports, as the next four do.
func (b *Bank) Statement(_ context.Context, key string) (found []acquirer.Movement, err error) {
	err = b.locked(func() error {
		for _, op := range b.history {
			if op.Key == key {
				found = append(found, op.movement())
			}
		}
		return nil
	})
	return found, err
}

func (op *operation) movement() acquirer.Movement {
	m := acquirer.Movement{At: op.At, Key: op.Key, Reference: op.Result.Reference, Authorization: op.authorization(),
		Verb: string(op.Verb), Card: op.Order.Card + op.Order.Destination, Kind: op.kind(), Amount: op.Result.Amount,
		Currency: op.Order.Currency, Result: cmp.Or(op.Result.DeclineCode, op.Result.Code, "approved")}
	if op.payment != nil {
		m.Card = op.payment.card
	}
	if op.Reversal {
		m.Verb, m.Kind, m.Result = "reverse", undoes[m.Kind], "reversed"
	}
	return m
}

// authorization is the id of the payment that an operation is about.
func (op *operation) authorization() string {
	if op.payment == nil {
		return op.Order.Authorization
	}
	return op.payment.operations[0].Result.Reference
}

// Summary counts how often cards were charged.
func (b *Bank) Summary(context.Context) (s acquirer.Summary, err error) {
	err = b.locked(func() error {
		for _, op := range b.history {
			if kind := op.kind(); !op.Reversal && (kind == acquirer.KindHold || kind == acquirer.KindSale) {
				s.Charges++ // and each under its own key: operations are kept by key
			}
		}
		return nil
	})
	return s, err
}

// Settlement lists what moved money in a time and was not reversed.
func (b *Bank) Settlement(_ context.Context, from, to time.Time) (file []acquirer.SettlementLine, err error) {
	kinds := []string{acquirer.KindSale, acquirer.KindCapture, acquirer.KindRefund, kindPayout, kindRecall}
	err = b.locked(func() error {
		for _, op := range b.history {
			if slices.Contains(kinds, op.kind()) && !op.reversed && within(op.At, from, to) {
				file = append(file, acquirer.SettlementLine{At: op.At, Key: op.Key, Reference: op.Result.Reference,
					Authorization: op.authorization(), Kind: op.kind(), Amount: op.Result.Amount,
					Currency: op.Order.Currency})
			}
		}
		return nil
	})
	return file, err
}

func within(at, from, to time.Time) bool { return !at.Before(from) && at.Before(to) }

// Authorizations lists payments of which anything moved in a time, with all that did.
func (b *Bank) Authorizations(_ context.Context, from, to time.Time) (all []acquirer.Authorization, err error) {
	err = b.locked(func() error {
		for _, opening := range b.history {
			p := opening.payment
			if opening.Verb != acquirer.VerbAuthorize || opening.Reversal || p == nil ||
				!slices.ContainsFunc(p.operations, func(op *operation) bool { return within(op.At, from, to) }) {
				continue
			}
			a := acquirer.Authorization{ID: opening.Result.Reference, Merchant: p.merchant, Livemode: p.livemode,
				Card: p.card, Currency: p.currency}
			for _, op := range p.operations {
				if !op.reversed {
					a.Executed = append(a.Executed, acquirer.Executed{At: op.At, Key: op.Key, Kind: op.kind(),
						Reference: op.Result.Reference, Object: op.Order.Object, Amount: op.Result.Amount,
						Result: op.Result})
				}
			}
			if a.Executed != nil {
				all = append(all, a)
			}
		}
		return nil
	})
	return all, err
}

// Resend has the parts sent again that were settled or acknowledged since a time.
func (b *Bank) Resend(_ context.Context, from time.Time) error {
	return b.locked(func() error {
		for _, part := range b.parts {
			if !part.At.Before(from) || !b.acknowledged[part.ID].Before(from) {
				delete(b.acknowledged, part.ID)
			}
		}
		b.resends++
		return nil
	})
}

// Settle pays each merchant what it has captured and not refunded. A part has at most
// acquirer.MaxPartMovements movements of one merchant, mode and currency.
func (b *Bank) Settle() error {
	return b.locked(func() error {
		for {
			part := b.nextPart()
			if part == nil {
				return nil
			}
			if err := b.append(record{At: part.At, Settled: part}); err != nil {
				return err
			}
		}
	})
}

// nextPart lists what is owed to the merchant of the oldest movement that is not settled.
func (b *Bank) nextPart() *acquirer.SettledPart {
	kinds := []string{acquirer.KindSale, acquirer.KindCapture, acquirer.KindRefund}
	now := time.Now()
	part := &acquirer.SettledPart{ID: id.New("note", now), Kind: acquirer.BatchSettled, At: now,
		Batch: id.New("batch", now), Part: 1, Parts: 1}
	for _, op := range b.history {
		if !slices.Contains(kinds, op.kind()) || op.reversed || op.settled || op.payment.merchant == "" {
			continue
		}
		p := op.payment
		if part.Count == 0 {
			part.Merchant, part.Livemode, part.Currency = p.merchant, p.livemode, p.currency
		}
		if part.Merchant == p.merchant && part.Livemode == p.livemode && part.Currency == p.currency &&
			part.Count < acquirer.MaxPartMovements {
			part.Count++
			part.Movements = append(part.Movements, acquirer.SettledMovement{Kind: op.kind(),
				Authorization: op.authorization(), Reference: op.Result.Reference, Amount: op.Result.Amount})
		}
	}
	if part.Count == 0 {
		return nil
	}
	part.Paid, part.Taken = acquirer.Sums(part.Movements)
	return part
}

// Notify posts parts that were settled until ctx ends, each until it is acknowledged.
// After a restart all of them come again: a notification comes at least once.
func (b *Bank) Notify(ctx context.Context, url, secret string) {
	for ctx.Err() == nil {
		var due []acquirer.SettledPart
		var resends int
		_ = b.locked(func() error { // books that cannot be read now can be read in a moment
			resends = b.resends
			for _, part := range b.parts {
				if b.acknowledged[part.ID].IsZero() {
					due = append(due, part)
				}
			}
			return nil
		})
		for _, part := range due {
			if post(ctx, url, secret, part) {
				b.mu.Lock()
				if b.resends == resends { // otherwise it is to come again
					b.acknowledged[part.ID] = time.Now()
				}
				b.mu.Unlock()
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// post sends a part and says whether it was acknowledged.
func post(ctx context.Context, url, secret string, part acquirer.SettledPart) bool {
	body, err := json.Marshal(part)
	if err != nil {
		return false
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(acquirer.SignatureHeader, acquirer.Sign(secret, body, time.Now()))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode < 300
}

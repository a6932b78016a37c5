package simulator

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
)

// Records reads the acquirer's own database for a proof (verify.Journal).
type Records struct{ DB Queryer }

// Movements lists what was done to every card, oldest first.
func (r Records) Movements(ctx context.Context) ([]acquirer.Movement, error) {
	found, err := Journal(ctx, r.DB)
	if err != nil {
		return nil, err
	}
	all := make([]acquirer.Movement, len(found))
	for i, m := range found {
		all[i] = acquirer.Movement{At: m.At, Key: m.Key, Reference: m.Reference, Authorization: m.Authorization,
			Verb: m.Verb, Card: m.Card, Kind: m.Kind, Amount: m.Amount, Currency: m.Currency, Result: m.Result}
	}
	return all, nil
}

// Unacknowledged lists the authorizations with unacknowledged reports.
func (r Records) Unacknowledged(ctx context.Context) ([]string, error) {
	return Unacknowledged(ctx, r.DB)
}

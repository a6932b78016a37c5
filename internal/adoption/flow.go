package adoption

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/payment"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// Charge, Capture and Refund book one movement each, in one transaction, unless a
// request here has called under its key. Refund also books a void.
var (
	Charge = flow("charge.adopt", "charge_adopted",
		func(tx *phase.Tx, in payment.AdoptParams, there *payment.Charge) (phase.Outcome, error) {
			if there != nil {
				return phase.Outcome{},
					apierror.Invalid("", "Charge %s has the authorization %s.", there.ID, in.Authorization)
			}
			return in.Charge(tx)
		})
	Capture = flow("charge.adopt_capture", "capture_adopted",
		func(tx *phase.Tx, in payment.AdoptParams, charge *payment.Charge) (phase.Outcome, error) {
			return in.Capture(tx, charge)
		})
	Refund = flow("refund.adopt", "refund_adopted",
		func(tx *phase.Tx, in payment.AdoptParams, charge *payment.Charge) (phase.Outcome, error) {
			return in.Refund(tx, charge)
		})
)

// The charge is locked before this statement reads. A request that announced its call
// under the same lock is seen. A retry of a lost charge may be overlooked: then
// charges_one_per_acquirer_reference rejects whichever commits later.
const isCalledHere = `
	SELECT EXISTS (SELECT FROM runs WHERE account_id = @account_id AND @key = ANY (call_keys))
	    OR EXISTS (SELECT FROM answers
	               WHERE account_id = @account_id AND cardinality(call_keys) > 0 AND call_keys[1] = @key) AS here`

type (
	adopted = phase.Flow[payment.AdoptParams, struct{}]
	booking func(*phase.Tx, payment.AdoptParams, *payment.Charge) (phase.Outcome, error)
)

func flow(name, point string, book booking) *adopted {
	return phase.Define(name, 1, phase.Atomic(point,
		func(ctx context.Context, tx *phase.Tx, in payment.AdoptParams, _ *struct{}) (phase.Outcome, error) {
			charge, err := in.Find(ctx, tx)
			if err != nil {
				return phase.Outcome{}, err
			}
			called, err := resource.QueryOne[struct{ Here bool }](ctx, tx, isCalledHere,
				pgx.StrictNamedArgs{"account_id": tx.AccountID, "key": in.Executed.Key})
			switch {
			case err != nil:
				return phase.Outcome{}, fmt.Errorf("look for the call: %w", err)
			case called.Here:
				return phase.Outcome{},
					apierror.Invalid("", "A request has already called the acquirer under %s.", in.Executed.Key)
			case charge != nil && charge.LockedBy != nil:
				return phase.Outcome{}, apierror.Locked()
			}
			return book(tx, in, charge)
		}))
}

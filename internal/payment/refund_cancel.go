package payment

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// EndRefundParams are what POST /v1/refunds/{refund}/cancel and the test helper
// …/expire take.
type EndRefundParams struct {
	ID     string      `path:"refund"`
	Expand form.Expand `form:"expand"`
}

// CancelRefund calls a refund off that waits for the customer.
var CancelRefund = endRefund("refund.cancel", 2, "refund_canceled", "canceled")

// ExpireRefund ends a refund that has waited for the customer too long.
var ExpireRefund = endRefund("refund.expire", 1, "refund_expired", "expired")

// endRefund refuses: only a refund that requires action can be ended, and a
// card's never does.
func endRefund(name string, version int16, point, ended string) *phase.Flow[EndRefundParams, struct{}] {
	return phase.Define(name, version,
		phase.Atomic(point, func(
			ctx context.Context, tx *phase.Tx, in EndRefundParams, _ *struct{},
		) (phase.Outcome, error) {
			refund, err := resource.Get[Refund](ctx, tx, refundByID, resource.PrincipalOf(tx.Caller), in.ID)
			if err != nil {
				return phase.Outcome{}, err
			}
			if refund == nil {
				return phase.Outcome{}, apierror.NotFound("refund", "refund", in.ID)
			}
			return phase.Refuse(refund.ID, apierror.Invalid("",
				"Refund %s cannot be %s: its status is %s, and only a refund whose status is requires_action can be.",
				refund.ID, ended, refund.Status)), nil
		}))
}

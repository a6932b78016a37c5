package session

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// UpdateCheckoutSessionParams are what POST /v1/checkout/sessions/{session} takes.
type UpdateCheckoutSessionParams struct {
	ID       string        `path:"session"`
	Metadata form.Metadata `form:"metadata"`
	Expand   form.Expand   `form:"expand"`
}

const sessionUpdated = "checkout_session_updated"

// UpdateCheckoutSession changes a session's metadata.
var UpdateCheckoutSession = phase.Define("checkout_session.update", 1,
	phase.Atomic(sessionUpdated, func(
		ctx context.Context, tx *phase.Tx, in UpdateCheckoutSessionParams, _ *struct{},
	) (phase.Outcome, error) {
		session, err := lockedSession(ctx, tx, in.ID)
		if err != nil {
			return phase.Outcome{}, err
		}
		if session.Metadata, err = in.Metadata.Apply(session.Metadata); err != nil {
			return phase.Outcome{}, err
		}
		session.update(tx)
		return replyWithSession(ctx, tx, in.Expand, session, nil)
	}),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateCheckoutSessionParams) error {
	_, err := readSession(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
	return err
})

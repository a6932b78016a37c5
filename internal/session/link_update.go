package session

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/postgres"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// UpdatePaymentLinkParams are what POST /v1/payment_links/{payment_link} takes.
type UpdatePaymentLinkParams struct {
	ID     string `path:"payment_link"`
	Active *bool  `form:"active"`
	LinkParams
}

const linkUpdated = "payment_link_updated"

// UpdatePaymentLink changes a link, and what sessions it opens from then on. An inactive
// link opens none.
var UpdatePaymentLink = phase.Define("payment_link.update", 1,
	phase.Atomic(linkUpdated, changeLink),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdatePaymentLinkParams) error {
	if _, err := PaymentLinks.Find(ctx, db, resource.PrincipalOfCheck(caller), in.ID); err != nil {
		return err
	}
	return in.check(ctx, db, caller)
})

func changeLink(ctx context.Context, tx *phase.Tx, in UpdatePaymentLinkParams, _ *struct{}) (phase.Outcome, error) {
	link, err := PaymentLinks.Locked(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	before := link.Render()
	if in.Active != nil {
		link.Active = *in.Active
	}
	if err := in.apply(link); err != nil {
		return phase.Outcome{}, err
	}
	previous, err := event.Changes(before, link.Render())
	if err != nil {
		return phase.Outcome{}, err
	}
	if len(previous) > 0 {
		tx.Write(updateLinks, postgres.RowsOf(*link))
		event.Emit(tx, "payment_link.updated", link.ID, link.Render(), previous)
	}
	return resource.Reply(ctx, tx, in.Expand, link.ID, link.Render())
}

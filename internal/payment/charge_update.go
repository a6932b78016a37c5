package payment

import (
	"context"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/customer"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// UpdateChargeParams are what POST /v1/charges/{charge} takes.
type UpdateChargeParams struct {
	ID           string             `path:"charge"`
	Customer     string             `form:"customer" max:"500"`
	Description  *string            `form:"description,unset" max:"40000"`
	Metadata     form.Metadata      `form:"metadata"`
	ReceiptEmail *string            `form:"receipt_email,unset" max:"800"`
	Shipping     *resource.Shipping `form:"shipping"`
	FraudDetails *struct {
		UserReport *string `form:"user_report,unset" enum:"safe,fraudulent"`
	} `form:"fraud_details"`
	TransferGroup *string     `form:"transfer_group" max:"5000"`
	Expand        form.Expand `form:"expand"`
}

const updateCharge = `
	UPDATE charges
	SET customer_id = @customer_id, description = @description, metadata = @metadata, receipt_email = @receipt_email,
	    shipping = @shipping, fraud_details = @fraud_details, transfer_group = @transfer_group
	WHERE account_id = @account_id AND id = @id`

// UpdateCharge changes what a merchant may change of a charge: nothing about money.
var UpdateCharge = phase.Define("charge.update", 1,
	phase.Atomic("charge_updated", changeCharge),
).Check(func(ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateChargeParams) error {
	if err := resource.CheckEmail("receipt_email", in.ReceiptEmail); err != nil {
		return err
	}
	if in.Customer != "" {
		if err := customer.CustomerExists(ctx, db, resource.PrincipalOfCheck(caller), in.Customer); err != nil {
			return resource.AsParam(err, "customer")
		}
	}
	return ChargeExists(ctx, db, resource.PrincipalOfCheck(caller), in.ID)
})

func changeCharge(ctx context.Context, tx *phase.Tx, in UpdateChargeParams, _ *struct{}) (phase.Outcome, error) {
	charge, err := lockedCharge(ctx, tx, in.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	if charge.Status == chargePending { // its request would answer without the change
		return phase.Outcome{}, apierror.Locked()
	}
	before := charge.object()
	if in.Customer != "" {
		if charge.CustomerID != nil && *charge.CustomerID != in.Customer {
			return phase.Outcome{},
				apierror.Invalid("customer", "You cannot update the customer of charge %s: it already has one.",
					charge.ID)
		}
		charge.CustomerID = &in.Customer
	}
	charge.Description = resource.Patch(in.Description, charge.Description)
	charge.ReceiptEmail = resource.Patch(in.ReceiptEmail, charge.ReceiptEmail)
	charge.TransferGroup, err = resource.SetOnce("transfer_group", charge.ID, charge.TransferGroup, in.TransferGroup)
	if err != nil {
		return phase.Outcome{}, err
	}
	charge.Metadata, err = in.Metadata.Apply(charge.Metadata)
	if err != nil {
		return phase.Outcome{}, err
	}
	if in.Shipping != nil {
		charge.Shipping = in.Shipping
	}
	if in.FraudDetails != nil && in.FraudDetails.UserReport != nil {
		charge.report(*in.FraudDetails.UserReport)
	}
	previous, err := event.Changes(before, charge.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	tx.WriteOne(updateCharge, pgx.StrictNamedArgs{
		"account_id":    tx.AccountID,
		"id":            charge.ID,
		"customer_id":   charge.CustomerID,
		"description":   charge.Description,
		"metadata":      charge.Metadata,
		"receipt_email": charge.ReceiptEmail,
		"shipping":      charge.Shipping,
		"fraud_details": charge.FraudDetails, "transfer_group": charge.TransferGroup,
	})
	if len(previous) > 0 {
		event.Emit(tx, "charge.updated", charge.ID, charge.Render(), previous)
	}
	return replyWithCharge(ctx, tx, in.Expand, charge)
}

// report notes what the merchant thinks of a charge; "" takes it back. What the
// charge looked like before keeps the details it had.
func (c *Charge) report(opinion string) {
	c.FraudDetails = maps.Clone(c.FraudDetails)
	if opinion == "" {
		delete(c.FraudDetails, "user_report")
		return
	}
	c.FraudDetails["user_report"] = opinion
}

func replyWithCharge(
	ctx context.Context, tx *phase.Tx, paths form.Expand, charge *Charge, fresh ...resource.Renderer,
) (phase.Outcome, error) {
	return resource.Reply(ctx, tx, paths, charge.ID, charge.Render(), fresh...)
}

package dispute

import (
	"context"
	"encoding/json"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/apierror"
	"github.com/ratchet-pay/ratchet/internal/event"
	"github.com/ratchet-pay/ratchet/internal/form"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/resource"
)

// DisputeParams are what any way of answering a dispute takes.
type DisputeParams struct {
	Evidence *EvidenceParams `form:"evidence"`
	Metadata form.Metadata   `form:"metadata"`
	Submit   *bool           `form:"submit"`
	Expand   form.Expand     `form:"expand"`
}

// UpdateDisputeParams are what POST /v1/disputes/{dispute} takes.
type UpdateDisputeParams struct {
	ID string `path:"dispute"`
	DisputeParams
}

// UpdateChargeDisputeParams are what POST /v1/charges/{charge}/dispute takes.
type UpdateChargeDisputeParams struct {
	Charge string `path:"charge"`
	DisputeParams

	Found string // the charge's latest dispute
}

// submits says whether the evidence goes to the bank with this request. What is
// only noted, metadata above all, does not use up the one answer there is.
func (in DisputeParams) submits() bool {
	if in.Submit == nil {
		return in.Evidence.says()
	}
	return *in.Submit
}

type disputeState struct {
	ID     string
	Before json.RawMessage // the object before the request
	Order  acquirer.Order
	Result acquirer.Result `json:"Answer"` // as stored requests name it
}

// The recovery points of an answer to a dispute.
const (
	evidenceRecorded  = "evidence_recorded"
	evidenceAnswered  = "evidence_answered"
	evidenceSubmitted = "evidence_submitted"
)

// UpdateDispute keeps evidence and, unless told otherwise, sends it to the
// cardholder's bank, which tells its decision later.
//
//	(nothing) ──▶ evidence_recorded ──▶ evidence_answered ──▶ evidence_submitted
//	   claim + keep, reserve        send, no tx open         under review, answer
//
// It has no compensation: evidence that arrives late is better than none.
var UpdateDispute = updateBy[UpdateDisputeParams]("dispute.update").Check(func(
	ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateDisputeParams,
) error {
	if err := in.check(); err != nil {
		return err
	}
	_, err := disputeOr404(resource.Get[Dispute](ctx, db, disputeByID, resource.PrincipalOfCheck(caller), in.ID))(in.ID)
	return err
})

// UpdateChargeDispute is UpdateDispute at the charge's own address.
var UpdateChargeDispute = updateBy[UpdateChargeDisputeParams]("charge.dispute.update").Check(func(
	ctx context.Context, db phase.Reader, caller phase.Check, in *UpdateChargeDisputeParams,
) error {
	if err := in.check(); err != nil {
		return err
	}
	dispute, err := disputeOfCharge(ctx, db, resource.PrincipalOfCheck(caller), in.Charge)
	if err == nil {
		in.Found = dispute.ID
	}
	return err
})

func (in UpdateDisputeParams) dispute() string       { return in.ID }
func (in UpdateChargeDisputeParams) dispute() string { return in.Found }
func (in DisputeParams) update() DisputeParams       { return in }

func updateBy[P interface {
	dispute() string
	update() DisputeParams
}](name string) *phase.Flow[P, disputeState] {
	return phase.Define(name, 1,
		phase.Atomic(evidenceRecorded, func(
			ctx context.Context, tx *phase.Tx, in P, s *disputeState,
		) (phase.Outcome, error) {
			return recordEvidence(ctx, tx, in.dispute(), in.update(), s)
		}),
		phase.Foreign(evidenceAnswered, acquirer.Port, func(
			ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], _ P, s *disputeState,
		) error {
			return sendEvidence(ctx, call, s)
		}),
		phase.Atomic(evidenceSubmitted, func(
			ctx context.Context, tx *phase.Tx, in P, s *disputeState,
		) (phase.Outcome, error) {
			return submitEvidence(ctx, tx, in.update(), s)
		}),
	)
}

func (in DisputeParams) check() error {
	if _, err := in.Metadata.Apply(nil); err != nil {
		return err
	}
	if in.Evidence == nil {
		return nil
	}
	return in.Evidence.check()
}

func recordEvidence(
	ctx context.Context, tx *phase.Tx, id string, in DisputeParams, s *disputeState,
) (phase.Outcome, error) {
	dispute, err := lockedDispute(ctx, tx, id)
	if err != nil {
		return phase.Outcome{}, err
	}
	if dispute.LockedBy != nil {
		return phase.Outcome{}, apierror.Locked()
	}
	if (in.Evidence != nil || in.submits()) && !dispute.needsResponse() {
		return phase.Refuse(dispute.ID,
			apierror.Invalid("", "Dispute %s is %s: it accepts no more evidence.", dispute.ID, dispute.Status)), nil
	}
	before := dispute.object()
	dispute.Metadata, err = in.Metadata.Apply(dispute.Metadata)
	if err != nil {
		return phase.Outcome{}, err
	}
	if in.Evidence != nil {
		in.Evidence.apply(&dispute.Evidence)
	}
	if !in.submits() {
		dispute.change(tx, dispute.Status)
		return dispute.replyWithUpdate(ctx, tx, in.Expand, before)
	}
	evidence, err := json.Marshal(dispute.Evidence)
	if err != nil {
		return phase.Outcome{}, err
	}
	s.ID = dispute.ID
	s.Order = acquirer.Order{
		Dispute:  dispute.AcquirerReference,
		Amount:   dispute.Amount,
		Currency: dispute.Currency,
		Evidence: string(evidence),
	}
	if s.Before, err = json.Marshal(before); err != nil {
		return phase.Outcome{}, err
	}
	dispute.LockedBy = &tx.RequestID
	dispute.change(tx, dispute.Status)
	return phase.Next, nil
}

func sendEvidence(ctx context.Context, call phase.ForeignCall[acquirer.Acquirer], s *disputeState) (err error) {
	s.Result, err = call.To().SubmitEvidence(ctx, call.Permit, s.Order)
	return err
}

// submitEvidence records that the bank has it. The decision may have been
// received already, and then stays.
func submitEvidence(ctx context.Context, tx *phase.Tx, in DisputeParams, s *disputeState) (phase.Outcome, error) {
	dispute, err := lockedDispute(ctx, tx, s.ID)
	if err != nil {
		return phase.Outcome{}, err
	}
	status := dispute.Status
	dispute.LockedBy = nil
	if !s.Result.Approved {
		dispute.change(tx, status)
		return phase.Refuse(dispute.ID,
			apierror.Invalid("", "The evidence for dispute %s was not accepted: %s", dispute.ID, s.Result.Message)), nil
	}
	dispute.Submissions++
	switch {
	case status == disputeNeedsResponse && !dispute.escalatedSince(s.Before):
		dispute.Status = disputeUnderReview
	case status == inquiryNeedsResponse:
		dispute.Status = inquiryUnderReview
	}
	dispute.change(tx, status)
	return dispute.replyWithUpdate(ctx, tx, in.Expand, s.Before)
}

// escalatedSince says that the bank has answered evidence for an inquiry by
// making a chargeback of it, which needs a separate response.
func (d *Dispute) escalatedSince(before json.RawMessage) bool {
	var then struct{ Status string }
	return json.Unmarshal(before, &then) == nil && then.Status == inquiryNeedsResponse && !d.isInquiry()
}

// replyWithUpdate answers with the dispute, and emits the event if anything has changed.
func (d *Dispute) replyWithUpdate(
	ctx context.Context, tx *phase.Tx, paths form.Expand, before any,
) (phase.Outcome, error) {
	previous, err := event.Changes(before, d.object())
	if err != nil {
		return phase.Outcome{}, err
	}
	if len(previous) > 0 {
		event.Emit(tx, "charge.dispute.updated", d.ID, d.Render(), previous)
	}
	return replyWithDispute(ctx, tx, paths, d)
}

func replyWithDispute(ctx context.Context, tx *phase.Tx, paths form.Expand, d *Dispute) (phase.Outcome, error) {
	return resource.Reply(ctx, tx, paths, d.ID, d.Render())
}

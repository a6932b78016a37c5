package simulator

import (
	"encoding/json"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/id"
)

// complaint is what a cardholder says to their bank.
type complaint struct {
	kase, reason, networkCode string
	eligibility               []string
}

var (
	fraudulent      = complaint{acquirer.CaseChargeback, "fraudulent", "10.4", nil}
	notReceived     = complaint{acquirer.CaseChargeback, "product_not_received", "13.1", nil}
	inquiry         = complaint{acquirer.CaseInquiry, "fraudulent", "10.4", nil}
	fraudulentAgain = complaint{acquirer.CaseChargeback, "fraudulent", "10.4", []string{"visa_compelling_evidence_3"}}
	nonCompliant    = complaint{acquirer.CaseCompliance, "noncompliant", "12", []string{"visa_compliance"}}
)

// respondWithin is how long a merchant has for an answer.
const respondWithin = 9 * 24 * time.Hour

// dispute is a complaint and what became of it. Money moves with the state:
// a chargeback has taken it from us, an inquiry has not.
type dispute struct {
	id            string
	authorization string
	card          string
	currency      string
	amount        int64
	state         string
	change        change
}

// The states of a dispute.
const (
	isInquiry    = "inquiry"
	isChargeback = "chargeback"
	isClosed     = "closed"
)

// complain opens the disputes that the card's holder makes of every payment.
// Several share its amount. The reply to the payment carries their notifications, because
// Stripe's test mode has the dispute when it answers.
func (b *book) complain(op *operation, auth *authorization) {
	complaints := cardNamed(auth.card).complaints
	left := auth.captured
	for i, c := range complaints {
		amount := left / int64(len(complaints)-i)
		left -= amount
		if amount == 0 {
			continue
		}
		d := &dispute{
			id: id.New("dsp", b.at), authorization: auth.id, card: auth.card, currency: auth.currency,
			amount: amount, state: isChargeback, change: inserted,
		}
		if c.kase == acquirer.CaseInquiry {
			d.state = isInquiry
		} else {
			b.unasked(d.authorization, d.card, d.currency, d.id, chargeback, amount)
		}
		b.disputes[d.id] = d
		notice := d.notice(b.at, acquirer.DisputeOpened)
		notice.Case = c.kase
		notice.Reason = c.reason
		notice.NetworkCode = c.networkCode
		notice.Eligibility = c.eligibility
		notice.RespondBy = b.at.Add(respondWithin)
		op.letters = append(op.letters, b.notify(notice))
	}
}

func (d *dispute) notice(at time.Time, kind string) acquirer.Notification {
	return acquirer.Notification{
		ID:            id.New("note", at),
		Kind:          kind,
		At:            at,
		Authorization: d.authorization,
		Reference:     d.id,
		Amount:        d.amount,
		Currency:      d.currency,
	}
}

// What Stripe's test mode decides by: the text of the evidence.
const (
	winningEvidence   = "winning_evidence"
	losingEvidence    = "losing_evidence"
	escalatedEvidence = "escalate_inquiry_evidence"
)

func (b *book) submitEvidence(op *operation) {
	d := b.disputeFor(op)
	if d == nil {
		return
	}
	var evidence struct {
		Text string `json:"uncategorized_text"`
	}
	_ = json.Unmarshal([]byte(op.asked.Order.Evidence), &evidence) // any other evidence is ignored
	switch {
	case evidence.Text == escalatedEvidence && d.state == isInquiry:
		d.state = isChargeback
		b.unasked(d.authorization, d.card, d.currency, d.id, chargeback, d.amount)
		b.notify(d.notice(b.at, acquirer.DisputeEscalated))
	case evidence.Text == winningEvidence && d.state == isChargeback:
		b.unasked(d.authorization, d.card, d.currency, d.id, chargebackReversal, d.amount)
		b.close(d, acquirer.OutcomeWon)
	case evidence.Text == losingEvidence && d.state == isChargeback:
		b.close(d, acquirer.OutcomeLost)
	case evidence.Text == winningEvidence || evidence.Text == losingEvidence:
		b.close(d, acquirer.OutcomeWithdrawn)
	}
	b.approveFor(op, d)
}

// acceptDispute returns the outcome; no notification follows.
func (b *book) acceptDispute(op *operation) {
	d := b.disputeFor(op)
	if d == nil {
		return
	}
	d.state = isClosed
	b.approveFor(op, d)
}

func (b *book) close(d *dispute, outcome string) {
	d.state = isClosed
	notice := d.notice(b.at, acquirer.DisputeClosed)
	notice.Outcome = outcome
	b.notify(notice)
}

// disputeFor finds the dispute an order is about, or refuses the order.
func (b *book) disputeFor(op *operation) *dispute {
	order := op.asked.Order
	d, ok := b.disputes[order.Dispute]
	switch {
	case !ok:
		b.refuse(op, &authorization{}, acquirer.CodeUnknownDispute)
	case d.currency != order.Currency:
		b.refuse(op, &authorization{id: d.authorization, card: d.card}, acquirer.CodeCurrencyMismatch)
	case d.state == isClosed:
		b.refuse(op, &authorization{id: d.authorization, card: d.card}, acquirer.CodeDisputeClosed)
	default:
		return d
	}
	return nil
}

func (b *book) approveFor(op *operation, d *dispute) {
	d.change.touch()
	op.authorizationID = d.authorization
	op.answer = acquirer.Result{
		Approved:  true,
		Reference: id.New(referencePrefix[op.asked.Verb], b.at),
		Amount:    op.asked.Order.Amount,
		Currency:  d.currency,
	}
	b.journal(op, d.card, none, d.amount)
}

// unasked records a movement that no client asked for.
func (b *book) unasked(authorization, card, currency, reference, kind string, amount int64) {
	b.movements = append(b.movements, Movement{
		At: b.at, Key: reference, Reference: reference, Authorization: authorization,
		Verb: kind, Card: card, Kind: kind, Amount: amount, Currency: currency, Result: "decided by the card's bank",
	})
}

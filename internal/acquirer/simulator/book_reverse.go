package simulator

import "github.com/ratchet-pay/ratchet/internal/acquirer"

// reverse undoes what was done under the key and leaves a tombstone in any case,
// so that a request that is still on its way is refused when it arrives.
//
// An operation can be reversed as long as no later one is built on it: a hold
// until it is captured or voided, a capture or sale until something of it is
// refunded, a void or refund always.
func (b *book) reverse(key string) reply {
	op, ok := b.operations[key]
	if !ok {
		b.operations[key] = &operation{key: key, state: reversed, change: inserted}
		return reply{reversed: true}
	}
	if op.state == done && op.answer.Approved {
		auth := b.authorizations[op.authorizationID]
		kind, amount := auth.undo(op)
		if kind == none {
			return reply{refusal: acquirer.ReasonIrreversible}
		}
		auth.change.touch()
		b.movements = append(b.movements, Movement{
			At: b.at, Key: key, Reference: op.answer.Reference, Authorization: auth.id,
			Verb: "reverse", Card: auth.card, Kind: kind, Amount: amount, Currency: auth.currency, Result: "reversed",
		})
	}
	if op.state != reversed {
		op.state = reversed
		op.change.touch()
	}
	return reply{reversed: true}
}

// undo takes an approved operation back and says what that does to the card, or
// returns none and changes nothing where it can not be taken back.
func (a *authorization) undo(op *operation) (kind string, amount int64) {
	order := op.asked.Order
	switch op.asked.Verb {
	case acquirer.VerbPayOut:
		return a.undoPayout()
	case acquirer.VerbRecall:
		a.refunded = 0
		return payout, a.captured
	}
	takesMoney := op.asked.Verb == acquirer.VerbCapture || order.Capture
	switch {
	case takesMoney && a.refunded == 0:
		a.refunded = a.captured
		return refund, a.captured
	case takesMoney:
		return none, 0
	case op.asked.Verb == acquirer.VerbAuthorize && a.captured == 0 && !a.released:
		a.released = true
		return release, a.held
	case op.asked.Verb == acquirer.VerbVoid:
		a.released = false
		return hold, a.held
	case op.asked.Verb == acquirer.VerbRefund:
		a.refunded -= order.Amount
		return capture, order.Amount
	default:
		return none, 0
	}
}

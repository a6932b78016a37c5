package simulator

import (
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer"
	"github.com/ratchet-pay/ratchet/internal/id"
)

// book is what one batch needs of the database, the rules that change it, and
// the changes. It touches neither network nor database: the writer fills it,
// lets every question of the batch act on it in turn, and stores the changes.
type book struct {
	at             time.Time
	operations     map[string]*operation     // by key
	authorizations map[string]*authorization // by id
	disputes       map[string]*dispute       // by id
	movements      []Movement                // new ones only
	letters        letters                   // the notifications to be sent
	forgotten      []string                  // keys to be deleted before anything is inserted
}

// State of a key.
const (
	done     = "done"
	reversed = "reversed" // or never used and now refused: a tombstone
	retired  = "spent"    // nothing was done and the key is no longer accepted
)

// operation is what was done under a key.
type operation struct {
	key             string
	state           string
	asked           acquirer.Request
	answer          acquirer.Result
	authorizationID string
	letters         [][]byte // notifications that its first reply carries; a replay has none
	change          change
}

// authorization is a hold and what became of it, in minor units.
type authorization struct {
	id       string
	merchant string
	livemode bool
	card     string
	currency string
	held     int64
	captured int64
	refunded int64
	released bool
	change   change
}

// change is how a row differs from the database.
type change int

const (
	unchanged change = iota
	inserted
	updated
)

// touch marks a row for an update, unless it has to be inserted anyway.
func (c *change) touch() {
	if *c == unchanged {
		*c = updated
	}
}

// reply is an operation, a reversal, or the reason why there is neither.
type reply struct {
	operation acquirer.Operation
	replayed  bool // the key had been used before
	reversed  bool
	refusal   string
}

// ask does what is asked, or returns what was done the first time under the key.
func (b *book) ask(key string, asked acquirer.Request) reply {
	known, ok := b.operations[key]
	if ok {
		if known.state == done && !known.asked.Same(asked) {
			return reply{refusal: acquirer.ReasonKeyReused}
		}
		return known.replay()
	}
	op := &operation{key: key, state: done, asked: asked, change: inserted}
	b.operations[key] = op
	switch asked.Verb {
	case acquirer.VerbAuthorize:
		b.authorize(op)
	case acquirer.VerbCapture:
		b.capture(op)
	case acquirer.VerbVoid:
		b.void(op)
	case acquirer.VerbRefund:
		b.refund(op)
	case acquirer.VerbPayOut:
		b.payOut(op)
	case acquirer.VerbRecall:
		b.recall(op)
	case acquirer.VerbVerify:
		b.verify(op)
	case acquirer.VerbSubmitEvidence:
		b.submitEvidence(op)
	case acquirer.VerbAcceptDispute:
		b.acceptDispute(op)
	}
	return op.reply()
}

// lookUp reads what was done under the key.
func (b *book) lookUp(key string) reply {
	known, ok := b.operations[key]
	if !ok {
		return reply{refusal: acquirer.ReasonNeverHappened}
	}
	return known.replay()
}

// forget loses the memory of a key. The journal and the card do not forget.
func (b *book) forget(key string) {
	_, ok := b.operations[key]
	if ok {
		b.forgotten = append(b.forgotten, key)
		delete(b.operations, key)
	}
}

// retire makes an unused key unusable. A used one stays what it is.
func (b *book) retire(key string) {
	_, ok := b.operations[key]
	if !ok {
		b.operations[key] = &operation{key: key, state: retired, change: inserted}
	}
}

func (op *operation) reply() reply {
	switch op.state {
	case reversed:
		return reply{refusal: acquirer.ReasonReversed}
	case retired:
		return reply{refusal: acquirer.ReasonKeyRetired}
	default:
		return reply{operation: acquirer.Operation{
			Key: op.key, Verb: op.asked.Verb, Order: op.asked.Order, Result: op.answer, Notifications: op.letters,
		}}
	}
}

// replay is the reply to a key that has been used before.
func (op *operation) replay() reply {
	r := op.reply()
	r.replayed = true
	return r
}

func (b *book) authorize(op *operation) {
	order := op.asked.Order
	op.answer = cardNamed(order.Card).authorize(order)
	op.answer.Reference = id.New("auth", b.at)
	if !op.answer.Approved {
		b.journal(op, order.Card, none, order.Amount)
		return
	}
	auth := &authorization{
		id:       op.answer.Reference,
		merchant: order.Merchant,
		livemode: order.Livemode,
		card:     order.Card,
		currency: order.Currency,
		held:     order.Amount,
		change:   inserted,
	}
	kind := hold
	if order.Capture {
		kind = sale
		auth.captured = order.Amount
	}
	b.authorizations[auth.id] = auth
	b.approve(op, auth, kind, order.Amount)
	if order.Capture {
		b.complain(op, auth)
	}
}

func (b *book) capture(op *operation) {
	order := op.asked.Order
	auth, refusal := b.authorizationFor(order)
	switch {
	case refusal != "":
	case auth.released:
		refusal = acquirer.CodeAlreadyVoided
	case auth.captured > 0:
		refusal = acquirer.CodeAlreadyCaptured
	case order.Amount > auth.held:
		refusal = acquirer.CodeAmountTooLarge
	}
	if refusal != "" {
		b.refuse(op, auth, refusal)
		return
	}
	auth.captured = order.Amount
	b.approve(op, auth, capture, order.Amount)
	b.complain(op, auth)
}

func (b *book) void(op *operation) {
	order := op.asked.Order
	auth, refusal := b.authorizationFor(order)
	switch {
	case refusal != "":
	case auth.released:
		refusal = acquirer.CodeAlreadyVoided
	case auth.captured > 0:
		refusal = acquirer.CodeAlreadyCaptured
	case order.Amount != 0 && order.Amount != auth.held:
		refusal = acquirer.CodeAmountMismatch
	}
	if refusal != "" {
		b.refuse(op, auth, refusal)
		return
	}
	auth.released = true
	b.approve(op, auth, release, auth.held)
}

func (b *book) refund(op *operation) {
	order := op.asked.Order
	auth, refusal := b.authorizationFor(order)
	switch {
	case refusal != "":
	case auth.captured == 0:
		refusal = acquirer.CodeNothingCaptured
	case order.Amount > auth.captured-auth.refunded:
		refusal = acquirer.CodeAmountTooLarge
	}
	if refusal != "" {
		b.refuse(op, auth, refusal)
		return
	}
	auth.refunded += order.Amount
	op.answer.RefundStatus = "succeeded"
	if known := cardNamed(auth.card); known.refundStatus != "" {
		op.answer.RefundStatus = known.refundStatus
		op.answer.RefundBecomes = known.refundBecomes
	}
	b.approve(op, auth, refund, order.Amount)
	b.decideRefund(op, auth)
}

// decideRefund settles at once what becomes of a refund, and has it told later.
func (b *book) decideRefund(op *operation, auth *authorization) {
	notice := acquirer.Notification{
		ID: id.New("note", b.at), At: b.at, Authorization: auth.id, Reference: op.answer.Reference,
		Amount: op.answer.Amount, Currency: auth.currency,
	}
	switch op.answer.RefundBecomes {
	case "succeeded":
		notice.Kind = acquirer.RefundSucceeded
	case "failed":
		notice.Kind, notice.FailureReason = acquirer.RefundFailed, "expired_or_canceled_card"
		auth.refunded -= op.answer.Amount
		b.unasked(auth.id, auth.card, auth.currency, op.answer.Reference, refundFailed, op.answer.Amount)
	default:
		return
	}
	b.notify(notice)
}

// notify queues a notification and returns its bytes, which are the same wherever they are sent.
func (b *book) notify(n acquirer.Notification) []byte {
	body, err := b.letters.add(n.ID, n.Kind, &n.Authorization, n)
	if err != nil {
		panic(err) // our own types always marshal
	}
	return body
}

// verify asks about a card and moves nothing.
func (b *book) verify(op *operation) {
	order := op.asked.Order
	op.answer = cardNamed(order.Card).verify(order)
	op.answer.Reference = id.New("vrfy", b.at)
	b.journal(op, order.Card, none, 0)
}

// authorizationFor finds what an order is about. The authorization is returned
// with a refusal too, so that the journal can say which card was meant.
func (b *book) authorizationFor(order acquirer.Order) (auth *authorization, refusal string) {
	auth, ok := b.authorizations[order.Authorization]
	if !ok {
		return &authorization{}, acquirer.CodeUnknownAuthorization
	}
	if auth.currency != order.Currency {
		return auth, acquirer.CodeCurrencyMismatch
	}
	return auth, ""
}

// referencePrefix makes the ids in the journal tell what they are. That of an
// authorization is minted where it is authorized.
var referencePrefix = map[acquirer.Verb]string{
	acquirer.VerbCapture: "cap", acquirer.VerbVoid: "void", acquirer.VerbRefund: "rfnd",
	acquirer.VerbPayOut: "pout", acquirer.VerbRecall: "rcll",
	acquirer.VerbSubmitEvidence: "evd", acquirer.VerbAcceptDispute: "acc",
}

func (b *book) approve(op *operation, auth *authorization, kind string, amount int64) {
	auth.change.touch()
	op.authorizationID = auth.id
	op.answer.Approved = true
	if op.answer.Reference == "" {
		op.answer.Reference = id.New(referencePrefix[op.asked.Verb], b.at)
	}
	op.answer.Amount = amount
	op.answer.Currency = auth.currency
	op.answer.CapturedAmount = auth.captured
	b.journal(op, auth.card, kind, amount)
}

func (b *book) refuse(op *operation, auth *authorization, code string) {
	op.authorizationID = auth.id
	op.answer = acquirer.Result{
		Reference:      id.New(referencePrefix[op.asked.Verb], b.at),
		Code:           code,
		Message:        "The acquirer refused to " + string(op.asked.Verb) + ".",
		Amount:         op.asked.Order.Amount,
		Currency:       op.asked.Order.Currency,
		CapturedAmount: auth.captured,
	}
	b.journal(op, auth.card, none, op.asked.Order.Amount)
}

// journal records what an operation did to a card, and also that it did nothing.
func (b *book) journal(op *operation, card, kind string, amount int64) {
	result := "approved"
	switch {
	case op.answer.DeclineCode != "":
		result = op.answer.DeclineCode
	case op.answer.Code != "":
		result = op.answer.Code
	}
	b.movements = append(b.movements, Movement{
		At: b.at, Key: op.key, Reference: op.answer.Reference, Authorization: op.authorizationID,
		Verb: string(op.asked.Verb), Card: card, Kind: kind,
		Amount: amount, Currency: op.asked.Order.Currency, Result: result,
	})
}

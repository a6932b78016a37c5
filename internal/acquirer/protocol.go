package acquirer

// The protocol between Client and `ratchet acquirer`, JSON over HTTP/1.1 with
// the shared secret as a bearer token:
//
//	POST /operations/{key}           do Request under the key      200 Operation
//	GET  /operations/{key}           what was done under the key   200 Operation
//	POST /operations/{key}/reverse   undo it or leave a tombstone  200 Reversal
//
// Any other status carries a Refusal. Three of its reasons are proofs about the
// key; they are only believed when the refusal names that key, because anything
// between the two can answer 404, 410 or 422 on its own account.

// FaultHeader asks the simulator to misbehave for one request.
const FaultHeader = "Acquirer-Fault"

// ReplayedHeader is "true" in the response to a key that had been used before. The body
// is the same as the first time.
const ReplayedHeader = "Acquirer-Replayed"

// OperationsPath comes before the escaped key, ReversePath after it.
const (
	OperationsPath = "/operations/"
	ReversePath    = "/reverse"
)

// Verb is what an operation asks for.
type Verb string

const (
	VerbAuthorize Verb = "authorize" // hold an amount on a card
	VerbCapture   Verb = "capture"   // take held money, or a part of it
	VerbVoid      Verb = "void"      // release what is left of a hold
	VerbRefund    Verb = "refund"    // return captured money to the card
	VerbPayOut    Verb = "pay_out"   // pay a merchant's bank account
	VerbRecall    Verb = "recall"    // take back a payout that has not arrived
	VerbVerify    Verb = "verify"    // check a card without moving money

	VerbSubmitEvidence Verb = "submit_evidence" // contest a dispute
	VerbAcceptDispute  Verb = "accept_dispute"  // give the disputed amount up; final
)

// Request is the body that asks for an operation.
type Request struct {
	Verb  Verb  `json:"verb"`
	Order Order `json:"order"`
}

// Same says whether two requests ask for the same operation.
func (r Request) Same(other Request) bool { return r.Verb == other.Verb && r.Order.Same(other.Order) }

// Operation is what was done under a key. Key, Verb and Order repeat the
// question, so that the client can tell whose answer it holds.
type Operation struct {
	Key    string `json:"key"`
	Verb   Verb   `json:"verb"`
	Order  Order  `json:"order"`
	Result Result `json:"answer"`
	// Notifications are what the acquirer notifies of because of this operation, each byte for byte as it
	// will be posted. Who applies them now need not wait; it must still accept the posted ones. Only the
	// first reply may carry any.
	Notifications [][]byte `json:"notifications,omitempty"`
}

// Reversal says that nothing was done under the key and nothing ever will be.
type Reversal struct {
	Key      string `json:"key"`
	Reversed bool   `json:"reversed"`
}

// Refusal is the body of every status but 200.
type Refusal struct {
	Key     string `json:"key,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// Reasons of a refusal.
const (
	ReasonNeverHappened = "never_happened" // 404, proof: nothing was done under the key
	ReasonReversed      = "reversed"       // 410, proof: reversed, or a tombstone
	ReasonKeyRetired    = "key_retired"    // 422, proof: nothing was done and the key is no longer accepted
	ReasonKeyReused     = "key_reused"     // 409: the key was used for another order
	ReasonIrreversible  = "irreversible"   // 409: later operations are built on it
	ReasonInvalid       = "invalid"        // 400
	ReasonUnauthorized  = "unauthorized"   // 401
	ReasonUnavailable   = "unavailable"    // 503: the outcome is unknown
)

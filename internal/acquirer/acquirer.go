// Package acquirer is the port to the acquirer: the system that holds, takes and
// returns the money on a card.
//
// Every method acts under the key of a permit, and only the engine can make a
// permit, so the acquirer moves the card's money at most once per key, no matter what
// happens to either side. The permit's mode says how:
//
//	Send     do it, or return what was done the first time
//	Lookup   only read: phase.ErrNotExecuted if nothing was done
//	Reverse  undo it, or leave a tombstone there; always phase.ErrReversed
//
// A decline is an answer. An error means that there is no answer, and says what
// is known:
//
//	phase.NotSent         the acquirer was not reached, nothing can have happened
//	phase.KeyRetired      the acquirer proves that the key did nothing and never will
//	phase.ErrReversed     nothing can be done under the key any more
//	any other             unknown: the card may or may not have been charged
//
// To use another acquirer, implement Adapter and connect it instead of Client; nothing else
// changes.
package acquirer

import (
	"context"
	"time"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Port is how foreign phases reach the acquirer. It remembers a key for a day;
// an older call is looked up and never sent again.
var Port = phase.NewPort[Acquirer]("acquirer", 24*time.Hour)

// Acquirer is what an adapter implements. Each method honors all three modes of its permit.
type Acquirer interface {
	// Authorize holds an amount on a card, or with Order.Capture takes it at once (a sale).
	Authorize(context.Context, phase.Permit, Order) (Result, error)
	// Capture takes the amount, at most what Order.Authorization holds, and
	// releases the rest. It can be done once.
	Capture(context.Context, phase.Permit, Order) (Result, error)
	// Void releases all that Order.Authorization holds; nothing of it may have been captured.
	Void(context.Context, phase.Permit, Order) (Result, error)
	// PayOut has the acquirer's bank send the amount to the bank account Order.Destination.
	PayOut(context.Context, phase.Permit, Order) (Result, error)
	// Recall fetches back all that the payout Order.Authorization sent. It can be done once.
	Recall(context.Context, phase.Permit, Order) (Result, error)
	// Refund gives back the amount, at most what Order.Authorization captured and has not refunded yet.
	Refund(context.Context, phase.Permit, Order) (Result, error)
	// Verify asks the issuer whether the card is good, of no amount. It moves nothing.
	Verify(context.Context, phase.Permit, Order) (Result, error)
	// SubmitEvidence answers Order.Dispute. A notification reports the result later.
	SubmitEvidence(context.Context, phase.Permit, Order) (Result, error)
	// AcceptDispute gives Order.Dispute up, at once and for good.
	AcceptDispute(context.Context, phase.Permit, Order) (Result, error)
}

// Order says what to do. The same key must always carry the same order.
type Order struct {
	// Merchant is the account the money is taken for, and Livemode its mode. Only
	// Authorize needs them: a settlement batch has one merchant and one mode.
	Merchant string `json:"merchant,omitempty"`
	Livemode bool   `json:"livemode,omitempty"`
	// Card names a card in the acquirer's vault, such as "visa". Authorize and
	// Verify need it and no other verb does. A card number never goes here.
	Card string `json:"card,omitempty"`
	// Destination names a bank account, such as "ba_us_noAccount". PayOut needs it
	// and no other verb does. An account number never goes here.
	Destination string `json:"destination,omitempty"`
	// Amount is in minor units: positive, except that a void may leave it out and
	// a verification has none.
	Amount int64 `json:"amount,omitempty"`
	// Currency is a lower-case ISO 4217 code.
	Currency string `json:"currency"`
	// Capture makes Authorize a sale: the hold and its capture in one.
	Capture bool `json:"capture,omitempty"`
	// Authorization is the Reference that Authorize answered; the other verbs act on it.
	Authorization string `json:"authorization,omitempty"`
	// Authenticated says that the cardholder has passed 3-D Secure for this payment.
	Authenticated bool `json:"authenticated,omitempty"`
	// Challenge says that the merchant takes no payment by this card without 3-D
	// Secure, though its bank may.
	Challenge bool `json:"challenge,omitempty"`
	// OffSession says that the cardholder is not present.
	OffSession bool `json:"off_session,omitempty"`
	// SetUp says that the cardholder has agreed to off-session payments before.
	SetUp bool `json:"set_up,omitempty"`
	// Dispute is the acquirer's id of the dispute that is answered or accepted.
	Dispute string `json:"dispute,omitempty"`
	// Evidence is what the merchant says to it: a JSON object of texts.
	Evidence string `json:"evidence,omitempty"`
	// Object is our id of what the order is for, such as "ch_1". The acquirer keeps the
	// first one that came with a key and reports it in an Authorization, so that an object
	// that we lost can come back under its own id. A retry may carry another one.
	Object string `json:"object,omitempty"`
}

// Same says whether two orders ask for the same. Object may differ.
func (o Order) Same(other Order) bool {
	o.Object = other.Object
	return o == other
}

// Result is what the acquirer decided. The fields up to SellerMessage are what
// Stripe's API reports of it; empty means that there is nothing to report.
type Result struct {
	Approved bool `json:"approved"`
	// Reference is the acquirer's id of what it did. The reference of an approved
	// Authorize is the authorization that later orders name.
	Reference string `json:"reference"`

	// Why not, when it was not approved.
	Code        string `json:"code,omitempty"`         // such as "card_declined", or one of the Code constants
	DeclineCode string `json:"decline_code,omitempty"` // such as "insufficient_funds"
	AdviceCode  string `json:"advice_code,omitempty"`  // such as "try_again_later"
	Param       string `json:"param,omitempty"`        // the property of the card at fault, such as "cvc"
	Message     string `json:"message,omitempty"`      // for the cardholder

	// How it was decided, for an Authorize that was approved or declined.
	// approved_by_network, declined_by_network, not_sent_to_network
	NetworkStatus     string `json:"network_status,omitempty"`
	Outcome           string `json:"outcome,omitempty"` // authorized, manual_review, issuer_declined, blocked
	Reason            string `json:"reason,omitempty"`
	RiskLevel         string `json:"risk_level,omitempty"` // normal, elevated, highest
	RiskScore         int    `json:"risk_score,omitempty"` // 0 to 100
	SellerMessage     string `json:"seller_message,omitempty"`
	AuthorizationCode string `json:"authorization_code,omitempty"` // six characters, from the issuer

	// What the issuer compared: "pass", "fail", "unchecked", or "" when nothing was given to it.
	CVCCheck          string `json:"cvc_check,omitempty"`
	AddressLine1Check string `json:"address_line1_check,omitempty"`
	PostalCodeCheck   string `json:"postal_code_check,omitempty"`

	// Amount was held, taken, released or given back; of a refusal, it is what was asked for.
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	// CapturedAmount is all that the authorization has captured so far.
	CapturedAmount int64 `json:"captured_amount"`

	// RefundStatus of a refund is "succeeded" or "pending". RefundBecomes is
	// different from it when the simulator will change its mind later.
	RefundStatus  string `json:"refund_status,omitempty"`
	RefundBecomes string `json:"refund_becomes,omitempty"`

	// Replayed says that the key had been used before this call, or may have been: an
	// adapter that cannot tell sets it always.
	Replayed bool `json:"replayed,omitempty"`
}

// Codes of refusals that are not about the card but about what was done with the
// authorization before. An engine that checks its own rules first never sees them.
const (
	CodeUnknownAuthorization = "unknown_authorization"
	CodeCurrencyMismatch     = "currency_mismatch"
	CodeAmountTooLarge       = "amount_too_large" // more than is held, or is left to refund
	CodeAmountMismatch       = "amount_mismatch"  // a void of something else than what is held
	CodeAlreadyCaptured      = "already_captured" // capture or void after a capture
	CodeAlreadyVoided        = "already_voided"   // capture or void after a void or a reversal
	CodeNothingCaptured      = "nothing_captured" // refund of a hold
	CodeCardDeclined         = "card_declined"    // see DeclineCode
	CodeAuthenticationNeeded = "authentication_required"
	CodeUnknownDispute       = "unknown_dispute"
	CodeDisputeClosed        = "dispute_closed" // evidence for, or acceptance of, what has been decided
)

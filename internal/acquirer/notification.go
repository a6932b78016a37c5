package acquirer

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The acquirer reports its own changes as signed notifications, JSON over a
// POST to NotificationsPath. Each is sent until it is acknowledged with a 2xx, so
// it comes at least once, and nothing says in which order.

// NotificationsPath is where we listen, SignatureHeader what proves who speaks.
const (
	NotificationsPath = "/acquirer/notifications"
	SignatureHeader   = "Acquirer-Signature"
)

// NotificationSource is the acquirer's name in the inbox.
const NotificationSource = "acquirer"

// The kinds of notifications.
const (
	DisputeOpened    = "dispute.opened"    // a cardholder complains; of a chargeback the money is gone already
	DisputeEscalated = "dispute.escalated" // an inquiry has become a chargeback
	DisputeClosed    = "dispute.closed"    // Outcome says how
	RefundSucceeded  = "refund.succeeded"  // a refund that was pending
	RefundFailed     = "refund.failed"     // a refund came back: the money is ours again
	BatchSettled     = "batch.settled"     // one part of a settlement batch, see SettledPart
)

// Notification is one of them, of every kind but BatchSettled.
type Notification struct {
	ID            string    `json:"id"` // the same however often it is sent
	Kind          string    `json:"kind"`
	At            time.Time `json:"at"`
	Authorization string    `json:"authorization"` // the payment it is about
	Reference     string    `json:"reference"`     // the acquirer's id of the dispute or the refund
	Amount        int64     `json:"amount"`        // minor units
	Currency      string    `json:"currency"`

	// Of a dispute.
	Case        string    `json:"case,omitempty"`         // chargeback, inquiry, compliance
	Reason      string    `json:"reason,omitempty"`       // fraudulent, product_not_received, …
	NetworkCode string    `json:"network_code,omitempty"` // the card network's own reason, such as 10.4
	Eligibility []string  `json:"eligibility,omitempty"`  // for special programs of the network
	RespondBy   time.Time `json:"respond_by,omitzero"`
	Outcome     string    `json:"outcome,omitempty"` // of a dispute that is closed: won, lost, withdrawn

	FailureReason string `json:"failure_reason,omitempty"` // of a refund
}

// The outcomes of a dispute. A withdrawn inquiry never was a chargeback.
const (
	OutcomeWon       = "won"
	OutcomeLost      = "lost"
	OutcomeWithdrawn = "withdrawn"
)

// The cases a dispute can be.
const (
	CaseChargeback = "chargeback"
	CaseInquiry    = "inquiry"
	CaseCompliance = "compliance"
)

// Notifications are the notifications that came with the acquirer's answers to the calls of one
// request. The acquirer posts them as well, so a process that dies before it applies them
// loses nothing.
type Notifications struct{ Bodies [][]byte }

type notificationsKey struct{}

// WithNotifications returns a context in which a Client keeps what its answers carry, and the
// place where it keeps it. The calls of one context come one after the other.
func WithNotifications(ctx context.Context) (context.Context, *Notifications) {
	received := &Notifications{}
	return context.WithValue(ctx, notificationsKey{}, received), received
}

func keepNotifications(ctx context.Context, bodies [][]byte) {
	if received, wanted := ctx.Value(notificationsKey{}).(*Notifications); wanted {
		received.Bodies = append(received.Bodies, bodies...)
	}
}

// SignatureTolerance is how old a signed notification may be, and how far ahead
// the signer's clock: an eavesdropper cannot repeat one tomorrow.
const SignatureTolerance = 5 * time.Minute

// Sign makes the value of SignatureHeader for a body sent at a time.
func Sign(secret string, body []byte, at time.Time) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(signature(secret, seconds, body))
}

func signature(secret, seconds string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(seconds + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// ErrBadSignature says that a notification cannot be shown to come from the acquirer.
var ErrBadSignature = errors.New("the signature does not match")

// CheckSignature verifies a header against the body, byte for byte. While a
// secret is being replaced a header may carry several v1.
func CheckSignature(secret, header string, body []byte, now time.Time) error {
	var seconds string
	var given [][]byte
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			seconds = value
		case "v1":
			decoded, err := hex.DecodeString(value)
			if err == nil {
				given = append(given, decoded)
			}
		}
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || len(given) == 0 {
		return fmt.Errorf("%w: the header %s is missing or unreadable", ErrBadSignature, SignatureHeader)
	}
	want := signature(secret, seconds, body)
	for _, g := range given {
		if hmac.Equal(g, want) {
			if age := now.Sub(time.Unix(at, 0)); age > SignatureTolerance || age < -SignatureTolerance {
				return fmt.Errorf("%w: the signature is %s old", ErrBadSignature, age.Round(time.Second))
			}
			return nil
		}
	}
	return ErrBadSignature
}

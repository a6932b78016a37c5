package acquirer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// MaxPartMovements is how many movements one part of a batch may list. A thousand
// are booked in a few hundredths of a second; a larger transaction would hold its
// locks, and back the sealing of the audit trail, for as long as it runs.
const MaxPartMovements = 1000

// SettledPart reports that the acquirer has paid, or taken, what the listed
// movements owe. A batch has one merchant, mode and currency, and travels in
// parts. Each part is a separate notification, so it is delivered at least once
// and in any order.
type SettledPart struct {
	ID        string            `json:"id"` // of the notification: the same however often it is sent
	Kind      string            `json:"kind"`
	At        time.Time         `json:"at"`
	Merchant  string            `json:"merchant"`
	Livemode  bool              `json:"livemode"`
	Currency  string            `json:"currency"`
	Batch     string            `json:"batch"`
	Part      int               `json:"part"`  // from 1
	Parts     int               `json:"parts"` // of the whole batch
	Count     int               `json:"count"`
	Paid      int64             `json:"paid"`  // the sum of the movements that are paid to us
	Taken     int64             `json:"taken"` // the sum of those that are taken from us
	Movements []SettledMovement `json:"movements"`
}

// SettledMovement is one movement of money in a SettledPart. Kind and Reference
// name it together.
type SettledMovement struct {
	Kind          string `json:"kind"`
	Authorization string `json:"authorization"` // the payment it belongs to
	Reference     string `json:"reference"`     // the acquirer's id of the operation that moved the money
	Amount        int64  `json:"amount"`        // minor units
}

// PaidKinds are the movements that the acquirer pays us for, TakenKinds those that
// it takes from us.
var (
	PaidKinds  = []string{"sale", "capture", "refund_failed", "chargeback_reversal"}
	TakenKinds = []string{"refund", "chargeback"}
)

// Sums adds the movements up: what is paid to us, and what is taken from us.
func Sums(movements []SettledMovement) (paid, taken int64) {
	for _, m := range movements {
		if slices.Contains(TakenKinds, m.Kind) {
			taken += m.Amount
		} else {
			paid += m.Amount
		}
	}
	return paid, taken
}

// Check validates a part without reference to other data.
func (p SettledPart) Check() error {
	paid, taken := Sums(p.Movements)
	switch {
	case p.Merchant == "" || p.Batch == "" || p.Part < 1 || p.Part > p.Parts:
		return errors.New("the batch, part or merchant is missing")
	case len(p.Movements) == 0 || len(p.Movements) > MaxPartMovements:
		return fmt.Errorf("a part has 1 to %d movements, not %d", MaxPartMovements, len(p.Movements))
	case p.Count != len(p.Movements) || p.Paid != paid || p.Taken != taken:
		return fmt.Errorf("it announces %d movements, %d paid and %d taken, and lists %d, %d and %d",
			p.Count, p.Paid, p.Taken, len(p.Movements), paid, taken)
	}
	seen := make(map[[2]string]bool, len(p.Movements))
	for _, m := range p.Movements {
		name := [2]string{m.Kind, m.Reference}
		if m.Authorization == "" || m.Reference == "" || seen[name] {
			return fmt.Errorf("the %s %q is missing or appears twice", m.Kind, m.Reference)
		}
		seen[name] = true
	}
	return nil
}

// SettlementPath is where the acquirer offers what it did in a time: JSON lines of
// SettlementLine for ?from=…&to=…, both RFC 3339, from inclusive.
const SettlementPath = "/settlement"

// SettlementLine is one movement of money as the acquirer will settle it.
type SettlementLine struct {
	At            time.Time `json:"at"`
	Key           string    `json:"key"`
	Reference     string    `json:"reference"`
	Authorization string    `json:"authorization"`
	Kind          string    `json:"kind"` // sale, capture, refund, payout, recall
	Amount        int64     `json:"amount"`
	Currency      string    `json:"currency"`
}

// settlementTimeout bounds a download, so that an acquirer that does not answer does not end reconciliation.
const settlementTimeout = 5 * time.Minute

// Settlement reads the acquirer's settlement file of a time. It leaves out movements
// that were reversed under the same reference.
func (c *Client) Settlement(ctx context.Context, from, to time.Time) ([]SettlementLine, error) {
	ctx, cancel := context.WithTimeout(ctx, settlementTimeout)
	defer cancel()
	query := url.Values{"from": {from.UTC().Format(time.RFC3339Nano)}, "to": {to.UTC().Format(time.RFC3339Nano)}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+SettlementPath+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", c.bearer)
	resp, err := c.http.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("fetch the settlement file: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch the settlement file: status %d", resp.StatusCode)
	}
	var lines []SettlementLine
	for decoder := json.NewDecoder(resp.Body); ; {
		var line SettlementLine
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the settlement file: %w", err)
		}
		lines = append(lines, line)
	}
}

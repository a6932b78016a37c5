package acquirer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

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

// Settlement reads the acquirer's settlement file of a time. What was undone on
// the same reference is not in it.
func (c *Client) Settlement(ctx context.Context, from, to time.Time) ([]SettlementLine, error) {
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

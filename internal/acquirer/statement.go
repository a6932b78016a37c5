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

// Movement is what the acquirer says happened to a card under a key. It is
// read to be shown; what a call came to is found out through the engine's slips
// and nothing else.
type Movement struct {
	At            time.Time `json:"at"`
	Key           string    `json:"key"`
	Reference     string    `json:"reference"`
	Authorization string    `json:"authorization"`
	Verb          string    `json:"verb"`
	Card          string    `json:"card"`
	Kind          string    `json:"kind"` // hold, sale, capture, release, refund, none
	Amount        int64     `json:"amount"`
	Currency      string    `json:"currency"`
	Result        string    `json:"result"`
}

// Summary is the acquirer's whole journal in two numbers.
type Summary struct {
	Charges int64 `json:"charges"` // times that money was held or taken
	Twice   int64 `json:"twice"`   // keys under which it was held or taken more than once
}

// The paths of the acquirer's journal.
const (
	JournalPath = "/journal"
	SummaryPath = "/journal/summary"
)

// statementTimeout is short: a user is waiting for a page.
const statementTimeout = 2 * time.Second

// Statement reads what the acquirer's journal has under a key, oldest first.
func (c *Client) Statement(ctx context.Context, key string) (found []Movement, err error) {
	err = c.books(ctx, JournalPath+"?key="+url.QueryEscape(key), func(lines *json.Decoder) error {
		for {
			var m Movement
			err := lines.Decode(&m)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			found = append(found, m)
		}
	})
	return found, err
}

// Summary reads how often the acquirer has charged cards in all.
func (c *Client) Summary(ctx context.Context) (s Summary, err error) {
	err = c.books(ctx, SummaryPath, func(body *json.Decoder) error { return body.Decode(&s) })
	return s, err
}

// books reads a page of the acquirer's journal, past the breaker: what is shown
// must not decide what is charged.
func (c *Client) books(ctx context.Context, path string, read func(*json.Decoder) error) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return fmt.Errorf("read the acquirer's journal: %w", err)
	}
	req.Header.Set("Authorization", c.bearer)
	resp, err := c.http.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("read the acquirer's journal: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("read the acquirer's journal: status %d", resp.StatusCode)
	}
	err = read(json.NewDecoder(io.LimitReader(resp.Body, maxAnswerBytes)))
	if err != nil {
		return fmt.Errorf("read the acquirer's journal: %w", err)
	}
	return nil
}

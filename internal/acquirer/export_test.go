package acquirer

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Do calls under a key and in a manner that a test chose: outside this file only
// the engine can make a slip.
func (c *Client) Do(ctx context.Context, key string, manner phase.Manner, asked Request) (Answer, error) {
	return c.do(ctx, key, manner, asked)
}

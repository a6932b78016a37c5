package acquirer

import (
	"context"

	"github.com/ratchet-pay/ratchet/internal/phase"
)

// Do calls under a key and in a mode that a test chose: outside this file only
// the engine can make a permit.
func (c *Client) Do(ctx context.Context, key string, mode phase.Mode, asked Request) (Result, error) {
	return c.do(ctx, key, mode, asked)
}

package web_test

import (
	"log/slog"
	"testing"

	"github.com/ratchet-pay/ratchet/web"
)

// New panics over a template that does not parse.
func TestEveryPageParses(t *testing.T) {
	t.Parallel()
	web.New(web.Config{Log: slog.New(slog.DiscardHandler)})
}

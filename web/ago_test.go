package web

import (
	"testing"
	"time"
)

func TestHowLongAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for away, want := range map[time.Duration]string{
		-4 * time.Second: "now", 4 * time.Second: "now", -5 * time.Second: "5s ago", -59900 * time.Millisecond: "59s ago",
		-time.Minute: "1m ago", 90 * time.Second: "in 1m", -time.Hour: "1h ago", -47 * time.Hour: "1d ago",
		6 * 24 * time.Hour: "in 6d", -7 * 24 * time.Hour: "2026-11-15 12:00",
	} {
		if got := ago(now.Add(away), now); got != want {
			t.Errorf("%s away: %q, want %q", away, got, want)
		}
	}
}

package web

import (
	"testing"
	"time"
)

func TestHowLongAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for away, want := range map[time.Duration]string{
		-4 * time.Second:          "now",
		4 * time.Second:           "now",
		-5 * time.Second:          "5s ago",
		-59900 * time.Millisecond: "59s ago",
		-time.Minute:              "1m ago",
		90 * time.Second:          "in 1m",
		-time.Hour:                "1h ago",
		-47 * time.Hour:           "1d ago",
		47 * time.Hour:            "in 2d",
		25 * time.Hour:            "in 1d",
		6 * 24 * time.Hour:        "in 6d",
		-70 * 24 * time.Hour:      "70d ago",
	} {
		if got := ago(now.Add(away), now); got != want {
			t.Errorf("%s away: %q, want %q", away, got, want)
		}
	}
}

func TestDatesOfLists(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.FixedZone("", -5*3600))
	for at, want := range map[time.Time]string{
		time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC):           "Jan 2, 03:04",
		time.Date(2025, 12, 31, 23, 0, 0, 0, time.UTC):        "Dec 31, 2025, 23:00",
		time.Date(2026, 11, 22, 23, 30, 0, 0, now.Location()): "Nov 23, 04:30",
	} {
		if got := date(at, now); got != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

package webhook

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// ParseSchedule reads pauses as an operator writes them: 10s,1m,5m,1h.
func ParseSchedule(text string) ([]time.Duration, error) {
	var pauses []time.Duration
	for _, word := range strings.Split(text, ",") {
		pause, err := time.ParseDuration(strings.TrimSpace(word))
		if err != nil {
			return nil, fmt.Errorf("a schedule must be a comma-separated list of pauses such as 10s,1m,5m,1h: %w", err)
		}
		if pause <= 0 {
			return nil, errors.New("a pause must be positive")
		}
		pauses = append(pauses, pause)
	}
	return pauses, nil
}

// pause is how long to wait after so many failures in a row; false: no longer.
// A tenth more or less keeps the events of one outage from coming back in step.
func (c Config) pause(failures int32) (time.Duration, bool) {
	schedule := c.Schedule
	if schedule == nil {
		schedule = DefaultSchedule
	}
	if int(failures) > len(schedule) {
		return 0, false
	}
	spread := 0.9 + 0.2*rand.Float64() //nolint:gosec // nothing secret depends on it
	return time.Duration(float64(schedule[failures-1]) * spread), true
}

// longestPause is the longest that a delivery waits: one that is due later than that
// was set before the database's clock fell back, and is due.
func (c Config) longestPause() time.Duration {
	schedule := c.Schedule
	if schedule == nil {
		schedule = DefaultSchedule
	}
	return slices.Max(append(slices.Clone(schedule), 0))
}

func (c Config) disableAfter() time.Duration {
	if c.DisableAfter == 0 {
		return DefaultDisableAfter
	}
	return c.DisableAfter
}

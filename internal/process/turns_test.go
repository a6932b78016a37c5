package process

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// The other limits are far away, so only the turns of an account can be in the way.
func TestTurns(t *testing.T) {
	limits := DefaultLimits()
	limits.AccountTurns, limits.AccountReads, limits.ConcurrentReads = 1, 1000, 1000
	limits.AccountSearches, limits.ConcurrentSearches = 1000, 1000
	cpus := runtime.GOMAXPROCS(0)
	all := newLimiters(limits)
	entered := 0
	either := func(ctx context.Context, account string) (release func(), err error) {
		if entered++; entered%2 == 0 {
			return all.reads.Reads.Enter(ctx, account)
		}
		return all.commits.Enter(ctx, account)
	}
	for name, taken := range map[string]struct {
		enter func(ctx context.Context, account string) (release func(), err error)
		turns int
	}{
		"transactions":           {all.commits.Enter, cpus},
		"reads":                  {all.reads.Reads.Enter, cpus},
		"transactions and reads": {either, cpus},
		"searches":               {all.reads.Searches.Enter, (cpus + 1) / 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				enter := func(account string) (release func()) {
					release, err := taken.enter(t.Context(), account)
					if err != nil {
						t.Fatal(err)
					}
					return release
				}
				enter("quiet")()
				for range taken.turns {
					defer enter("loud")()
				}
				ctx, giveUp := context.WithTimeout(t.Context(), 10*time.Millisecond)
				defer giveUp()
				if _, err := taken.enter(ctx, "loud"); err == nil {
					t.Errorf("beside another account, one has more than %d", taken.turns)
				}
				enter("quiet")()
			})
		})
	}
}

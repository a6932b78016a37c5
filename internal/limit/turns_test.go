package limit

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestTurns(t *testing.T) {
	enter := func(t *testing.T, turns *Turns, account string) (release func()) {
		release, err := turns.Enter(t.Context(), account)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	// inLine has n requests of an account enter, one after the other. entered has those whose turn came.
	inLine := func(t *testing.T, turns *Turns, account string, n int) (entered *[]int, end chan struct{}) {
		entered, end = &[]int{}, make(chan struct{})
		for i := range n {
			go func() {
				release := enter(t, turns, account)
				*entered = append(*entered, i)
				<-end
				release()
			}()
			synctest.Wait()
		}
		return entered, end
	}

	t.Run("an account that is alone does not wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			entered, end := inLine(t, NewTurns(1), "loud", 3)
			defer close(end)
			if len(*entered) != 3 {
				t.Errorf("%d requests entered, want 3", len(*entered))
			}
		})
	})
	t.Run("beside another account its requests take turns, in order", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turns := NewTurns(2)
			enter(t, turns, "quiet")()
			entered, end := inLine(t, turns, "loud", 5)
			enter(t, turns, "quiet")() // the other one's requests do not wait for them
			for turn := range 5 {
				want := []int{0, 1, 2, 3, 4}[:min(turn+2, 5)]
				if !slices.Equal(*entered, want) {
					t.Fatalf("after %d turns, %d entered, want %d", turn, *entered, want)
				}
				end <- struct{}{}
				synctest.Wait()
			}
			if len(turns.lines) != 0 {
				t.Errorf("lines are left: %v", turns.lines)
			}
		})
	})
	t.Run("once the other account is silent, no request waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turns := NewTurns(1)
			enter(t, turns, "quiet")()
			entered, end := inLine(t, turns, "loud", 4)
			time.Sleep(activeFor + time.Millisecond)
			end <- struct{}{}
			synctest.Wait()
			if len(*entered) != 4 {
				t.Errorf("%d requests entered, want 4", len(*entered))
			}
			close(end)
		})
	})
	t.Run("a request that gives up leaves the line", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turns := NewTurns(1)
			enter(t, turns, "quiet")()
			first := enter(t, turns, "loud")
			ctx, giveUp := context.WithTimeout(t.Context(), time.Millisecond)
			defer giveUp()
			if _, err := turns.Enter(ctx, "loud"); err == nil {
				t.Error("it entered")
			}
			first()
			enter(t, turns, "loud")()
		})
	})
	t.Run("many accounts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			turns := NewTurns(1)
			for n := range 100 {
				go func() {
					release := enter(t, turns, fmt.Sprint("acct_", n%7))
					time.Sleep(time.Millisecond)
					release()
				}()
			}
			synctest.Wait()
			time.Sleep(time.Second)
			if len(turns.lines) != 0 {
				t.Errorf("lines are left: %v", turns.lines)
			}
		})
	})
}

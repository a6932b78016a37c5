package limit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestBrake(t *testing.T) {
	t.Run("only so many rejections are delayed at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			brake, began := NewBrake(time.Second, 2), time.Now()
			took := make(chan time.Duration, 3)
			for range 3 {
				go func() {
					brake.Wait(t.Context())
					took <- time.Since(began)
				}()
			}
			for _, want := range []time.Duration{0, time.Second, time.Second} {
				if got := <-took; got != want {
					t.Errorf("a rejection is sent after %v, want %v", got, want)
				}
			}
			brake.Wait(t.Context())
			if got := time.Since(began); got != 2*time.Second {
				t.Errorf("the next one is sent after %v, want %v", got, 2*time.Second)
			}
		})
	})
	t.Run("a client that has hung up is not waited for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, hangUp := context.WithTimeout(t.Context(), time.Millisecond)
			defer hangUp()
			began := time.Now()
			NewBrake(time.Second, 1).Wait(ctx)
			if got := time.Since(began); got != time.Millisecond {
				t.Errorf("the rejection is waited for %v, want %v", got, time.Millisecond)
			}
		})
	})
}

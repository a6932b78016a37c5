package limit

import (
	"testing"
	"time"
)

func TestATokenThatIsGivenBack(t *testing.T) {
	rates, now := NewRatesEvery(time.Minute, 2), time.Now()
	rates.GiveBack("a", now) // a full bucket takes no more
	for n, want := range []bool{true, true, false} {
		if got := rates.Allow("a", now); got != want {
			t.Errorf("request %d is allowed: %v, want %v", n+1, got, want)
		}
	}
	rates.GiveBack("a", now)
	if !rates.Allow("a", now) || rates.Allow("a", now) {
		t.Error("one token was given back, and allows no request, or two")
	}
}

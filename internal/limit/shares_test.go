package limit

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errFull = errors.New("full")

// admitted counts how many requests of an account get in at once.
func admitted(t *testing.T, s *Shares, account string) (n int) {
	t.Helper()
	var releases []func()
	for {
		release, err := s.Enter(t.Context(), account)
		if err != nil {
			break
		}
		releases = append(releases, release)
	}
	for _, release := range releases {
		release()
	}
	return len(releases)
}

func TestShares(t *testing.T) {
	t.Parallel()

	t.Run("an account takes fewer slots while another asks, and all of them a second later", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := NewShares(32, 0, 0, errFull).InCompany(8)
			want := func(account string, n int) {
				t.Helper()
				if got := admitted(t, s, account); got != n {
					t.Errorf("%s: %d requests are admitted at once, want %d", account, got, n)
				}
			}
			want("loud", 32)
			want("quiet", 8)
			want("loud", 8)
			time.Sleep(company / 2)
			want("loud", 8)
			time.Sleep(company / 2)
			want("loud", 32)
			want("another", 8)
			want("quiet", 8)
		})
	})

	t.Run("what is under way when another account comes is not interrupted, and nothing new gets in before it ends",
		func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := NewShares(4, 8, time.Minute, errFull).InCompany(1)
				var releases []func()
				for range 3 {
					release, err := s.Enter(t.Context(), "loud")
					if err != nil {
						t.Fatal(err)
					}
					releases = append(releases, release)
				}
				release, err := s.Enter(t.Context(), "quiet")
				if err != nil {
					t.Fatal(err)
				}
				release()
				in := false
				go func() {
					_, err := s.Enter(t.Context(), "loud")
					in = err == nil
				}()
				for n, release := range releases {
					synctest.Wait()
					if in {
						t.Fatalf("the next request of the account got in after %d of 3 had ended", n)
					}
					release()
				}
				synctest.Wait()
				if !in {
					t.Error("the next request of the account did not get in after all others had ended")
				}
			})
		})

	t.Run("no limit stays no limit", func(t *testing.T) {
		t.Parallel()
		s := NewShares(0, 0, 0, errFull).InCompany(8)
		for n := range 100 {
			if _, err := s.Enter(t.Context(), string(rune('a'+n%2))); err != nil {
				t.Fatal(err)
			}
		}
	})
}

package id_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/id"
)

func TestIDsMadeLaterSortLater(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	earlier := id.New("ch", at)
	for range 10_000 {
		at = at.Add(7 * time.Millisecond)
		later := id.New("ch", at)
		if later <= earlier {
			t.Fatalf("%s was made after %s but sorts before it", later, earlier)
		}
		earlier = later
	}
}

func TestIDsHaveOneShape(t *testing.T) {
	t.Parallel()
	shape := regexp.MustCompile(`^cus_[0-9A-Za-z]{24}$`)
	seen := map[string]bool{}
	for range 10_000 {
		made := id.New("cus", time.Now())
		if !shape.MatchString(made) {
			t.Fatalf("%q does not look like %s", made, shape)
		}
		if seen[made] {
			t.Fatalf("%s was made twice", made)
		}
		seen[made] = true
	}
}

func TestIDsOfOneTransactionSortInOrder(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	shape := regexp.MustCompile(`^evt_[0-9A-Za-z]{24}$`)
	earlier := ""
	for n := range 62 * 62 {
		later := id.Ordered("evt", at, n)
		if later <= earlier || !shape.MatchString(later) {
			t.Fatalf("%s is the %dth and comes after %s", later, n, earlier)
		}
		earlier = later
	}
}

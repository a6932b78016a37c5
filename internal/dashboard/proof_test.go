package dashboard_test

import (
	"regexp"
	"testing"
	"time"
)

var paymentsToday = regexp.MustCompile(
	`<dl( data-unsettled)? class="stats proof">[^<]*<div><dt>Payments today</dt><dd>(\d+)<`)

// The figures are kept for two seconds. A page that shows old ones has to ask again by
// itself, because no further change makes it ask.
func TestOldFiguresAreMeasuredAgain(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	figures := func() (old bool, today string) {
		found := paymentsToday.FindStringSubmatch(s.get(t, "/").body)
		if found == nil {
			t.Fatal("the first page shows no figures")
		}
		return found[1] != "", found[2]
	}
	if _, today := figures(); today != "0" {
		t.Fatalf("%s payments before the first", today)
	}
	s.charge(t)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		old, today := figures()
		if today == "1" && !old {
			return
		}
		if today != "1" && !old {
			t.Fatal("the page shows old figures and does not ask again")
		}
		if time.Now().After(end) {
			t.Fatalf("the page shows %s payments (old: %t) after 20 s", today, old)
		}
	}
}

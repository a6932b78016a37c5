package dashboard_test

import (
	"strings"
	"testing"
)

func TestGrossVolumeChart(t *testing.T) {
	t.Parallel()
	s := newEnv(t, "")
	for _, c := range []struct{ amount, currency string }{{"2000", "usd"}, {"12345", "usd"}, {"5000", "eur"}} {
		s.api(t, "/v1/charges", "amount", c.amount, "currency", c.currency, "source", "tok_visa")
	}
	s.api(t, "/v1/charges", "amount", "9900", "currency", "usd", "source", "tok_chargeDeclined")

	t.Run("it begins with a week of the currency that is used most, between zero and a round amount", func(t *testing.T) {
		p := s.get(t, "/dashboard")
		requireWords(t, p, "$143.45", "in 7 days", "<span>$200.00</span><span>$100.00</span><span>$0.00</span>",
			"$143.45, 2 payments", "75% of charges approved (3 of 4)", `href="/dashboard?currency=eur"`)
		if got := strings.Count(p.body, `<rect class="day"`); got != 7 {
			t.Errorf("the chart has %d days, want 7", got)
		}
	})

	t.Run("a period and a currency are chosen in the address", func(t *testing.T) {
		p := s.get(t, "/dashboard?days=90&currency=eur")
		requireWords(t, p, "€50.00", "in 90 days", "<span>€100.00</span>", `href="/dashboard?currency=usd&amp;days=90"`)
		if got := strings.Count(p.body, `<rect class="day"`); got != 90 {
			t.Errorf("the chart has %d days, want 90", got)
		}
	})

	t.Run("what is no choice shows the default", func(t *testing.T) {
		requireWords(t, s.get(t, "/dashboard?days=9999&currency=none"), "in 7 days", "$143.45")
	})
}

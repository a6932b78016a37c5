package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestWrongPromotionCodesAreLimited(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	create := func(target, body string) string {
		t.Helper()
		a := s.ask(t, sent{target: target, body: body})
		if a.status != http.StatusOK {
			t.Fatalf("%s is answered %d %s", target, a.status, a.body)
		}
		return a.object["id"].(string)
	}
	coupon := create("/v1/coupons", "percent_off=10")
	create("/v1/promotion_codes", "code=TEN&promotion[type]=coupon&promotion[coupon]="+coupon)
	session := func() string {
		return "/v1/payment_pages/" + create("/v1/checkout/sessions", "mode=payment&success_url=https://a.example"+
			"&allow_promotion_codes=true&line_items[0][quantity]=1&line_items[0][price_data][currency]=usd"+
			"&line_items[0][price_data][unit_amount]=1000&line_items[0][price_data][product_data][name]=Mug")
	}
	try := func(peer, as, page, code string) int {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+page,
			strings.NewReader("promotion_code="+code))
		r.RemoteAddr = peer + ":1"
		r.Header.Set("Authorization", "Bearer "+s.keys[as])
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.process.Handler.ServeHTTP(w, r)
		return w.Code
	}
	const publishable = "toboggans publishable"

	first := session()
	var wrong, limited atomic.Int64
	var clients sync.WaitGroup
	for range 40 {
		clients.Go(func() {
			switch status := try("192.0.2.1", publishable, first, "GUESS"); status {
			case http.StatusBadRequest:
				wrong.Add(1)
			case http.StatusTooManyRequests:
				limited.Add(1)
			default:
				t.Errorf("a guess is answered %d", status)
			}
		})
	}
	clients.Wait()
	// one more a minute, should the machine be slow
	if n := wrong.Load(); n < 10 || n > 12 || n+limited.Load() != 40 {
		t.Errorf("of 40 parallel guesses %d were looked up and %d refused, want 10", n, limited.Load())
	}
	a := s.ask(t, sent{as: publishable, target: first, body: "promotion_code=TEN"})
	requireRefusal(t, a, refused{status: http.StatusTooManyRequests, want: fault{Type: invalid, Code: "rate_limit"}})
	if reason := a.header.Get("Stripe-Rate-Limited-Reason"); reason != "endpoint-rate" ||
		a.header.Get("Stripe-Should-Retry") != "false" || a.header.Get("Retry-After") != "60" {
		t.Errorf("the right code after guessing is answered with the headers %v", a.header)
	}
	if a := s.ask(t, sent{as: publishable, target: first, body: "promotion_code="}); a.status != http.StatusOK {
		t.Errorf("removing the code is answered %d %s", a.status, a.body)
	}

	t.Run("right codes take nothing", func(t *testing.T) {
		page := session()
		for n := range 50 {
			if status := try("192.0.2.2", publishable, page, "TEN"); status != http.StatusOK {
				t.Fatalf("the right code is answered %d after %d times", status, n)
			}
		}
		for range 5 { // a customer mistypes
			if status := try("192.0.2.2", publishable, page, "TENN"); status != http.StatusBadRequest {
				t.Errorf("a wrong code is answered %d", status)
			}
		}
		if status := try("192.0.2.2", publishable, page, "TEN"); status != http.StatusOK {
			t.Errorf("the right code after five wrong ones is answered %d", status)
		}
	})

	t.Run("an address that guesses in many sessions runs out, and others do not", func(t *testing.T) {
		looked := 0
		for try("192.0.2.3", publishable, session(), "GUESS") == http.StatusBadRequest {
			if looked++; looked > 100 {
				t.Fatal("one address can try a hundred codes")
			}
		}
		if looked < 30 {
			t.Errorf("the address could try %d codes, want 30", looked)
		}
		if status := try("192.0.2.4", publishable, session(), "TEN"); status != http.StatusOK {
			t.Errorf("another address is answered %d", status)
		}
	})

	t.Run("a merchant's own key is not limited", func(t *testing.T) {
		page := session()
		for range 20 {
			if status := try("192.0.2.5", "toboggans", page, "GUESS"); status != http.StatusBadRequest {
				t.Fatalf("a wrong code is answered %d", status)
			}
		}
	})
}

package design_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-pay/ratchet/internal/acquirer/acquirertest"
	"github.com/ratchet-pay/ratchet/internal/lab"
	"github.com/ratchet-pay/ratchet/internal/lab/design"
	"github.com/ratchet-pay/ratchet/internal/lab/redis"
	"github.com/ratchet-pay/ratchet/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func parts(t *testing.T) design.Parts {
	t.Helper()
	db := pgtest.New(t)
	if err := design.CreateSchema(t.Context(), db.Pool); err != nil {
		t.Fatal(err)
	}
	bank := acquirertest.Start(t, pgtest.New(t).URL)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { _ = redis.NewStandIn().Serve(l) }() // ends with the listener
	return design.Parts{
		DB:    db.Pool,
		Bank:  design.NewBank(bank.URL(), bank.Secret(), time.Minute, nil),
		Redis: redis.NewClient(l.Addr().String(), nil),
	}
}

func pay(t *testing.T, h http.Handler, key, body string) (status int, answer string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/pay", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// Where nothing goes wrong, each design does what its author wanted.
func TestDesigns(t *testing.T) {
	t.Parallel()
	p := parts(t)
	for i, d := range lab.Designs {
		if d.Name == "ratchet" || d.Queue {
			continue // no handler of a request
		}
		h, err := design.New(d.Name, p)
		if err != nil {
			t.Fatal(err)
		}
		order := int64(i + 1)
		body := strings.Replace(`{"order": N, "amount": 2000}`, "N", strconv.FormatInt(order, 10), 1)
		key := d.Name

		t.Run(d.Name+" charges an order and books it", func(t *testing.T) {
			status, answer := pay(t, h, key, body)
			if status != http.StatusOK || !strings.Contains(answer, `"status":"paid"`) {
				t.Fatalf("%d %s", status, answer)
			}
			if n, err := design.Count(t.Context(), p.DB, d.Name, order); err != nil || n != 1 {
				t.Errorf("booked %d times, %v", n, err)
			}
		})
		if d.Name == "naive" {
			continue // it knows no keys
		}
		t.Run(d.Name+" answers a repeated request with the first answer, and books nothing", func(t *testing.T) {
			_, again := pay(t, h, key, body)
			_, third := pay(t, h, key, body)
			if strings.TrimSpace(again) != strings.TrimSpace(third) || !strings.Contains(again, `"status":"paid"`) {
				t.Errorf("%s, then %s", again, third)
			}
			if n, err := design.Count(t.Context(), p.DB, d.Name, order); err != nil || n != 1 {
				t.Errorf("booked %d times, %v", n, err)
			}
		})
		if strings.HasPrefix(d.Name, "redis") {
			continue // the middleware does not look at the request
		}
		t.Run(d.Name+" refuses the key for another request", func(t *testing.T) {
			status, answer := pay(t, h, key, strings.Replace(body, "2000", "1", 1))
			if status != http.StatusUnprocessableEntity {
				t.Errorf("%d %s", status, answer)
			}
		})
	}

	t.Run("manager ignores spaces and the order of fields when it compares bodies", func(t *testing.T) {
		h, err := design.New("manager", p)
		if err != nil {
			t.Fatal(err)
		}
		_, first := pay(t, h, "sorted", `{"order": 99, "amount": 2000}`)
		status, again := pay(t, h, "sorted", `{"amount":2000,"order":99}`)
		if status != http.StatusOK || strings.TrimSpace(first) != strings.TrimSpace(again) {
			t.Errorf("%d %s, want %s", status, again, first)
		}
	})
}
